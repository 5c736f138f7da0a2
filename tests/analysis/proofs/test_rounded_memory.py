"""Rounded memory: the plain network rounds by underflow what the exact one rounds; gates give memory up."""

from dataclasses import replace

import pytest
import torch

from nerode.analysis.proofs.exact_training import ExactModel, ExactTraining, exact_config, train_exact
from nerode.analysis.proofs.memory_shedding import Shedding
from nerode.core import Budget, InputError
from nerode.models import RoundedMemory, build_model
from nerode.proofs import VALID_PREFIXES
from nerode.proofs.floats import certify_module, decoder
from nerode.proofs.replay import recheck_module
from nerode.records import TaskConfig
from nerode.tasks import build_task

REMEMBERING = RoundedMemory.remembering


def config_of(task, windows, **settings):
    config = exact_config("mamba", task, layers=len(windows))
    own = {"states": 1, "channels": 24, **settings}
    layers = zip(config.layers, windows, strict=True)
    return replace(
        config,
        layers=tuple(
            replace(layer, settings={**layer.settings, **own, "convolution": window})
            for layer, window in layers
        ),
    )


def exact_of(windows, seed=0):
    task = build_task(TaskConfig(name="predict-flip-flop"))
    config = config_of(task, windows)
    words = torch.randint(task.letters, (16, 30), generator=torch.Generator().manual_seed(0))
    exact = ExactModel(build_model(config, seed=seed), [RoundedMemory] * len(windows))
    exact.spread(words)
    return exact, words


@pytest.mark.parametrize("windows", [(4,), (3, 1), (4, 1, 1)])
def test_the_plain_network_rounds_by_underflow(windows):
    exact, words = exact_of(windows)
    exact.gates[0].live[0] = False
    exact.gates[-1].live[1], exact.gates[-1].idle[1] = False, 1.0
    with torch.no_grad():
        wanted = exact.model(words)[0]
        plain = exact.plain(words)
        got = plain(words)[0]
        by_steps, state = [], plain.initial_state(len(words))
        for letters in words.unbind(1):
            scores, state = plain.step(letters, state)
            by_steps.append(scores)
    assert torch.allclose(got, wanted, atol=1e-5)
    assert torch.allclose(torch.stack(by_steps, dim=1), wanted, atol=1e-5)
    for number, gates in enumerate(exact.gates):
        held = state[f"{number}.h"].double() / 2.0**-149
        assert (held == held.round()).all()
        assert held[:, :REMEMBERING].abs().max() >= 1
        assert (held[:, REMEMBERING:] == 0).all()
        written = gates.written[..., gates.live, :]
        assert 0.5 < float(written[written != 0].std()) < 2
        assert len(held.unique()) < len((written / RoundedMemory.step).unique()) / 10


@pytest.mark.parametrize(
    "settings", [{"activation": False}, {"skip": False}, {"channels": REMEMBERING}, {"signed": True}]
)
def test_layers_that_cannot_round_are_refused(settings):
    task = build_task(TaskConfig(name="predict-flip-flop"))
    with pytest.raises(InputError, match="rounded memory is for Mamba without signs"):
        train_exact(
            config_of(task, (4,), **settings), task, seed=0, settings=ExactTraining(steps=1, rounded=True)
        )


def test_other_layers_are_refused():
    task = build_task(TaskConfig(name="predict-flip-flop"))
    with pytest.raises(InputError, match="rounded memory is for Mamba"):
        train_exact(exact_config("griffin", task), task, seed=0, settings=ExactTraining(rounded=True))


def test_a_rounded_network_is_proved_and_a_planted_wrong_one_refused():
    task = build_task(TaskConfig(name="predict-set-reset"))
    settings = ExactTraining(
        steps=400, every=50, everything=False, tours=True, mistakes=64, shed=0.1, rounded=True
    )
    found = train_exact(config_of(task, (2,)), task, seed=0, settings=settings)
    assert found.verdict is not None, found.reason
    assert found.verdict.length == "all"
    assert found.verdict.certificate is not None
    assert sum(found.looks[-1].live) < REMEMBERING
    again = {"decode": decoder(task.reading()), "budget": Budget(seconds=60)}
    assert recheck_module(found.model, task.question(), found.verdict.certificate, **again) is None
    with torch.no_grad():
        found.model.layers[0].out_proj.weight.neg_()
    failure = recheck_module(found.model, task.question(), found.verdict.certificate, **again)
    assert failure is not None
    assert failure.what.startswith("the certificate is for")
    wrong = certify_module(found.model, task.question(), task=VALID_PREFIXES, **again)
    assert wrong.length != "all"
    assert wrong.refutation is not None


@pytest.mark.parametrize("settings", [{"tested": 1}, {"mistakes": -1}, {"shed": 1.0}, {"shed": -0.1}])
def test_settings_that_cannot_be_used_are_refused(settings):
    with pytest.raises(InputError, match="tested is 2 or more"):
        ExactTraining(**settings)


def test_without_an_attempt_at_all_words_the_first_is_at_prefixes():
    task = build_task(TaskConfig(name="predict-flip-flop"))
    settings = ExactTraining(steps=2, attempts=2, everything=False, rounded=True)
    found = train_exact(config_of(task, (2,)), task, seed=0, settings=settings)
    assert [(look.attempt, look.words, look.step) for look in found.looks] == [
        (1, "valid", 2),
        (2, "valid", 4),
    ]


def live_of(exact):
    return [int(gates.live.sum()) for gates in exact.gates]


def test_memory_is_taken_where_it_costs_least_and_given_back():
    exact, _ = exact_of((3, 1))
    gates = exact.gates
    shedding = Shedding(exact.model, gates, share=0.1, enough=0.95)

    def loss():
        return float(100 * (REMEMBERING - gates[0].live.sum()))

    shedding.look(0.5, loss, refuted=False)
    assert live_of(exact) == [16, 16]
    shedding.look(1.0, loss, refuted=False)
    assert live_of(exact) == [16, 13]
    shedding.look(1.0, loss, refuted=True)
    assert live_of(exact) == [16, 13], "no memory is taken just after a failing word"
    before = exact.model.head.weight.clone()
    for _ in range(6):
        shedding.look(0.5, loss, refuted=False)
        with torch.no_grad():
            exact.model.head.weight.add_(1.0)
    assert live_of(exact) == [16, 16]
    assert torch.allclose(exact.model.head.weight - 1, before, atol=1e-6)
    shedding.look(1.0, loss, refuted=False)
    assert live_of(exact) == [16, 15], "one at a time, after that"


def test_a_gate_without_memory_never_writes_or_else_always_does():
    exact, _ = exact_of((3,))
    gates = exact.gates[0]
    shedding = Shedding(exact.model, exact.gates, share=0.1, enough=0.95)

    def is_correct():
        return bool(gates.live[0]) and bool(gates.live[1] or gates.idle[1] > 0)

    kept = shedding.kept()
    shedding.thin(is_correct)
    assert gates.live.tolist() == [True] + [False] * 23
    assert gates.idle.tolist() == [-1.0, 1.0] + [-1.0] * 22
    shedding.restore(kept)
    assert live_of(exact) == [16]
