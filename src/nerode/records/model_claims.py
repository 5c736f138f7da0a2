"""Claims about a model, and the end of a network: proved at every length, refuted by a word, or unsettled.

The words are those of certificates. A model that is handed out has such claims with it; they say what was
found, and are no proof by themselves: a certificate holds the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nerode.core import FormatError, InputError, from_mapping, read_json, to_mapping

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
        if self.length != "all":
            return f"✓ correct up to length {_count(self.length)}{floats}"
        return f"✓ {self.scope.replace('a dtype', self.dtype or 'a dtype')}{first_prefixes(self.says)}"

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return to_mapping(self)


def first_prefixes(covers: str) -> str:
    """Returns from which number of words on a claim about distributions holds, "" for claims about all."""
    words = covers.partition("After every prefix of at least ")[2].partition(" words")[0]
    return f" from {words} words on" if words else ""


def claims_to_json(claims: Iterable[ModelClaim]) -> list[dict[str, Any]]:
    """Returns claims as plain values."""
    return [claim.to_json() for claim in claims]


def claims_from_json(data: Any, *, path: str) -> tuple[ModelClaim, ...]:
    """Returns the claims of plain values; `path` is where they were read.

    Raises:
        FormatError: if they are no claims.
    """
    try:
        return tuple(from_mapping(ModelClaim, item) for item in data)
    except (InputError, TypeError, AttributeError) as error:
        raise FormatError(f"has claims that cannot be read: {error}", path=path) from None


def unexamined(says: str, *, dtype: str | None = None) -> ModelClaim:
    """Returns the claim that nothing was tested or proved, for the reason given."""
    return ModelClaim(scope=TESTED, says=says, dtype=dtype, length=0)


def _count(length: int | str) -> str:
    return f"{length:,}" if isinstance(length, int) else length


SETTLEMENT_FORMAT = "nerode-settlement"
SETTLEMENT_VERSION = 1

SETTLED = Path("settled")
"""The folder inside a run, or inside a network, that holds its end."""

SETTLEMENT_FILE = "settlement.json"
SETTLED_CERTIFICATE = "certificate.json"

Status = Literal["proved", "refuted", "unsettled"]

MARKS: dict[str, str] = {"proved": "●", "refuted": "○", "unsettled": "◐"}
"""The marks of pages and tables."""

MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The end of a network.

    Attributes:
        status: what is known in a word.
        about: the language or the task.
        words: the words that the status speaks of.
        dtype: the float format that was run; None for exact arithmetic.
        method: of the proof or of the search.
        length: the length up to which all words were answered correctly: "all" where proved.
        states: joint states of network and language that were seen.
        noise: the noise on the state below which a proof holds, as a fraction; None for no such claim.
        word: a word that is answered incorrectly, its letters; None unless refuted.
        expected: the correct answer at its end.
        got: the answer of the network.
        shortest: whether no shorter word is answered incorrectly.
        reason: why nothing is settled; empty otherwise.
        undecided: for each layer with gates, the share of gates that are neither 0 nor 1 nor -1 in floats.
        claims: what a proof covers, in words.
        weights: the SHA-256 of the tensors that it speaks of; empty for networks that were not trained.
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
    shortest: bool = False
    reason: str = ""
    undecided: dict[str, float] | None = None
    claims: tuple[str, ...] = ()
    weights: str = ""
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
    """Returns the settlement of a run or network, None if it has none.

    Raises:
        FormatError: if it is damaged.
    """
    path = folder / SETTLED / SETTLEMENT_FILE
    if not path.exists():
        return None
    return Settlement.from_json(
        read_json(path, max_bytes=MOST_BYTES, hint="`nerode prove` writes it"), path=path
    )
