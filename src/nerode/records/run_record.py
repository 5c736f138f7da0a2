"""Run records: scores by length, history of validations, outcome of a training run.

All fields but `environment` and the times follow from the spec. A model that is handed out has claims with
it, in the words of certificates; they say what was found, and a certificate holds the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from nerode.core import FormatError, InputError, Shown, from_mapping, to_mapping
from nerode.records.spec import CompleteSpec, Measure, TrainSpec

TESTED = "tested only"
"""The weakest scope of a certificate, never called a proof."""

REFUTED = "refuted by a word"
"""Some word is answered wrongly; `length` is the number of letters after which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelClaim:
    """One claim about a model.

    Attributes:
        scope: a scope of certificates, from "all lengths in exact arithmetic" to "tested only", or REFUTED.
        says: in a sentence, what exactly is meant.
        dtype: the float format that it is about; None for exact arithmetic.
        length: "all", or a number of letters.
        word: the word that refutes, where it is short enough to be written.
    """

    scope: str
    says: str
    dtype: str | None = None
    length: int | str = "all"
    word: str = ""

    @property
    def is_proof(self) -> bool:
        """Whether it is more than a test, and good news."""
        return self.scope not in (TESTED, REFUTED)

    def __str__(self) -> str:
        """The claim in a line with a mark: a proof, a failure, or neither."""
        floats = f" in {self.dtype}" if self.dtype else ""
        if self.scope == REFUTED:
            after = f" ({self.word})" if self.word else ""
            return (
                f"✗ wrong after {_count(self.length)} letter{'' if self.length == 1 else 's'}{floats}{after}"
            )
        if self.scope == TESTED:
            if self.length == 0:
                return f"· neither tested nor proved{floats}"
            return f"· tested to length {_count(self.length)}{floats}, no proof"
        if self.length == 0:
            return f"· proved for the empty word alone{floats}"
        if self.length != "all":
            return f"✓ correct up to length {_count(self.length)}{floats}{first_prefixes(self.says)}"
        return f"✓ {self.scope.replace('a dtype', self.dtype or 'a dtype')}{first_prefixes(self.says)}"

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return to_mapping(self)


_RESTRICTED = {
    ", on valid prefixes": "that no word of the language continues nothing is said",
    ", membership only": "about next symbols is not covered",
}
"""What restricts a claim, by the words of its sentence that say so."""


def first_prefixes(covers: str) -> str:
    """Returns on which words or of what part of an answer a claim holds, "" for claims about all."""
    for part, without in _RESTRICTED.items():
        if without in covers:
            return part
    words = covers.partition("After every prefix of at least ")[2].partition(" words")[0]
    return f" from {words} words on" if words else ""


def claims_to_json(claims: Iterable[ModelClaim]) -> list[dict[str, Any]]:
    """Returns claims as plain values."""
    return [claim.to_json() for claim in claims]


def unexamined(says: str, *, dtype: str | None = None) -> ModelClaim:
    """Returns the claim that nothing was tested or proved, for the reason given."""
    return ModelClaim(scope=TESTED, says=says, dtype=dtype, length=0)


def _count(length: int | str) -> str:
    return f"{length:,}" if isinstance(length, int) else length


RUN_FORMAT = "nerode-run"
RUN_VERSION = 1

_NOT_FIELDS = ("format", "version", "claims")

NotFinite = Literal["loss", "gradient", "weights"]
"""The quantity that was no longer finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthScore:
    """Accuracies and loss on sequences of one length.

    Attributes:
        length: the length.
        sequences: how many there were.
        positions: how many of their positions count.
        token: share of these that were answered correctly.
        sequence: share of the sequences that were correct throughout.
        final: share of the sequences whose last position that counts was correct.
        scaled: `token` with a uniform guess at 0 and all correct at 1.
        loss: mean over the positions; None if it is not finite.
    """

    length: int
    sequences: int
    positions: int
    token: float
    sequence: float
    final: float
    scaled: float
    loss: float | None

    def accuracy(self, measure: Measure) -> float:
        """Returns one of the four accuracies."""
        match measure:
            case "token":
                return self.token
            case "sequence":
                return self.sequence
            case "final":
                return self.final
            case "scaled":
                return self.scaled


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisScore:
    """Accuracies at one value of a quantity other than the length.

    Attributes:
        axis: the quantity.
        value: its value.
        trained: whether training has this value.
        score: the accuracies.
    """

    axis: str
    value: int
    trained: bool
    score: LengthScore


def first_failing_length(scores: Sequence[LengthScore], *, measure: Measure, threshold: float) -> int | None:
    """Returns the shortest tested length whose accuracy is below the threshold, None if there is none."""
    return min((s.length for s in scores if s.accuracy(measure) < threshold), default=None)


def extrapolates_to(scores: Sequence[LengthScore], *, measure: Measure, threshold: float) -> int | None:
    """Returns the longest tested length that is mastered, None if not even the shortest is.

    A length counts only if the threshold is reached there and at every shorter length that was tested.

    Implements: [MemoryGeneralization]
    """
    failing = first_failing_length(scores, measure=measure, threshold=threshold)
    return max((s.length for s in scores if failing is None or s.length < failing), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One validation.

    Attributes:
        step: updates so far.
        samples: training sequences so far.
        longest: longest length of training so far.
        rate: the learning rate.
        loss: mean training loss since the last validation.
        validation: scores of the validation sequences, all lengths together.
    """

    step: int
    samples: int
    longest: int
    rate: float
    loss: float
    validation: LengthScore


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The step at which a number was no longer finite, which ended the run.

    Attributes:
        step: updates before it.
        what: "loss", "gradient" or "weights".
    """

    step: int
    what: NotFinite


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord(Shown):
    """The outcome of a training run.

    Attributes:
        key: the hash of its complete spec.
        title: the name of the model.
        spec: as it was written.
        complete: with all defaults.
        parameters: trained numbers.
        steps: updates made.
        samples: training sequences seen.
        stopped: the reason of its end: all steps made, enough accuracy in validation, its judge, or
            divergence.
        divergence: where, if it diverged.
        history: all validations.
        measure: the accuracy that the next three fields are about.
        threshold: accuracy from which a length counts as mastered.
        first_failing_length: the shortest tested length below it; None if there is none.
        extrapolates_to: the longest tested length that is mastered with all shorter ones; None if none is.
        evaluations: scores of each tested length; none if the run diverged.
        axes: scores of each value of the other quantities of the task.
        examination: results of the tests of the task that are no accuracies.
        environment: versions and machine.
        cpu_seconds: time of the processor for training, over all resumptions.
        evaluation_cpu_seconds: for testing.
        theory: the class of theory that a model of the user's own is declared to be of; empty for none.
        transitions: what was measured of the transitions of such a model; empty if they cannot be.
        checks: those of a run with a judge: words, accuracy, the lengths of words that were fed to it.
    """

    key: str
    title: str
    spec: TrainSpec
    complete: CompleteSpec
    parameters: int
    steps: int
    samples: int
    stopped: Literal["steps", "threshold", "judge", "divergence"]
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
    theory: str = ""
    transitions: dict[str, Any] = field(default_factory=dict)
    checks: tuple[dict[str, Any], ...] = ()

    def at(self, length: int) -> LengthScore | None:
        """Returns the score at a length, None if it was not tested."""
        return next((score for score in self.evaluations if score.length == length), None)

    @property
    def claims(self) -> tuple[ModelClaim, ...]:
        """The claims that follow from the tests: how far the model was correct, and where it was wrong."""
        dtype = self.spec.run.dtype
        if self.divergence is not None:
            return (
                unexamined("The run diverged: a number was not finite, and there is no model.", dtype=dtype),
            )
        wrong = min((s for s in self.evaluations if s.sequence < 1), key=_length_of, default=None)
        longest = extrapolates_to(self.evaluations, measure="sequence", threshold=1.0) or 0
        tested = ModelClaim(
            scope=TESTED,
            says=(
                "Every answer on random sequences of the tested lengths up to this one was correct. "
                "This is a test, not a proof."
            ),
            dtype=dtype,
            length=longest,
        )
        if wrong is None:
            return (tested,)
        refuted = ModelClaim(
            scope=REFUTED,
            says=(
                f"Of {wrong.sequences:,} random sequences of {wrong.length:,} positions a share of "
                f"{wrong.sequence:.3f} was answered correctly throughout."
            ),
            dtype=dtype,
            length=wrong.length,
        )
        return (refuted,) if longest == 0 else (tested, refuted)

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        plain = to_mapping(self)
        for name in ("theory", "transitions", "checks"):
            if not plain[name]:
                del plain[name]
        return {
            "format": RUN_FORMAT,
            "version": RUN_VERSION,
            **plain,
            "spec": self.spec.to_mapping(),
            "complete": self.complete.to_mapping(),
            "claims": claims_to_json(self.claims),
        }

    @classmethod
    def from_json(cls, data: Any, *, path: str) -> RunRecord:
        """Returns the record of plain values; `path` is where they were read.

        Raises:
            FormatError: if they are no record of a run.
        """
        if not isinstance(data, dict) or data.get("format") != RUN_FORMAT:
            raise FormatError(f"is not the record of a run: its format is not {RUN_FORMAT!r}", path=path)
        if data.get("version") != RUN_VERSION:
            raise FormatError(
                f"has version {data.get('version')!r}; this nerode reads {RUN_VERSION}", path=path
            )
        try:
            # Claims follow from the scores; what the file says of them is not believed.
            record = from_mapping(cls, {k: v for k, v in data.items() if k not in _NOT_FIELDS})
        except InputError as error:
            raise FormatError(f"is damaged: {error}", path=path) from None
        if problem := _damage(record):
            raise FormatError(f"is damaged: {problem}", path=path)
        return record


def _length_of(score: LengthScore) -> int:
    return score.length


def _damage(record: RunRecord) -> str:
    """The reason why a readable record is no outcome of a run; empty for a sound one."""
    lengths = [score.length for score in record.evaluations]
    steps = [row.step for row in record.history]
    if len(set(lengths)) < len(lengths) or len(set(steps)) < len(steps):
        return "a length or a step is there twice"
    scores = (*record.evaluations, *(row.validation for row in record.history))
    numbers = [value for s in scores for value in (s.token, s.sequence, s.final, s.scaled, s.loss or 0.0)]
    numbers += [record.threshold, *(row.loss for row in record.history)]
    return "" if all(map(math.isfinite, numbers)) else "a number is not finite"


def join_scores(scores: Sequence[LengthScore]) -> LengthScore:
    """Returns the score of all sequences together, under the longest of their lengths."""
    sequences = sum(s.sequences for s in scores)
    positions = sum(s.positions for s in scores)
    by_position = {
        name: sum(getattr(s, name) * s.positions for s in scores) / positions for name in ("token", "scaled")
    }
    by_sequence = {
        name: sum(getattr(s, name) * s.sequences for s in scores) / sequences
        for name in ("sequence", "final")
    }
    losses = [s.loss * s.positions for s in scores if s.loss is not None]
    return LengthScore(
        length=max(s.length for s in scores),
        sequences=sequences,
        positions=positions,
        loss=sum(losses) / positions if len(losses) == len(scores) else None,
        **by_position,
        **by_sequence,
    )
