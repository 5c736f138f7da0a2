"""Cascades for automata with groups: counters where the groups are solvable, permutations where not."""

from __future__ import annotations

from collections.abc import Callable

from nerode.algebra.cascades.abelian import abelian_levels
from nerode.algebra.cascades.portfolio import best_verified
from nerode.algebra.cascades.records import Cascade
from nerode.core import Budget
from nerode.languages import Dfa, minimise


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
    return _decompose(
        dfa, budget, lambda cascade, limits: abelian_levels(cascade, limits, keep_others=True)
    )


def _decompose(
    dfa: Dfa, budget: Budget | None, finish: Callable[[Cascade, Budget], Cascade]
) -> Cascade:
    budget = budget or Budget()
    minimal = minimise(dfa)
    return best_verified(minimal, budget, lambda cascade: finish(cascade, budget))
