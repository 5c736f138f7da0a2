"""The shallowest cascade: sizes that must not grow, refusals, budgets."""

from __future__ import annotations

import random

import pytest

from nerode.algebra.cascades.decomposition import NotCounterFree, decompose
from nerode.algebra.cascades.skeleton import Levels, Skeleton
from nerode.algebra.components import whole_action
from nerode.algebra.groups_inside import is_counter
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Dfa
from nerode.languages.bestiary import find_language
from tests.algebra.cascades.automata import COUNTER_FREE, planted_cascade
from tests.algebra.cascades.naive import assert_runs
from tests.algebra.cascades.verification import verify_cascade

SIZES = {
    "tomita-1": (1, 1),
    "tomita-2": (2, 2),
    "tomita-4": (3, 3),
    "tomita-7": (3, 3),
    "ab-star": (2, 2),
    "aab-star": (3, 3),
    "aabb-star": (3, 3),
    "aabbccddee": (2, 4),
    "012-star-02-star": (1, 1),
    "ab-star-d-bc-star": (2, 2),
    "d-2": (3, 3),
    "d-3": (4, 4),
    "d-4": (5, 5),
    "d-12": (13, 13),
    "flip-flop": (3, 5),
    "contains-abaab": (4, 4),
    "contains-fibonacci-22": (7, 9),
    "subsequence-abcdefgh": (8, 8),
    "last-but-8": (9, 9),
    "dyck-2-2": (3, 5),
    "dyck-2-3": (4, 7),
    "dyck-2-4": (5, 9),
    "dyck-2-5": (6, 11),
    "dyck-3-3": (4, 7),
}
"""Depth and bits, none above the specification (algebra, 2.4)."""


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_a_cascade_is_no_larger_than_it_was(name: str, size: tuple[int, int]) -> None:
    dfa = find_language(name).dfa()
    cascade = decompose(dfa)
    assert (cascade.depth, cascade.bits) <= size
    assert cascade.bits <= size[1]
    assert all(level.kind == "reset" for level in cascade.levels)
    assert_runs(cascade, dfa, num_words=2, length=60)


@pytest.mark.parametrize("kind", COUNTER_FREE)
def test_random_counter_free_automata(kind: str) -> None:
    rng = random.Random(kind)
    for seed in range(25):
        dfa = COUNTER_FREE[kind](rng)
        cascade = decompose(dfa)
        plain = Levels(Skeleton(whole_action(dfa)), share=False).top
        assert cascade.depth <= plain
        assert verify_cascade(cascade, dfa)
        assert_runs(cascade, dfa, num_words=1, length=40, seed=seed)


@pytest.mark.parametrize(("levels", "depth"), [(3, 4), (4, 4), (5, 6)])
def test_planted_cascades_are_found_again_or_nearly(levels: int, depth: int) -> None:
    rng = random.Random(levels)
    depths = [decompose(planted_cascade(rng, levels)).depth for _ in range(20)]
    assert max(depths) <= depth
    assert sum(d > levels for d in depths) <= 3


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("tomita-4", "holonomy of the whole automaton"),
        ("subsequence-abcdefgh", "component by component"),
    ],
)
def test_the_route_says_which_construction_won(name: str, part: str) -> None:
    assert part in decompose(find_language(name).dfa()).route


def test_two_independent_memories_become_a_chain() -> None:
    def step(state: tuple[int, int], symbol: str) -> tuple[int, int]:
        p, q = state
        return {"a": (1, q), "b": (0, q), "c": (p, 1), "d": (p, 0), "e": (p, q)}[symbol]

    dfa = Dfa.build("abcde", step, start=(0, 0), accept=[(1, 1)])
    assert (decompose(dfa).depth, decompose(dfa).bits) == (2, 3)


@pytest.mark.parametrize("name", ["parity", "tomita-3", "tomita-5", "tomita-6", "abab-star", "s3"])
def test_a_language_that_is_not_star_free_is_refused_with_a_counter(name: str) -> None:
    dfa = find_language(name).dfa()
    with pytest.raises(NotCounterFree, match="not star-free") as refused:
        decompose(dfa)
    assert is_counter(dfa, refused.value.witness)


def test_a_construction_that_exceeds_the_budget_is_left_out_and_said_so() -> None:
    cascade = decompose(find_language("subsequence-abcdefgh").dfa(), Budget(images=50))
    assert (cascade.depth, cascade.bits) == (8, 8)
    assert "budget of images" in cascade.route


def test_without_any_construction_inside_the_budget_it_stops() -> None:
    with pytest.raises(BudgetExceeded, match="images"):
        decompose(find_language("d-12").dfa(), Budget(images=20))


def test_equivalent_states_are_merged_first() -> None:
    doubled = Dfa.build(
        "01", lambda q, s: (q[0] + int(s) > 0, not q[1]), start=(0, False), accept=lambda q: not q[0]
    )
    cascade = decompose(doubled)
    assert (cascade.num_states, cascade.depth) == (2, 1)
