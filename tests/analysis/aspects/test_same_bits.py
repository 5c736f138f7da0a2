"""Where ways of reading a word change the bits of a model's scores."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import nerode as nr
from nerode.analysis.aspects.same_bits import same_bits
from nerode.analysis.subject import LoadedNetwork, load_subject
from nerode.core import Budget
from tests.cli.runner import run


class Planted(nn.Module):
    """Counts letters; on a planted occasion a score is off by one bit."""

    def __init__(self, occasion: str) -> None:
        super().__init__()
        self.occasion = occasion

    def initial_state(self, batch: int) -> dict[str, Tensor]:
        return {"n": torch.zeros(batch, 1)}

    def step(self, x: Tensor, state: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        scores, after = self(x[:, None], state, stepped=True)
        return scores[:, 0], after

    def forward(
        self, x: Tensor, state: Any = None, stepped: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        state = self.initial_state(len(x)) if state is None else state
        scores = state["n"][:, None] + torch.arange(1, x.shape[1] + 1.0)[None, :, None]
        here = {
            "step": stepped,
            "batch": len(x) > 1,
            "chunk": not stepped and bool(state["n"].any()),
            "threads": torch.get_num_threads() == 3,
            "never": False,
        }[self.occasion]
        wrong = torch.nextafter(scores, scores + 1) if here else scores
        return torch.where(scores >= 5, wrong, scores), {"n": state["n"] + x.shape[1]}


@pytest.mark.parametrize(
    ("occasion", "ways", "position"),
    [
        ("step", {"letter by letter"}, 5),
        ("batch", {"2 words in a batch"}, 5),
        ("chunk", {"in chunks of one letter", "in chunks of 7"}, 5),
        ("threads", {"on 3 threads"}, 5),
        ("never", set(), None),
    ],
)
def test_a_planted_bit_is_found_where_it_is(occasion: str, ways: set[str], position: int | None) -> None:
    subject = LoadedNetwork(name="planted", model=Planted(occasion))
    found = same_bits(subject, word=torch.zeros(1, 20, dtype=torch.int64))
    other = {way.way: way for way in found.ways if way.position is not None}
    assert set(other) == ways
    assert found.same is not bool(ways)
    if "in chunks of 7" in ways:
        assert other["in chunks of 7"].position == 8
    assert {way.position for name, way in other.items() if name != "in chunks of 7"} <= {position}
    for way in other.values():
        assert way.word == 1
        assert 0 < way.largest < 1e-6


def test_a_compiled_model_has_one_set_of_bits_and_a_random_one_many(tmp_path: Path) -> None:
    outcome = run("compile", "(ab)*", "--to", "mamba", "-o", str(tmp_path / "ab"))
    assert outcome.code == 0, outcome.err
    shown = run("analyse", str(tmp_path / "ab"), "--bits", "--length", "40")
    assert shown.code == 0
    assert "any evaluation order  [integer-exactness]" in shown.out
    model = load_subject(tmp_path / "ab" / "model").zoo_model
    torch.manual_seed(0)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    nr.save_model(tmp_path / "random", model)
    shown = run("analyse", str(tmp_path / "random"), "--bits", "--length", "40", "--json")
    assert shown.code == 1
    (item,) = json.loads(shown.out)
    ways = {way["way"]: way for way in item["ways"]}
    assert ways["letter by letter"]["position"] is not None
    assert ways["letter by letter"]["share"] > 0.1
    assert item["proved"] == ""


def test_what_there_is_no_time_for_is_named() -> None:
    subject = LoadedNetwork(name="planted", model=Planted("never"))
    budget = Budget(seconds=1e-3).start()
    while budget.left():
        torch.ones(1000).sum()
    time.sleep(0.1)
    found = same_bits(subject, word=torch.zeros(1, 20, dtype=torch.int64), budget=budget)
    assert all(way.left_out for way in found.ways)
