"""From a compiled network to a torch module."""

from __future__ import annotations

import torch

from nerode.compiler.network import Network
from nerode.models.compiled.model import CompiledModel
from nerode.models.compiled.numbers import Converter


def load_model(network: Network, *, dtype: torch.dtype = torch.float32) -> CompiledModel:
    """Returns the module that computes what the network computes, in floats of one type.

    Every weight is rounded to the nearest float; `inexact_weights` of the model lists those that changed.

    Args:
        network: what the compiler made.
        dtype: float64, float32, bfloat16 or float16.

    Raises:
        InputError: for another type, a weight beyond its largest number, or a complex state in half
            precision.
    """
    return CompiledModel(network, Converter(dtype))
