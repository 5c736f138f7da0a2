import itertools

import pytest
from hypothesis import given, strategies as st

from nerode.compiler.group_representations import fewest_dimensions, fewest_reflections
from nerode.compiler.rotations import apply, identity, multiply
from nerode.languages.bestiary import find_language
from nerode.languages.groups import word_problem

NAMES = [
    "parity",
    "tomita-5",
    "tomita-6",
    "s3",
    "s4",
    "q8",
    "d4",
    "cycle-navigation",
    "a4xz5",
    "a5-generators",
]


@pytest.mark.parametrize("choose", [fewest_reflections, fewest_dimensions])
@pytest.mark.parametrize("name", NAMES)
def test_the_points_move_as_the_states_do(choose, name):
    dfa = find_language(name).dfa()
    found = choose(dfa)
    number = {point: i for i, point in enumerate(found.points)}
    assert len(number) == len(found.points)
    assert found.states[0] == dfa.start
    for (point, i), letter in itertools.product(number.items(), range(dfa.num_letters)):
        image = number[apply(found.matrices[letter], point)]
        assert found.states[image] == dfa.transitions[found.states[i], letter]


@pytest.mark.parametrize("choose", [fewest_reflections, fewest_dimensions])
@pytest.mark.parametrize("name", NAMES)
def test_the_matrices_are_orthogonal(choose, name):
    for matrix in choose(find_language(name).dfa()).matrices:
        assert multiply(matrix, tuple(zip(*matrix, strict=True))) == identity(len(matrix))


@pytest.mark.parametrize(
    ("group", "reflections"),
    # Elements of order above two need two, and the rotation groups of space no more. Z3 x Z3 turns two planes
    # at once; S5 moves five points in a cycle; in Z2 x A4 a sign comes on top of a rotation.
    [("D5", 2), ("D6", 2), ("A4", 2), ("Z7", 2), ("Z5xZ2", 2), ("Z2xA4", 3), ("Z3xZ3", 4), ("S5", 4)],
)
def test_known_numbers_of_reflections(group, reflections):
    assert fewest_reflections(word_problem(group).dfa()).num_factors == reflections


@pytest.mark.parametrize(("group", "dimensions"), [("A4", 3), ("Z6", 3), ("Z12", 5), ("Z3xZ3", 6), ("D6", 3)])
def test_known_numbers_of_dimensions(group, dimensions):
    """Z6 shifts three axes and turns them round; Z12 is 3 + 4/2; D6 is S3 and a sign."""
    assert fewest_dimensions(word_problem(group).dfa()).dimension == dimensions


@given(st.integers(2, 9))
def test_a_sum_of_blocks_is_never_worse_than_the_states(m):
    dfa = word_problem(f"Z{m}").dfa()
    assert fewest_reflections(dfa).num_factors <= m - 1
    assert fewest_dimensions(dfa).dimension <= m
