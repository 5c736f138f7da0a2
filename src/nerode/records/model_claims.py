"""Claims about a model: proved, tested, or refuted by a word.

The words are those of certificates. A model that is handed out has such claims with it; they say what was
found, and are no proof by themselves: a certificate holds the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nerode.core import to_mapping

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


def unexamined(says: str, *, dtype: str | None = None) -> ModelClaim:
    """Returns the claim that nothing was tested or proved, for the reason given."""
    return ModelClaim(scope=TESTED, says=says, dtype=dtype, length=0)


def _count(length: int | str) -> str:
    return f"{length:,}" if isinstance(length, int) else length
