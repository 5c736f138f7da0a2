"""Records of verdicts: status, sense, task, size, reason and provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from nerode.core import InputError, Reference, Shown, UnknownName


class Sense(StrEnum):
    """In which arithmetic "at every length" is meant. The senses are different notions; none implies another.

    EXACT: real numbers or unbounded integers without rounding; the readout is continuous on a finite
        union of open convex sets (a geometrically constrained system).
    FINITE_PRECISION: a constant number of fractional bits, unbounded integer bits, no rounding inside
        the recurrence (the sense of Sarrof et al.; Grazzi et al. use a finite set of values instead).
    IEEE: bit for bit in a float format, step by step, rounding to nearest.
    ROBUST: right under every disturbance below some eps > 0 at every step (Metric Automata Theory).
    """

    EXACT = "exact"
    FINITE_PRECISION = "finite-precision"
    IEEE = "ieee"
    ROBUST = "robust"


class VerdictTask(StrEnum):
    """The task that stands for "doing a language".

    PREDICT: after every prefix of a valid word, the exact set of symbols (end included) that may follow.
    RECOGNISE: after the last symbol, whether the word belongs to the language.
    """

    PREDICT = "predict"
    RECOGNISE = "recognise"


class Status(StrEnum):
    """The three answers."""

    YES = "yes"
    NO = "no"
    OPEN = "open"


class Provenance(StrEnum):
    """The way in which we know what a cited work says."""

    READ = "read in the source"
    SECONDARY = "read in a secondary source"
    RECALLED = "recalled, the source was not at hand"
    DERIVED = "derived here, see docs/theory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The smallest size for which a theorem or construction is known; None where it gives none."""

    layers: int | None = None
    width: int | None = None
    factors: int | None = None
    note: str = ""

    def __str__(self) -> str:
        parts = []
        if self.layers is not None:
            parts.append(f"{self.layers} layer" + ("s" if self.layers != 1 else ""))
        if self.width is not None:
            parts.append(f"{self.width} state" + ("s" if self.width != 1 else ""))
        if self.factors is not None:
            parts.append(f"n_h = {self.factors}")
        if self.note:
            parts.append(self.note)
        return ", ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The size as a JSON object."""
        return {
            "layers": self.layers,
            "width": self.width,
            "n_h": self.factors,
            "note": self.note,
            "text": str(self),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Shown):
    """The answer for one architecture in one sense.

    Attributes:
        theorem: name of the row that settles it, empty when it is open.
        also: names of further rows that give the same answer.
        tried: for "open", the rows that speak of this architecture and why they do not apply.
    """

    architecture: str
    sense: Sense
    task: VerdictTask
    status: Status
    reason: str
    reference: Reference | None = None
    provenance: Provenance | None = None
    assumptions: tuple[str, ...] = ()
    size: Size | None = None
    witness: Mapping[str, Any] | None = field(default=None, hash=False)
    theorem: str = ""
    also: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The verdict under the keys of the command line's contract."""
        return {
            "architecture": self.architecture,
            "sense": self.sense.value,
            "task": self.task.value,
            "status": self.status.value,
            "reason": self.reason,
            "reference": None if self.reference is None else str(self.reference),
            "reference_key": None if self.reference is None else self.reference.key,
            "provenance": None if self.provenance is None else self.provenance.value,
            "assumptions": list(self.assumptions),
            "size": None if self.size is None else self.size.to_json(),
            "witness": None if self.witness is None else dict(self.witness),
            "theorem": self.theorem or None,
            "also": list(self.also),
            "tried": list(self.tried),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictTable(Shown):
    """All verdicts for one language, in the order of architectures and senses."""

    language: str
    task: VerdictTask
    dtype: str
    verdicts: tuple[Verdict, ...]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, key: str | tuple[str, str]) -> Verdict:
        """Returns the verdict of an architecture, in the finite-precision sense or in (name, sense)."""
        name, sense = (key, Sense.FINITE_PRECISION.value) if isinstance(key, str) else key
        if sense not in list(Sense):
            raise InputError(f"unknown sense {sense!r}; allowed are {', '.join(Sense)}")
        for verdict in self.verdicts:
            if verdict.architecture == name and verdict.sense == sense:
                return verdict
        raise UnknownName("architecture in this table", name, {v.architecture for v in self.verdicts})

    def architectures(self) -> list[str]:
        """The architectures of the table, in order."""
        return list(dict.fromkeys(v.architecture for v in self.verdicts))
