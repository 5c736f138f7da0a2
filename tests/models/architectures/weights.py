"""Layers with weights of no special form, so that no part of them is idle."""

from __future__ import annotations

from typing import TypeVar

import torch

from nerode.models.base import SequenceLayer

AnyLayer = TypeVar("AnyLayer", bound=SequenceLayer)


def shaken(layer: AnyLayer, *, seed: int = 3, by: float = 0.3) -> AnyLayer:
    """The layer in float64, with noise on every weight: maps that start at zero do something, too."""
    source = torch.Generator().manual_seed(seed)
    layer = layer.double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=source, dtype=torch.float64), alpha=by)
    return layer
