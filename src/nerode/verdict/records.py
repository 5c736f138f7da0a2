"""Records of verdicts: status, sense, task, size, reason and provenance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from nerode.core import InputError, Reference, Shown, UnknownName, to_frame


class Sense(StrEnum):
    """In which arithmetic "at every length" is meant; docs/theory/senses.md has the definitions.

    EXACT: real numbers without rounding. Gates are values that the layer has, not limits. Maps between
        layers and the readout are tame: definable with polynomials, exp and bounded sines.
    FINITE_PRECISION: real states, not rounded; a gate that a sigmoid reaches only in the limit counts as
        reached. What a layer passes on, to the next layer or back into its own gates, is a ReLU network with
        norms (epsilon above 0) of its state, read with a margin: finitely many values.
    IEEE: bit for bit in a float format, step by step, rounding to nearest, ties to even, with gradual
        underflow and without fused operations.
    ROBUST: correct under every disturbance below some eps > 0 at every step (Metric Automata Theory); not
        defined for a cache that grows with the input.
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


class Bits(StrEnum):
    """Bits that a number of the state takes after n letters, in the network that a "yes" stands for."""

    CONSTANT = "constantly many bits"
    LOGARITHMIC = "log n bits"
    LINEAR = "n bits"


class Provenance(StrEnum):
    """The way in which we know what a cited work says."""

    READ = "read in the source"
    SECONDARY = "read in a secondary source"
    RECALLED = "recalled, the source was not at hand"
    DERIVED = "derived here, see docs/theory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The smallest size for which a theorem or construction is known; None where it gives none.

    Attributes:
        layers: recurrent ones.
        width: numbers of the state, in the largest layer.
        factors: Householder factors per token.
        fewer: why fewer layers do not do; empty where that is not known.
        note: what the size hangs on, or where it is from.
    """

    layers: int | None = None
    width: int | None = None
    factors: int | None = None
    fewer: str = ""
    note: str = ""

    def __str__(self) -> str:
        parts = []
        if self.layers is not None:
            fewer = f" (not {self.layers - 1}: {self.fewer})" if self.fewer else ""
            parts.append(f"{self.layers} layer" + ("s" if self.layers != 1 else "") + fewer)
        if self.width is not None:
            parts.append(f"{self.width} state" + ("s" if self.width != 1 else ""))
        if self.factors is not None:
            parts.append(f"n_h = {self.factors}")
        if self.note:
            parts.append(self.note)
        return ", ".join(parts)

    @property
    def order(self) -> tuple[float, float, bool]:
        """Fewer layers first, then fewer states, then sizes without a remark; unknown numbers last."""
        return (self.layers or math.inf, self.width or math.inf, bool(self.note))

    def to_json(self) -> dict[str, Any]:
        """The size as a JSON object."""
        return {
            "layers": self.layers,
            "width": self.width,
            "n_h": self.factors,
            "fewer": self.fewer,
            "note": self.note,
            "text": str(self),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Shown):
    """The answer for one architecture in one sense.

    Attributes:
        conditional_on: what the answer hangs on beyond the sense, a conjecture or an assumption about the
            weights; empty if nothing.
        model: the model in which the source of the row states its result.
        question: for "open", what is not known.
        horizon: number of letters up to which a construction is correct, by float format, where no network
            is for every length; None if none is known.
        no_network: for "yes", why no network is compiled for it; empty where one is.
        undefined: whether the sense has no meaning for this architecture; the status is then "open".
        bits: for "yes", how many bits a number takes after n letters; None for other answers.
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
    conditional_on: str = ""
    model: str = ""
    question: str = ""
    no_network: str = ""
    undefined: bool = False
    bits: Bits | None = None
    horizon: Mapping[str, int] | None = field(default=None, hash=False)

    def __repr__(self) -> str:
        cited = f" ({self.reference})" if self.reference is not None else ""
        return f"<{self.architecture}, {self.sense.value}: {self.status.value}, {self.reason}{cited}>"

    @property
    def mark(self) -> str:
        """The answer in tables: ✓, ✗, ? or –; ° conditional, † not compiled, · not read in its source."""
        if self.undefined:
            return "–"
        sign = {Status.YES: "✓", Status.NO: "✗", Status.OPEN: "?"}[self.status]
        unread = self.provenance not in (None, Provenance.READ)
        return sign + "°" * bool(self.conditional_on) + "†" * bool(self.no_network) + "·" * unread

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
            "conditional_on": self.conditional_on or None,
            "model": self.model or None,
            "no_network": self.no_network or None,
            "question": self.question or None,
            "undefined": self.undefined,
            "bits": None if self.bits is None else self.bits.value,
            "horizon": None if self.horizon is None else dict(self.horizon),
            "mark": self.mark,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictTable(Shown):
    """All verdicts for one language, in the order of architectures and senses."""

    language: str
    task: VerdictTask
    dtype: str
    verdicts: tuple[Verdict, ...]

    def __repr__(self) -> str:
        counts = Counter(v.status for v in self.verdicts if v.sense is Sense.FINITE_PRECISION)
        listed = ", ".join(f"{counts[status]} {status.value}" for status in Status)
        return f"<verdicts on {self.language} ({self.task.value}): {listed} at finite precision>"

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

    def open_cells(self) -> list[Verdict]:
        """The verdicts that are open; a sense without meaning is not."""
        return [v for v in self.verdicts if v.status is Status.OPEN and not v.undefined]

    def smallest(self, sense: Sense) -> Verdict | None:
        """Returns the "yes" without a condition whose network is the smallest known; None without one."""
        able = [v for v in self.verdicts if v.sense is sense and v.mark.rstrip("·") == "✓"]
        return min(able, key=lambda v: (Size() if v.size is None else v.size).order, default=None)

    def columns(self) -> dict[str, list[object]]:
        """Returns the table in tidy form: one row per architecture and sense, by column."""
        number = len(self.verdicts)
        return {
            "language": [self.language] * number,
            "task": [self.task.value] * number,
            "architecture": [v.architecture for v in self.verdicts],
            "sense": [v.sense.value for v in self.verdicts],
            "status": [v.status.value for v in self.verdicts],
            "reason": [v.reason for v in self.verdicts],
            "reference": ["" if v.reference is None else str(v.reference) for v in self.verdicts],
            "size": ["" if v.size is None else str(v.size) for v in self.verdicts],
        }

    def frame(self) -> Any:
        """Returns the table as a `pandas.DataFrame`; `columns` needs no pandas."""
        return to_frame(self.columns())

    def architectures(self) -> list[str]:
        """The architectures of the table, in order."""
        return list(dict.fromkeys(v.architecture for v in self.verdicts))
