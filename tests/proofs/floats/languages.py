"""The language of a register, and a real Mamba that holds it."""

from __future__ import annotations

import math

import torch

from nerode.languages import Dfa, Legal, RegularLanguage
from nerode.models import LayerConfig, Model, ModelConfig, Surroundings, build_model

LOW, HIGH, HOLD = 0, 1, 2
NOTHING_YET = Legal(frozenset({LOW, HIGH, HOLD}), False)


def register_language() -> RegularLanguage:
    """Words whose last write is high; letters l, h and i (ignore)."""
    automaton = Dfa.build("lhi", lambda q, s: {"l": 0, "h": 1}.get(s, q), start=0, accept=[1])
    return RegularLanguage(name="register", automaton=automaton, convention="the last write is h")


def mamba_register(*, hold: float, threshold: float, dtype: torch.dtype = torch.float32) -> Model:
    """A Mamba layer whose channel 3 holds what was written, with a given gate on the letter i.

    Channels 0 to 2 are the letters; their step size is 0, so that nothing moves there. On a write the gate of
    channel 3 is exp(-2048), which is 0 in floats.
    """
    settings = {"channels": 4, "states": 1, "rank": 1, "convolution": 0, "skip": False}
    config = ModelConfig(
        layers=(LayerConfig(name="mamba", settings=settings),),
        letters=3,
        outputs=4,
        surroundings=Surroundings(),
    )
    model = build_model(config, seed=0)
    layer = model.layers[0]
    one = _inverse_silu_of_one()
    bias = math.log(math.expm1(-math.log(hold) / 64)) if hold < 1 else -60.0
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        layer.in_proj.weight[:3] = one * torch.eye(3)
        layer.in_proj.weight[3, HIGH] = one
        layer.in_proj.weight[7] = one
        layer.x_proj.weight[0, [LOW, HIGH]] = 1.0
        layer.x_proj.weight[1, HIGH] = 1 / 32
        layer.x_proj.weight[2, :3] = 1.0
        layer.dt_proj.weight[3, 0] = 32 - bias
        layer.dt_proj.bias[:3] = -1000.0
        layer.A_log[3] = math.log(64)
        layer.dt_proj.bias[3] = bias
        layer.out_proj.weight[0, 3] = 1.0
        model.head.weight[3, 0] = 0.5 / threshold
        model.head.bias[:3] = 1.0
    return model.to(dtype)


def _inverse_silu_of_one() -> float:
    low, high = 1.0, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle / (1 + math.exp(-middle)) < 1 else (low, middle)
    return high
