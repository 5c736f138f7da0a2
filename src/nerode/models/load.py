"""From a compiled network to a torch module: one of its own, or an ordinary model of the zoo."""

from __future__ import annotations

from fractions import Fraction

import torch

from nerode.compiler.construction import Options
from nerode.compiler.network import Network
from nerode.compiler.pipeline import compile_language
from nerode.core.budget import Budget
from nerode.core.errors import NotCompilable
from nerode.languages.language import Language
from nerode.models.compiled.carriers.carry import carry, remembers
from nerode.models.compiled.model import CompiledModel
from nerode.models.compiled.numbers import Converter
from nerode.models.model import Model
from nerode.verdict.facts import Facts

__all__ = ["carry", "load_architecture", "load_model"]


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


_DIGITS = {torch.float64: 24, torch.float32: 11, torch.bfloat16: 4, torch.float16: 5}
"""Binary places of a retentive overwrite: the format holds the value before the last, and little more."""


def load_architecture(
    language: Language,
    architecture: str,
    *,
    dtype: torch.dtype = torch.float32,
    facts: Facts | None = None,
    budget: Budget | None = None,
) -> Model:
    """Returns an ordinary model of an architecture whose weights do a language.

    Layers of real architectures do not see their state before the letter. Where there is a convolution, it
    remembers that state; elsewhere cascades keep it by retentive overwrites. For these each format gets the
    gate that forgets soonest, so that the model has few states in it and `certify_module` can look at them
    all.

    Args:
        language: what it should do.
        architecture: a name of the zoo that the compiler knows as a target.
        dtype: the type of its weights.
        facts: what is known about the language; computed when None.
        budget: limits of the compiler.

    Raises:
        UnknownName: if there is no such architecture.
        NotCompilable: with all reasons, if the architecture cannot do the language or carry its network.
    """
    retention = Fraction(1, 2 ** _DIGITS.get(dtype, 2))
    refusals = []
    for exclusive_scan in (True, False) if remembers(architecture) else (False,):
        options = Options(exclusive_scan=exclusive_scan, retention=retention, budget=budget or Budget())
        try:
            network = compile_language(language, architecture, options, facts=facts)
            return carry(network, architecture, dtype=dtype)
        except NotCompilable as refusal:
            refusals.append(refusal)
    raise refusals[0]
