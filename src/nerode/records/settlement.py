"""The outcome of a search, and the status of a run: proved, refuted at a length, or tested to a length."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nerode.core import FormatError, InputError, from_mapping, to_mapping
from nerode.records.run_record import RunRecord, first_failing_length
from nerode.records.spec import Measure
from nerode.records.subject import Folder

SETTLEMENT_FORMAT = "nerode-settlement"
SETTLEMENT_VERSION = 1

SETTLED = Path("settled")
"""The folder inside a run, or inside a network, that holds its settlement."""

SETTLEMENT_FILE = "settlement.json"
SETTLED_CERTIFICATE = "certificate.json"

Status = Literal["proved", "refuted", "unsettled"]

MARKS: dict[str, str] = {"proved": "●", "refuted": "○", "unsettled": "◐", "tested": "◐"}
"""The marks of pages and tables, for settlements and for runs."""

STATUS_LEGEND = "status: ● proved at every length  ○ n: wrong at length n  ◐ n: tested to length n"
"""The marks of a column of run statuses, in one line."""

EXACT_NETWORK = "the exact network"
WEIGHTS = "the weights"
"""The two things that a claim can be about, as commands and pages call them."""

MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The outcome of a search for a proof or for a failing word.

    Attributes:
        status: what is known in a word.
        about: the language or the task.
        words: the words that the status speaks of.
        reading: how scores are read as answers.
        dtype: the float format that was run; None for exact arithmetic.
        method: of the proof or of the search.
        length: the length up to which all words were answered correctly: "all" where proved.
        states: joint states of network and language that were seen.
        noise: the noise on the state below which a proof holds, as a fraction; None for no such claim.
        word: a word that is answered incorrectly, its letters; None unless refuted.
        expected: the correct answer at its end.
        got: the answer of the network.
        read: how the word is read: letter by letter ("step"), or in parts by the form for sequences
            ("forward"); empty without a word.
        shortest: whether no shorter word is answered incorrectly.
        known: a sentence for each strategy that ended without a result, in order.
        reason: why nothing is settled; empty otherwise.
        tested: the length of the longest sampled words, all of which were answered correctly.
        undecided: for each layer with gates, the share of gates that are neither 0 nor 1 nor -1 in floats.
        claims: what a proof covers, in words.
        weights: the SHA-256 of the tensors that it speaks of; empty for networks that were not trained.
        subject: the hash of the subject that it speaks of; empty for one that is in no folder.
        steps: row-steps of each strategy.
        cpu_seconds: of all of it.
    """

    status: Status
    about: str
    words: str
    dtype: str | None
    method: str
    length: int | str
    states: int
    noise: str | None = None
    word: tuple[str, ...] | None = None
    expected: str = ""
    got: str = ""
    read: Literal["step", "forward", ""] = ""
    shortest: bool = False
    known: tuple[str, ...] = ()
    reason: str = ""
    tested: int = 0
    undecided: dict[str, float] | None = None
    claims: tuple[str, ...] = ()
    weights: str = ""
    subject: str = ""
    reading: str = ""
    steps: dict[str, int] | None = None
    cpu_seconds: float = 0.0

    def __post_init__(self) -> None:
        if (self.status == "refuted") != (self.word is not None):
            raise InputError("a settlement has a failing word exactly if it is refuted")
        if (self.status == "proved") != (self.length == "all"):
            raise InputError("a settlement speaks of all lengths exactly if it is proved")
        if (self.status == "unsettled") != bool(self.reason):
            raise InputError("a settlement has a reason exactly if it is unsettled")

    @property
    def mark(self) -> str:
        """The mark of its status."""
        return MARKS[self.status]

    @property
    def first_wrong_length(self) -> int | None:
        """The length of the failing word; None if there is none."""
        return None if self.word is None else len(self.word)

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {"format": SETTLEMENT_FORMAT, "version": SETTLEMENT_VERSION, **to_mapping(self)}

    @classmethod
    def from_json(cls, data: Any, *, path: str | Path) -> Settlement:
        """Returns the settlement of plain values; `path` is where they were read.

        Raises:
            FormatError: if they are none.
        """
        wanted = (SETTLEMENT_FORMAT, SETTLEMENT_VERSION)
        if not isinstance(data, dict) or (data.get("format"), data.get("version")) != wanted:
            raise FormatError(f"is no {SETTLEMENT_FORMAT} of version {SETTLEMENT_VERSION}", path=path)
        try:
            return from_mapping(cls, {k: v for k, v in data.items() if k not in ("format", "version")})
        except InputError as error:
            raise FormatError(f"is damaged: {error}", path=path) from None


def read_settlement(folder: Path) -> Settlement | None:
    """Returns the settlement of the subject in a folder, None if it has none of its own.

    One of another subject is ignored, and so is one whose files are no longer those that the subject names.

    Raises:
        FormatError: if it is damaged.
    """
    place = folder / SETTLED
    if place.is_symlink() or not (place / SETTLEMENT_FILE).exists():
        return None
    data = Folder(place).read_json(SETTLEMENT_FILE, max_bytes=MOST_BYTES)
    found = Settlement.from_json(data, path=place / SETTLEMENT_FILE)
    try:
        own = Folder(folder)
        own.require_files()
        return found if found.subject == own.subject.hash else None
    except FormatError:
        return None


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
        """The mark with the length; a dash where nothing was tested."""
        if self.kind == "tested" and not self.length:
            return "–"
        return MARKS[self.kind] if self.kind == "proved" else f"{MARKS[self.kind]} {self.length}"

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
    """Returns the status of a run; tables, figures, sentences and pages all ask this function.

    Args:
        record: of the run.
        settlement: what `nerode prove` has found; None if it was not asked.
        measure: the accuracy that tests are judged by; by default that of the run.
        threshold: the accuracy from which a test is passed; by default that of the run.
    """
    failing = first_failing_length(
        record.evaluations,
        measure=measure or record.measure,
        threshold=record.threshold if threshold is None else threshold,
    )
    return status_of_tests([score.length for score in record.evaluations], failing, settlement)


def status_of_tests(
    lengths: Collection[int], failing: int | None, settlement: Settlement | None
) -> RunStatus:
    """Returns the status that follows from tests and a settlement.

    A run is refuted at the least of the length of its wrong word and of the first test that it fails.

    Args:
        lengths: all tested lengths.
        failing: the first of them whose test is failed; None if there is none.
        settlement: what `nerode prove` has found; None if it was not asked.
    """
    if settlement is not None and settlement.status == "proved":
        return RunStatus(kind="proved", length=0, tested=max(lengths, default=0))
    word = None if settlement is None else settlement.first_wrong_length
    wrong = min((n for n in (failing, word) if n is not None), default=None)
    tested = max((n for n in lengths if wrong is None or n < wrong), default=0)
    if wrong is None:
        return RunStatus(kind="tested", length=tested, tested=tested)
    return RunStatus(kind="refuted", length=wrong, tested=tested)
