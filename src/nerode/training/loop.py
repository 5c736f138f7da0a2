"""The training loop: one for all architectures and tasks; and a run in the middle, in one file.

A run is a pure function of its spec. Data, initial weights and dropout have random streams of their own, and
those of a step depend on its number alone. What is chosen on the way (longer sequences, an early end) is
chosen by validation on the lengths of training; longer ones are tested once, at the end.

Random numbers need no place here: those of each step are drawn from the seed, the purpose and the number of
the step. So a run that goes on from a checkpoint gives the same bits as one that was never stopped.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, overload

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from nerode.core import (
    FormatError,
    InputError,
    from_mapping,
    interrupted_between_steps,
    stream,
    to_mapping,
    write_atomically,
)
from nerode.models import TORCH_DTYPES, Model, coarse_products, fixed_bits, num_threads
from nerode.records import (
    AxisScore,
    Divergence,
    HistoryRow,
    LengthScore,
    RunRecord,
    TrainSpec,
    extrapolates_to,
    first_failing_length,
    hash_tensors,
    join_scores,
    merge_tables,
    nest_settings,
)
from nerode.tasks import Batch, build_task
from nerode.training.batch_parts import BatchPass
from nerode.training.data import (
    add_holds,
    curriculum_batches,
    first_state,
    require_aids,
    training_data,
    validation_batches,
)
from nerode.training.environment import describe_environment, keep_freed_memory
from nerode.training.evaluation import evaluate, evaluate_axes, examine, require_tests, score
from nerode.training.exact import ExactProgress, ExactRun
from nerode.training.model_building import (
    Build,
    declared_theory,
    measure_own,
    own_builder,
    own_code,
    spec_model,
)
from nerode.training.optimiser import (
    clip_gradients,
    make_optimiser,
    rate_factor,
    set_rates,
    update_weights,
)
from nerode.training.specs import complete_spec, make_specs, specs_of_seeds, tested_lengths
from nerode.training.terms import LossTerm


def require_start(name: str, start: Mapping[str, Tensor] | None) -> None:
    """Raises InputError unless the weights to begin with are those that a spec names."""
    if not name and start is None:
        return
    found = "" if start is None else hash_tensors(_content(start))
    if found != name:
        raise InputError(
            f"run.start names the weights {name[:16] or 'none'}; given are {found[:16] or 'none'} "
            "(`nerode mend` gives both)"
        )


def _content(tensors: Mapping[str, Tensor], notes: dict[str, str] | None = None) -> bytes:
    """Tensors as safetensors; cloned, because weights may share memory, which the format does not know."""
    return save({name: v.detach().clone().contiguous() for name, v in tensors.items()}, metadata=notes)


def require_length(batches: Sequence[Batch], length: int) -> None:
    """Raises InputError if a stop rule asks for a length that validation does not have."""
    lengths = sorted({batch.inputs.shape[1] for batch in batches})
    if length and length not in lengths:
        raise InputError(
            f"run.stop.length is {length}; validation has the lengths {', '.join(map(str, lengths))}"
        )


_HEADER = "nerode-checkpoint"


@dataclass(slots=True, kw_only=True)
class RunProgress:
    """Progress of a run so far.

    Attributes:
        step: updates made.
        samples: training sequences seen.
        longest: longest length of training so far.
        streak: validations in a row that reached the threshold of the stop rule.
        loss_sum: sum of the training losses since the last validation.
        history: all validations.
        cpu_seconds: time of the processor so far.
        stopped: whether the stop rule has ended it.
        divergence: where it diverged.
        exact: the attempts through exact gates; None if there are none.
    """

    step: int = 0
    samples: int = 0
    longest: int = 0
    streak: int = 0
    loss_sum: float = 0.0
    history: tuple[HistoryRow, ...] = ()
    cpu_seconds: float = 0.0
    stopped: bool = False
    divergence: Divergence | None = field(default=None)
    exact: ExactProgress | None = None


def write_checkpoint(
    path: Path,
    *,
    key: str,
    progress: RunProgress,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    exact: ExactRun | None = None,
) -> None:
    """Writes a checkpoint whole or not at all."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    if exact is not None:
        progress = replace(progress, exact=exact.progress)
        tensors |= {f"exact.{name}": value for name, value in exact.tensors().items()}
    for number, slots in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{n}": v for n, v in slots.items() if isinstance(v, Tensor)}
    header = {"key": key, "progress": to_mapping(progress)}
    write_atomically(path, _content(tensors, {_HEADER: json.dumps(header, allow_nan=False)}))


def read_checkpoint(path: Path, *, key: str) -> tuple[RunProgress, dict[str, Tensor]]:
    """Returns how far a run is, and its tensors.

    Raises:
        FormatError: if it is no checkpoint, or that of another run.
    """
    try:
        with safe_open(str(path), framework="pt") as file:
            header = _header(file.metadata() or {}, path)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
    except (SafetensorError, OSError) as error:
        raise FormatError(f"is not a checkpoint: {error}", path=path) from None
    if header["key"] != key:
        raise FormatError(
            f"is the checkpoint of the run {header['key'][:16]}; this is {key[:16]}",
            path=path,
            hint="Delete it to begin again.",
        )
    try:
        return from_mapping(RunProgress, header["progress"]), tensors
    except InputError as error:
        raise FormatError(f"does not fit the run: {error}", path=path) from None


def _header(metadata: dict[str, str], path: Path) -> dict[str, Any]:
    try:
        header = json.loads(metadata.get(_HEADER, ""))
    except ValueError:
        header = None
    if not isinstance(header, dict) or not isinstance(header.get("key"), str) or "progress" not in header:
        raise FormatError("is not a checkpoint: its header does not say of which run", path=path)
    return header


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}


def _fill(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        number, _, slot = name.partition(".")
        state.setdefault(int(number), {})[slot] = value
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})


_SECONDS_BETWEEN_EVENTS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """Progress of a training run.

    Attributes:
        event: "progress", now and then; "validation"; "testing", before the end.
        step: updates made.
        steps: updates at most.
        longest: longest length of training so far.
        loss: the latest training loss.
        accuracy: of the last validation, in the measure of the spec; None before the first.
        samples_per_second: training sequences, since the run began or went on.
        seconds_left: if all steps are made.
    """

    event: str
    step: int
    steps: int
    longest: int
    loss: float
    accuracy: float | None
    samples_per_second: float
    seconds_left: float


OnProgress = Callable[[ProgressEvent], None]


@overload
def train(
    spec: TrainSpec,
    *,
    build: Build | None = None,
    checkpoint: Path | str | None = None,
    checkpoint_every: float = 60.0,
    start: Mapping[str, Tensor] | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[RunRecord, nn.Module]: ...


@overload
def train(
    spec: str,
    *,
    arch: str = "",
    seeds: int = 1,
    settings: Mapping[str, Any] | None = None,
    build: Build | None = None,
    on_progress: OnProgress | None = None,
) -> list[tuple[RunRecord, nn.Module]]: ...


def train(
    spec: TrainSpec | str,
    *,
    arch: str = "",
    seeds: int = 1,
    settings: Mapping[str, Any] | None = None,
    build: Build | None = None,
    checkpoint: Path | str | None = None,
    checkpoint_every: float = 60.0,
    start: Mapping[str, Tensor] | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[RunRecord, nn.Module] | list[tuple[RunRecord, nn.Module]]:
    """Returns the record of a run and the trained model; a list of these where a task is named.

    `train("parity", arch="lstm", seeds=3)` is `nerode train parity --arch lstm --seeds 3` without folders:
    one pair per architecture and seed. Divergence is a result: the record says where, and nothing is tested.

    Args:
        spec: the inputs of one run, or the name of a task.
        arch: with a task: architectures, separated by commas; `+` joins the layers of one model.
        seeds: with a task: number of seeds.
        settings: with a task: settings by dotted name, like {"run.steps": 300}.
        build: makes a model of the user's own for a task (`task.letters`, `task.outputs`), instead of the one
            that the spec or `arch` names.
        checkpoint: a file to keep the state of the run in; if it exists, the run goes on from there.
        checkpoint_every: seconds between two checkpoints.
        start: the weights that run.start names, by the names of the model's tensors.
        on_progress: is called with the progress of the run.

    Raises:
        InputError: if a setting does not fit; UnknownName if there is no such task, architecture or setting.
    """
    if isinstance(spec, str):
        names = [name.strip() for name in arch.split(",") if name.strip()]
        tables = nest_settings(settings or {})
        if build is None:
            specs = make_specs(spec, names, seeds=range(seeds), tables=tables)
        elif names:
            raise InputError("arch and build exclude each other; give one of them")
        else:
            module = f"{build.__module__}:{getattr(build, '__qualname__', type(build).__name__)}"
            tables = merge_tables(tables, {"task": {"name": spec}, "model": {"module": module}})
            specs = specs_of_seeds(tables, seeds=range(seeds))
        runs = [train_run(own, build=build, on_progress=on_progress) for own in specs]
        return [(record, trainer.model) for record, trainer in runs]
    record, trainer = train_run(
        spec,
        build=build,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        checkpoint_every=checkpoint_every,
        start=start,
        on_progress=on_progress,
    )
    return record, trainer.model


def train_run(
    spec: TrainSpec,
    *,
    build: Build | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: float = 60.0,
    start: Mapping[str, Tensor] | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[RunRecord, Trainer]:
    """Returns the record of one run, and what trained it."""
    with fixed_bits(spec.run.threads), torch.random.fork_rng(devices=[]):
        trainer = Trainer(spec, build=build, start=start, on_progress=on_progress)
        if checkpoint is not None and checkpoint.exists():
            trainer.resume(checkpoint)
        written = time.perf_counter()
        steps = interrupted_between_steps() if checkpoint is not None else nullcontext(bool)
        with own_code("the model") if spec.model.module else nullcontext():
            with steps as interrupted:
                while not trainer.done:
                    trainer.step()
                    due = interrupted() or time.perf_counter() - written >= checkpoint_every
                    # What a judge knows of its last model is in no checkpoint.
                    if checkpoint is not None and due and not trainer.done:
                        trainer.save(checkpoint)
                        written = time.perf_counter()
                        if interrupted():
                            raise KeyboardInterrupt
            if checkpoint is not None and trainer.exact is None:
                # Control-C in the tests does not cost the training.
                trainer.save(checkpoint)
            record = trainer.finish()
            trainer.model.training_spec = spec  # type: ignore[assignment]  # says what it was trained for
            if isinstance(trainer.model, Model):
                trainer.model.claims = record.claims
            return record, trainer


def place_of(device: str) -> torch.device:
    """Returns a device of torch by its name, the CPU for none; InputError if it is not to be had here."""
    try:
        found = torch.device(device or "cpu")
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as problem:
        said = str(problem).splitlines()[0]
        raise InputError(
            f"run.device is {device!r}, which torch does not have here ({said}); leave it out to train on "
            "the CPU, or install a torch for that device"
        ) from None
    if found.type == "meta":
        raise InputError("run.device is 'meta', which computes nothing; give cuda, mps, xpu or leave it out")
    return found


class Trainer:
    """A run, step by step.

    Args:
        spec: the inputs of the run.
        build: makes a model of the user's own, instead of the one that the spec names.
        start: the weights that `run.start` names.
        on_progress: is called with the progress of the run.
    """

    def __init__(
        self,
        spec: TrainSpec,
        *,
        build: Build | None = None,
        start: Mapping[str, Tensor] | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        keep_freed_memory()
        self.spec = spec
        self.complete = complete_spec(spec)
        self.key = self.complete.key
        self.task = build_task(spec.task)
        asked = bool(spec.run.test_lengths)
        self.test_lengths = require_tests(self.task, tested_lengths(spec), all_of_them=asked)
        self.data = training_data(self.task, spec.run)
        # A spec that is to be trained is the user's order; readers of files ask for --trust-code before.
        build = build or own_builder(spec.model)
        require_start(spec.run.start, start)
        self.exact = None
        if spec.run.exact is not None:
            self.exact = ExactRun(spec, self.task, start=start, build=build)
            self._begin(self.exact.model)
        else:
            model = spec_model(spec.model, self.task, seed=spec.run.seed, build=build)
            if start is not None:
                model.load_state_dict(dict(start))
            self._begin(model.to(place_of(spec.run.device), TORCH_DTYPES[spec.run.dtype]))
        if spec.run.aids is not None:
            require_aids(spec.run.aids, self.task, self.model)
        curriculum = spec.run.curriculum
        highest = self.data.lengths[-1]
        self.progress = RunProgress(longest=min(curriculum.start, highest) if curriculum else highest)
        self._validation = validation_batches(self.task, self.data.lengths, spec.run.validation)
        require_length(self._validation, spec.run.stop.length)
        self._short: tuple[int, list[Batch]] = (-1, [])
        self._on_progress = on_progress
        self._begun = self._reported = time.perf_counter()
        self._samples_before = 0
        self._ended = False

    def _begin(self, model: nn.Module) -> None:
        """Begins with the weights of a model, and with a fresh optimiser."""
        self.model = model
        self.model.train()
        self.terms: list[LossTerm] = [] if self.exact is None else self.exact.terms
        trained = nn.ModuleList([model, *self.terms]) if self.terms else model
        self.optimiser = make_optimiser(trained, self.spec.optimiser)
        own = {id(parameter) for parameter in model.parameters()}
        self.weights = [p for group in self.optimiser.param_groups for p in group["params"] if id(p) in own]

    @property
    def steps(self) -> int:
        """Updates at most."""
        return self.data.steps if self.exact is None else self.exact.most_steps

    @property
    def done(self) -> bool:
        """Whether there is nothing more to train."""
        progress = self.progress
        if self.exact is None and progress.step >= self.steps:
            return True
        return self._ended or progress.stopped or progress.divergence is not None

    def resume(self, path: Path) -> None:
        """Goes on from a checkpoint.

        Raises:
            FormatError: if it is no checkpoint of this run.
        """
        progress, tensors = read_checkpoint(path, key=self.key)
        try:
            if self.exact is not None and progress.exact is not None:
                self.exact.resume(progress.exact, _under("exact.", tensors))
                self._begin(self.exact.model)
            self.model.load_state_dict(_under("model.", tensors))
            _fill(self.optimiser, _under("optimiser.", tensors))
        except (RuntimeError, ValueError, KeyError) as error:
            raise FormatError(f"does not fit the run: {error}", path=path) from None
        self.progress = progress
        self._samples_before = self.progress.samples

    def save(self, path: Path) -> None:
        """Writes a checkpoint."""
        write_checkpoint(
            path,
            key=self.key,
            progress=self.progress,
            model=self.model,
            optimiser=self.optimiser,
            exact=self.exact,
        )

    def step(self) -> None:
        """Makes one update, and validates when it is time to."""
        with fixed_bits(num_threads()):
            self._step()

    def _step(self) -> None:
        before = time.process_time()
        progress = self.progress
        exact = self.exact
        batch = self.data.batch(progress.step, progress.longest) if exact is None else exact.batch()
        # Not torch.manual_seed, which keeps a note of each call for a GPU that is not there.
        torch.default_generator.manual_seed(_draw(self.spec.run.seed, "dropout", progress.step))
        with coarse_products(self.spec.run.products == "bfloat16"):
            loss = self._update(batch)
        if progress.divergence is not None and self.exact is not None and self.exact.begin_next():
            progress.divergence = None
            self._begin(self.exact.model)
        elif progress.divergence is None:
            if self.count(loss, len(batch)):
                self.validate()
                self.report("validation", loss)
            elif time.perf_counter() - self._reported > _SECONDS_BETWEEN_EVENTS:
                self.report("progress", loss)
        progress.cpu_seconds += time.process_time() - before

    def _update(self, batch: Batch) -> float:
        """Changes the weights, unless a number is not finite; returns the loss."""
        spec = self.spec.optimiser
        place = self.progress.step if self.exact is None else self.exact.schedule_step
        set_rates(self.optimiser, rate_factor(spec, place, self.data.steps))
        self.optimiser.zero_grad(set_to_none=True)
        state = None
        if (aids := self.spec.run.aids) is not None:
            about = {"seed": self.spec.run.seed, "step": self.progress.step}
            batch = add_holds(batch, self.task, aids, **about)
            state = first_state(self.model, batch, self.task, aids, **about)
        with ExitStack() as watched:
            for term in self.terms:
                watched.enter_context(term.watch())
            # Terms read the layers after the pass, which is therefore made in one part.
            noisy = None if self.exact is None else self.exact.noisy(batch)
            whole = BatchPass(self.model, batch.inputs, state, parts=not self.terms, scores=noisy)
        loss: Tensor = self.task.loss(whole.scores, batch)
        for term in self.terms:
            loss = loss + term.loss(batch).to(loss.device)
        value = loss.item()
        if not math.isfinite(value):
            self.progress.divergence = Divergence(step=self.progress.step, what="loss")
            return value
        whole.backward(loss, self.weights)
        norm = clip_gradients(self.weights, spec.clip or math.inf)
        if not torch.isfinite(norm):
            self.progress.divergence = Divergence(step=self.progress.step, what="gradient")
            return value
        update_weights(self.optimiser)
        if self.exact is not None:
            self.exact.count(whole.scores, batch)
        return value

    def count(self, loss: float, samples: int) -> bool:
        """Notes an update, and returns whether it is time to validate."""
        progress = self.progress
        progress.step += 1
        progress.samples += samples
        progress.loss_sum += loss
        if self.exact is not None:
            return self.exact.is_due
        return progress.step % self.spec.run.evaluate_every == 0 or progress.step == self.data.steps

    def validate(self) -> None:
        """Adds a validation to the history, and decides about longer sequences or the end."""
        run_spec, progress = self.spec.run, self.progress
        scores = [score(self.model, self.task, [batch]) for batch in self._validation_batches()]
        found = join_scores(scores)
        last = progress.history[-1].step if progress.history else 0
        progress.history = (
            *progress.history,
            HistoryRow(
                step=progress.step,
                samples=progress.samples,
                longest=progress.longest,
                rate=self.optimiser.param_groups[0]["lr"],
                loss=progress.loss_sum / (progress.step - last),
                validation=found,
            ),
        )
        progress.loss_sum = 0.0
        if self.exact is not None:
            self._check(self.exact)
            return
        accuracy = found.accuracy(run_spec.measure)
        if progress.longest < self.data.lengths[-1]:
            curriculum = run_spec.curriculum
            assert curriculum is not None
            if accuracy >= curriculum.threshold:
                progress.longest = min(progress.longest + curriculum.step, self.data.lengths[-1])
            return
        if run_spec.stop.length:
            counted = [own for own in scores if own.length == run_spec.stop.length]
            accuracy = join_scores(counted).accuracy(run_spec.measure)
        progress.streak = progress.streak + 1 if accuracy >= run_spec.stop.threshold else 0
        progress.stopped = progress.streak >= run_spec.stop.patience

    def _check(self, exact: ExactRun) -> None:
        """Has the judge examine the model; begins the next attempt where this one is over."""
        found = exact.check()
        self.progress.stopped = found is not None
        if found is None and exact.progress.step == exact.steps:
            last = exact.plain()
            if exact.begin_next():
                self._begin(exact.model)
            else:
                found = last
        if found is not None:
            self.model, self.weights, self._ended = found, list(found.parameters()), True

    def _validation_batches(self) -> list[Batch]:
        longest, lengths = self.progress.longest, self.data.lengths
        if longest >= lengths[-1]:
            return self._validation
        if self._short[0] != longest:
            short = [n for n in lengths if n <= longest] or [lengths[0]]
            self._short = (longest, curriculum_batches(self.task, short, self.spec.run.validation))
        return self._short[1]

    def finish(self) -> RunRecord:
        """Tests the model and returns the record of the run."""
        begun = time.process_time()
        spec, progress = self.spec, self.progress
        if progress.divergence is None and not all(bool(torch.isfinite(p).all()) for p in self.weights):
            progress.divergence = Divergence(step=progress.step, what="weights")
        scores: tuple[LengthScore, ...] = ()
        axes: tuple[AxisScore, ...] = ()
        examination: dict[str, Any] = {}
        transitions: dict[str, Any] = {}
        if progress.divergence is None:
            self.report("testing", progress.history[-1].loss)
            count = spec.run.test_sequences
            scores = evaluate(self.model, self.task, self.test_lengths, sequences=count)
            axes = evaluate_axes(self.model, self.task, sequences=count)
            examination = examine(self.model, self.task)
            if not isinstance(self.model, Model):
                transitions = measure_own(self.model, self.task)
        self.model.cpu()
        measure, threshold = spec.run.measure, spec.run.test_threshold
        diverged = progress.divergence is not None
        return RunRecord(
            key=self.key,
            title=spec.model.title,
            spec=spec,
            complete=self.complete,
            parameters=sum(p.numel() * (2 if p.is_complex() else 1) for p in self.weights),
            steps=progress.step,
            samples=progress.samples,
            stopped="divergence" if diverged else self._reason(),
            divergence=progress.divergence,
            history=progress.history,
            measure=measure,
            threshold=threshold,
            first_failing_length=first_failing_length(scores, measure=measure, threshold=threshold),
            extrapolates_to=extrapolates_to(scores, measure=measure, threshold=threshold),
            evaluations=scores,
            axes=axes,
            examination=examination,
            environment=describe_environment(),
            cpu_seconds=progress.cpu_seconds,
            evaluation_cpu_seconds=time.process_time() - begun,
            theory=declared_theory(spec.model, self.model),
            transitions=transitions,
            checks=() if self.exact is None else self.exact.progress.checks,
        )

    def _reason(self) -> Literal["steps", "threshold", "judge"]:
        """The reason for the end of a run that did not diverge."""
        if not self.progress.stopped:
            return "steps"
        return "threshold" if self.exact is None else "judge"

    def report(self, event: str, loss: float) -> None:
        """Reports the progress of the run."""
        self._reported = time.perf_counter()
        if self._on_progress is None:
            return
        progress = self.progress
        seconds = max(self._reported - self._begun, 1e-9)
        speed = (progress.samples - self._samples_before) / seconds
        left = (self.steps - progress.step) * self.spec.run.batch
        history = progress.history
        self._on_progress(
            ProgressEvent(
                event=event,
                step=progress.step,
                steps=self.steps,
                longest=progress.longest,
                loss=loss,
                accuracy=history[-1].validation.accuracy(self.spec.run.measure) if history else None,
                samples_per_second=speed,
                seconds_left=left / speed if speed else math.inf,
            )
        )


def _draw(seed: int, *purpose: str | int) -> int:
    return int(stream(seed, *purpose).integers(2**63))
