"""Lines that are compiled and not trained: exact weights at the lengths of the table, and what is proved."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from nerode.core import Budget, to_mapping
from nerode.languages import resolve_language
from nerode.models.compiled import CompiledModel, load_model
from nerode.proofs import UNDER_NOISE, Claim, Refutation, Unproved
from nerode.reproduce.measuring.readings import lengths_to_test
from nerode.reproduce.records import LengthRange, Noise, Reading, TableLine
from nerode.study import NetworkStudy, study_network
from nerode.tasks import Prediction, Task
from nerode.tasks.formal import LanguageSettings
from nerode.training import draw_tests

_WORDS = 100
"""Words of each length."""

_SECONDS = 60.0
"""For the compiler, and again for the proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Measurements of a compiled network.

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


def measure_compiled(line: TableLine) -> Measured:
    """Returns the accuracies of the compiled network of a line in float32, and the claims proved of it."""
    begun = time.process_time()
    language = resolve_language(line.language)
    study = study_network(language, line.compile_to, budget=Budget(seconds=_SECONDS))
    if study.network is None:
        return Measured(
            values=((),) * len(line.cells),
            problems=study.refusals,
            cpu_seconds=time.process_time() - begun,
        )
    task = Prediction(LanguageSettings(language=line.language))
    model = load_model(study.network, dtype=torch.float32)
    return Measured(
        values=tuple(_value(model, task, study.claims, cell.reading) for cell in line.cells),
        claims=tuple(map(_plain_claim, study.claims)),
        parameters=study.network.num_parameters,
        problems=_problems(study),
        cpu_seconds=time.process_time() - begun,
    )


def _problems(study: NetworkStudy) -> tuple[str, ...]:
    """The reason why there is no proof, if there is none."""
    match study.result:
        case Refutation():
            return (f"wrong on the word {''.join(study.result.word)!r}",)
        case Unproved():
            return (f"not proved: {study.result.reason}",)
    return ()


def _value(model: CompiledModel, task: Task, claims: Sequence[Claim], reading: Reading) -> tuple[float, ...]:
    match reading:
        case LengthRange():
            return _share(model, task, reading)
        case Noise():
            proved = [claim.eps for claim in claims if claim.scope == UNDER_NOISE and claim.eps]
            return (float(bool(proved) and max(proved) >= reading.eps),)
        case _:
            return ()


def _plain_claim(claim: Claim) -> dict[str, Any]:
    return {**to_mapping(claim), "eps": None if claim.eps is None else str(claim.eps)}


@torch.no_grad()
def _share(model: CompiledModel, task: Task, reading: LengthRange) -> tuple[float, ...]:
    """The share of words that are correct throughout, at all lengths of a reading together."""
    right = words = 0
    for length in lengths_to_test(task, [reading]):
        for batch in draw_tests(task, length, _WORDS):
            scores, _ = model(batch.inputs)
            right += int((model.legal(scores) == batch.targets).all(-1).all(-1).sum())
            words += len(batch)
    return (right / words,) if words else ()
