"""Decomposition: the smallest verified cascade that the constructions find for an automaton.

A star-free language gets set-reset levels only; solvable groups become counters, other groups permutations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from nerode.algebra.cascades.abelian import abelian_levels
from nerode.algebra.cascades.by_components import component_cascade
from nerode.algebra.cascades.holonomy import holonomy_cascade, quotient_cascade, tower_cascade
from nerode.algebra.cascades.records import Cascade
from nerode.algebra.cascades.verification import verify_cascade
from nerode.algebra.components import strong_components
from nerode.algebra.counters import find_counter
from nerode.algebra.records import CounterWitness
from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import Alphabet, Dfa, minimise

Finder = Callable[[Budget], Cascade | None]
"""Finds a cascade for an automaton within a budget; None if the method does not apply."""

SHARE = 0.5
"""Part of the seconds left that one construction, or the check of one cascade among several, may take."""

SHARE_AFTER_SUCCESS = 0.1
"""The same, once another construction has succeeded."""


class NotCounterFree(InputError):
    """A language that is not star-free: no cascade of set-reset automata runs its automaton.

    Attributes:
        witness: words that show it.
    """

    def __init__(self, witness: CounterWitness, alphabet: Alphabet) -> None:
        self.witness = witness
        super().__init__(
            f"the language is not star-free ({witness.describe(alphabet)}), so no cascade of set-reset "
            "automata runs it; decompose it with groups (decompose_solvable, decompose_general)"
        )


def decompose(dfa: Dfa, budget: Budget | None = None) -> Cascade:
    """Returns a verified cascade of set-reset automata, of the least (depth, bits) that was found.

    Tried are the components one by one, and section-labelled holonomy of the whole automaton, of subdirect
    quotients and over a tower of quotients. `route` says which of them it is.

    Args:
        dfa: any automaton. The states of the cascade are those of `minimise(dfa)`.
        budget: its `images` bound the images of one automaton, its `elements` the configurations of the
            check. A construction that exceeds it is left out, unless none is left.

    Raises:
        NotCounterFree: if the language is not star-free.
        BudgetExceeded: if no construction fits the budget.

    Implements: [KrohnRhodes1965], [MalerPnueli1990]
    """
    budget = budget or Budget()
    minimal = minimise(dfa)
    if (witness := find_counter(minimal, budget)) is not None:
        raise NotCounterFree(witness, minimal.alphabet)
    return _smallest_verified(minimal, budget)


def decompose_solvable(dfa: Dfa, budget: Budget | None = None) -> Cascade:
    """Returns a verified cascade of set-reset automata and counters modulo prime powers.

    Args:
        dfa: any automaton. The states of the cascade are those of `minimise(dfa)`.
        budget: its `images` bound the images of one automaton, its `elements` a group and the check.

    Raises:
        NotSolvable: if the automaton contains a group that is not solvable.
        BudgetExceeded: if no construction fits the budget.

    Implements: [KrohnRhodes1965], [Shakerinava2026]
    """
    return _decompose(dfa, budget, lambda cascade, limits: abelian_levels(cascade, limits))


def decompose_general(dfa: Dfa, budget: Budget | None = None) -> Cascade:
    """Returns a verified cascade for any automaton: as `decompose_solvable`, other groups as permutations.

    Args:
        dfa: any automaton. The states of the cascade are those of `minimise(dfa)`.
        budget: its `images` bound the images of one automaton, its `elements` a group and the check.

    Raises:
        BudgetExceeded: if no construction fits the budget.

    Implements: [KrohnRhodes1965]
    """
    return _decompose(dfa, budget, lambda cascade, limits: abelian_levels(cascade, limits, keep_others=True))


def _decompose(dfa: Dfa, budget: Budget | None, finish: Callable[[Cascade, Budget], Cascade]) -> Cascade:
    budget = budget or Budget()
    minimal = minimise(dfa)
    return _smallest_verified(minimal, budget, lambda cascade: finish(cascade, budget))


def _smallest_verified(
    dfa: Dfa,
    budget: Budget,
    finish: Callable[[Cascade], Cascade] = lambda cascade: cascade,
) -> Cascade:
    """Returns the smallest cascade that some construction finds within the budget, verified.

    Smaller is: fewer labels in permutation levels, then less depth, then fewer bits, then fewer rows.

    Args:
        dfa: a minimal automaton, with or without groups.
        budget: a part of its seconds goes to each construction, the rest to the check.
        finish: what to do with each cascade before it is compared.

    Raises:
        BudgetExceeded: if no construction and its check fit the budget.
    """
    found: list[Cascade] = []
    stopped: list[BudgetExceeded] = []
    for construction in _constructions(dfa):
        part = _part_of(budget, SHARE_AFTER_SUCCESS if found else SHARE)
        try:
            if (cascade := construction(part)) is not None:
                found.append(finish(cascade))
        except BudgetExceeded as exceeded:
            stopped.append(exceeded)
        if found and _is_good_enough(found[-1]):
            break
    found.sort(key=_size)
    for cascade in found:
        try:
            verify_cascade(cascade, dfa, budget if cascade is found[-1] else _part_of(budget, SHARE))
        except BudgetExceeded as exceeded:
            stopped.append(exceeded)
            continue
        if stopped:
            why = f"another construction or its check exceeded its budget of {stopped[0].resource}"
            return replace(cascade, route=f"{cascade.route} ({why})")
        return cascade
    first = stopped[0]
    limit = budget.limits()[first.resource]
    raise BudgetExceeded(first.resource, limit, known_so_far=first.known_so_far)


def _constructions(dfa: Dfa) -> Iterator[Finder]:
    """Yields what can be tried; the components come first, because they cost little."""
    if len(strong_components(dfa.transitions.tolist())) > 1:
        yield lambda budget: component_cascade(dfa, budget)
    yield lambda budget: holonomy_cascade(dfa, budget)
    yield lambda budget: quotient_cascade(dfa, budget)
    yield lambda budget: tower_cascade(dfa, budget)


def _part_of(budget: Budget, share: float) -> Budget:
    """Returns the budget with only a share of the seconds that are left."""
    return replace(budget, seconds=budget.elapsed() + share * max(0.0, budget.seconds - budget.elapsed()))


def _size(cascade: Cascade) -> tuple[int, int, int, int]:
    permuted = sum(level.num_labels for level in cascade.levels if level.kind == "permutation")
    return permuted, cascade.depth, cascade.bits, cascade.num_rows


def _is_good_enough(cascade: Cascade) -> bool:
    """Whether one layer, or none, holds at most one bit more than the number of states needs."""
    if "permutation" in cascade.kinds:
        return False
    return cascade.depth <= 1 and cascade.bits <= 1 + (cascade.num_states - 1).bit_length()
