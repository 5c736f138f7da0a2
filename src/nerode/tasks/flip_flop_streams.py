"""Streams that try to make a model forget one bit: it is written once, and then only bits to ignore follow.

A model that reads right after every one of 100,000 ignored bits may be a latch; one that is wrong after a
hundred has forgotten, whatever its accuracy on random sequences. The streams are read in parts, and each
question is put to a copy of the state, so that it does not disturb the stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from nerode.tasks.task import Answer

STREAMS = ("opposite", "same", "random")
"""Ignored bits: all opposite to the written one, all equal to it, or fair."""

_PART = 1000
"""Ignored bits that are read at once."""

WRITE, READ, IGNORE, ZERO = range(4)
"""Letters of the task; the letter of a bit is the bit more than ZERO."""


def checkpoints(longest: int) -> tuple[int, ...]:
    """Returns numbers of ignored bits after which the bit is read: 10, 20, 50, 100 … and the last."""
    found = [m * 10**e for e in range(1, 12) for m in (1, 2, 5) if m * 10**e < longest]
    return (*found, longest)


@torch.no_grad()
def survey(answer: Answer, rng: np.random.Generator, *, longest: int) -> list[dict[str, Any]]:
    """Returns, for each kind of stream and each bit, what was read after how many ignored bits.

    Each row has the stream, the written bit, `survived` (the last checkpoint up to which every read was
    right, 0 if none was), and `reads`: the number of ignored bits, whether the read was right, and the
    margin of the right answer.

    Args:
        answer: the model.
        rng: gives the random streams.
        longest: number of ignored bits at the end.
    """
    written = np.array([0, 1] * len(STREAMS))
    opposite = 1 - written
    kinds = np.repeat(np.arange(len(STREAMS)), 2)
    rows: list[dict[str, Any]] = [
        {"stream": STREAMS[kind], "bit": int(bit), "survived": 0, "reads": []}
        for kind, bit in zip(kinds, written, strict=True)
    ]
    state = answer(torch.from_numpy(np.stack([np.full(6, WRITE), written + ZERO], axis=1)), None)[1]
    done = 0
    for stop in checkpoints(longest):
        while done < stop:
            size = min(_PART, stop - done)
            bits = np.where((kinds == 0)[:, None], opposite[:, None], written[:, None]).repeat(size, axis=1)
            bits[kinds == 2] = rng.integers(0, 2, (2, size))
            state = answer(torch.from_numpy(_ignored(bits)), state)[1]
            done += size
        question = torch.full((len(rows), 1), READ)
        scores = answer(question, state)[0][:, -1].double().numpy()
        for row, (zero, one) in zip(rows, scores, strict=True):
            margin = float(one - zero if row["bit"] else zero - one)
            # A score that is no number is no answer.
            right = bool(margin > 0)
            if right and row["survived"] == (row["reads"][-1]["ignored"] if row["reads"] else 0):
                row["survived"] = stop
            row["reads"].append(
                {"ignored": stop, "right": right, "margin": margin if np.isfinite(margin) else None}
            )
    return rows


def _ignored(bits: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    letters = np.empty((*bits.shape, 2), dtype=np.int64)
    letters[..., 0], letters[..., 1] = IGNORE, bits + ZERO
    return letters.reshape(len(bits), -1)
