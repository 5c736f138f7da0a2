"""Models that were not trained here: answers and scores of imported ones, and a check of own ones."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.extraction.question import NOTHING, NetworkQuestion, is_member, question_of
from nerode.analysis.probes import read_word, symbols_of
from nerode.analysis.subject import LoadedNetwork, load_subject
from nerode.core import InputError, to_mapping
from nerode.languages import END
from nerode.models import Model, is_stateful
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
from nerode.tasks import build_task, complete_task
from nerode.training import (
    declared_theory,
    describe_environment,
    evaluate,
    measure_own,
    own_builder,
    spec_model,
    tested_lengths,
)
from nerode.verdict import contradiction, find_architecture

_SHOWN = 5


def answer_words(subject: LoadedNetwork, texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yields for each word whether it is accepted and what may follow each prefix.

    Without a language the likeliest letters after the word stand there instead.

    Raises:
        InputError: for a symbol that is no letter.
    """
    question = None if subject.task is None else question_of(subject.task)
    machine = None if question is None else Machine(subject.model, question)
    for text in texts:
        if machine is None or question is None:
            yield _likeliest(subject, text)
        else:
            yield _answer(machine, question, text)


def _answer(machine: Machine, question: NetworkQuestion, text: str) -> dict[str, Any]:
    word = question.alphabet.encode(text)
    (outputs,) = machine.traces([word])
    follows = [[] if output == NOTHING else output.split(" ") for output in outputs]
    return {
        "word": question.alphabet.decode(word),
        "accept": is_member(outputs[-1], question.kind),
        "next": follows if question.kind == "prediction" else [],
    }


@torch.no_grad()
def _likeliest(subject: LoadedNetwork, text: str) -> dict[str, Any]:
    letters = read_word(subject, text)
    shares = subject.model(letters, None)[0][0, -1].double().softmax(-1)
    names = (*symbols_of(subject), END)
    best = shares.argsort(descending=True)[:_SHOWN].tolist()
    found = {names[i] if i < len(names) else str(i): round(float(shares[i]), 6) for i in best}
    return {"word": text, "likeliest": found}


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


def require_own_models(specs: Iterable[TrainSpec], *, certify: bool = False) -> None:
    """Raises InputError for a model of the user's own that what is asked for would refuse after its training.

    Each module is built once, which runs the user's code, and its first weights are measured.

    Args:
        specs: the runs that are asked for; models of the zoo pass.
        certify: whether the runs are to be trained on until they can be proved, which own models cannot.

    Raises:
        InputError: if a module is not to be built, takes no state, has no `step` where one is needed, or has
            weights that contradict its declared class; UnknownName for an unknown class.
    """
    seen = set()
    for spec in specs:
        if not spec.model.module or (spec.model.module, spec.task.name) in seen:
            continue
        seen.add((spec.model.module, spec.task.name))
        if certify:
            raise InputError(
                f"{spec.model.module} is a model of your own; --certify trains layers of the zoo until they "
                "can be proved. Train it without, and settle the run with `nerode prove RUN --trust-code`"
            )
        task = build_task(spec.task)
        model = spec_model(spec.model, task, seed=spec.run.seed, build=own_builder(spec.model)).eval()
        declared = declared_theory(spec.model, model)
        if not declared:
            continue
        row = find_architecture(declared)
        if not is_stateful(model):
            raise InputError(
                f"{spec.model.module} is declared as {row.name}, but has no `step` and `initial_state` by "
                "which its transitions could be measured; add them, or leave the declaration out"
            )
        if trouble := contradiction(row, measure_own(model, task)):
            raise InputError(f"{spec.model.module} contradicts its declaration: {trouble}")
