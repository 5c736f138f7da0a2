"""Weights that a setting makes trained or fixed."""

from __future__ import annotations

from torch import Tensor, nn


def add_weight(module: nn.Module, name: str, value: Tensor, *, learned: bool) -> None:
    """Gives a module a weight: a parameter if it is learned, otherwise a buffer, saved but not trained."""
    if learned:
        module.register_parameter(name, nn.Parameter(value))
    else:
        module.register_buffer(name, value)
