import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.network.affine import Affine, Factor
from nerode.network.choices import ByChoice
from nerode.network.numbers import ExactNumbers

SWAP_12 = Factor(beta=2, vector=(1, -1, 0))
SWAP_23 = Factor(beta=2, vector=(0, 1, -1))
CLEAR_1 = Factor(beta=1, vector=(5, 0, 0))


def stepped(recurrence, state, letter=0, seen=()):
    step = recurrence.step(ExactNumbers())
    return tuple(step.advance(step.drive(list(seen), letter), state))


def reflections(*choices, selector=None):
    return ByChoice.from_factors(factors=choices, writes=((0, 0, 0),) * len(choices), selector=selector)


def test_the_first_factor_is_applied_first():
    assert stepped(reflections((SWAP_12, SWAP_23)), (1, 2, 3)) == (2, 3, 1)
    assert stepped(reflections((SWAP_23, SWAP_12)), (1, 2, 3)) == (3, 1, 2)


def test_a_factor_of_one_clears_and_the_length_of_its_vector_does_not_matter():
    assert stepped(reflections((CLEAR_1,)), (7, 2, 3)) == (0, 2, 3)


def test_the_letter_chooses_unless_there_is_a_selector():
    plain = reflections((SWAP_12,), (SWAP_23,))
    assert stepped(plain, (1, 2, 3), letter=1) == (1, 3, 2)
    selector = Affine(num_inputs=1, bias=(1, 0), rows=(((0, -1),), ((0, 1),)))
    chosen = reflections((SWAP_12,), (SWAP_23,), selector=selector)
    assert stepped(chosen, (1, 2, 3), letter=0, seen=(1,)) == (1, 3, 2)
    assert stepped(chosen, (1, 2, 3), letter=1, seen=(0,)) == (2, 1, 3)
    assert plain.num_letters == 2
    assert chosen.num_letters is None
    assert chosen.num_entries == plain.num_entries + selector.num_entries


@pytest.mark.parametrize("value", [0, 2])
def test_a_selector_that_is_not_one_hot_is_an_error(value):
    selector = Affine(num_inputs=1, bias=(0, 0), rows=(((0, 1),), ()))
    chosen = reflections((SWAP_12,), (SWAP_23,), selector=selector)
    with pytest.raises(ArithmeticError, match="one-hot"):
        stepped(chosen, (1, 2, 3), seen=(value,))


def test_a_selector_of_the_wrong_shape_is_refused():
    selector = Affine(num_inputs=2, bias=(1,), rows=((),))
    recurrence = reflections((SWAP_12,), (SWAP_23,), selector=selector)
    with pytest.raises(InputError, match="selector"):
        recurrence.check(width=3, num_inputs=2)


@given(st.permutations(range(4)), st.lists(st.sampled_from([1, -1]), min_size=4, max_size=4))
def test_a_permutation_with_signs_is_its_matrix(images, signs):
    state = (1, 2, 3, 4)
    matrix = tuple(((images.index(i), signs[images.index(i)]),) for i in range(4))
    pd = ByChoice.from_images(images=(tuple(images),), diagonals=(tuple(signs),), writes=((0, 0, 0, 1),))
    dense = ByChoice.from_rows(matrices=(matrix,), writes=((0, 0, 0, 1),))
    assert stepped(pd, state) == stepped(dense, state)
