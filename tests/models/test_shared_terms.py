"""Shared terms are computed once, and their gradients reach the weights."""

from __future__ import annotations

import torch
from torch import Tensor

from nerode.models.shared_terms import SharedTerms, add_optional, shared, sharing


class Weights:
    """Two weights, a term of both, and a term of that term; it counts how often each is computed."""

    def __init__(self) -> None:
        self.a = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
        self.b = torch.tensor([5.0, 7.0], dtype=torch.float64, requires_grad=True)
        self.computed: list[str] = []

    def product(self) -> tuple[Tensor, int]:
        self.computed.append("product")
        return self.a * self.b, 1

    def read(self, x: float) -> Tensor:
        product, one = shared(Weights.product, self)
        power = shared(square, self, product, one)
        return (x * power + product * self.a).sum()


def square(weights: Weights, term: Tensor, exponent: int) -> Tensor:
    weights.computed.append("square")
    return term ** (2 * exponent)


def test_terms_are_computed_once_and_gradients_are_those_of_a_single_pass() -> None:
    plain, parted = Weights(), Weights()
    (plain.read(1.0) + plain.read(-3.0)).backward()
    assert plain.computed == ["product", "square"] * 2
    with sharing() as terms:
        parts = [parted.read(1.0), parted.read(-3.0)]
    assert parted.computed == ["product", "square"]
    sources = [parted.a, parted.b, *terms.leaves]
    found = [torch.autograd.grad(part, sources, allow_unused=True) for part in parts]
    sums = [add_optional(pair) for pair in zip(*found, strict=True)]
    da, db = terms.add_gradients([parted.a, parted.b], sums[:2], sums[2:])
    torch.testing.assert_close((da, db), (plain.a.grad, plain.b.grad))


def test_another_pass_and_other_arguments_are_computed_anew() -> None:
    weights = Weights()
    for _ in range(2):
        with sharing():
            weights.read(1.0)
    assert weights.computed == ["product", "square"] * 2
    terms, x = SharedTerms(), torch.ones(2, requires_grad=True)
    one, two = (terms.give(square, (weights, x, n)) for n in (1, 2))
    assert one is not two
    assert terms.give(square, (weights, x, 1)) is one


def test_what_has_no_gradient_is_given_as_it_is_and_a_term_that_nobody_used_adds_nothing() -> None:
    terms, x = SharedTerms(), torch.ones(2)
    assert not terms.give(torch.neg, (x,)).requires_grad
    weight = torch.ones(2, requires_grad=True)
    terms.give(torch.neg, (weight,))
    assert terms.add_gradients([weight], [None], [None]) == [None]
    assert add_optional([None, None]) is None
