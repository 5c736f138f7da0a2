from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.languages import Alphabet, Legal
from nerode.proofs.checker_distributions import Distribution, OutputLayer
from nerode.proofs.checker_records import CheckedNetwork, Layer, Logits, Points, Squashed

Rows = tuple[tuple[tuple[int, tuple[tuple[Fraction, Fraction], ...]], ...], ...]


def network(normaliser: str, rows: Rows, reads: tuple[str, ...] = ("u", "v")) -> CheckedNetwork:
    """A network whose layer puts out u and v; only its decoder matters here."""
    layer = Layer(
        "layer", (), (), (), (), Squashed("relu", ()), (), (("u", (0, ())), ("v", (0, ()))), False, False
    )
    return CheckedNetwork(
        alphabet=Alphabet(tuple("abcdefgh"[: len(rows) - 1])),
        embedding=(),
        layers=(layer,),
        decoder=Logits(reads, normaliser, rows),
        empty=Legal(frozenset(), True),
    )


def one_unit(normaliser: str, amounts: list[Fraction | None]) -> Distribution:
    """The distribution where u = 1 adds these scores; None for an output that u does not speak for."""
    rows = tuple(() if a is None else ((0, ((a, Fraction(1)),)),) for a in amounts)
    return OutputLayer(network(normaliser, rows)).distribution({"u": Fraction(1)})


def values(found: Distribution, size: int) -> list[Fraction]:
    return [found.named.get(v, found.floor) for v in range(size)]


amounts = st.lists(st.none() | st.integers(-8, 8).map(lambda i: Fraction(i, 4)), min_size=1, max_size=6)


@given(amounts)
def test_sparsemax_is_the_nearest_point_of_the_simplex(scores: list[Fraction | None]) -> None:
    found = values(one_unit("sparsemax", scores), len(scores))
    assert sum(found) == 1
    assert min(found) >= 0
    # The conditions of the nearest point: one shift for all that are above zero, and it lifts no other above.
    plain = [Fraction(0) if s is None else s for s in scores]
    shifts = {p - s for p, s in zip(found, plain, strict=True) if p > 0}
    assert len(shifts) == 1
    (shift,) = shifts
    assert all(s + shift <= 0 for p, s in zip(found, plain, strict=True) if p == 0)


@given(amounts)
def test_hardmax_gives_equal_shares_to_the_best(scores: list[Fraction | None]) -> None:
    found = values(one_unit("hardmax", scores), len(scores))
    plain = [Fraction(0) if s is None else s for s in scores]
    best = [s == max(plain) for s in plain]
    assert found == [Fraction(b, sum(best)) for b in best]


def test_softmax_has_whole_powers_of_ratios() -> None:
    half, one = Fraction(1, 2), Fraction(1)
    rows: Rows = (
        ((0, ((half, Fraction(9)),)), (1, ((half, Fraction(9)),))),
        ((1, ((-one, Fraction(3)),)),),
        (),
    )
    layer = OutputLayer(network("softmax", rows))
    found = layer.distribution({"u": one, "v": one})
    # exp of the scores: 9, 1/3 and 1.
    assert values(found, 3) == [Fraction(27, 31), Fraction(1, 31), Fraction(3, 31)]
    assert values(layer.distribution({}), 3) == [Fraction(1, 3)] * 3
    with pytest.raises(InputError, match="power 1/2"):
        layer.distribution({"u": one})
    with pytest.raises(InputError, match="power"):
        layer.distribution({"v": Fraction(10**6)})


def test_distance() -> None:
    third = Fraction(1, 3)
    found = Distribution({0: third, 2: third}, Fraction(1, 9))
    assert found.distance({0: Fraction(1)}, 5) == Fraction(2, 3) + third + 3 * Fraction(1, 9)
    assert found.distance({0: third, 1: Fraction(1, 9), 2: third}, 3) == 0


def test_decoders_that_are_refused() -> None:
    with pytest.raises(InputError, match="no layer puts out"):
        OutputLayer(network("softmax", ((), ()), reads=("u", "e0")))
    with pytest.raises(InputError, match="not a number"):
        OutputLayer(network("sparsemax", (((0, ((Fraction(1), Fraction(2)),)),), ())))
    other = network("softmax", ((), ()))
    points = CheckedNetwork(other.alphabet, (), other.layers, Points((), ((),), (other.empty,)), other.empty)
    with pytest.raises(InputError, match="no distribution"):
        OutputLayer(points)
