"""Flip-flop: bits read back from the raw text, shares of instructions, and streams against known machines."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.core import InputError, UnknownName
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.synthetic.flip_flop import checkpoints
from nerode.tasks.task import SPLITS


def task(name="flip-flop", **settings):
    return build_task(TaskConfig(name=name, settings=settings))


def written(batch):
    letters = "wri01"
    for word, targets, mask in zip(
        batch.inputs.tolist(), batch.targets.tolist(), batch.mask.tolist(), strict=True
    ):
        yield "".join(letters[x] for x in word), targets, mask


@pytest.mark.parametrize("ignored", [0.1, 0.8, 0.98])
def test_reads_give_the_last_written_bit(ignored):
    for text, targets, mask in written(task(ignored=ignored).sample(64, 50, np.random.default_rng(0))):
        assert text[0] == "w"
        assert text[-2] == "r"
        last = None
        for place in range(0, 64, 2):
            instruction, bit = text[place : place + 2]
            assert instruction in "wri"
            assert bit in "01"
            assert mask[place] == (instruction == "r")
            assert not mask[place + 1]
            if instruction == "w":
                last = bit
            if instruction == "r":
                assert bit == last
                assert targets[place] == int(last)


@pytest.mark.parametrize(("name", "share"), [("flip-flop", 0.8), ("flip-flop-sparse", 0.98)])
def test_shares_of_the_instructions(name, share):
    batch = task(name).sample(512, 300, np.random.default_rng(1))
    inner = batch.inputs[:, 2:-2:2]
    assert (inner == 2).double().mean().item() == pytest.approx(share, abs=0.005)
    assert (inner == 0).double().mean().item() == pytest.approx((1 - share) / 2, abs=0.005)
    bits = batch.inputs[:, 1::2][batch.inputs[:, 0::2] == 2]
    assert (bits == 4).double().mean().item() == pytest.approx(0.5, abs=0.01)


def test_lengths_and_splits():
    built = task()
    assert built.test_lengths == (64, 128, 256, 512)
    assert not built.trains_on(33)
    rng = np.random.default_rng(2)
    drawn = [set(map(tuple, built.draw(s, 20, 100, rng).inputs.tolist())) for s in SPLITS]
    assert not (drawn[0] & drawn[1])
    assert not (drawn[0] & drawn[2])
    assert not (drawn[1] & drawn[2])
    with pytest.raises(InputError, match="even, from 4 on"):
        built.sample(7, 1, rng)


def test_other_shares_of_ignored_bits():
    built = task()
    (axis,) = built.axes
    assert (axis.name, axis.trained, axis.values) == ("ignored-percent", (80,), (10, 80, 98))
    batch = built.draw_at("ignored-percent", 98, 100, np.random.default_rng(0))
    assert batch.inputs.shape == (100, 512)
    assert (batch.inputs[:, 2:-2:2] == 2).double().mean().item() == pytest.approx(0.98, abs=0.01)
    assert (
        task("flip-flop-512").draw_at("ignored-percent", 98, 1, np.random.default_rng(0)).inputs.shape[1]
        == 1024
    )
    with pytest.raises(UnknownName):
        built.draw_at("ignored", 98, 1, np.random.default_rng(0))
    with pytest.raises(InputError, match="101 percent"):
        built.draw_at("ignored-percent", 101, 1, np.random.default_rng(0))


def latch(patience):
    """A machine that forgets, after some ignored bits that differ from its own, and then answers 0."""

    def answer(inputs, state):
        if state is None:
            count = len(inputs)
            state = (torch.zeros(count, dtype=torch.long), torch.full((count,), -1), torch.zeros(count))
        bit, last, foreign = state
        scores = torch.zeros(*inputs.shape, 2)
        for place in range(inputs.shape[1]):
            letter = inputs[:, place]
            bit = torch.where((last == 0) & (letter >= 3), letter - 3, bit)
            foreign = foreign + ((last == 2) & (letter >= 3) & (letter - 3 != bit))
            last = letter
            kept = torch.where(foreign < patience, bit, 0)
            scores[torch.arange(len(inputs)), place, kept] = 3.0
        return scores, (bit, last, foreign)

    return answer


def test_a_latch_survives_every_stream():
    found = task(streams=1234).examine(latch(np.inf), np.random.default_rng(0))["streams"]
    assert [(row["stream"], row["bit"]) for row in found] == [
        (s, b) for s in ("opposite", "same", "random") for b in (0, 1)
    ]
    for row in found:
        assert row["survived"] == 1234
        assert [read["ignored"] for read in row["reads"]] == [10, 20, 50, 100, 200, 500, 1000, 1234]
        assert all(
            read == {"ignored": read["ignored"], "right": True, "margin": 3.0} for read in row["reads"]
        )


def test_forgetting_is_found_where_it_happens():
    found = task(streams=2000).examine(latch(100), np.random.default_rng(0))["streams"]
    survived = {(row["stream"], row["bit"]): row["survived"] for row in found}
    # A forgotten 0 is answered by luck; a 1 is lost after 100 opposite bits, or about 200 fair ones.
    assert survived[("opposite", 1)] == 50
    assert survived[("random", 1)] in (100, 200)
    assert survived[("same", 1)] == survived[("opposite", 0)] == 2000
    row = next(row for row in found if (row["stream"], row["bit"]) == ("opposite", 1))
    assert [read["right"] for read in row["reads"]] == [read["ignored"] < 100 for read in row["reads"]]


def test_a_model_that_answers_no_number_is_never_right():
    def broken(inputs, state):
        return torch.full((*inputs.shape, 2), torch.nan), 0

    found = task(streams=20).examine(broken, np.random.default_rng(0))["streams"]
    assert all(row["survived"] == 0 for row in found)
    assert all(read["margin"] is None for row in found for read in row["reads"])


def test_checkpoints_and_settings():
    assert checkpoints(100_000)[-3:] == (20_000, 50_000, 100_000)
    assert checkpoints(7) == (7,)
    with pytest.raises(InputError, match="a share"):
        task(ignored=1.5)
    with pytest.raises(InputError, match="streams is 0"):
        task(streams=0)
    with pytest.raises(InputError, match="not a range from 4"):
        task(shortest=2)
