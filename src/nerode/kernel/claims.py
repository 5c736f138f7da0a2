"""Claims, certificates, and what a check hands back.

A claim is one sentence about a network with its scope. The kernel never believes a sentence: it derives the
claims that follow from the evidence, each with the sentence made here, and accepts a stated claim only if a
derived one implies it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from nerode.kernel.numbers import read_rational, write_number
from nerode.kernel.reader import anything, file_record, listing, optional, quoted, record, table, text
from nerode.kernel.work import Unreadable

Json = Any

INTEGERS = "integer-exactness"
"""The method of claims in a float format, which rest on the cover of another method."""

FORMAT = "nerode-certificate"
VERSION = 2
MAX_CLAIMS = 1_000

EXACT = "all lengths in exact arithmetic"
ANY_ORDER = "all lengths bit-exact in a dtype, any evaluation order"
STEP_BY_STEP = "all lengths bit-exact in a dtype, step by step"
UNDER_NOISE = "all lengths under noise below eps"
UP_TO_LENGTH = "right up to length N in a dtype"
TESTED = "tested only"

SCOPES = (EXACT, ANY_ORDER, STEP_BY_STEP, UNDER_NOISE, UP_TO_LENGTH, TESTED)
"""How far a claim reaches, from strong to weak; the last is never called a proof."""

PREDICT = "predict"
VALID_PREFIXES = "predict on valid prefixes"
RECOGNISE = "recognise"
WINDOW = "window"
FRAGILE = "fragile"
TRACK = "track"

LANGUAGE_TASKS = (PREDICT, VALID_PREFIXES, RECOGNISE)
TASKS = (*LANGUAGE_TASKS, WINDOW, FRAGILE, TRACK)
"""What a claim is about: a language in three ways, the window, robustness, the class of a word."""

DONE = {
    PREDICT: (
        "After every prefix of every word over the alphabet the network names exactly the symbols that may "
        "follow and whether the word may end"
    ),
    VALID_PREFIXES: (
        "After every prefix of a word of the language the network names exactly the symbols that may follow "
        "and whether the word may end; of prefixes that no word of the language continues nothing is said"
    ),
    RECOGNISE: (
        "After every word over the alphabet the network says exactly whether it is in the language; what it "
        "says about next symbols is not covered"
    ),
    TRACK: "After every word that is asked about the network names exactly its class; every class counts",
}

_ARITHMETIC = {
    "exact": "In exact arithmetic",
    "any": (
        "In the stated dtype, where every product and sum is exact in any order of summation and any "
        "grouping of a scan"
    ),
    "step": (
        "In the stated dtype, one letter after the other, where every product and sum is exact in any order "
        "of summation"
    ),
    "rounded": (
        "In the stated dtype, one letter after the other by the module's own step, with all its roundings, "
        "on the arithmetic and in the batch sizes that the evidence names, with states in contiguous memory"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryFormat:
    """A binary floating-point format.

    Attributes:
        bits: bits of the significand, the leading one included.
        smallest: exponent of the smallest normal number.
        largest: exponent of the largest power of two.
    """

    bits: int
    smallest: int
    largest: int


DTYPES: Mapping[str, BinaryFormat] = {
    "float64": BinaryFormat(bits=53, smallest=-1022, largest=1023),
    "float32": BinaryFormat(bits=24, smallest=-126, largest=127),
    "bfloat16": BinaryFormat(bits=8, smallest=-126, largest=127),
    "float16": BinaryFormat(bits=11, smallest=-14, largest=15),
}
"""The formats that a claim may name."""


_CLAIM_KEYS = ("scope", "dtype", "length", "eps", "method", "task", "covers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement about the network.

    Attributes:
        scope: one of SCOPES.
        dtype: one of DTYPES where the scope speaks of a dtype, None otherwise.
        length: "all", or the number of letters up to which the claim holds.
        eps: the size of the noise or of the error that the claim speaks of, None where there is none.
        method: the method of proof.
        task: one of TASKS.
        covers: in one sentence, what exactly is claimed (of the stated length, dtype and eps).
    """

    scope: str
    method: str
    task: str
    covers: str
    dtype: str | None = None
    length: int | str = "all"
    eps: Fraction | None = None

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise Unreadable(
                f"unknown scope {quoted(self.scope)} of a claim; allowed are {'; '.join(SCOPES)}"
            )
        if self.task not in TASKS:
            raise Unreadable(f"unknown task {quoted(self.task)} of a claim; allowed are {', '.join(TASKS)}")
        if (self.dtype is not None) != ("dtype" in self.scope) and self.scope not in (UNDER_NOISE, TESTED):
            raise Unreadable(f"a claim of scope {self.scope!r} has the dtype {quoted(self.dtype)}")
        if self.dtype is not None and self.dtype not in DTYPES:
            raise Unreadable(
                f"unknown dtype {quoted(self.dtype)} of a claim; allowed are {', '.join(DTYPES)}"
            )
        if self.length != "all" and (type(self.length) is not int or self.length < 0):
            raise Unreadable(
                f"a claim has the length {quoted(self.length)}; give 'all' or a number of letters"
            )
        if self.scope.startswith("all lengths") != (self.length == "all") and self.scope != TESTED:
            raise Unreadable(f"a claim of scope {self.scope!r} has the length {quoted(self.length)}")
        if self.eps is not None and self.eps <= 0:
            raise Unreadable("a claim has an eps that is not above 0")
        if self.scope == UNDER_NOISE and self.eps is None:
            raise Unreadable("a claim under noise does not say how much noise; give eps")
        if not self.method or not self.covers:
            raise Unreadable("a claim needs a method and a sentence that says what it covers")

    def implies(self, other: Claim) -> bool:
        """Whether the other claim says the same of this length or of shorter words."""
        longer = self.length == "all" or (
            isinstance(self.length, int) and isinstance(other.length, int) and self.length >= other.length
        )
        same = ("scope", "method", "task", "covers", "dtype", "eps")
        return longer and all(getattr(self, key) == getattr(other, key) for key in same)


def language_claim(
    *, task: str, method: str, dtype: str | None = None, order: str = "exact", length: int | str = "all"
) -> Claim:
    """Returns the claim that a network does a language.

    Args:
        task: one of LANGUAGE_TASKS, or TRACK.
        method: the method of proof.
        dtype: the float format of a bit-exact claim.
        order: "exact", or for a dtype "any", "step" or "rounded".
        length: "all" or the greatest length.
    """
    scopes = {"exact": EXACT, "any": ANY_ORDER, "step": STEP_BY_STEP, "rounded": STEP_BY_STEP}
    return Claim(
        scope=scopes[order] if length == "all" else UP_TO_LENGTH,
        method=method,
        task=task,
        covers=f"{_ARITHMETIC[order]}: {DONE[task][0].lower()}{DONE[task][1:]}.",
        dtype=dtype,
        length=length,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Claims about a network and a language, with their evidence.

    Attributes:
        network: SHA-256 of the canonical text of the network's JSON.
        language: SHA-256 of the canonical text of the language's definition.
        claims: what is claimed, strongest first.
        evidence: by method, what the kernel needs besides network and language.
    """

    network: str
    language: str
    claims: tuple[Claim, ...]
    evidence: Mapping[str, Json]

    def __post_init__(self) -> None:
        for what, digest in (("network", self.network), ("language", self.language)):
            if len(digest) != 64 or any(c not in "0123456789abcdef" for c in digest):
                raise Unreadable(f"the certificate's hash of the {what} is not 64 hexadecimal digits")
        if not self.claims:
            raise Unreadable("the certificate claims nothing")
        if len(self.claims) > MAX_CLAIMS:
            raise Unreadable(f"the certificate has {len(self.claims)} claims; {MAX_CLAIMS} is the limit")

    def __repr__(self) -> str:
        return f"<certificate: {self.claims[0].scope}; {len(self.claims)} claims in all>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refutation:
    """A word on which a network is wrong.

    Attributes:
        word: its symbols; a shortest such word only where the finder says so.
        at: how many of them have been read where the answers differ.
        expected: what may follow there ("$" for the end).
        got: what the network says.
    """

    word: tuple[str, ...]
    at: int
    expected: tuple[str, ...]
    got: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The reason why a certificate is refused.

    Attributes:
        what: in one sentence.
        entry: the entry of the certificate, network or language that is wrong, as a path; "" for a word.
        refutation: the shortest word on which the network is wrong, if that is the reason.
    """

    what: str
    entry: str = ""
    refutation: Refutation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """The consequences of the evidence of a method.

    Attributes:
        found: `cells` and `digest` of a cover.
        claims: all claims that follow, those in float formats included.
        failure: why nothing follows, with a failing word if one is found.
    """

    found: Mapping[str, Json] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    failure: Failure | None = None


def first_not_implied(claims: Sequence[Claim], shown: Sequence[Claim]) -> Failure | None:
    """Returns the first claim that none of the claims that were shown implies, as a failure."""
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


def certificate_to_json(certificate: Certificate) -> dict[str, Json]:
    """Returns the certificate as JSON-ready values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "network": certificate.network,
        "language": certificate.language,
        "claims": [claim_to_json(claim) for claim in certificate.claims],
        "evidence": dict(certificate.evidence),
    }


def claim_to_json(claim: Claim) -> dict[str, Json]:
    """Returns a claim as JSON-ready values."""
    values = {key: getattr(claim, key) for key in _CLAIM_KEYS}
    return {**values, "eps": None if claim.eps is None else write_number(claim.eps)}


_CLAIM = record(
    {
        "scope": text,
        "dtype": optional(text),
        "length": anything,
        "eps": optional(read_rational),
        "method": text,
        "task": text,
        "covers": text,
    }
)
_CERTIFICATE = file_record(
    FORMAT,
    VERSION,
    {
        "network": text,
        "language": text,
        "claims": listing(anything, most=MAX_CLAIMS),
        "evidence": table(table(anything)),
    },
)


def certificate_from_json(data: Json) -> Certificate:
    """Returns the certificate of JSON values.

    Raises:
        Unreadable: for a missing or unknown key, another format or version, or a value that makes no sense.
    """
    parts = _CERTIFICATE(data, "a certificate")
    return Certificate(
        network=parts["network"],
        language=parts["language"],
        claims=tuple(map(claim_from_json, parts["claims"])),
        evidence=parts["evidence"],
    )


def claim_from_json(data: Json) -> Claim:
    """Returns the claim of JSON values.

    Raises:
        Unreadable: for a missing or unknown key, or a value that makes no sense.
    """
    return Claim(**_CLAIM(data, "a claim"))
