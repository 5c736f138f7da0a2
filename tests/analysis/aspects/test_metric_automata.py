from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import nerode as nr
from nerode.analysis.aspects.metric_automata import (
    MetricSettings,
    count_components,
    linear_bound,
    metric,
    pairwise,
    promised_radius,
    smallest_between,
)
from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.subject import LoadedNetwork, subject_of_task
from nerode.core import InputError
from nerode.models.architectures import Orthogonal
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.training import make_specs, train
from tests.analysis.polish.planted import planted, turns

FEW = MetricSettings(words=8, states=200, pairs=64, repetitions=40)


def test_components_are_points_nearer_than_two_places_are() -> None:
    """On a line: 0, 1, 2 and 10 of one place; 4.5 of another, 2.5 away from the nearest."""
    values = np.array([[0.0], [1.0], [2.0], [10.0], [4.5]])
    labels = np.array([0, 0, 0, 0, 1])
    distances = pairwise(values)
    assert smallest_between(distances, labels) == 2.5
    assert count_components(distances, labels, 2.5) == [2, 1]
    assert count_components(distances, labels, 0.5) == [4, 1]
    assert smallest_between(distances, np.zeros(5)) is None


def test_half_turns_of_the_plane_hold_two_places_and_contract_nothing() -> None:
    found = metric(planted("Z2", [turns(2, 1)], sharpness=1.0), settings=FEW)
    assert (found.places, found.components) == (2, 2)
    assert found.separation == pytest.approx(2 * math.sqrt(2), abs=1e-5)
    assert [row.between for row in found.rates] == pytest.approx([1, 1], abs=1e-5)
    assert found.promised_radius == 0
    assert found.noise_radius is not None
    assert found.noise_radius > 0
    held = {loop.word: loop for loop in found.loops}
    assert held[("0",)].rate == pytest.approx(1, abs=1e-5)
    assert held[("0",)].fails_at is None


def test_a_gate_below_one_is_measured_and_loses_the_place() -> None:
    """The letter that should hold shrinks the state to a half each time; the answer needs a margin of it."""
    subject = planted("Z2", [turns(2, 1)], sharpness=1.0)
    layer = subject.zoo_model.layers[0]
    assert isinstance(layer, Orthogonal)
    with torch.no_grad():
        layer.W.weight[:, 0] *= 0.5
        layer.C.bias.copy_(torch.tensor([0.0, 0.1]))
    found = metric(subject, settings=FEW)
    loop = next(loop for loop in found.loops if loop.word == ("0",))
    assert loop.rate == pytest.approx(0.5, abs=1e-4)
    assert loop.fails_at is not None
    assert found.rates[0].between == pytest.approx(0.5, abs=1e-4)
    # Scores are ±2 s for a state of size s; 4 s is below the bias of 0.1 once the halves are many enough.
    size = loop.distance / math.sqrt(8)
    assert loop.fails_at <= math.ceil(math.log2(4 * 2 * size / 0.1)) + 1


def test_what_the_rates_promise() -> None:
    assert promised_radius([0.5, None, 0.75], 4.0) == 0.5
    assert promised_radius([0.5, 1.0], 4.0) == 0
    assert promised_radius([None], 4.0) == 0


def test_the_bound_of_a_robust_linear_recurrence() -> None:
    """The example of the theory pages: diameter 2.1, noise 0.05, separation 0.5."""
    assert linear_bound(2.1, 0.05, 0.5) == 30
    assert linear_bound(2.1, 0.0, 0.5) is None
    assert linear_bound(2.1, 2.0, 0.5) == 1


def test_states_with_windows_are_stepped_as_the_model_steps_them() -> None:
    task = build_task(TaskConfig(name="flip-flop"))
    model = nr.build_model(nr.model_config("mamba", letters=5, outputs=2, width=8), seed=0).eval()
    machine = Machine(subject_of_task(model, task))
    word = [0, 4, 2, 3, 2, 3, 1, 4]
    states, state = machine.initial(), model.initial_state(1)
    for letter in word:
        states = machine.step(states, [letter])
        _, state = model.step(torch.tensor([letter]), state)
    flat = torch.cat([value.reshape(-1) for _, value in sorted(state.items())]).double().detach().numpy()
    assert states.values[0] == pytest.approx(flat)


@pytest.mark.slow
def test_a_mamba_loses_its_bit_where_its_gates_say() -> None:
    (spec,) = make_specs(
        "flip-flop",
        ["mamba"],
        seeds=[0],
        tables={"run": {"steps": 200, "test_lengths": [64], "test_sequences": 8}},
    )
    _, model = train(spec)
    found = metric(LoadedNetwork(name="mamba", model=model.eval(), task=build_task(spec.task)), settings=FEW)
    lost = [row for row in found.bits if row.measured is not None]
    assert lost
    for row in lost:
        assert row.predicted == pytest.approx(row.measured, abs=2)
    assert found.promised_radius == 0
    rates = [loop.rate for loop in found.loops]
    assert all(rate is not None and rate < 1 for rate in rates)


def test_what_cannot_be_used_is_refused() -> None:
    model = nr.build_model(nr.model_config("lstm", letters=2, outputs=2, width=4), seed=0)
    with pytest.raises(InputError, match="has no task"):
        metric(LoadedNetwork(name="x", model=model))
    with pytest.raises(InputError, match="1 or more"):
        MetricSettings(words=0)


def test_states_that_are_not_finite_are_told() -> None:
    subject = planted("Z2", [turns(2, 1)], sharpness=1.0)
    with torch.no_grad():
        subject.zoo_model.layers[0].W.weight.fill_(math.nan)
    with pytest.raises(InputError, match="no state that is finite"):
        metric(subject, settings=FEW)
