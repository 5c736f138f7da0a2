"""Training runs in a store: each trained once, alone or in processes, and continued where it was stopped."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from nerode.core import Emit, FormatError, InputError, LostJob, NerodeError, WorkerPool
from nerode.kernel import LANGUAGE_FILE
from nerode.languages import LanguageQuestion, Question, describe_question
from nerode.models import Model, save_model
from nerode.records import (
    RESULT,
    SUBJECT_FILE,
    AskedQuestion,
    NetworkEntry,
    Reading,
    RunOutput,
    RunRecord,
    RunStore,
    SubjectRecord,
    TokenLetters,
    TrainSpec,
    read_run,
)
from nerode.tasks import Task, build_task
from nerode.training.loop import OnProgress, ProgressEvent, train_run
from nerode.training.model_building import Build, own_builder, spec_model, spec_model_config
from nerode.training.specs import make_spec, run_key

CHECKPOINT = "checkpoint.safetensors"

_SECONDS_BETWEEN_CHECKPOINTS = 30.0


class TrainingRuns:
    """Training as a kind of run for sweeps."""

    name = "nerode.training.runs:TRAINING"

    def key(self, spec: dict[str, Any]) -> str:
        """Returns the hash of the spec with all defaults."""
        return run_key(make_spec(spec))

    def run(self, spec: dict[str, Any], out: Path, scratch: Path) -> RunOutput:
        """Trains, and writes the model into `out`; a run that diverged has none."""
        return run_output(_train_into(out, make_spec(spec), scratch))


TRAINING = TrainingRuns()


def run_output(record: RunRecord) -> RunOutput:
    """Returns the record of a run as a store keeps it."""
    result = record.to_json()
    return RunOutput(result=result, environment=record.environment, metrics=result.pop("history"))


def run_in(
    out: Path,
    spec: TrainSpec,
    *,
    build: Build | None = None,
    start: Mapping[str, Tensor] | None = None,
    origin: Mapping[str, Any] | None = None,
    letters: TokenLetters | None = None,
    on_progress: OnProgress | None = None,
    checkpoint_every: float = _SECONDS_BETWEEN_CHECKPOINTS,
) -> RunRecord:
    """Returns the record of a run: from its folder in `out` if it was done before, by training it otherwise.

    A run that was stopped goes on from its last checkpoint.

    Args:
        out: the folder of the run store.
        spec: the inputs of the run.
        build: makes a model of the user's own.
        start: the weights that `run.start` names.
        origin: of the weights, where they are not trained from the beginning.
        letters: of the model, where they are not those of the task by number.
        on_progress: is called with the progress of the run.
        checkpoint_every: seconds between two checkpoints.

    Raises:
        InputError: if the store cannot be written, or holds another run in the place of this one.
    """
    store, key = RunStore(out), run_key(spec)
    if store.is_done(key):
        store.clear_work(key)
        # The same run may have been written in another way, under another name.
        return replace(read_run(store.folder(key)), title=spec.model.title)
    # Before the run, whose work would be lost otherwise.
    store.require_writable()
    try:
        attempt = store.begin(key)
    except OSError as error:
        raise _cannot_write(store.folder(key), error) from None
    try:
        record = _train_into(
            attempt.out,
            spec,
            attempt.scratch,
            build=build,
            start=start,
            origin=origin,
            letters=letters,
            on_progress=on_progress,
            checkpoint_every=checkpoint_every,
        )
        store.publish(attempt, spec.to_mapping(), run_output(record))
    except OSError as error:
        raise _cannot_write(store.folder(key), error) from None
    finally:
        store.discard(attempt)
    return record


def _cannot_write(folder: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {folder}: {error.strerror}; choose another place")


def _train_into(
    out: Path,
    spec: TrainSpec,
    scratch: Path,
    *,
    build: Build | None = None,
    start: Mapping[str, Tensor] | None = None,
    origin: Mapping[str, Any] | None = None,
    letters: TokenLetters | None = None,
    on_progress: OnProgress | None = None,
    checkpoint_every: float = _SECONDS_BETWEEN_CHECKPOINTS,
) -> RunRecord:
    """Trains, with checkpoints in `scratch`, and writes the model into `out`."""
    record, trainer = train_run(
        spec,
        build=build,
        checkpoint=scratch / CHECKPOINT,
        checkpoint_every=checkpoint_every,
        start=start,
        on_progress=on_progress,
    )
    if record.divergence is None:
        write_subject(
            out,
            trainer.model,
            trainer.task,
            origin={**(origin or {"kind": "trained"}), "key": record.key},
            code=_code(record),
            letters=letters,
        )
        if trainer.exact is not None and record.stopped == "judge":
            trainer.exact.judge.write(out)
    return record


def _code(record: RunRecord) -> dict[str, Any]:
    """The module of the user's own that a run names; empty for a model of the zoo."""
    module = record.spec.model.module
    return {"name": module, "files": dict(record.complete.files)} if module else {}


def write_subject(
    folder: Path,
    model: nn.Module,
    task: Task,
    *,
    origin: dict[str, Any],
    code: dict[str, Any] | None = None,
    letters: TokenLetters | None = None,
) -> SubjectRecord:
    """Writes a model with the question of a task and its reading.

    Args:
        folder: to write.
        model: of the zoo, or a module of the user's own.
        task: what it should do.
        origin: of its weights.
        code: of a module of the user's own, its name and the hashes of its files.
        letters: the letters; by default those of the task, by number.
    """
    entry = NetworkEntry(kind="module", code=code or {})
    subject = SubjectRecord(network=entry, letters=letters or TokenLetters(), origin=origin)
    try:
        question, reading = task.question(), task.reading()
    except InputError:
        # Nothing is asked of an automaton.
        return save_model(folder, model, subject=subject)
    name = question.name if (language := getattr(task, "language", None)) is None else language.name
    asked = AskedQuestion(name=name, asks="class")
    if isinstance(question, LanguageQuestion):
        asked = AskedQuestion(name=name, asks=question.asks, words=question.words)
    numbered = TokenLetters.numbered(question.alphabet.symbols, feature=task.features is not None)
    subject = replace(subject, letters=letters or numbered, reading=reading, question=asked)
    return save_model(folder, model, subject=subject, language=describe_question(question))


def require_question(task: Task, question: Question | None, reading: Reading | None) -> None:
    """Raises FormatError unless a folder asks what its task asks, and reads scores as the task does."""
    wanted, read = None, None
    with contextlib.suppress(InputError):
        wanted, read = task.question(), task.reading()
    # Of the same language what may follow may be asked, or membership alone.
    asks, asked = (None if q is None else (q.hash, q.tasks) for q in (wanted, question))
    if asks != asked:
        raise FormatError(f"its question is not that of its task, {task.name}", path=LANGUAGE_FILE)
    if wanted is not None and reading != read:
        raise FormatError(
            f"its scores are read as {reading}; those of its task, {task.name}, are {read}",
            path=SUBJECT_FILE,
        )


def task_of_run(
    record: RunRecord, question: Question | None, reading: Reading | None, model: nn.Module | None
) -> Task:
    """Returns the task of a run; FormatError unless its folder has the question and the model of its spec."""
    spec = record.spec
    task = build_task(spec.task)
    require_question(task, question, reading)
    config = model.config.complete() if isinstance(model, Model) else None
    if not spec.model.module and config != spec_model_config(spec.model, task):
        raise FormatError(f"names another model than its run, {spec.model.title}", path=SUBJECT_FILE)
    return task


def run_builder(record: RunRecord, build: Build | None) -> Callable[[SubjectRecord], nn.Module] | None:
    """Returns the maker of the user's own module of a run, for `open_subject`; None for a model of the zoo.

    Args:
        record: of the run.
        build: the user's function, whose code is trusted.
    """
    if build is None:
        return None
    spec = record.spec

    def made(subject: SubjectRecord) -> nn.Module:
        if subject.network.code != _code(record):
            raise FormatError("names another module than the record of the run", path=SUBJECT_FILE)
        return spec_model(spec.model, build_task(spec.task), seed=spec.run.seed, build=build)

    return made


def folder_builder(folder: Path) -> Callable[[SubjectRecord], nn.Module] | None:
    """Returns the maker of the user's own module of a run on disk, whose code is trusted; None for others."""
    if not (folder / RESULT).exists():
        return None
    record = read_run(folder)
    return run_builder(record, own_builder(record.spec.model, recorded=record.complete.files))


def run_all(
    specs: Sequence[TrainSpec],
    out: Path,
    *,
    jobs: int = 1,
    on_progress: Callable[[int, ProgressEvent], None] | None = None,
) -> Iterator[tuple[int, RunRecord]]:
    """Yields the number and the record of each run as it ends.

    Runs that are in `out` are not made again. If the caller goes away, the processes end, too; a run that was
    under way goes on from its checkpoint when it is asked for again.

    Args:
        specs: the runs.
        out: the folder of the run store.
        jobs: processes at once; with 1, all is done here.
        on_progress: is called with the number of a run and its progress.

    Raises:
        NerodeError: if the process of a run died.
    """
    if jobs == 1 or len(specs) == 1:
        for number, spec in enumerate(specs):
            yield number, run_in(out, spec, on_progress=progress_of(number, on_progress))
        return
    pool: WorkerPool[TrainSpec, RunRecord] = WorkerPool(
        functools.partial(_run_in_worker, out), processes=min(jobs, len(specs))
    )
    for number, record in pool.run(specs, on_event=on_progress):
        if isinstance(record, LostJob):
            raise NerodeError(f"run {number + 1} of {len(specs)} ended without a result: {record.message}")
        yield number, record


def progress_of(number: int, on_progress: Callable[[int, ProgressEvent], None] | None) -> OnProgress | None:
    """Returns the callback of one of several runs."""
    return None if on_progress is None else lambda event: on_progress(number, event)


def _run_in_worker(out: Path, spec: TrainSpec, emit: Emit) -> RunRecord:
    return run_in(out, spec, on_progress=emit)
