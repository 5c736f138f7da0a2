"""The shallowest cascade of set-reset automata that some construction finds for a star-free language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from nerode.algebra.cascades.by_components import component_cascade
from nerode.algebra.cascades.holonomy import holonomy_cascade
from nerode.algebra.cascades.quotients import quotient_cascade
from nerode.algebra.cascades.records import Cascade
from nerode.algebra.cascades.refusals import NotCounterFree
from nerode.algebra.cascades.verification import verify_cascade
from nerode.algebra.counters import find_counter
from nerode.core.budget import Budget
from nerode.core.errors import BudgetExceeded, InputError
from nerode.languages.dfa import Dfa
from nerode.languages.minimise import minimise

Construction = Callable[[], Cascade | None]


def decompose(dfa: Dfa, budget: Budget | None = None, *, window: int = 0) -> Cascade:
    """Returns a verified cascade of set-reset automata, of the least (depth, bits) that was found.

    Tried are section-labelled holonomy of the whole automaton and of subdirect quotients, both with the
    window, and the components one by one. `route` says which of them it is.

    Args:
        dfa: any automaton. The states of the cascade are those of `minimise(dfa)`.
        budget: its `images` bound the images of one automaton, its `elements` the configurations of the
            check. A construction that exceeds it is left out, unless none is left.
        window: how many letters before the current one a network can see (by a short convolution).

    Raises:
        NotCounterFree: if the language is not star-free.
        InputError: if the window is negative.
        BudgetExceeded: if no construction fits the budget.

    Implements: [KrohnRhodes1965], [MalerPnueli1990]
    """
    budget = budget or Budget()
    minimal = minimise(dfa)
    if (witness := find_counter(minimal, budget)) is not None:
        raise NotCounterFree(witness, minimal.alphabet)
    return best_verified(minimal, budget, constructions(minimal, budget, window))


def constructions(dfa: Dfa, budget: Budget, window: int) -> Iterator[Construction]:
    """Yields what can be tried for a minimal automaton, with or without groups.

    Raises:
        InputError: if the window is negative.
    """
    if window < 0:
        raise InputError(f"a window of {window} letters; give 0 or more")
    yield lambda: holonomy_cascade(dfa, budget, window=window)
    yield lambda: component_cascade(dfa, budget)
    yield lambda: quotient_cascade(dfa, budget, window=window)


def best_verified(
    dfa: Dfa,
    budget: Budget,
    candidates: Iterable[Construction],
    finish: Callable[[Cascade], Cascade] = lambda cascade: cascade,
) -> Cascade:
    """Returns the cascade of least size among those that fit the budget, verified.

    Smaller is: fewer labels in permutation levels, then less depth, then fewer bits, then fewer rows.

    Args:
        dfa: the automaton that all of them run.
        budget: for the check.
        candidates: constructions; None stands for "does not apply".
        finish: what to do with each result before it is compared.
    """
    found: list[Cascade] = []
    stopped: list[BudgetExceeded] = []
    for construction in candidates:
        try:
            cascade = construction()
            if cascade is not None:
                found.append(finish(cascade))
                if _is_good_enough(found[-1]):
                    break
        except BudgetExceeded as exceeded:
            stopped.append(exceeded)
    for cascade in sorted(found, key=_size):
        try:
            verify_cascade(cascade, dfa, budget)
        except BudgetExceeded as exceeded:
            stopped.append(exceeded)
            continue
        if stopped:
            why = f"another construction or its check exceeded the budget of {stopped[0].resource}"
            return replace(cascade, route=f"{cascade.route} ({why})")
        return cascade
    raise stopped[0]


def _size(cascade: Cascade) -> tuple[int, int, int, int]:
    permuted = sum(level.num_labels for level in cascade.levels if level.kind == "permutation")
    return permuted, cascade.depth, cascade.bits, cascade.num_rows


def _is_good_enough(cascade: Cascade) -> bool:
    """Whether one layer, or none, holds at most one bit more than the number of states needs."""
    if "permutation" in cascade.kinds:
        return False
    return cascade.depth <= 1 and cascade.bits <= 1 + (cascade.num_states - 1).bit_length()
