"""What a run found, as plain values for JSON. All but `environment` and the times follow from the spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from nerode.core import FormatError, InputError, Shown, from_mapping, to_mapping
from nerode.training.scores import AxisScore, LengthScore
from nerode.training.spec import Measure

FORMAT = "nerode-run"
VERSION = 1

NotFinite = Literal["loss", "gradient", "weights"]
"""What was no longer finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One validation.

    Attributes:
        step: updates so far.
        samples: training sequences so far.
        longest: longest length of training so far.
        rate: the learning rate.
        loss: mean training loss since the last validation.
        validation: how the validation sequences are answered, all lengths together.
    """

    step: int
    samples: int
    longest: int
    rate: float
    loss: float
    validation: LengthScore


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Where a run ended because a number was no longer finite.

    Attributes:
        step: updates before it.
        what: "loss", "gradient" or "weights".
    """

    step: int
    what: NotFinite


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord(Shown):
    """What a run found.

    Attributes:
        key: the hash of its complete spec.
        title: the name of the model.
        spec: as it was written.
        complete: with all defaults.
        parameters: trained numbers.
        steps: updates made.
        samples: training sequences seen.
        stopped: why it ended: all steps made, enough accuracy in validation, or divergence.
        divergence: where, if it diverged.
        history: all validations.
        measure: the accuracy that the next three fields are about.
        threshold: accuracy from which a length counts as mastered.
        first_failing_length: the shortest tested length below it; None if there is none.
        extrapolates_to: the longest tested length that is mastered with all shorter ones; None if none is.
        evaluations: how each tested length is answered; none if the run diverged.
        axes: how each value of the other quantities of the task is answered.
        examination: what the model does in the tests of the task that are no accuracies.
        environment: versions and machine.
        cpu_seconds: time of the processor for training, over all resumptions.
        evaluation_cpu_seconds: for testing.
    """

    key: str
    title: str
    spec: dict[str, Any]
    complete: dict[str, Any]
    parameters: int
    steps: int
    samples: int
    stopped: Literal["steps", "threshold", "divergence"]
    divergence: Divergence | None
    history: tuple[HistoryRow, ...]
    measure: Measure
    threshold: float
    first_failing_length: int | None
    extrapolates_to: int | None
    evaluations: tuple[LengthScore, ...]
    axes: tuple[AxisScore, ...]
    examination: dict[str, Any]
    environment: dict[str, Any]
    cpu_seconds: float
    evaluation_cpu_seconds: float

    def at(self, length: int) -> LengthScore | None:
        """Returns the score at a length, None if it was not tested."""
        return next((score for score in self.evaluations if score.length == length), None)

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {"format": FORMAT, "version": VERSION, **to_mapping(self)}

    @classmethod
    def from_json(cls, data: Any, *, path: str) -> RunRecord:
        """Returns the record of plain values; `path` is where they were read.

        Raises:
            FormatError: if they are no record of a run.
        """
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise FormatError(f"is not the record of a run: its format is not {FORMAT!r}", path=path)
        if data.get("version") != VERSION:
            raise FormatError(f"has version {data.get('version')!r}; this nerode reads {VERSION}", path=path)
        try:
            return from_mapping(cls, {k: v for k, v in data.items() if k not in ("format", "version")})
        except InputError as error:
            raise FormatError(str(error), path=path) from None
