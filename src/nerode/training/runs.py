"""Training runs in a store: each trained once, alone or in processes, and continued where it was stopped."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor, nn

from nerode.core import Emit, InputError, LostJob, NerodeError, WorkerPool, write_atomically
from nerode.models import MODEL_FORMAT, Model, save_model
from nerode.records import RunOutput, RunRecord, RunStore, TrainSpec, read_run
from nerode.training.loop import OnProgress, ProgressEvent, train_run
from nerode.training.model_building import Build
from nerode.training.specs import make_spec, run_key

MODEL = "model"
"""The folder of the trained model inside that of its run; absent after divergence."""
WEIGHTS = "weights.safetensors"
"""The weights of a model of the user's own, inside MODEL; those of the zoo have a config beside them."""
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
        write_model(out / MODEL, trainer.model)
        if trainer.exact is not None and record.stopped == "judge":
            trainer.exact.judge.write(out)
    return record


def write_model(folder: Path, model: nn.Module) -> None:
    """Writes a trained model: one of the zoo with its config, the weights alone of one of the user's own."""
    if isinstance(model, Model):
        save_model(folder, model)
        return
    weights = {name: v.detach().clone().contiguous() for name, v in model.state_dict().items()}
    write_atomically(folder / WEIGHTS, save(weights, metadata={"format": f"{MODEL_FORMAT}-weights"}))


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
