"""The models of an architecture whose weights do a language: the ways to make them, best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
import torch

from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, InputError, NotCompilable, plural, started
from nerode.languages import Language, Legal
from nerode.models.folder import dtype_of
from nerode.models.lower.assembly import network_to_architecture, remembers
from nerode.models.lower.published_blocks import has_whole_model, whole_model
from nerode.models.model import Model
from nerode.models.network_module.decoder import legal_table
from nerode.models.zoo import find_member
from nerode.network import LogitDecoder, Network
from nerode.verdict import Facts, find_architecture, householder

_DIGITS = {torch.float64: 24, torch.float32: 11, torch.bfloat16: 4, torch.float16: 5}
"""Binary places of a retentive overwrite: the format holds the value before the last, and little more."""


Around = Literal["published", "zoo"]
"""What stands around the layers: the whole model as published, or the zoo's ReLU maps and learned start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedModel:
    """A model of a real architecture that does a language on a few words.

    Attributes:
        model: its claims are still to be found.
        surroundings: "published" or "zoo".
        network: what it was made from; None for a whole model, which is made from a cascade.
    """

    model: Model
    surroundings: Around
    network: Network | None


def main_refusal(refusals: Sequence[NotCompilable]) -> NotCompilable:
    """Returns the refusal that says most: a theorem's, or a carrier's, or the compiler's, or the only one."""
    possible = [refusal for refusal in refusals if refusal.impossible]
    # The first refusal of an architecture with a whole model is about that.
    networks = refusals[1:] if has_whole_model(refusals[0].target) else refusals
    carried = [refusal for refusal in networks if not refusal.tried]
    return (possible or carried or networks or refusals)[0]


def candidate_models(
    language: Language,
    architecture: str,
    *,
    dtype: torch.dtype = torch.float32,
    facts: Facts | None = None,
    budget: Budget | None = None,
    surroundings: Around | None = None,
    options: Options | None = None,
) -> Iterator[CarriedModel | NotCompilable]:
    """Yields ordinary models of an architecture whose weights do a language.

    The whole model as published comes first, where there is a construction. In the zoo's surroundings, layers
    of real architectures do not see their state before the letter. Where there is a convolution, it
    remembers that state; elsewhere cascades keep it by retentive overwrites. For these each format first gets
    the gate that forgets soonest, so that the model has few states in it and `certify_module` can look at
    them all, and then the usual one, which leaves more room for roundings. Each model is tried on a few
    words; that is no proof. A way that fails yields the reason.

    Args:
        language: what it should do.
        architecture: a name of the zoo that the compiler knows as a target.
        dtype: the type of its weights.
        facts: what is known about the language; computed when None.
        budget: limits of the compiler.
        surroundings: the only ones to try; None for the published ones and then the zoo's.
        options: the user's choices for networks, whose ways to show a state are replaced.

    Raises:
        UnknownName: if there is no such architecture.
    """
    find_member(architecture)
    if surroundings != "zoo" and (surroundings == "published" or has_whole_model(architecture)):
        try:
            model = whole_model(language, architecture, dtype=dtype, budget=budget)
            yield _tried(CarriedModel(model=model, surroundings="published", network=None), language)
        except NotCompilable as refusal:
            yield refusal
        except BudgetExceeded as stop:
            yield NotCompilable(architecture, [f"the whole model: {stop}"])
    if surroundings == "published":
        return
    seen: list[Network] = []
    for way in _ways(architecture, dtype, options or Options()):
        try:
            network = compile_language(
                language, architecture, replace(way, budget=started(budget)), facts=facts
            )
            if network in seen:
                continue
            seen.append(network)
            model = network_to_architecture(network, architecture, dtype=dtype)
        except NotCompilable as refusal:
            yield _shortened(refusal, architecture)
            continue
        except BudgetExceeded as stop:
            yield NotCompilable(architecture, [str(stop)])
            continue
        yield _tried(CarriedModel(model=model, surroundings="zoo", network=network), language)


def _shortened(refusal: NotCompilable, architecture: str) -> NotCompilable:
    """A refusal of the compiler without the constructions that are for other languages."""
    if refusal.impossible or not refusal.tried:
        return refusal
    names: dict[str, list[str]] = {}
    for name, reason in refusal.tried.items():
        names.setdefault(reason, []).append(name)
    reasons = [f"{reason} ({', '.join(found)})" for reason, found in names.items()]
    if not remembers(architecture):
        reasons[-1] += (
            f". The layer of {architecture} shows its state after the letter only; take an architecture with "
            "a short convolution, such as mamba-signed or deltanet-signed, or write the network alone with "
            "--to CLASS"
        )
    return NotCompilable(refusal.target, reasons, tried=refusal.tried)


def _tried(found: CarriedModel, language: Language) -> CarriedModel | NotCompilable:
    """The model, or where it is wrong on a few words."""
    if found.network is not None and isinstance(found.network.decoder, LogitDecoder):
        return found
    error = first_error(found.model, language)
    if error is None:
        return found
    dtype = dtype_of(found.model)
    name = found.model.config.layers[0].name
    reason = f"its roundings in {dtype} give a wrong answer after {plural(error, 'letter')}"
    return NotCompilable(name, [reason + _in_float64(found, language, name)])


def _in_float64(found: CarriedModel, language: Language, architecture: str) -> str:
    """The end of a sentence: whether the widest type would do on the same words."""
    if dtype_of(found.model) == "float64" or found.network is None:
        return "; no type here is wide enough" if found.network is not None else "; use a wider type"
    try:
        wide = network_to_architecture(found.network, architecture, dtype=torch.float64)
    except (NotCompilable, InputError):
        return ""
    error = first_error(wide, language)
    if error is None:
        return "; float64 gives none on these words: use --dtype float64"
    return f", in float64 after {error:,}; no type here is wide enough"


def _ways(architecture: str, dtype: torch.dtype, options: Options) -> list[Options]:
    """Ways to show the state before the letter, the one with the fewest float states first.

    Reflections by whole numbers come before all others: floats do not round them.
    """
    digits = Fraction(1, 2 ** _DIGITS.get(dtype, 2))
    plain = replace(options, exclusive_scan=False, retention=Fraction(1, 4))
    ways = [replace(plain, retention=digits), plain]
    if remembers(architecture):
        ways = [replace(options, exclusive_scan=True), replace(options, sign_resets=False), *ways]
    if householder(find_architecture(architecture).properties):
        ways = [replace(ways[0], exact_floats=True), *ways]
    return ways


_WORDS, _LENGTH = 4, 256


@torch.no_grad()
def first_error(model: Model, language: Language, *, seed: int = 0) -> int | None:
    """Returns the position of a wrong answer on a few random prefixes of words, or None if all are correct.

    Args:
        model: its scores are above 1/2 where a symbol, or the end as the last one, may follow.
        language: what it should do.
        seed: of the letters.
    """
    for number in range(_WORDS):
        random = np.random.default_rng([seed, number])
        word: list[int] = []
        expected: list[Legal] = []
        configuration = language.initial()
        while len(word) < _LENGTH and (choices := sorted(language.legal(configuration).symbols)):
            word.append(int(random.choice(choices)))
            configuration = language.advance(configuration, word[-1])
            expected.append(language.legal(configuration))
        if not word:
            return None
        scores, _ = model(torch.tensor([word]))
        wrong = ((scores[0] > 0.5) != legal_table(expected, len(language.alphabet))).any(-1).nonzero()
        if len(wrong):
            return int(wrong[0]) + 1
    return None
