"""Attention in chunks against one softmax for each position, written out."""

from __future__ import annotations

import cmath
import math

import pytest
import torch
from torch import Tensor

from nerode.models.parts.attention import attend, attend_step

CHUNK, BASE = 5, 100.0


def turned(vector: Tensor, place: int) -> list[complex]:
    pairs = torch.view_as_complex(vector.reshape(-1, 2))
    return [complex(z) * cmath.exp(1j * place * BASE ** (-i / len(pairs))) for i, z in enumerate(pairs)]


def written_out(q: Tensor, k: Tensor, v: Tensor, head: int, t: int) -> Tensor:
    """What position t of one sequence reads in one head, from positions of its chunk."""
    first = t - t % CHUNK
    query = turned(q[t, head], t % CHUNK)
    scores = []
    for s in range(first, t + 1):
        key = turned(k[s, head], s % CHUNK)
        scores.append(math.exp(sum((a * b.conjugate()).real for a, b in zip(query, key, strict=True))))
    return sum(w / sum(scores) * v[s, head] for s, w in zip(range(first, t + 1), scores, strict=True))


def sequence(time: int) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(time)
    q, k = torch.randn(2, 1, time, 2, 4, dtype=torch.float64)
    return q, k, torch.randn(1, time, 2, 3, dtype=torch.float64)


def empty(batch: int) -> tuple[Tensor, Tensor]:
    return torch.zeros(batch, CHUNK, 2, 4).double(), torch.zeros(batch, CHUNK, 2, 3).double()


@pytest.mark.parametrize("time", [1, 4, 5, 6, 10, 13])
def test_each_position_sees_its_chunk(time: int) -> None:
    q, k, v = sequence(time)
    found, kept = attend(q, k, v, empty(1), torch.zeros(1, dtype=torch.int64), BASE)
    for t in range(time):
        for head in range(2):
            wanted = written_out(q[0], k[0], v[0], head, t)
            torch.testing.assert_close(found[0, t, head], wanted, rtol=1e-10, atol=1e-10)
    begun = time % CHUNK
    assert torch.equal(kept[0][0, :begun], k[0, time - begun :])
    assert not kept[0][0, begun:].any()
    assert not kept[1][0, begun:].any()


def test_rows_of_a_batch_may_stand_at_different_places() -> None:
    q, k, v = sequence(16)
    whole, _ = attend(q, k, v, empty(1), torch.zeros(1, dtype=torch.int64), BASE)
    starts, time = (0, 3, 9), 7
    states = []
    for start in starts:
        kept = empty(1)
        if start:
            early = (x[:, :start] for x in (q, k, v))
            _, kept = attend(*early, kept, torch.zeros(1, dtype=torch.int64), BASE)
        states.append(kept)
    kept = tuple(torch.cat(parts) for parts in zip(*states, strict=True))
    counts = torch.tensor(starts)
    late = [torch.cat([x[:, s : s + time] for s in starts]) for x in (q, k, v)]
    found, _ = attend(*late, kept, counts, BASE)
    for row, start in enumerate(starts):
        torch.testing.assert_close(found[row], whole[0, start : start + time], rtol=1e-10, atol=1e-10)
    one, _ = attend_step(*(x[:, 0] for x in late), kept, counts, BASE)
    torch.testing.assert_close(one, found[:, 0], rtol=1e-10, atol=1e-10)
