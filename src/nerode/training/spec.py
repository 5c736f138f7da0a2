"""All that a training run depends on. A run is a pure function of its spec; its key is the spec's hash."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal

from nerode.core import InputError, from_mapping, to_mapping
from nerode.tasks import TaskConfig
from nerode.training.model_spec import ModelSpec

Measure = Literal["token", "sequence", "final", "scaled"]
"""Right positions; sequences right throughout; right last positions; right positions above chance."""

_YOUNGER = ("decay_only", "hold")
"""Settings of the optimiser that runs were made without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserSpec:
    """How weights are changed.

    Attributes:
        name: the method.
        rate: the learning rate after warm-up.
        decay: weight decay, of the weights that may decay.
        decay_only: names of the only weights that decay, as their layers call them (like "A"); empty for all
            that may.
        betas: of Adam and AdamW.
        momentum: of SGD.
        warm_up: steps over which the rate rises linearly.
        hold: steps after the warm-up before a falling schedule begins.
        schedule: what the rate does afterwards; "cosine" ends at zero with the last step.
        clip: largest norm of the gradients; 0 for no limit.
        slow_rate: largest rate of the weights that an architecture marks as slow (the dynamics of S4).
    """

    name: Literal["adamw", "adam", "sgd"] = "adamw"
    rate: float = 1e-3
    decay: float = 0.01
    decay_only: tuple[str, ...] = ()
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.0
    warm_up: int = 0
    hold: int = 0
    schedule: Literal["constant", "cosine"] = "constant"
    clip: float = 1.0
    slow_rate: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("rate", "slow_rate"):
            _require(0 < getattr(self, name) < math.inf, f"optimiser.{name}", getattr(self, name), "above 0")
        for name in ("decay", "clip", "warm_up", "hold"):
            _require(
                0 <= getattr(self, name) < math.inf, f"optimiser.{name}", getattr(self, name), "0 or more"
            )
        for name, value in (
            ("betas", min(self.betas)),
            ("betas", max(self.betas)),
            ("momentum", self.momentum),
        ):
            _require(0 <= value < 1, f"optimiser.{name}", value, "at least 0 and below 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curriculum:
    """Short sequences first.

    Attributes:
        start: longest length at the beginning.
        step: how much longer it gets each time.
        threshold: accuracy on validation sequences of the lengths so far at which it gets longer.
    """

    start: int
    step: int = 1
    threshold: float = 0.99

    def __post_init__(self) -> None:
        _require(self.start >= 1, "run.curriculum.start", self.start, "1 or more")
        _require(self.step >= 1, "run.curriculum.step", self.step, "1 or more")
        _require(0 < self.threshold <= 1, "run.curriculum.threshold", self.threshold, "above 0 and at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """When training ends early: by validation on the lengths of training, never by longer ones.

    Attributes:
        threshold: accuracy that is enough; above 1 for never.
        patience: how many validations in a row have to reach it.
    """

    threshold: float = 1.0
    patience: int = 3

    def __post_init__(self) -> None:
        _require(self.threshold > 0, "run.stop.threshold", self.threshold, "above 0 (above 1 for never)")
        _require(self.patience >= 1, "run.stop.patience", self.patience, "1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """How long, on how much, and how it is judged.

    Attributes:
        steps: updates, each on a batch of new sequences.
        epochs: passes over a fixed sample instead; 0 for none.
        sample: number of sequences of the fixed sample.
        batch: sequences of one update, all of one length.
        seed: of the data, the initial weights and dropout.
        curriculum: short sequences first; None for all lengths from the beginning.
        evaluate_every: updates between two validations.
        validation: number of validation sequences.
        stop: when to end early.
        measure: the accuracy that curriculum, stop rule and the rule of extrapolation look at.
        test_lengths: lengths to test at the end; empty for those of the task that have test sequences.
        test_sequences: sequences of each length.
        test_threshold: accuracy from which a length counts as mastered.
        dtype: type of the weights.
        threads: threads of torch.
    """

    steps: int = 1000
    epochs: int = 0
    sample: int = 0
    batch: int = 64
    seed: int = 0
    curriculum: Curriculum | None = None
    evaluate_every: int = 50
    validation: int = 256
    stop: StopRule = field(default_factory=StopRule)
    measure: Measure = "sequence"
    test_lengths: tuple[int, ...] = ()
    test_sequences: int = 256
    test_threshold: float = 0.9
    dtype: Literal["float32", "float64", "bfloat16"] = "float32"
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "evaluate_every", "validation", "test_sequences", "threads"):
            _require(getattr(self, name) >= 1, f"run.{name}", getattr(self, name), "1 or more")
        for name in ("epochs", "sample", "seed"):
            _require(getattr(self, name) >= 0, f"run.{name}", getattr(self, name), "0 or more")
        if (self.epochs > 0) != (self.sample > 0):
            raise InputError(
                f"run.epochs is {self.epochs} and run.sample is {self.sample}; a fixed sample needs both, "
                "new sequences at each step need neither"
            )
        if self.epochs and self.curriculum is not None:
            raise InputError(
                "run.curriculum needs new sequences at each step; leave run.epochs and run.sample"
            )
        for length in self.test_lengths:
            _require(length >= 1, "run.test_lengths", length, "lengths of 1 or more")
        _require(0 < self.test_threshold <= 1, "run.test_threshold", self.test_threshold, "in (0, 1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSpec:
    """All that a training run depends on."""

    task: TaskConfig
    model: ModelSpec = field(default_factory=ModelSpec)
    optimiser: OptimiserSpec = field(default_factory=OptimiserSpec)
    run: RunSpec = field(default_factory=RunSpec)

    @property
    def test_lengths(self) -> tuple[int, ...]:
        """The lengths to test, in order: those asked for, or the task's, or multiples of the longest."""
        kind, _ = self.task.resolve()
        task = self.task.build()
        longest = task.training_lengths[1]
        chosen = (
            self.run.test_lengths
            or task.test_lengths
            or kind.test_lengths
            or tuple(longest * k for k in (1, 2, 4, 8))
        )
        return tuple(sorted(set(chosen)))

    def complete(self) -> dict[str, Any]:
        """Returns everything that the run depends on, defaults written out, as plain values.

        A default that is written and one that is not give the same mapping.
        """
        run = {**to_mapping(self.run), "test_lengths": list(self.test_lengths)}
        if self.run.epochs:
            del run["steps"]
        # What is younger than the rest is left out where it is not used: such a run keeps its key.
        optimiser = {k: v for k, v in to_mapping(self.optimiser).items() if v or k not in _YOUNGER}
        files = {**self.task.file_hashes(), **self.model.file_hashes()}
        return {
            "task": to_mapping(self.task.complete()),
            "model": self.model.complete(self.task.build()),
            "optimiser": optimiser,
            "run": run,
            **({"files": files} if files else {}),
        }

    @property
    def key(self) -> str:
        """The hash of the complete spec: the name of the run."""
        text = json.dumps(self.complete(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_mapping(self) -> dict[str, Any]:
        """Returns the spec as it was written, as plain values for JSON."""
        return to_mapping(self)

    @classmethod
    def from_mapping(cls, given: dict[str, Any]) -> TrainSpec:
        """Returns the spec that plain values describe, or raises InputError or UnknownName."""
        spec = from_mapping(cls, given)
        spec.task.resolve()
        return spec


def _require(good: bool, name: str, value: object, allowed: str) -> None:
    if not good:
        raise InputError(f"{name} is {value}; it has to be {allowed}")
