"""Lines that are compiled and not trained: exact weights at the lengths of the table, and what is proved."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch

from nerode.certificates.certificate import Certificate, Claim
from nerode.certificates.certify import certify
from nerode.compiler.construction import Options
from nerode.compiler.pipeline import compile_language
from nerode.core.budget import Budget
from nerode.core.config import to_mapping
from nerode.core.errors import BudgetExceeded, NotCompilable
from nerode.languages.resolve import resolve_language
from nerode.models.compiled.model import CompiledModel
from nerode.models.load import load_model
from nerode.reproduce.readings import lengths_to_test
from nerode.reproduce.records import Lengths, Line
from nerode.tasks.formal.language_task import LanguageSettings
from nerode.tasks.prediction import Prediction
from nerode.tasks.task import Task
from nerode.training.evaluation import draw_tests

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
        refused: why there is no network.
        cpu_seconds: for compiling, running and proving.
    """

    values: tuple[tuple[float, ...], ...]
    claims: tuple[dict[str, Any], ...] = ()
    parameters: int | None = None
    refused: tuple[str, ...] = ()
    cpu_seconds: float = 0.0


def measure_compiled(line: Line) -> Measured:
    """Returns how the compiled network of a line answers in float32, and what is proved about it."""
    begun = time.process_time()
    language = resolve_language(line.language)
    try:
        network = compile_language(language, line.compile_to, Options(budget=Budget(seconds=_SECONDS)))
    except NotCompilable as refusal:
        return Measured(
            values=((),) * len(line.cells),
            refused=tuple(refusal.reasons),
            cpu_seconds=time.process_time() - begun,
        )
    task = Prediction(LanguageSettings(language=line.language))
    model = load_model(network, dtype=torch.float32)
    values = tuple(_share(model, task, cell.reading) for cell in line.cells)
    try:
        proof = certify(network, language, budget=Budget(seconds=_SECONDS))
    except BudgetExceeded:
        claims: tuple[dict[str, Any], ...] = ()
    else:
        claims = tuple(map(_plain_claim, proof.claims)) if isinstance(proof, Certificate) else ()
    return Measured(
        values=values,
        claims=claims,
        parameters=network.num_parameters,
        cpu_seconds=time.process_time() - begun,
    )


def _plain_claim(claim: Claim) -> dict[str, Any]:
    return {**to_mapping(claim), "eps": None if claim.eps is None else str(claim.eps)}


@torch.no_grad()
def _share(model: CompiledModel, task: Task, reading: object) -> tuple[float, ...]:
    """The share of words that are right throughout, at all lengths of a reading together."""
    if not isinstance(reading, Lengths):
        return ()
    right = words = 0
    for length in lengths_to_test(task, [reading]):
        for batch in draw_tests(task, length, _WORDS):
            scores, _ = model(batch.inputs)
            right += int((model.legal(scores) == batch.targets).all(-1).all(-1).sum())
            words += len(batch)
    return (right / words,) if words else ()
