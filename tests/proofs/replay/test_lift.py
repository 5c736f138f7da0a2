"""A trained model as an exact network: the same function, up to rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.models import Model, Surroundings, build_model, model_config
from nerode.network import Interpreter, network_from_json, network_to_json
from nerode.proofs.box_steps import BoxStepper
from nerode.proofs.replay.lift import trained_network
from nerode.records import TaskConfig
from nerode.tasks import automaton_of, build_task

CELLS = ("elman-tanh", "gru-reset-first", "lstm", "slstm")


def lifted(model, goal):
    """The network of a model, read by the answers of a goal."""
    return trained_network(model, goal.language, answers=goal.answers)


def make_model(layers: str, task, *, width: int | None = 3, seed: int = 0, **settings) -> Model:
    """A small model with weights that are nowhere zero."""
    config = model_config(
        layers, letters=task.letters, outputs=task.outputs, width=width, surroundings=Surroundings()
    )
    (layer,) = config.layers
    settings = {"hidden": 4, "learned_start": True, **settings}
    config = type(config)(
        **{
            **{name: getattr(config, name) for name in config.__dataclass_fields__},
            "layers": (type(layer)(name=layer.name, settings={**layer.settings, **settings}),),
            "final_norm": "none",
        }
    )
    model = build_model(config, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return model


def test_a_cap_on_the_update_gate_is_part_of_the_network():
    task = build_task(TaskConfig(name="predict-tomita-3"))
    model = make_model("gru-reset-first", task, cap=0.5).double()
    network = lifted(model, automaton_of(task))
    assert network.layers[0].recurrence.cap == Fraction(1, 2)
    assert network_from_json(network_to_json(network)) == network
    interpreter, plain = Interpreter(network), BoxStepper(network)
    state, boxes, torch_state = interpreter.start(), plain.start(), model.initial_state(1)
    for letter in (0, 1, 1, 0, 1):
        state, _ = interpreter.step(state, letter)
        boxes, _ = plain.step(boxes, np.array([0]), np.array([letter]), 0.0)
        _, torch_state = model.step(torch.tensor([letter]), torch_state)
        wanted = torch_state["0.h"][0].detach().numpy()
        assert np.allclose(wanted, [float(v) for v in state[0]], rtol=0, atol=1e-12)
        assert (boxes.low[0] <= wanted + 1e-14).all()
        assert (boxes.high[0] >= wanted - 1e-14).all()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("width", [None, 3])
@pytest.mark.parametrize(
    "name", ["predict-tomita-3", "recognise-tomita-3", "s3", "parity", "states-tomita-4"]
)
def test_the_network_says_what_the_module_says(cell, width, name):
    task = build_task(TaskConfig(name=name))
    goal = automaton_of(task)
    model = make_model(cell, task, width=width).double()
    network = lifted(model, goal)
    assert network_from_json(network_to_json(network)) == network
    interpreter = Interpreter(network)
    word = np.random.default_rng(1).integers(0, task.letters, 12)
    state, torch_state = interpreter.start(), model.initial_state(1)
    compared = 0
    for letter in word.tolist():
        state, answer = interpreter.step(state, letter)
        scores, torch_state = model.step(torch.tensor([letter]), torch_state)
        compared += 1
        if goal.answers is None:
            said = set(torch.nonzero(scores[0] > 0).flatten().tolist())
            assert answer.legal.symbols == {i for i in said if i < task.letters}
            assert answer.legal.end == (task.letters in said)
        else:
            assert answer.legal == goal.answers[int(scores[0].argmax())]
    assert compared == 12


def test_the_empty_word_about_which_a_module_is_not_asked_is_answered_by_the_language():
    task = build_task(TaskConfig(name="recognise-tomita-3"))
    goal = automaton_of(task)
    model = make_model("elman-tanh", task)
    with torch.no_grad():
        model.head.bias.copy_(torch.tensor([9.0, -9.0]))
    assert lifted(model, goal).decoder.empty == goal.legal[goal.dfa.start]


@pytest.mark.parametrize(
    ("layers", "settings", "reason"),
    [
        ("elman-relu", {}, "not tanh"),
        ("gru", {}, "reset gate"),
        ("mamba", None, "Mamba"),
        ("slstm", {"heads": 2, "group_norm": True}, "sLSTM has"),
    ],
)
def test_other_cells_are_refused(layers, settings, reason):
    task = build_task(TaskConfig(name="parity"))
    if settings is None:
        config = model_config(layers, letters=2, outputs=2, width=4, surroundings=Surroundings())
        model = build_model(config, seed=0)
    else:
        model = make_model(layers, task, **settings)
    with pytest.raises(InputError, match=reason):
        lifted(model, automaton_of(task))


def test_two_layers_and_norms_are_refused():
    task = build_task(TaskConfig(name="parity"))
    for config in (
        model_config("elman,elman", letters=2, outputs=2, width=4),
        model_config("elman", letters=2, outputs=2, width=4, surroundings=Surroundings(norm="layer")),
    ):
        with pytest.raises(InputError, match="boxes are for one cell"):
            lifted(build_model(config, seed=0), automaton_of(task))
