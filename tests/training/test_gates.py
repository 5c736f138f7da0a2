"""Models with exact gates: the folded network is the exact one, and its gates are decided."""

import pytest
import torch

from nerode.core import InputError
from nerode.models import (
    LayerConfig,
    ModelConfig,
    Surroundings,
    build_model,
    find_kind,
)
from nerode.models.exact_gates import SMALLEST_SCORE
from nerode.training.gates import ExactModel, exact_forms

AROUND = {
    "published": None,
    "residual": Surroundings(norm="none", residual=True, feed_forward="none"),
    "nothing": Surroundings(norm="none", residual=False, feed_forward="none"),
}

ARCHITECTURES = ["mamba", "mamba-signed", "mamba-2", "griffin", "griffin-signed", "mingru", "hgrn2"]
ARCHITECTURES += ["mingru-signed", "hgrn2-signed", "deltanet-signed"]
UNTIED = ["deltanet", "gated-deltanet", "mlstm"]
CELLS = ["elman-tanh", "gru", "lstm", "slstm"]
THREE = [("mamba-signed", 1), ("deltanet-signed", 1), ("deltanet-signed", 2)]


def config_of(name, *, letters=3, outputs=4, depth=1, width=8, **settings):
    form = find_kind(name).gates["two"].form
    sizes = {"hidden": width} if "hidden" in form.settings else {}
    layer = LayerConfig(name=name, settings={**form.settings, **sizes, **settings})
    return ModelConfig(
        layers=(layer,) * depth,
        letters=letters,
        outputs=outputs,
        width=width if form.embedding else None,
        surroundings=AROUND[form.around],
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
        exact = ExactModel(build_model(config, seed=seed), exact_forms(config, "two"))
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
    exact = ExactModel(build_model(config, seed=1), exact_forms(config, "two"))
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
    form = find_kind(name).gates["three"].form
    layer = LayerConfig(name=name, settings={**form.settings, **(form.stacked if depth > 1 else {})})
    config = ModelConfig(layers=(layer,) * depth, letters=2, outputs=3, width=16, final_norm="rms")
    words = torch.randint(2, (16, 30), generator=torch.Generator().manual_seed(1))
    for seed in range(20):
        exact = ExactModel(build_model(config, seed=seed), exact_forms(config, "three"))
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


def test_layers_without_such_gates_are_refused():
    with pytest.raises(InputError, match="griffin has no gates of three values"):
        exact_forms(config_of("griffin"), "three")
    with pytest.raises(InputError, match="lru does not tell its gate scores"):
        exact_forms(ModelConfig(layers=(LayerConfig(name="lru"),), letters=2, outputs=2), "two")
    config = config_of("mamba-signed", letters=2, outputs=3, convolution=0)
    with pytest.raises(InputError, match="a convolution with a bias"):
        ExactModel(build_model(config), exact_forms(config, "three"))


@pytest.mark.parametrize("name", CELLS)
def test_folded_cells_are_automata_of_bits(name):
    config = config_of(name)
    exact = ExactModel(build_model(config, seed=1), exact_forms(config, "two"))
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
    exact = ExactModel(build_model(config, seed=1), exact_forms(config, "two"))
    words = torch.randint(3, (8, 20), generator=torch.Generator().manual_seed(1))
    exact.spread(words)
    exact.model(words)[0].square().mean().backward()
    assert exact.gates[0].layer.dt_proj.weight.grad.abs().sum() > 0
