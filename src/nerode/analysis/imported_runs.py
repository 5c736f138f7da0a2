"""Imported models as runs of no training: tested like a run, so that reports can draw them."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from nerode.analysis.subject import load_subject
from nerode.core import InputError, to_mapping
from nerode.models import Model
from nerode.records import (
    CompleteSpec,
    ModelSpec,
    OptimiserSpec,
    RunRecord,
    RunSpec,
    TaskConfig,
    TrainSpec,
    extrapolates_to,
    first_failing_length,
)
from nerode.tasks import complete_task
from nerode.training import describe_environment, evaluate, tested_lengths

_SEQUENCES = 64


def score_import(folder: Path) -> RunRecord:
    """Returns the record of an imported model: its scores by length on the task of its language, no training.

    Raises:
        InputError: if it was imported without a language.
    """
    begun = time.process_time()
    subject = load_subject(folder)
    record, model = subject.imported, subject.model
    if subject.task is None or record is None or not isinstance(model, Model):
        raise InputError(
            f"{folder} was imported without --language; nothing says what is correct, so there is no score"
        )
    kind = "language-recognition" if record.recognises else "language-prediction"
    task = TaskConfig(name=kind, settings={"language": record.language})
    layers = ",".join(layer.name for layer in model.config.layers)
    run = RunSpec(steps=1, test_sequences=_SEQUENCES)
    spec = TrainSpec(task=task, model=ModelSpec(layers=layers), optimiser=OptimiserSpec(), run=run)
    lengths = tested_lengths(spec)
    scores = evaluate(model, subject.task, lengths, sequences=_SEQUENCES)
    complete = CompleteSpec(
        task=complete_task(task),
        model=to_mapping(model.config.complete()),
        optimiser=spec.optimiser,
        run=replace(run, test_lengths=lengths),
    )
    measure, threshold = run.measure, run.test_threshold
    return RunRecord(
        key=complete.key,
        title=f"{folder.name} ({record.library})",
        spec=spec,
        complete=complete,
        parameters=model.num_parameters,
        steps=0,
        samples=0,
        stopped="steps",
        divergence=None,
        history=(),
        measure=measure,
        threshold=threshold,
        first_failing_length=first_failing_length(scores, measure=measure, threshold=threshold),
        extrapolates_to=extrapolates_to(scores, measure=measure, threshold=threshold),
        evaluations=scores,
        axes=(),
        examination={},
        environment=describe_environment(),
        cpu_seconds=0.0,
        evaluation_cpu_seconds=time.process_time() - begun,
    )
