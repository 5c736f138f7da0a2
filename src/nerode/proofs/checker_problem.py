"""What a verifier is given and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nerode.core import Budget
from nerode.languages import Alphabet, Language, Legal, Word
from nerode.proofs.certificate import PREDICT, RECOGNISE, VALID_PREFIXES, Claim, Refutation
from nerode.proofs.checker_records import CheckedNetwork

Evidence = Mapping[str, Any]

LANGUAGE_TASKS = (PREDICT, VALID_PREFIXES, RECOGNISE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a certificate is refused.

    Attributes:
        what: in one sentence.
        entry: the entry of the certificate, network or language that is wrong, as a path; "" for a word.
        refutation: the shortest word on which the network is wrong, if that is the reason.
    """

    what: str
    entry: str = ""
    refutation: Refutation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A network and a language, already read, with all the evidence of the certificate.

    Attributes:
        network: as the checker reads it.
        language: as `nerode.languages` reads it.
        evidence: by method.
        budget: limits for everything that the check may search.
        notes: what one verifier has established and another may use.
    """

    network: CheckedNetwork
    language: Language
    evidence: Mapping[str, Evidence]
    budget: Budget
    notes: dict[Any, Any] = field(default_factory=dict)


Verifier = Callable[[Problem, Evidence, Sequence[Claim]], Failure | None]
"""Checks the claims of one method; None if every one of them holds."""


def refuse_unless_implied(claims: Sequence[Claim], shown: Sequence[Claim]) -> Failure | None:
    """Returns the first claim that none of the claims that were shown implies."""
    for claim in claims:
        if not any(known.implies(claim) for known in shown):
            length = "" if claim.length == "all" else f" of length {claim.length}"
            dtype = "" if claim.dtype is None else f" in {claim.dtype}"
            return Failure(
                what=(
                    f"the claim {claim.scope!r}{dtype}{length} for the task {claim.task!r} does not follow "
                    f"from its evidence"
                ),
                entry="claims",
            )
    return None


def refute(alphabet: Alphabet, word: Word, expected: Legal, got: Legal) -> Failure:
    """Returns the failure of a network on a word."""
    refutation = Refutation(
        word=tuple(alphabet.symbols[a] for a in word),
        at=len(word),
        expected=tuple(expected.names(alphabet)),
        got=tuple(got.names(alphabet)),
    )
    return Failure(
        what=(
            f"after {alphabet.decode(word)} the network says {{{', '.join(refutation.got)}}}, the language "
            f"{{{', '.join(refutation.expected)}}}"
        ),
        refutation=refutation,
    )


def followed_letters(language: Language, configuration: Hashable, task: str) -> Sequence[int]:
    """Returns the letters that a search for a task reads: all, or the legal ones for valid prefixes."""
    if task == VALID_PREFIXES:
        return sorted(language.legal(configuration).symbols)
    return range(len(language.alphabet))


def agrees(task: str, expected: Legal, got: Legal) -> bool:
    """Whether an answer is right for a task."""
    return expected.end == got.end if task == RECOGNISE else expected == got
