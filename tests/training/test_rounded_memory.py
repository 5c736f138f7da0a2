"""Rounded memory: the plain network rounds by underflow what the exact one rounds."""

import pytest
import torch

from nerode.core import InputError
from nerode.models import LayerConfig, ModelConfig, RoundedMemory, build_model
from nerode.training.gates import ExactModel, exact_forms

REMEMBERING = RoundedMemory.remembering


def config_of(windows, name="mamba", **settings):
    own = {"states": 1, "channels": 24, "rank": 16, "learned_start": True, **settings}
    layers = tuple(LayerConfig(name=name, settings={**own, "convolution": window}) for window in windows)
    return ModelConfig(layers=layers, letters=5, outputs=6, width=16, final_norm="rms")


def exact_of(windows, seed=0):
    config = config_of(windows)
    words = torch.randint(5, (16, 30), generator=torch.Generator().manual_seed(0))
    exact = ExactModel(build_model(config, seed=seed), exact_forms(config, "rounded"))
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
    config = config_of((4,), **settings)
    with pytest.raises(InputError, match="rounded memory is for Mamba without signs"):
        ExactModel(build_model(config), exact_forms(config, "rounded"))


def test_other_layers_are_refused():
    config = ModelConfig(layers=(LayerConfig(name="griffin"),), letters=5, outputs=6, width=16)
    with pytest.raises(InputError, match="griffin has no rounded memory"):
        exact_forms(config, "rounded")
