"""Modules as ONNX graphs: the scores of the module, in batches and in parts, by onnxruntime."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

from nerode.core import InputError
from nerode.models import all_kinds, build_model, model_config
from nerode.models.exports import compare, module_to_onnx, session_scores
from nerode.models.exports.comparing import step_scores

FIXED = sorted(
    kind.name for kind in {id(k): k for k in all_kinds().values()}.values() if kind.name != "transformer"
)


def model_of(name: str) -> Any:
    return build_model(model_config(name, outputs=3, letters=2, width=8), seed=0).eval()


def check(name: str) -> None:
    """The graph has the scores of the step, and the same bits in parts, from state to state."""
    model, words = model_of(name), torch.randint(0, 2, (3, 17), generator=torch.Generator().manual_seed(1))
    graph = module_to_onnx(model)
    onnx.checker.check_model(graph, full_check=True)
    found = session_scores(graph.SerializeToString())
    assert found is not None
    scores = found[0](words)
    with torch.no_grad():
        assert torch.allclose(scores, step_scores(model, words), atol=2e-5, rtol=1e-4)
    stream = module_to_onnx(model, carry_state=True)
    facts = {entry.key: entry.value for entry in stream.metadata_props}
    start = json.loads(facts["start"])
    state = {f"state_{i}": np.array([part] * 3, dtype) for i, (part, dtype) in enumerate(start)}
    session, parts = onnxruntime.InferenceSession(stream.SerializeToString()), []
    for part in np.split(words.numpy(), [1, 9], axis=1):
        row, *after = session.run(None, {"letters": part, **state})
        state = {f"state_{i}": value for i, value in enumerate(after)}
        parts.append(row)
    assert np.array_equal(np.concatenate(parts, axis=1), scores.numpy())


@pytest.mark.parametrize("name", ["lstm", "lru"])
def test_a_cell_and_a_complex_state(name: str) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FIXED)
def test_every_architecture_with_a_state_of_fixed_size(name: str) -> None:
    check(name)


class Deciding(nn.Module):
    """A step that looks at its numbers, which no graph holds."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(1, 2)

    def initial_state(self, batch: int) -> dict[str, torch.Tensor]:
        return {"h": torch.zeros(batch, 1)}

    def step(self, x: torch.Tensor, state: dict[str, torch.Tensor]) -> Any:
        h = state["h"] + x[:, None] if float(state["h"].sum()) > 0 else state["h"] - x[:, None]
        return self.head(h), {"h": h}


def test_what_cannot_be_written_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="a state that grows"):
        module_to_onnx(model_of("transformer-nope"))
    with pytest.raises(InputError, match="without decisions by their values"):
        module_to_onnx(Deciding())
    with pytest.raises(InputError, match="no step"):
        module_to_onnx(nn.Linear(2, 2))


def test_a_program_that_answers_otherwise_is_found() -> None:
    model, other = (
        model_of("elman-tanh"),
        build_model(model_config("elman-tanh", outputs=3, letters=2, width=8), seed=1),
    )
    with pytest.raises(InputError, match=r"other answers otherwise than nerode's module after [ab]"):
        compare(
            lambda words: step_scores(other.eval(), words),
            model,
            program="other",
            alphabet="ab",
            decode=lambda scores: scores > 0,
        )
    same = compare(
        lambda words: step_scores(model, words),
        model,
        program="itself",
        alphabet="ab",
        decode=lambda scores: scores > 0,
        long=2,
        length=30,
    )
    assert (
        str(same) == "itself: the same bits on all words up to length 8 and on 2 random words of 30 letters"
    )
