"""From a compiled network to a torch module: one of its own, or an ordinary model of the zoo."""

from __future__ import annotations

import torch

from nerode.compiler.network import Network
from nerode.models.compiled.carriers.carry import carry
from nerode.models.compiled.model import CompiledModel
from nerode.models.compiled.numbers import Converter

__all__ = ["carry", "load_model"]


def load_model(network: Network, *, dtype: torch.dtype = torch.float32) -> CompiledModel:
    """Returns the module that computes what the network computes, in floats of one type.

    Every weight is rounded to the nearest float; `inexact_weights` of the model lists those that changed.
    `carry` makes a model of a real architecture instead.

    Args:
        network: what the compiler made.
        dtype: float64, float32, bfloat16 or float16.

    Raises:
        InputError: for another type, a weight beyond its largest number, or a complex state in half
            precision.
    """
    return CompiledModel(network, Converter(dtype))
