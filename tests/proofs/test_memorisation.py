from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.proofs.memorisation import MemorisationBound, find_in_cone, memorisation_bound, separates


def values(bound: MemorisationBound) -> list[Fraction]:
    return [
        bound.constant + sum(c * max(a * t + b, Fraction(0)) for a, b, c in bound.ramps)
        for t in range(1, bound.points + 1)
    ]


@pytest.mark.parametrize("points", [2, 3, 4])
def test_up_to_four_points_fewer_neurons_never_suffice(points: int) -> None:
    bound = memorisation_bound(points, points - 1)
    assert not bound.possible
    # Ways to choose N-1 of 2(2N-1) kinds of neurons, with repetition.
    kinds = 2 * (2 * points - 1)
    expected = 1
    for i in range(points - 1):
        expected = expected * (kinds + i) // (i + 1)
    assert bound.patterns == expected
    assert bound.separators


@pytest.mark.parametrize("points", [2, 3, 4])
def test_as_many_neurons_as_points_suffice(points: int) -> None:
    bound = memorisation_bound(points, points)
    assert bound.possible
    assert values(bound) == [(-1) ** t for t in range(1, points + 1)]


def test_four_neurons_memorise_five_points_against_the_published_proposition() -> None:
    bound = memorisation_bound(5, 4)
    assert bound.possible
    assert len(bound.ramps) == 4
    assert values(bound) == [-1, 1, -1, 1, -1]


def test_four_ramps_memorise_six_points_by_hand() -> None:
    # Found by the search (10 s), checked here by hand: k = N - 2 is attained.
    half = Fraction(1, 2)
    ramps = ((9 * half, -17 * half, -1), (13 * half, -39 * half, 1), (-13 * half, 47 * half, -1), (-4, 20, 1))
    found = [sum(c * max(a * t + b, 0) for a, b, c in ramps) for t in range(1, 7)]
    assert found == [-1, 1, -1, 1, -1, 1]


def test_three_neurons_do_not_memorise_five_points() -> None:
    assert not memorisation_bound(5, 3).possible


def test_an_output_bias_saves_a_neuron() -> None:
    assert not memorisation_bound(2, 1).possible
    bound = memorisation_bound(2, 1, output_bias=True)
    assert bound.possible
    assert values(bound) == [-1, 1]


def test_the_separators_are_proofs() -> None:
    bound = memorisation_bound(3, 1)
    assert not bound.possible
    target = [-1, 1, -1]
    ramps = [[max(t - s, 0) for t in (1, 2, 3)] for s in (0, 1, 2)]
    ramps += [[max(s - t, 0) for t in (1, 2, 3)] for s in (2, 3, 4)]
    for sign in (1, -1):
        for ramp in ramps:
            generator = [[sign * v for v in ramp]]
            assert any(separates(z, generator, target) for z in bound.separators)


def test_questions_without_sense_and_too_large_ones() -> None:
    with pytest.raises(InputError):
        memorisation_bound(1, 1)
    with pytest.raises(InputError):
        memorisation_bound(3, 0)
    with pytest.raises(BudgetExceeded):
        memorisation_bound(9, 7, budget=Budget(seconds=0.2))


numbers = st.integers(-4, 4)


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    height = draw(st.integers(1, 4))
    vector = st.lists(numbers, min_size=height, max_size=height)
    return draw(st.lists(vector, min_size=1, max_size=5)), draw(vector)


@given(questions())
@settings(max_examples=200)
def test_the_answer_is_its_own_proof_and_scipy_agrees(question: tuple[list[list[int]], list[int]]) -> None:
    generators, target = question
    answer = find_in_cone(generators, target)
    outside = linprog(
        np.zeros(len(generators)), A_eq=np.array(generators).T, b_eq=np.array(target), bounds=(0, None)
    )
    if answer.weights is not None:
        assert answer.separator is None
        assert all(w >= 0 for w in answer.weights)
        combined = [
            sum((w * g[i] for w, g in zip(answer.weights, generators, strict=True)), Fraction(0))
            for i in range(len(target))
        ]
        assert combined == target
        assert outside.status == 0
    else:
        assert answer.separator is not None
        assert separates(answer.separator, generators, target)
        assert outside.status == 2


def test_a_vector_that_does_not_separate_is_not_taken_for_one() -> None:
    assert separates([1, 0], [[-1, 5]], [1, 1])
    assert not separates([1, 0], [[1, 5]], [1, 1])
    assert not separates([1, 0], [[-1, 5]], [0, 1])
