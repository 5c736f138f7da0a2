"""Planted errors in decoders of 16 bits and in hybrids: each is refused, or the answers stay correct."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded
from nerode.kernel import Claim
from nerode.languages.bestiary import find_language
from nerode.models.lower.heads import network_to_decoder
from nerode.proofs.find.heads import run_decoder
from nerode.proofs.replay.attention.checker import check_decoder
from nerode.proofs.replay.attention.records import NotProved
from tests.proofs.replay.test_attention import with_slopes

SHORT = [torch.bfloat16, torch.float16]
VALUES = (math.nan, math.inf, -math.inf, 6e4, -6e4, 1e-7, 0.0, 1.0, -1.0, 0.5)


def short_decoder(dtype):
    """The decoder of flip-flop by a cascade, with positions modulo 2."""
    target = "transformer-periodic"
    network = compile_language(find_language("flip-flop"), target, Options(construction="star-free-heads"))
    return network_to_decoder(network, target, dtype=dtype)


def hybrid():
    network = compile_language(find_language("flip-flop"), "mamba-attention")
    return network_to_decoder(network, "mamba-attention")


def attention_layers(model):
    return [
        block.layer
        for block in model.blocks
        if hasattr(block.layer, "heads") and block.layer.write.weight.any()
    ]


def narrow_gaps(model):
    for layer in attention_layers(model):
        size = layer.heads * layer.size
        layer.read.weight[size : 2 * size] *= 2.0**-24


def swap_columns(model):
    """Two values that a head returns change places."""
    for layer in attention_layers(model):
        used = layer.write.weight.any(dim=0).nonzero()[:, 0].tolist()
        if len(used) > 1:
            first, second = used[:2]
            weight = layer.write.weight
            weight[:, first], weight[:, second] = weight[:, second].clone(), weight[:, first].clone()
            return
    raise AssertionError


def lose_a_unit(model):
    up = next(b.feed_forward.up.weight for b in model.blocks if b.feed_forward is not None)
    up[1] = up[0]


def shift_positions(model):
    model.places.weight.copy_(model.places.weight[:1].expand_as(model.places.weight))


PLANTED = {
    "a slope below the underflow": lambda m: with_slopes(m, lambda s: 16.0 if s == 128 else s),
    "a slope that is no power of two": lambda m: with_slopes(m, lambda s: 200.0 if s == 128 else s),
    "gaps that are too small": narrow_gaps,
    "two values for each other": swap_columns,
    "a ramp without its upper edge": lose_a_unit,
    "one position vector for all": shift_positions,
    "no mark": lambda m: m.embedding.weight[-1].zero_(),
}


@torch.no_grad()
@pytest.mark.parametrize("dtype", SHORT)
def test_planted_errors_in_short_formats_are_refused(dtype):
    dfa = find_language("flip-flop").dfa()
    assert check_decoder(short_decoder(dtype), dfa).length in (1 << 24, 1_046_527)
    for plant in PLANTED.values():
        model = short_decoder(dtype)
        found = plant(model)
        with pytest.raises(NotProved):
            check_decoder(found if isinstance(found, torch.nn.Module) else model, dfa)


HYBRID = {
    "registers that are not read": lambda m: m.blocks[1].layer.out_proj.weight.zero_(),
    "registers that do not start": lambda m: m.embedding.weight[-1].zero_(),
    "gates that do not close": lambda m: m.blocks[1].layer.dt_proj.bias.fill_(-20.0),
    "a score for another": lambda m: m.head.weight.copy_(m.head.weight.roll(1, 0)),
    "a letter for another": lambda m: m.embedding.weight.copy_(
        m.embedding.weight[[1, 0, *range(2, len(m.embedding.weight))]]
    ),
}


@torch.no_grad()
@pytest.mark.parametrize("what", HYBRID)
def test_planted_errors_in_hybrids_are_refused(what):
    model = hybrid()
    HYBRID[what](model)
    with pytest.raises((NotProved, BudgetExceeded)):
        check_decoder(model, find_language("flip-flop"), budget=Budget(elements=2_000))


@torch.no_grad()
@pytest.mark.parametrize("count", [12, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "make", [lambda: short_decoder(torch.bfloat16), lambda: short_decoder(torch.float16), hybrid]
)
def test_random_forgeries_are_refused_or_true(make, count):
    language, rng, model = find_language("flip-flop"), np.random.default_rng(11), make()
    tensors = {name: value.clone() for name, value in model.state_dict().items()}
    accepted = 0
    for _ in range(count):
        model.load_state_dict(tensors)
        name = str(rng.choice(sorted(tensors)))
        flat = model.state_dict()[name].view(-1)
        flat[int(rng.integers(len(flat)))] = float(rng.choice(VALUES))
        try:
            check_decoder(model, language, budget=Budget(elements=2_000))
        except (NotProved, BudgetExceeded):
            continue
        accepted += 1
        assert isinstance(run_decoder(model, language, words=2, length=30), Claim), name
    assert accepted < count
