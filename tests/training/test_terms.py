"""Terms of the loss: a second head, saturation, noise, and boxes that hold the states of a step."""

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.models import LayerConfig, ModelConfig, Surroundings, build_model
from nerode.records import TaskConfig
from nerode.tasks import automaton_of, build_task
from nerode.training.terms import BoxTerm, Saturation, StateNaming, noisy_scores

TASK = build_task(TaskConfig(name="predict-set-reset"))
AUTOMATON = automaton_of(TASK)
BARE = Surroundings(norm="none", residual=False, feed_forward="none")


def cell(name="elman-tanh", **settings):
    layer = LayerConfig(name=name, settings={"hidden": 8, **settings})
    sizes = {"letters": TASK.letters, "outputs": TASK.outputs}
    return build_model(ModelConfig(layers=(layer,), **sizes, width=4, surroundings=BARE), seed=0)


def batch_of(count=4, length=10):
    return TASK.sample(length, count, np.random.default_rng(0))


def test_a_second_head_names_states_and_is_no_part_of_the_model():
    model, batch = cell("gru"), batch_of()
    before, scores = set(model.state_dict()), model(batch.inputs)[0]
    term = StateNaming(model, AUTOMATON, weight=1.0)
    with term.watch():
        assert torch.equal(model(batch.inputs)[0], scores)
    assert term.features().shape == (4, 10, 8)
    term.loss(batch).backward()
    assert term.states.weight.grad.abs().sum() > 0
    assert set(model.state_dict()) == before
    assert not model.head._forward_pre_hooks


def test_features_are_the_same_letter_by_letter():
    model, batch = cell(learned_start=True), batch_of()
    naming, saturation = StateNaming(model, AUTOMATON, weight=1.0), Saturation(model, weight=2.0)
    with naming.watch(), saturation.watch():
        model(batch.inputs)
    whole = naming.features()
    with naming.watch():
        scores = noisy_scores(model, batch.inputs, 0.0, torch.Generator().manual_seed(0))
    assert torch.allclose(naming.features(), whole, atol=1e-6)
    assert torch.allclose(scores, model(batch.inputs)[0], atol=1e-6)
    assert saturation.loss(batch).item() == pytest.approx(2 * (1 - whole.abs()).mean().item(), rel=1e-5)
    noisy = [noisy_scores(model, batch.inputs, 0.5, torch.Generator().manual_seed(n)) for n in (0, 0, 1)]
    assert torch.equal(noisy[0], noisy[1])
    assert not torch.equal(noisy[0], noisy[2])


def test_the_loss_of_boxes_falls():
    """Weights and boxes are trained together: less is outside, and the worst answers get better."""
    model = cell(learned_start=True)
    names = torch.nn.Linear(8, len(AUTOMATON.legal))
    term = BoxTerm(model, AUTOMATON, names, weight=1.0)
    assert term.loss(batch_of()).item() == 0.0, "nothing before it has begun"
    term.begin(batch_of(64, 20).inputs)
    assert term.centres.abs().sum() > 0
    parameters = [*model.parameters(), *names.parameters(), *term.parameters()]
    first = term.loss(batch_of()).item()
    optimiser = torch.optim.Adam(parameters, 1e-2)
    for _ in range(200):
        optimiser.zero_grad()
        term.loss(batch_of()).backward()
        optimiser.step()
    assert term.loss(batch_of()).item() < first / 4
    assert int(term.updates) == 203


def test_boxes_are_for_one_tanh_cell():
    with pytest.raises(InputError, match="one Elman cell"):
        BoxTerm(cell("gru"), AUTOMATON, torch.nn.Linear(8, 2), weight=1.0)
