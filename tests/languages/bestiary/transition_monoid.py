"""The transition monoid of an automaton, enumerated by libsemigroups: an oracle outside nerode."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
from libsemigroups_pybind11 import FroidurePin, ReportGuard, Transf

from nerode.languages.dfa import Dfa

Elements = npt.NDArray[np.int64]
GroupProfile = tuple[int, tuple[tuple[int, int], ...]]
"""The order of a group, and how many elements of each order it has."""


def _enumerated(dfa: Dfa) -> FroidurePin:
    n = dfa.num_states
    letters = [Transf(list(range(n)))]
    letters += [Transf([int(q) for q in column]) for column in dfa.transitions.T]
    return FroidurePin(letters)


def monoid_size(dfa: Dfa) -> int:
    guard = ReportGuard(False)
    monoid = _enumerated(dfa)
    size = int(monoid.size())
    del guard
    return size


def monoid_elements(dfa: Dfa) -> Elements:
    guard = ReportGuard(False)
    # The name keeps the monoid alive: its iterator does not.
    monoid = _enumerated(dfa)
    rows = [[element[i] for i in range(dfa.num_states)] for element in monoid]
    del guard
    return np.array(rows)


def is_aperiodic(elements: Elements) -> bool:
    """Whether xⁿ⁺¹ = xⁿ for every element x, n the number of points."""
    powers = elements
    exponent = 1
    while exponent < elements.shape[1]:
        powers = np.take_along_axis(powers, powers, axis=1)
        exponent *= 2
    return bool(np.array_equal(np.take_along_axis(elements, powers, axis=1), powers))


def maximal_subgroups(elements: Elements) -> set[GroupProfile]:
    """The maximal subgroups that are not trivial, by the orders of their elements."""
    found = set()
    for e in elements:
        if not np.array_equal(e[e], e):
            continue
        inside = elements[(e[elements[:, e]] == elements).all(axis=1)]
        orders = Counter(order for x in inside if (order := _order(x, e)))
        if sum(orders.values()) > 1:
            found.add((sum(orders.values()), tuple(sorted(orders.items()))))
    return found


def _order(x: Elements, e: Elements) -> int:
    """The least k with xᵏ = e, or 0 if there is none."""
    power = x
    seen = set()
    k = 1
    while not np.array_equal(power, e):
        if power.tobytes() in seen:
            return 0
        seen.add(power.tobytes())
        power = x[power]
        k += 1
    return k
