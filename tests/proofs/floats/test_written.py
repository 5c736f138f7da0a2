"""Lowerings of languages that count: a leak is found, and a model that a word refutes is refused."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator

import pytest
import torch

from nerode.core import NotCompilable
from nerode.languages.bestiary import find_language
from nerode.models.lower import Lowered, lowerings
from nerode.proofs.floats import choose_lowering, make_architecture


@pytest.fixture(scope="module")
def counter() -> Lowered:
    """The first lowering of aⁿbⁿ into Mamba."""
    return next(way for way in lowerings(find_language("anbn"), "mamba") if isinstance(way, Lowered))


def leaking(lowered: Lowered) -> Lowered:
    """A counter that loses a ten-thousandth of its count per letter is correct on short words."""
    model = copy.deepcopy(lowered.model)
    with torch.no_grad():
        rate = model.blocks[0].layer.A_log
        assert rate[0, 0] == -64
        rate[0, 0] = math.log(1e-4 / 32)
    return dataclasses.replace(lowered, model=model)


def test_a_planted_leak_of_a_counter_is_refused_with_its_word(counter: Lowered) -> None:
    language = find_language("anbn")
    with pytest.raises(
        NotCompilable, match=r"in float32 it is wrong after \d+ letters, on a\^\d+"
    ) as refusal:
        choose_lowering([leaking(counter)], language, seconds=1.5, longest=1_024)
    assert refusal.value.word.startswith("a^")


def test_a_model_that_fails_gives_way_to_the_next(counter: Lowered) -> None:
    def ways() -> Iterator[Lowered | NotCompilable]:
        yield leaking(counter)
        yield NotCompilable("mamba", ["no reason"])
        yield counter

    found = choose_lowering(ways(), find_language("anbn"), seconds=1.5, longest=1_024)
    assert found.lowered is counter
    assert found.wrong is None


@pytest.mark.parametrize(("name", "architecture"), [("anbncn", "griffin"), ("dyck-2", "elman-relu")])
def test_no_weights_that_fail_on_a_short_word(name: str, architecture: str) -> None:
    """No format holds these counters and stacks, so that no construction or a failing word refuses them."""
    with pytest.raises(NotCompilable):
        make_architecture(find_language(name), architecture, seconds=1, longest=512)
