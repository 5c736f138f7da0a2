"""Every construction runs its automaton: random automata, exact check, naive reading of the record."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.algebra.cascades.decomposition import component_cascade
from nerode.algebra.cascades.holonomy import holonomy_cascade, tower_cascade
from nerode.algebra.cascades.records import Cascade
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Alphabet, Dfa, minimise
from nerode.languages.bestiary import find_language
from tests.algebra.cascades.automata import COUNTER_FREE, partially_ordered, with_group
from tests.algebra.cascades.naive import assert_runs
from tests.algebra.cascades.verification import verify_cascade
from tests.strategies import dfas

CONSTRUCTIONS: dict[str, Callable[[Dfa], Cascade | None]] = {
    "holonomy": holonomy_cascade,
    "components": component_cascade,
    "tower": tower_cascade,
}


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize("kind", COUNTER_FREE)
def test_a_counter_free_automaton_becomes_a_cascade_of_set_reset_levels(kind: str, construction: str) -> None:
    rng = random.Random(f"{kind} {construction}")
    for seed in range(20):
        dfa = COUNTER_FREE[kind](rng)
        cascade = CONSTRUCTIONS[construction](dfa)
        if cascade is not None:
            verify_cascade(cascade, dfa)
            assert_runs(cascade, dfa, seed=seed)
            assert all(level.kind == "reset" for level in cascade.levels)


@pytest.mark.parametrize("construction", ["holonomy", "components"])
def test_an_automaton_with_groups_becomes_a_cascade_with_permutations(construction: str) -> None:
    rng = random.Random(construction)
    kinds = set()
    for seed in range(20):
        dfa = with_group(rng)
        cascade = CONSTRUCTIONS[construction](dfa)
        if cascade is not None:
            verify_cascade(cascade, dfa)
            assert_runs(cascade, dfa, seed=seed)
            kinds |= {level.kind for level in cascade.levels}
    assert "permutation" in kinds


@given(dfas(max_states=6, max_letters=3), st.sampled_from(sorted(CONSTRUCTIONS)))
def test_any_minimal_automaton_is_run(dfa: Dfa, construction: str) -> None:
    minimal = minimise(dfa)
    cascade = CONSTRUCTIONS[construction](minimal)
    if cascade is not None:
        verify_cascade(cascade, minimal)
        assert_runs(cascade, minimal, num_words=1, length=12)


def test_an_automaton_with_equivalent_and_unreachable_states_is_run_as_it_is() -> None:
    table = [[1, 2], [3, 2], [1, 2], [3, 3], [4, 0]]
    dfa = Dfa(
        alphabet=Alphabet(("a", "b")),
        transitions=np.array(table),
        start=0,
        accepting=np.array([True, False, True, True, False]),
    )
    cascade = holonomy_cascade(dfa)
    verify_cascade(cascade, dfa)
    assert_runs(cascade, dfa)


@pytest.mark.parametrize("letters", ["", "a", "ab"])
def test_one_state_needs_no_level(letters: str) -> None:
    dfa = Dfa.build(letters, lambda state, symbol: 0, start=0, accept=[0])
    for cascade in (holonomy_cascade(dfa), component_cascade(dfa)):
        assert (cascade.depth, cascade.bits) == (0, 0)
        assert cascade.trace([0] * 5 if letters else []) == (0,) * (6 if letters else 1)


def test_letters_that_act_alike_cost_nothing() -> None:
    few = find_language("aab-star").dfa()
    table = few.transitions[:, [0, 1, 0, 0, 1, 1]]
    many = Dfa(
        alphabet=Alphabet(tuple("abcdef")), transitions=table, start=few.start, accepting=few.accepting
    )
    one, other = holonomy_cascade(few), holonomy_cascade(many)
    assert (one.depth, one.bits, one.num_rows) == (other.depth, other.bits, other.num_rows)


@pytest.mark.parametrize("seed", range(10))
def test_a_partially_ordered_automaton_is_as_deep_as_its_longest_path(seed: int) -> None:
    dfa = partially_ordered(random.Random(seed), n=14, k=4)
    cascade = component_cascade(dfa)
    rows = dfa.transitions.tolist()
    longest = [0] * dfa.num_states
    for q in sorted(range(dfa.num_states), key=lambda q: -distance_to_end(rows, q)):
        for target in set(rows[q]) - {q}:
            longest[target] = max(longest[target], longest[q] + 1)
    sinks = [q for q, row in enumerate(rows) if set(row) == {q}]
    others = [length + 1 for q, length in enumerate(longest) if q not in sinks]
    without_one = [longest[q] + 1 for q in sinks]
    without_one.remove(max(without_one))
    assert cascade.depth == max([*others, *without_one], default=0)
    assert cascade.bits <= dfa.num_states - 1


def distance_to_end(rows: list[list[int]], state: int) -> int:
    """Length of the longest path without repetition that starts in a state."""
    return 1 + max((distance_to_end(rows, target) for target in set(rows[state]) - {state}), default=0)


def test_a_partially_ordered_automaton_needs_no_images() -> None:
    rows = [[q + 1 if letter == q % 3 else q for letter in range(3)] for q in range(300)] + [[300] * 3]
    accepting = np.arange(301) == 300
    dfa = Dfa(alphabet=Alphabet(("a", "b", "c")), transitions=np.array(rows), start=0, accepting=accepting)
    cascade = component_cascade(dfa, Budget(images=1))
    assert (cascade.depth, cascade.bits, cascade.num_rows) == (300, 300, 599)


def test_too_many_images_stop_holonomy() -> None:
    with pytest.raises(BudgetExceeded, match="images"):
        holonomy_cascade(find_language("d-12").dfa(), Budget(images=50))


def test_time_stops_every_construction() -> None:
    dfa = find_language("d-12").dfa()
    for construction in (holonomy_cascade, component_cascade):
        with pytest.raises(BudgetExceeded, match="seconds"):
            construction(dfa, Budget(seconds=1e-9))
