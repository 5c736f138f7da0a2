"""The status of a run: proved at every length, refuted at a length, or tested to a length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nerode.records.model_claims import MARKS, Settlement
from nerode.records.run_record import RunRecord, first_failing_length
from nerode.records.spec import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """The one answer about a run that tables, curves, bars, conclusions and pages show.

    Attributes:
        kind: "refuted" where a test or a single word is answered wrongly.
        length: refuted at, or tested to; 0 where proved, or where nothing was tested.
        tested: the longest length at which and below which all tests are passed and no wrong word is known;
            0 if there is none.
    """

    kind: Literal["proved", "refuted", "tested"]
    length: int
    tested: int

    @property
    def cell(self) -> str:
        """The mark with the length."""
        mark = MARKS["unsettled" if self.kind == "tested" else self.kind]
        return mark if self.kind == "proved" else f"{mark} {self.length}"

    def __str__(self) -> str:
        """The status in words."""
        where = {"proved": "at every length", "refuted": f"at length {self.length:,}"}
        return f"{self.kind} {where.get(self.kind, f'to length {self.length:,}')}"

    def passes(self, length: int) -> bool:
        """Whether it is proved, or passes the tests of this length and of all shorter ones."""
        return self.kind == "proved" or 0 < length <= self.tested


def run_status(
    record: RunRecord,
    settlement: Settlement | None,
    *,
    measure: Measure | None = None,
    threshold: float | None = None,
) -> RunStatus:
    """Returns the status of a run; no other function decides it.

    A run is refuted at the least of the length of its wrong word and of the first test that it fails.

    Args:
        record: of the run.
        settlement: what `nerode prove` has found; None if it was not asked.
        measure: the accuracy that tests are judged by; by default that of the run.
        threshold: the accuracy from which a test is passed; by default that of the run.
    """
    lengths = [score.length for score in record.evaluations]
    if settlement is not None and settlement.status == "proved":
        return RunStatus(kind="proved", length=0, tested=max(lengths, default=0))
    failing = first_failing_length(
        record.evaluations,
        measure=measure or record.measure,
        threshold=record.threshold if threshold is None else threshold,
    )
    word = None if settlement is None else settlement.first_wrong_length
    wrong = min((n for n in (failing, word) if n is not None), default=None)
    tested = max((n for n in lengths if wrong is None or n < wrong), default=0)
    if wrong is None:
        return RunStatus(kind="tested", length=tested, tested=tested)
    return RunStatus(kind="refuted", length=wrong, tested=tested)
