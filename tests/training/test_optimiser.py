"""Groups of parameters and rates."""

from __future__ import annotations

import math

import pytest
import torch

from nerode.core import InputError
from nerode.models import all_kinds, build_model, model_config
from nerode.records import OptimiserSpec, TrainSpec
from nerode.training import run_key
from nerode.training.optimiser import (
    clip_gradients,
    make_optimiser,
    parameter_groups,
    rate_factor,
    set_rates,
    update_weights,
)


def names(model, group):
    return {name for name, p in model.named_parameters() if any(p is q for q in group["params"])}


def test_the_dynamics_of_s4d_are_slow_and_do_not_decay():
    model = build_model(model_config("s4d", letters=2, outputs=2, width=4), seed=0)
    usual, slow = parameter_groups(model, OptimiserSpec(rate=1e-2, decay=0.1))
    leaves = {name.rpartition(".")[2] for name in names(model, slow)}
    assert leaves >= {"log_step", "log_decay", "frequency"}
    assert not leaves & {"C", "D", "weight", "bias"}
    assert (slow["lr"], slow["weight_decay"]) == (1e-3, 0.0)
    assert (usual["lr"], usual["weight_decay"]) == (1e-2, 0.1)
    _, slow = parameter_groups(model, OptimiserSpec(rate=1e-4))
    assert slow["lr"] == 1e-4


def test_the_gates_of_mamba_do_not_decay():
    model = build_model(model_config("mamba", letters=2, outputs=2, width=4), seed=0)
    _, undecayed = parameter_groups(model, OptimiserSpec(rate=1e-2, decay=0.1))
    prefix = "blocks.0.layer."
    assert names(model, undecayed) == {prefix + n for n in ("A_log", "D", "dt_proj.bias")}
    assert (undecayed["lr"], undecayed["weight_decay"]) == (1e-2, 0.0)


@pytest.mark.parametrize("name", all_kinds())
def test_every_mark_names_a_parameter_and_every_parameter_is_trained_once(name):
    model = build_model(model_config(name, letters=2, outputs=2, width=16), seed=0)
    tensors = {n for n, _ in [*model.named_parameters(), *model.named_buffers()]}
    for place, module in model.named_modules():
        for mark in ("undecayed_parameters", "slow_parameters"):
            for own in getattr(module, mark, ()):
                full = f"{place}.{own}"
                # A setting may leave out the skip, the scale or the trained B.
                assert full in tensors or getattr(module, own) is None
    groups = parameter_groups(model, OptimiserSpec())
    assert sum(len(g["params"]) for g in groups) == sum(p.requires_grad for p in model.parameters())


def test_rates_rise_and_fall():
    spec = OptimiserSpec(warm_up=4, schedule="cosine")
    factors = [rate_factor(spec, step, 20) for step in range(20)]
    assert factors[:4] == [0.25, 0.5, 0.75, 1.0]
    assert factors[4] == 1.0
    assert factors[12] == pytest.approx(0.5)
    assert factors[19] == pytest.approx(0.5 * (1 + math.cos(math.pi * 15 / 16)))
    assert rate_factor(OptimiserSpec(), 999, 10) == 1.0


@pytest.mark.parametrize(
    ("name", "kind"), [("adamw", torch.optim.AdamW), ("adam", torch.optim.Adam), ("sgd", torch.optim.SGD)]
)
def test_methods(name, kind):
    model = build_model(model_config("s4d", letters=2, outputs=2, width=4), seed=0)
    optimiser = make_optimiser(model, OptimiserSpec(name=name, rate=1e-2, momentum=0.5, betas=(0.8, 0.9)))
    assert type(optimiser) is kind
    set_rates(optimiser, 0.5)
    assert [g["lr"] for g in optimiser.param_groups] == [5e-3, 5e-4]
    if name == "sgd":
        assert optimiser.param_groups[0]["momentum"] == 0.5
    else:
        assert optimiser.param_groups[0]["betas"] == (0.8, 0.9)


def test_decay_can_be_kept_to_weights_by_name():
    model = build_model(model_config("ssm", letters=2, outputs=2, width=4), seed=0)
    usual, others = parameter_groups(model, OptimiserSpec(rate=1e-2, decay=30.0, decay_only=("A",)))
    assert names(model, usual) == {"blocks.0.layer.A"}
    assert (usual["weight_decay"], others["weight_decay"]) == (30.0, 0.0)
    assert names(model, others) == {n for n, _ in model.named_parameters()} - {"blocks.0.layer.A"}
    with pytest.raises(InputError, match="decay_only names 'a'"):
        parameter_groups(model, OptimiserSpec(decay_only=("a",)))


def test_a_mark_of_the_layer_wins_over_decay_by_name():
    model = build_model(model_config("mamba", letters=2, outputs=2, width=4), seed=0)
    with pytest.raises(InputError, match="no weight that may decay"):
        parameter_groups(model, OptimiserSpec(decay_only=("A_log",)))


def test_a_held_rate_falls_afterwards_only():
    spec = OptimiserSpec(schedule="cosine", warm_up=2, hold=4)
    factors = [rate_factor(spec, step, 10) for step in range(11)]
    assert factors[:7] == [0.5, 1, 1, 1, 1, 1, 1]
    assert factors[8] == pytest.approx(0.5)
    assert factors[10] == pytest.approx(0)


def test_younger_settings_change_the_key_only_where_they_are_used():
    def key(**optimiser):
        return run_key(TrainSpec.from_mapping({"task": {"name": "parity"}, "optimiser": optimiser}))

    assert key() == key(hold=0, decay_only=[])
    assert len({key(), key(hold=3), key(decay_only=["D"])}) == 3


@pytest.mark.parametrize("layers", ["gru", "mamba", "lru"])
@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_updates_and_clipping_have_the_bits_of_torch(layers, name):
    spec = OptimiserSpec(name=name, rate=1e-2, decay=0.1)
    models = [build_model(model_config(layers, letters=2, outputs=2, width=4), seed=0) for _ in range(2)]
    optimisers = [make_optimiser(model, spec) for model in models]
    for step in range(4):
        norms = []
        for ours, (model, optimiser) in enumerate(zip(models, optimisers, strict=True)):
            optimiser.zero_grad()
            scores, _ = model(torch.tensor([[0, 1, 1, step % 2]]))
            (scores.square().sum() * 10 ** (2 - step)).backward()
            weights = list(model.parameters())
            if step == 2:
                weights[0].grad = None
            clip = clip_gradients if ours else torch.nn.utils.clip_grad_norm_
            norms.append(clip(weights, 1.0))
            update_weights(optimiser) if ours else optimiser.step()
        assert torch.equal(*norms)
        for a, b in zip(*(model.parameters() for model in models), strict=True):
            assert torch.equal(a, b)
            own, other = (o.state[w] for o, w in zip(optimisers, (a, b), strict=True))
            assert own.keys() == other.keys()
            assert all(own[key] is None or torch.equal(own[key], other[key]) for key in own)
