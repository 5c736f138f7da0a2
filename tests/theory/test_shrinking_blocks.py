"""RWKV-7 over the reals: permutations by factors that all shrink the state, one block of letters later."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

DECAY = Fraction(3, 5)
"""w, the same for all coordinates; RWKV-7 has decays from 0.545 to 1."""

SHARE = Fraction(1, 2)
"""c: a swap, and what stays, are multiplied by it."""

Move = tuple[Fraction, list[int]]
"""β and the key of one letter."""


def moved(h: Sequence[Fraction], beta: Fraction, key: Sequence[int]) -> list[Fraction]:
    """w (I - β k kᵀ / kᵀk) h, a transition diag(w) - (a ∘ κ) κᵀ of RWKV-7 with a = w β in (0,1)."""
    assert 0 < DECAY * beta < 1
    along = sum((k * x for k, x in zip(key, h, strict=True)), Fraction(0)) * beta / sum(k * k for k in key)
    return [DECAY * (x - along * k) for k, x in zip(key, h, strict=True)]


def block_of(images: Sequence[int], length: int) -> list[Move]:
    """Factors whose product is a multiple of a permutation, one for each letter of a block.

    A swap of two points is c times a reflection along their difference, and a shrinking along their sum.
    Points that took part in fewer swaps are shrunk at the end. The other letters shrink a coordinate that is
    always 0.
    """
    n = len(images)

    def key(*entries: tuple[int, int]) -> list[int]:
        return [dict(entries).get(i, 0) for i in range(n + 1)]

    at, shrunk, found = list(range(n)), [0] * n, list[Move]()
    for i in range(n):
        j = at.index(list(images).index(i))
        if i != j:
            found += [(1 + SHARE, key((i, 1), (j, -1))), (1 - SHARE, key((i, 1), (j, 1)))]
            at[i], at[j] = at[j], at[i]
            shrunk[i], shrunk[j] = shrunk[j] + 1, shrunk[i] + 1
    found += [(1 - SHARE ** (max(shrunk) - s), key((i, 1))) for i, s in enumerate(shrunk) if s < max(shrunk)]
    return found + [(1 - SHARE, key((n, 1)))] * (length - len(found))


@pytest.mark.parametrize(
    "letters",
    [
        pytest.param([[1, 2, 0]], id="Z3"),
        pytest.param([[1, 0, 2], [0, 2, 1]], id="S3"),
        pytest.param([[1, 2, 3, 4, 0], [1, 2, 0, 3, 4]], id="A5"),
        pytest.param([[1, 2, 3, 4, 0], [1, 0, 2, 3, 4]], id="S5"),
    ],
)
def test_a_block_of_factors_is_a_multiple_of_a_permutation(letters: list[list[int]]) -> None:
    n, length, chosen = len(letters[0]), 16, random.Random(0)
    h = [Fraction(int(i == 0)) for i in range(n + 1)]
    current, point = list(range(n)), 0
    moves = block_of(current, length)
    assert len(moves) == length
    for _ in range(12):
        for move in moves:
            letter = chosen.choice(letters)
            h, point = moved(h, *move), letter[point]
            current = [letter[i] for i in current]
        # The vector has all blocks but the last one, whose product registers hold.
        (held,) = [i for i, x in enumerate(h) if x != 0]
        assert h[held] > 0
        assert current[held] == point
        moves, current = block_of(current, length), list(range(n))
