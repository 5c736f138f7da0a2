"""Lines that are compiled and not trained: exact weights at the lengths of the table, and what is proved."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, NotCompilable, to_mapping
from nerode.languages import Language, resolve_language
from nerode.models.compiled import CompiledModel, load_model
from nerode.network import Network
from nerode.proofs import UNDER_NOISE, Certificate, Claim, Refutation, Unproved, certify
from nerode.reproduce.measuring.readings import lengths_to_test
from nerode.reproduce.records import Lengths, Line, Noise, Reading
from nerode.tasks import Prediction, Task
from nerode.tasks.formal import LanguageSettings
from nerode.training import draw_tests

_WORDS = 100
"""Words of each length."""

_SECONDS = 60.0
"""For the compiler, and again for the proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a compiled network does.

    Attributes:
        values: a share for each cell of the line; empty if there is no network.
        claims: what was proved, as plain values.
        parameters: numbers of the network.
        problems: why there is no network, or no proof.
        cpu_seconds: for compiling, running and proving.
    """

    values: tuple[tuple[float, ...], ...]
    claims: tuple[dict[str, Any], ...] = ()
    parameters: int | None = None
    problems: tuple[str, ...] = ()
    cpu_seconds: float = 0.0


def measure_compiled(line: Line) -> Measured:
    """Returns how the compiled network of a line answers in float32, and what is proved about it."""
    begun = time.process_time()
    language = resolve_language(line.language)
    try:
        network = compile_language(language, line.compile_to, Options(budget=Budget(seconds=_SECONDS)))
    except NotCompilable as refusal:
        return _no_network(line, refusal.reasons, begun)
    except BudgetExceeded as error:
        return _no_network(line, (str(error),), begun)
    task = Prediction(LanguageSettings(language=line.language))
    model = load_model(network, dtype=torch.float32)
    claims, problems = _proved(network, language)
    return Measured(
        values=tuple(_value(model, task, claims, cell.reading) for cell in line.cells),
        claims=tuple(map(_plain_claim, claims)),
        parameters=network.num_parameters,
        problems=problems,
        cpu_seconds=time.process_time() - begun,
    )


def _no_network(line: Line, reasons: Sequence[str], begun: float) -> Measured:
    return Measured(
        values=((),) * len(line.cells), problems=tuple(reasons), cpu_seconds=time.process_time() - begun
    )


def _proved(network: Network, language: Language) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """What can be proved within the budget, and what stood in the way."""
    try:
        proof = certify(network, language, budget=Budget(seconds=_SECONDS))
    except BudgetExceeded as error:
        return (), (f"not proved: {error}",)
    match proof:
        case Certificate():
            return proof.claims, ()
        case Refutation():
            return (), (f"wrong on the word {''.join(proof.word)!r}",)
        case Unproved():
            return (), (f"not proved: {proof.reason}",)


def _value(model: CompiledModel, task: Task, claims: Sequence[Claim], reading: Reading) -> tuple[float, ...]:
    match reading:
        case Lengths():
            return _share(model, task, reading)
        case Noise():
            proved = [claim.eps for claim in claims if claim.scope == UNDER_NOISE and claim.eps]
            return (float(bool(proved) and max(proved) >= reading.eps),)
        case _:
            return ()


def _plain_claim(claim: Claim) -> dict[str, Any]:
    return {**to_mapping(claim), "eps": None if claim.eps is None else str(claim.eps)}


@torch.no_grad()
def _share(model: CompiledModel, task: Task, reading: Lengths) -> tuple[float, ...]:
    """The share of words that are right throughout, at all lengths of a reading together."""
    right = words = 0
    for length in lengths_to_test(task, [reading]):
        for batch in draw_tests(task, length, _WORDS):
            scores, _ = model(batch.inputs)
            right += int((model.legal(scores) == batch.targets).all(-1).all(-1).sum())
            words += len(batch)
    return (right / words,) if words else ()
