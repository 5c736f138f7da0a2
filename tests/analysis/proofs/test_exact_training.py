"""Training through exact gates: the folded network is the exact one, and its proof is replayed."""

import numpy as np
import pytest
import torch

from nerode.analysis.proofs.exact_training import (
    BARE,
    UNNORMED,
    ExactModel,
    ExactTraining,
    _StateNamer,
    _Training,
    _WordSource,
    exact_config,
    train_exact,
)
from nerode.analysis.proofs.goals import goal_of
from nerode.core import Budget, InputError
from nerode.models import LayerConfig, ModelConfig, build_model, find_member
from nerode.models.exact_gates import SMALLEST_SCORE
from nerode.proofs.floats import certify_module
from nerode.proofs.replay import recheck_module
from nerode.records import TaskConfig
from nerode.tasks import build_task

ARCHITECTURES = ["mamba", "mamba-signed", "mamba-2", "griffin", "griffin-signed", "mingru", "hgrn2"]
ARCHITECTURES += ["mingru-signed", "hgrn2-signed", "deltanet-signed"]
UNTIED = ["deltanet", "gated-deltanet", "mlstm"]
CELLS = ["elman-tanh", "gru", "lstm", "slstm"]
THREE = [("mamba-signed", 1), ("deltanet-signed", 1), ("deltanet-signed", 2)]


def config_of(name, *, letters=3, outputs=4, depth=1, width=8, **settings):
    form = find_member(name).kind.exact_gates
    sizes = {"hidden": width} if "hidden" in form.settings else {}
    layer = LayerConfig(name=name, settings={**form.settings, **sizes, **settings})
    return ModelConfig(
        layers=(layer,) * depth,
        letters=letters,
        outputs=outputs,
        width=None if form.one_hot else width,
        surroundings=BARE if form.bare else UNNORMED if form.unnormed else None,
    )


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("gla", 1),
        ("rwkv-6", 1),
        ("rwkv-6-signed", 1),
        ("deltaproduct-signed", 1),
        *((name, depth) for name in ARCHITECTURES + UNTIED + CELLS for depth in (1, 2)),
    ],
)
def test_the_folded_network_computes_what_the_exact_one_did(name, depth):
    config = config_of(name, depth=depth)
    words = torch.randint(3, (16, 30), generator=torch.Generator().manual_seed(0))
    for seed in range(20):
        torch.manual_seed(seed)
        forms = [layer.resolve()[0].exact_gates for layer in config.layers]
        exact = ExactModel(build_model(config, seed=seed), forms)
        exact.spread(words)
        exact.gates[0].live[::3] = False
        with torch.no_grad():
            exact.model(words)
        if min(float(gates.scores.abs().min()) for gates in exact.gates) > SMALLEST_SCORE:
            break
    with torch.no_grad():
        wanted = exact.model(words)[0]
        plain = exact.plain(words)
        got = plain(words)[0]
        by_steps, state = [], plain.initial_state(16)
        for letters in words.unbind(1):
            scores, state = plain.step(letters, state)
            by_steps.append(scores)
    if name not in CELLS:
        on = exact.gates[0].scores > 0
        assert 0.1 < on.double().mean() < 0.9
    assert torch.allclose(got, wanted, atol=2e-5)
    assert torch.allclose(torch.stack(by_steps, dim=1), wanted, atol=2e-5)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_folded_gates_are_decided(name):
    config = config_of(name)
    exact = ExactModel(build_model(config, seed=1), [config.layers[0].resolve()[0].exact_gates])
    words = torch.randint(3, (8, 20), generator=torch.Generator().manual_seed(1))
    exact.spread(words)
    plain = exact.plain(words)
    moved = plain.layers[0].transition(plain.inputs_of(0, words))
    gates = moved.gate if hasattr(moved, "gate") else 1 - moved.betas * moved.vectors.square().sum(-1)
    wanted = (-1.0, 1.0) if exact.gates[0].signed else (0.0, 1.0)
    assert set(gates.unique().tolist()) <= set(wanted)
    assert len(gates.unique()) == 2


@pytest.mark.parametrize(("name", "depth"), THREE)
def test_gates_of_three_values_are_folded_into_flips_resets_and_holds(name, depth):
    task = build_task(TaskConfig(name="predict-tomita-3"))
    config = exact_config(name, task, layers=depth, three=True)
    words = torch.randint(2, (16, 30), generator=torch.Generator().manual_seed(1))
    for seed in range(20):
        exact = ExactModel(build_model(config, seed=seed), [find_member(name).kind.three_valued] * depth)
        exact.spread(words)
        exact.gates[-1].live[::3] = False
        with torch.no_grad():
            wanted = exact.model(words)[0]
        if min(float(gates.scores.min()) for gates in exact.gates) > 5 * SMALLEST_SCORE:
            break
    with torch.no_grad():
        plain = exact.plain(words)
        assert torch.allclose(plain(words)[0], wanted, atol=1e-3)
        moved = plain.layers[-1].transition(plain.inputs_of(depth - 1, words))
    gates = moved.gate if hasattr(moved, "gate") else 1 - moved.betas * moved.vectors.square().sum(-1)
    flips, holds = gates == -1, gates == 1
    resets = gates.abs() < 2.0**-10
    assert (flips | holds | resets).all()
    assert min(float(part.double().mean()) for part in (flips, holds, resets)) > 0.05
    # A gate without memory is reset at every letter; the first of two layers has no other.
    idle = resets.flatten(2)[..., ::12] if name == "mamba-signed" else resets[..., ::3]
    assert idle.all()
    assert depth == 1 or not exact.gates[0].live.any()


def test_gates_of_three_values_are_refused_where_there_are_none():
    task = build_task(TaskConfig(name="predict-tomita-3"))
    with pytest.raises(InputError, match="griffin has no gates of three values"):
        exact_config("griffin", task, three=True)
    with pytest.raises(InputError, match="does not tell its gate scores"):
        train_exact(exact_config("griffin", task), task, seed=0, settings=ExactTraining(three=True))
    config = config_of("mamba-signed", letters=2, outputs=3, convolution=0)
    with pytest.raises(InputError, match="a convolution with a bias"):
        train_exact(config, task, seed=0, settings=ExactTraining(three=True))


@pytest.mark.parametrize("name", CELLS)
def test_folded_cells_are_automata_of_bits(name):
    config = config_of(name)
    exact = ExactModel(build_model(config, seed=1), [config.layers[0].resolve()[0].exact_gates])
    words = torch.randint(3, (8, 20), generator=torch.Generator().manual_seed(1))
    exact.spread(words)
    exact.gates[0].live[0] = False
    plain = exact.plain(words)
    with torch.no_grad():
        shown = plain.layers[0](plain.inputs_of(0, words))[0]
    written = shown[:, 10:].abs()
    one = torch.tensor(1.0).tanh() if name == "lstm" else torch.tensor(1.0)
    # A unit may have kept its start, which is 0 here.
    assert ((written - one).abs() * written < 1e-6).all()
    assert len(written.unique()) <= 2
    assert torch.allclose(shown[..., 0], one)
    assert (shown[..., 1:] < 0).any()


def test_gradients_flow_through_exact_gates():
    config = config_of("mamba")
    exact = ExactModel(build_model(config, seed=1), [config.layers[0].resolve()[0].exact_gates])
    words = torch.randint(3, (8, 20), generator=torch.Generator().manual_seed(1))
    exact.spread(words)
    exact.model(words)[0].square().mean().backward()
    assert exact.gates[0].layer.dt_proj.weight.grad.abs().sum() > 0


def test_parity_is_learned_and_proved_and_a_replay_agrees():
    task = build_task(TaskConfig(name="parity"))
    config = config_of("deltanet-signed", letters=2, outputs=2, width=16)
    found = train_exact(config, task, seed=0, settings=ExactTraining(steps=200, cpu_seconds=60))
    assert found.verdict is not None
    assert found.verdict.length == "all"
    assert found.looks[-1].outcome == "proved"
    assert found.reason == ""
    certificate, runner = found.verdict.certificate, found.verdict.runner
    again = {"decode": runner.decode}
    question = task.question()
    assert recheck_module(found.model, question, certificate, **again) is None
    with torch.no_grad():
        found.model.head.weight.mul_(-1)
    assert recheck_module(found.model, question, certificate, **again).what.startswith(
        "the certificate is for"
    )


def test_a_gate_that_leaks_is_not_proved():
    task = build_task(TaskConfig(name="predict-set-reset"))
    config = config_of("mingru", letters=task.letters, outputs=task.outputs, width=16)
    found = train_exact(config, task, seed=0, settings=ExactTraining(steps=200, cpu_seconds=60))
    assert found.verdict is not None
    layer = found.model.layers[0]
    with torch.no_grad():
        layer.gate.weight.div_(2.0**7)
        layer.gate.bias.div_(2.0**7)
        gates = layer.transition(found.model.inputs_of(0, torch.tensor([[0, 1, 2]]))).gate
    assert ((gates > 0) & (gates < 1)).any()
    leaky = certify_module(
        found.model,
        task.language,
        task=found.verdict.task,
        decode=found.verdict.runner.decode,
        budget=Budget(elements=1_000, seconds=5),
    )
    assert leaky.length != "all"


def test_what_is_not_learned_is_said():
    task = build_task(TaskConfig(name="predict-tomita-6"))
    config = config_of("mingru", letters=2, outputs=3)
    settings = ExactTraining(steps=3, every=3, attempts=1, cpu_seconds=30)
    found = train_exact(config, task, seed=0, settings=settings)
    assert found.verdict is None
    assert "of the words of training are correct throughout" in found.reason


def test_layers_without_gate_scores_are_refused():
    task = build_task(TaskConfig(name="parity"))
    config = ModelConfig(layers=(LayerConfig(name="lru"),), letters=2, outputs=2)
    with pytest.raises(InputError, match="does not tell its gate scores"):
        train_exact(config, task, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "task", "depth"),
    [
        ("mamba", "predict-flip-flop", 1),
        ("mamba", "predict-tomita-4", 1),
        ("mamba-signed", "parity", 1),
        ("griffin", "predict-flip-flop", 1),
        ("hgrn2", "predict-set-reset", 1),
        ("mamba-2", "predict-set-reset", 1),
        ("mamba", "predict-d-2", 2),
    ],
)
def test_the_survey_of_architectures_ends_proved(name, task, depth):
    made = build_task(TaskConfig(name=task))
    config = config_of(name, letters=made.letters, outputs=made.outputs, depth=depth, width=16)
    assert train_exact(config, made, seed=0).verdict is not None


def contains(word):
    settings = {"language": f"contains-{word}"}
    return goal_of(build_task(TaskConfig(name="language-prediction", settings=settings)))


def share_of_found(goal, rng, **settings):
    """The share of words of 40 letters that come to the state without a way back."""
    _, states = _WordSource(goal, stray=0.0, **settings).draw(rng, 512, 40)
    (end,) = [state for state, row in enumerate(goal.dfa.transitions) if set(row) == {state}]
    return (states == end).any(1).mean()


def test_half_of_the_words_are_tours_where_random_ones_rarely_come_to_a_state():
    rng = np.random.default_rng(0)
    assert share_of_found(contains("abbabaab"), rng, longest=1000) < 1 / 5
    assert share_of_found(contains("abbabaab"), rng, longest=40) > 1 / 3


def test_words_stay_as_they_were_where_random_ones_come_to_every_state():
    goal = contains("abba")
    plain, told = (
        _WordSource(goal, stray=0.05, longest=longest).draw(np.random.default_rng(1), 64, 40)[0]
        for longest in (40, 10_000)
    )
    assert torch.equal(plain, told)


def test_layers_in_a_stack_may_have_other_settings():
    task = build_task(TaskConfig(name="predict-flip-flop"))
    one, two = (exact_config("mamba-2", task, layers=layers).layers[0].settings for layers in (1, 2))
    assert "convolution" not in one
    assert two["convolution"] == 2


def test_a_second_head_names_states_and_is_no_part_of_the_model():
    goal, config = contains("abba"), config_of("gru", letters=2, outputs=3)
    model = build_model(config, seed=0)
    before, words = set(model.state_dict()), torch.randint(2, (4, 10))
    namer = _StateNamer(model, goal)
    scores, named = namer(words)
    assert torch.equal(scores, model(words)[0])
    assert named.shape == (4, 10, 5)
    assert len(list(namer.parameters())) == 2
    assert set(model.state_dict()) == before
    assert not model.head._forward_pre_hooks


def test_states_are_named_from_the_second_attempt_on():
    task = build_task(TaskConfig(name="predict-tomita-6"))
    config = config_of("mingru", letters=2, outputs=3)
    training = _Training(config, task, 0, ExactTraining(steps=2, naming=0.5), None)
    for number, weight in enumerate((0.0, 0.5, 0.5)):
        training._attempt(number)
        assert training.naming == weight
