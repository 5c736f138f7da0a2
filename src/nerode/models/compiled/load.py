"""From a compiled network to a torch module: one of its own, or an ordinary model of the zoo."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import torch

from nerode.compiler import Options, compile_language
from nerode.core import Budget, NotCompilable
from nerode.languages import Language
from nerode.models.compiled.carrying import carry, remembers
from nerode.models.compiled.model import CompiledModel
from nerode.models.compiled.numbers import Converter
from nerode.models.model import Model
from nerode.network import LogitDecoder, Network
from nerode.verdict import Facts

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
    remembers that state; elsewhere cascades keep it by retentive overwrites. For these each format first gets
    the gate that forgets soonest, so that the model has few states in it and `certify_module` can look at
    them all, and then the usual one, which leaves more room for roundings. The model is tried on a few words;
    that is no proof, `certify_module` may find one.

    Args:
        language: what it should do.
        architecture: a name of the zoo that the compiler knows as a target.
        dtype: the type of its weights.
        facts: what is known about the language; computed when None.
        budget: limits of the compiler.

    Raises:
        UnknownName: if there is no such architecture.
        NotCompilable: with all reasons, if the architecture cannot do the language or carry its network, or
            the format is too coarse for it.
    """
    refusals = []
    for way in _ways(architecture, dtype):
        options = replace(way, budget=budget or Budget())
        try:
            network = compile_language(language, architecture, options, facts=facts)
            model = carry(network, architecture, dtype=dtype)
        except NotCompilable as refusal:
            refusals.append(refusal)
            continue
        if isinstance(network.decoder, LogitDecoder) or (error := first_error(model, language)) is None:
            return model
        reason = f"its roundings in {dtype} give a wrong answer after {error} letters; use a wider type"
        refusals.append(NotCompilable(architecture, [reason]))
    raise refusals[0]


def _ways(architecture: str, dtype: torch.dtype) -> list[Options]:
    """How the state before the letter may be shown, the way with the fewest float states first."""
    digits = Fraction(1, 2 ** _DIGITS.get(dtype, 2))
    ways = [Options(exclusive_scan=False, retention=digits), Options(exclusive_scan=False)]
    return [Options(), Options(sign_resets=False), *ways] if remembers(architecture) else ways


_WORDS, _LENGTH = 4, 256


@torch.no_grad()
def first_error(model: Model, language: Language, *, seed: int = 0) -> int | None:
    """Returns the position of a wrong answer on a few random prefixes of words, or None if all are right.

    Args:
        model: its scores are above 1/2 where a symbol, or the end as the last one, may follow.
        language: what it should do.
        seed: of the letters.
    """
    letters = range(len(language.alphabet))
    for number in range(_WORDS):
        random = np.random.default_rng([seed, number])
        word: list[int] = []
        expected: list[list[bool]] = []
        configuration = language.initial()
        while len(word) < _LENGTH and (choices := sorted(language.legal(configuration).symbols)):
            word.append(int(random.choice(choices)))
            configuration = language.advance(configuration, word[-1])
            legal = language.legal(configuration)
            expected.append([*(a in legal.symbols for a in letters), legal.end])
        if not word:
            return None
        scores, _ = model(torch.tensor([word]))
        wrong = ((scores[0] > 0.5) != torch.tensor(expected)).any(-1).nonzero()
        if len(wrong):
            return int(wrong[0]) + 1
    return None
