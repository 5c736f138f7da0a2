from __future__ import annotations

from fractions import Fraction

import pytest

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.proofs.linear_programs import separates
from nerode.proofs.memorisation import MemorisationBound, memorisation_bound


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
