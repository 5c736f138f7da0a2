"""Automata with groups: counters for solvable groups, permutations for the others, refusals by name."""

from __future__ import annotations

import random

import numpy as np
import pytest

from nerode.algebra.cascades.abelian import NotSolvable, abelian_levels
from nerode.algebra.cascades.decomposition import decompose_general, decompose_solvable
from nerode.algebra.cascades.holonomy import holonomy_cascade
from nerode.algebra.groups_inside import groups_inside
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Alphabet, Dfa, minimise
from nerode.languages.bestiary import find_language
from tests.algebra.cascades.automata import COUNTER_FREE, uniform, with_group
from tests.algebra.cascades.naive import assert_runs
from tests.algebra.cascades.verification import verify_cascade

WORD_PROBLEMS = {
    "parity": [[2]],
    "z3": [[3]],
    "aaaa-star": [[4]],
    "z2xz2": [[2, 2]],
    "tomita-5": [[2, 2]],
    "tomita-6": [[3]],
    "cycle-navigation": [[5]],
    "z60": [[3, 4, 5]],
    "s3": [[2], [3]],
    "d4": [[2, 2], [2]],
    "q8": [[2, 2], [2]],
    "a4": [[3], [2, 2]],
    "s4": [[2], [3], [2, 2]],
    "a4xz5": [[3, 5], [2, 2]],
}
"""Group word problems, and the counters of each layer: as many layers as the derived series is long."""


@pytest.mark.parametrize(("name", "layers"), WORD_PROBLEMS.items())
def test_a_solvable_word_problem_takes_a_layer_for_each_derived_step(
    name: str, layers: list[list[int]]
) -> None:
    dfa = find_language(name).dfa()
    cascade = decompose_solvable(dfa)
    assert [sorted(cascade.levels[i].num_labels for i in layer) for layer in cascade.layers] == layers
    assert all(level.kind == "cyclic" for level in cascade.levels)
    assert_runs(cascade, dfa, num_words=2, length=30)


@pytest.mark.parametrize("name", ["s5-generators", "a5-generators"])
def test_a_group_that_is_not_solvable_is_refused_by_name_and_kept_as_a_permutation(name: str) -> None:
    dfa = find_language(name).dfa()
    with pytest.raises(NotSolvable, match=name[:2].upper()) as refused:
        decompose_solvable(dfa)
    assert not refused.value.group.solvable
    cascade = decompose_general(dfa)
    assert set(cascade.kinds) == {"permutation"}
    assert sum(level.num_labels for level in cascade.levels) <= dfa.num_states
    assert_runs(cascade, dfa, num_words=2, length=30)


def test_only_the_group_that_is_not_solvable_stays_a_permutation() -> None:
    """A five-point automaton with A5, and a letter that leaves it for a parity."""
    three, five = [1, 2, 0, 3, 4], [1, 2, 3, 4, 0]

    def step(state: int, symbol: str) -> int:
        if state >= 5:
            return 11 - state if symbol == "c" else state
        return {"a": three[state], "b": five[state], "c": state, "r": 5}[symbol]

    dfa = minimise(Dfa.build("abcr", step, start=0, accept=[0, 5]))
    with pytest.raises(NotSolvable, match="A5"):
        decompose_solvable(dfa)
    cascade = decompose_general(dfa)
    assert (cascade.kinds["permutation"], cascade.kinds["cyclic"]) == (1, 1)
    assert_runs(cascade, dfa)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_random_automata_with_small_groups(degree: int) -> None:
    rng = random.Random(degree)
    found = set()
    for seed in range(12):
        dfa = with_group(rng, degree)
        cascade = decompose_solvable(dfa)
        assert "permutation" not in cascade.kinds
        assert verify_cascade(cascade, dfa)
        assert_runs(cascade, dfa, num_words=1, length=40, seed=seed)
        found |= {group.structure.name for group in groups_inside(dfa)}
    assert found & {2: {"Z2"}, 3: {"Z3", "S3"}, 4: {"S4", "A4", "D4"}}[degree]


def test_random_automata_have_counters_exactly_when_they_have_groups() -> None:
    rng = random.Random(7)
    for seed in range(40):
        dfa = uniform(rng, 5, 3)
        groups = groups_inside(dfa)
        if all(group.structure.solvable for group in groups):
            cascade = decompose_solvable(dfa)
            assert_runs(cascade, dfa, num_words=1, length=30, seed=seed)
            assert ("cyclic" in cascade.kinds) == bool(groups)


def test_every_counter_counts_modulo_a_prime_power_that_divides_a_group() -> None:
    cascade = decompose_solvable(find_language("z60").dfa())
    assert sorted(level.num_labels for level in cascade.levels) == [3, 4, 5]
    for level in cascade.levels:
        assert level.kind == "cyclic"


def test_several_orbits_are_told_apart_by_a_reset_level() -> None:
    """A word that turns three states and swaps two others, with resets into both orbits."""
    table = [[1, 3, 0], [2, 3, 0], [0, 3, 0], [4, 3, 0], [3, 3, 0]]
    dfa = Dfa(
        alphabet=Alphabet(("a", "b", "c")),
        transitions=np.array(table),
        start=0,
        accepting=np.array([True, False, False, True, False]),
    )
    cascade = abelian_levels(holonomy_cascade(dfa))
    assert verify_cascade(cascade, dfa)
    assert_runs(cascade, dfa)
    assert cascade.kinds == {"cyclic": 2, "reset": 1}
    assert cascade.depth == 1


@pytest.mark.parametrize("kind", COUNTER_FREE)
def test_without_groups_nothing_changes(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(5):
        cascade = holonomy_cascade(COUNTER_FREE[kind](rng))
        assert abelian_levels(cascade) is cascade


def test_a_group_with_too_many_elements_stops() -> None:
    with pytest.raises(BudgetExceeded, match="elements"):
        decompose_solvable(find_language("s4").dfa(), Budget(elements=20))
