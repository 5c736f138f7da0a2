"""Identities: reading them, evaluating them on maps."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from nerode.algebra.classes.subject import (
    Term,
    evaluate,
    map_power,
    omega_exponent,
    omega_power,
    parse_identity,
)
from nerode.algebra.permutations import compose


@st.composite
def maps(draw: st.DrawFn, n: int | None = None) -> tuple[int, ...]:
    size = n if n is not None else draw(st.integers(1, 8))
    return tuple(draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size)))


@given(maps())
def test_omega_power_is_the_idempotent_among_the_powers(x: tuple[int, ...]) -> None:
    powers, power = [], x
    while power not in powers:
        powers.append(power)
        power = compose(power, x)
    (idempotent,) = {p for p in powers if compose(p, p) == p}
    assert omega_power(x) == idempotent
    assert omega_power(x, 1) == compose(idempotent, x)
    assert compose(omega_power(x, -1), x) == idempotent
    assert compose(idempotent, omega_power(x, -1)) == omega_power(x, -1)
    assert map_power(x, omega_exponent(x)) == idempotent


@given(maps(4), maps(4))
def test_terms_mean_what_they_say(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    (((_, left), (_, right)),) = parse_identity("(x y)^ω x^(ω+1) 1 = y^(ω-1)")
    values = {"x": x, "y": y}
    assert evaluate(left, values, 4) == compose(omega_power(compose(x, y)), omega_power(x, 1))
    assert evaluate(right, values, 4) == omega_power(y, -1)


def test_a_chain_of_equations_is_read_as_pairs() -> None:
    pairs = parse_identity("(xy)^ω x = (xy)^ω = y (xy)^ω, xy = yx")
    assert [(left, right) for (left, _), (right, _) in pairs] == [
        ("(xy)^ω x", "(xy)^ω"),
        ("(xy)^ω", "y (xy)^ω"),
        ("xy", "yx"),
    ]
    assert pairs[2][0][1] == Term((("x", None), ("y", None)))


@pytest.mark.parametrize("text", ["xy", "(xy = x", "x^2 = x", "+x = x", "x^ = x"])
def test_what_is_no_identity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_identity(text)
