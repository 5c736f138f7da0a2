from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from nerode.proofs.linear_programs import find_in_cone, separates

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
