"""Boxes of a memory that fades: found, replayed, and refused where something was changed."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from nerode.core import Budget, InputError
from nerode.kernel import VALID_PREFIXES, Certificate
from nerode.models import LayerConfig, Model, ModelConfig, Surroundings
from nerode.proofs.find.fading import fading_search
from nerode.proofs.floats import finished
from nerode.proofs.replay import replay_fading
from nerode.proofs.replay.fading import FADING as METHOD, _ScoreForm
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.training import make_spec, train

STEPS = {"smallest": 0.5, "largest": 2.0}
"""Large steps: the memory fades within a few letters, whatever a machine rounds."""

TASK = build_task(TaskConfig(name="predict-tomita-4"))


def search(model):
    return finished(fading_search(model, TASK.language, VALID_PREFIXES, Budget(seconds=60).start()))


@pytest.fixture(scope="module")
def trained():
    """A Mamba that was trained as usual: its gates are neither 0 nor 1."""
    spec = make_spec(
        {
            "task": {"name": "predict-tomita-4"},
            "model": {"layers": "mamba", "width": 16, "settings": {"states": 4, "steps": STEPS}},
            "optimiser": {"rate": 5e-3},
            "run": {"steps": 300, "batch": 32, "seed": 0, "evaluate_every": 100},
        }
    )
    return train(spec)[1].eval()


@pytest.fixture(scope="module")
def proved(trained):
    found = search(trained)
    assert isinstance(found, Certificate), found
    return found


def test_a_network_trained_as_usual_is_proved_at_every_length(trained, proved):
    assert replay_fading(trained, TASK.language, proved) is None
    (claim,) = proved.claims
    assert (claim.length, claim.dtype, claim.method) == ("all", "float32", METHOD)
    assert "batches of 1" in claim.covers


def changed(certificate, **parts):
    evidence = {**certificate.evidence[METHOD], **parts}
    return replace(certificate, evidence={METHOD: evidence})


def moved(certificate, model, change):
    """The same certificate with other ends: `change` takes the two ends of each number of the state."""
    size = model.layers[0].channels * model.layers[0].settings.states
    evidence = certificate.evidence[METHOD]
    ends = [
        np.stack([np.frombuffer(bytes.fromhex(row), dtype=np.float32) for row in evidence[key]])
        for key in ("low", "high")
    ]
    ends[0][:, :size], ends[1][:, :size] = change(ends[0][:, :size], ends[1][:, :size])
    low, high = ([row.tobytes().hex() for row in rows] for rows in ends)
    return changed(certificate, low=low, high=high)


def test_the_same_ends_are_a_proof(trained, proved):
    assert moved(proved, trained, lambda low, high: (low, high)) == proved


def test_boxes_that_are_not_closed_are_refused(trained, proved):
    narrower = moved(proved, trained, lambda low, high: (low * 0.9 + high * 0.1, high * 0.9 + low * 0.1))
    failure = replay_fading(trained, TASK.language, narrower)
    assert failure is not None
    assert "out of the box" in failure.what or "starts outside" in failure.what


def test_boxes_with_an_open_answer_are_refused(trained, proved):
    """They are closed, since every gate makes them narrower, but hold too much."""
    wider = moved(proved, trained, lambda low, high: (low - 1000, high + 1000))
    failure = replay_fading(trained, TASK.language, wider)
    assert failure is not None
    assert "wrong, or open" in failure.what


@pytest.mark.parametrize("bias", [-30.0, 30.0])
def test_a_planted_wrong_network_is_never_proved(trained, proved, bias):
    wrong = copy.deepcopy(trained)
    with torch.no_grad():
        wrong.head.bias[0] += bias
    failure = replay_fading(wrong, TASK.language, proved)
    assert failure is not None
    assert "another network" in failure.what
    assert not isinstance(search(wrong), Certificate)


def test_other_moves_and_keys_are_refused(trained, proved):
    moves = [list(row) for row in proved.evidence[METHOD]["moves"]]
    moves[1][0] = 0
    assert replay_fading(trained, TASK.language, changed(proved, moves=moves)) is not None
    assert replay_fading(trained, TASK.language, changed(proved, moves=moves[:1])) is not None
    assert replay_fading(trained, TASK.language, changed(proved, more=1)) is not None
    assert replay_fading(trained, TASK.language, changed(proved, low=["zz"])) is not None


def test_scores_lie_between_their_bounds(trained):
    """Random states of random boxes: what the module says has the sign that the bounds allow."""
    rng = torch.Generator().manual_seed(0)
    form = _ScoreForm(trained)
    start = trained.initial_state(1)
    with torch.no_grad():
        for letter in (0, 1):
            x = torch.tensor([letter])
            for scale in (1e-4, 0.1, 2.0):
                low = torch.randn(start["0.h"].shape, generator=rng)
                high = low + scale * torch.rand(low.shape, generator=rng)
                ends = [trained.step(x, {**start, "0.h": h})[1]["0.h"] for h in (low, high)]
                bounds = form.bounds(trained.reading(x, start), *ends)
                for _ in range(20):
                    h = low + (high - low) * torch.rand(low.shape, generator=rng)
                    scores, after = trained.step(x, {**start, "0.h": h})
                    assert bool(((ends[0] <= after["0.h"]) & (after["0.h"] <= ends[1])).all())
                    assert not bool((bounds[0] > 0).logical_and(scores[0] <= 0).any())
                    assert not bool((bounds[1] < 0).logical_and(scores[0] >= 0).any())


def test_the_reading_of_a_layer_is_what_its_step_gives(trained):
    rng = torch.Generator().manual_seed(1)
    block = trained.blocks[0]
    with torch.no_grad():
        state = {"h": torch.randn(3, 32, 4, generator=rng), "window": torch.randn(3, 3, 32, generator=rng)}
        assert {k: v.shape for k, v in block.initial_state(3).items()} == {
            k: v.shape for k, v in state.items()
        }
        x = torch.randn(3, 16, generator=rng)
        given, after = block.layer.step(x, state)
        reading = block.layer.reading(x, state)
        form = torch.einsum("bocn,bcn->bo", reading.weight, after["h"].double()) + reading.added
    torch.testing.assert_close(given, form.float(), rtol=1e-4, atol=1e-5)


def small(**changes):
    config = ModelConfig(
        **{"layers": (LayerConfig(name="mamba"),), "outputs": 3, "letters": 2, "width": 8, **changes}
    )
    return Model(config)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"layers": (LayerConfig(name="mamba"),) * 2}, "one layer"),
        ({"layers": (LayerConfig(name="lstm"),)}, "one layer"),
        ({"surroundings": Surroundings(norm="rms", residual=True, feed_forward="relu")}, "one layer"),
        ({"head": "relu", "head_width": 4}, "linear head"),
        ({"final_norm": "layer"}, "linear head"),
        ({"letters": None, "features": 2}, "read letters"),
    ],
)
def test_other_models_are_refused(changes, reason):
    with pytest.raises(InputError, match=reason):
        search(small(**changes))


def test_other_formats_are_refused():
    with pytest.raises(InputError, match="float32"):
        search(small().double())
