"""The one view of verdicts: by family, one row for all architectures that share their answers.

Terminal, pages, atlas, explorer and notebook draw the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from nerode.core import Reference
from nerode.verdict import (
    ARCHITECTURES,
    Architecture,
    Gates,
    MemoryKind,
    Provenance,
    Sense,
    Transition,
    Verdict,
)

if TYPE_CHECKING:
    from nerode.report.pages.render import Bibliography

SENSE_TITLES: Mapping[Sense, str] = {
    Sense.FINITE_PRECISION: "finite precision",
    Sense.EXACT: "exact arithmetic",
    Sense.IEEE: "IEEE floats",
    Sense.ROBUST: "under noise",
}


def sense_title(sense: Sense, dtype: str = "") -> str:
    """Returns how a sense is called on a page; the float format, where it is known, names the IEEE sense."""
    return f"IEEE {dtype}" if sense is Sense.IEEE and dtype else SENSE_TITLES[sense]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictText:
    """One verdict, ready to be shown.

    Attributes:
        sense: the arithmetic that it is about.
        status: "yes", "no" or "open".
        reason: in one sentence.
        reference: the work behind it.
        provenance: whether the result is the paper's or derived here.
        assumptions: of the theorem.
        size: of a network that does it.
        witness: of a "no".
        tried: theorems that do not apply to an open question, with the reason.
        mark: the answer as a matrix shows it.
        conditional_on: what the answer hangs on.
        model: what the theorem is stated for.
        no_network: for "yes", why no network is compiled.
    """

    sense: str
    status: str
    reason: str
    reference: Reference | None
    provenance: str
    assumptions: tuple[str, ...]
    size: str
    witness: str
    tried: tuple[str, ...]
    mark: str = ""
    conditional_on: str = ""
    model: str = ""
    no_network: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """The architectures of one family that have the same answers in every sense.

    Attributes:
        architectures: of the row.
        sense: the one that is shown first.
        answers: by sense, in the order of `SENSE_TITLES`.
    """

    architectures: tuple[Architecture, ...]
    sense: Sense
    answers: Mapping[Sense, VerdictText]

    @property
    def answer(self) -> VerdictText:
        """The answer that is shown first."""
        return self.answers[self.sense]

    @property
    def others(self) -> list[VerdictText]:
        """The answers in the other senses."""
        return [text for sense, text in self.answers.items() if sense is not self.sense]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A heading and its rows.

    Attributes:
        number: its place among the families of a language.
        title: the heading.
        rows: its architectures, by their answers.
    """

    number: int
    title: str
    rows: tuple[VerdictRow, ...]

    @property
    def parts(self) -> list[FamilyPart]:
        """The rows by status, in the order in which a status first occurs."""
        found: dict[str, list[VerdictRow]] = {}
        for row in self.rows:
            found.setdefault(row.answer.status, []).append(row)
        return [FamilyPart(family=self, status=s, rows=tuple(rows)) for s, rows in found.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyPart:
    """The rows of a family that have the same status; pages fold them to one."""

    family: Family
    status: str
    rows: tuple[VerdictRow, ...]

    @property
    def architectures(self) -> list[Architecture]:
        """Those of the rows."""
        return [architecture for row in self.rows for architecture in row.architectures]

    @property
    def otherwise(self) -> list[str]:
        """The other senses in which the status of some row is another, each with the statuses of its rows."""
        texts = [text for row in self.rows for text in row.others]
        found = {each.sense: {t.status for t in texts if t.sense == each.sense} for each in texts}
        return [f"{s}: {' or '.join(sorted(said))}" for s, said in found.items() if said != {self.status}]

    @property
    def reasons(self) -> list[tuple[VerdictText, list[Architecture]]]:
        """The answers that differ in reason, reference or size, with their architectures."""
        found: dict[tuple[str, Reference | None, str], tuple[VerdictText, list[Architecture]]] = {}
        for row in self.rows:
            text = row.answer
            found.setdefault((text.reason, text.reference, text.size), (text, []))[1].extend(
                row.architectures
            )
        return list(found.values())

    @property
    def title(self) -> str:
        """The family, with the share that has this status where it is divided."""
        found, total = self.architectures, sum(len(row.architectures) for row in self.family.rows)
        if len(found) == total:
            return self.family.title
        return found[0].title if len(found) == 1 else f"{self.family.title} ({len(found)} of {total})"


def family_parts(told: Sequence[Family]) -> list[FamilyPart]:
    """Returns the parts of all families, what is possible first."""
    order = ("yes", "no", "open")
    return sorted((part for family in told for part in family.parts), key=lambda p: order.index(p.status))


def families(
    verdicts: Iterable[Verdict],
    *,
    sense: Sense = Sense.FINITE_PRECISION,
    dtype: str = "",
    bibliography: Bibliography | None = None,
) -> list[Family]:
    """Returns the verdicts by family of architecture.

    Args:
        verdicts: of one language and one task.
        sense: the one whose reason is shown first; the others follow in the details.
        dtype: the float format of the IEEE sense.
        bibliography: notes what is cited.
    """
    by_architecture: dict[str, dict[Sense, Verdict]] = {}
    for verdict in verdicts:
        by_architecture.setdefault(verdict.architecture, {})[verdict.sense] = verdict
    grouped: dict[str, dict[Any, _Group]] = {}
    for name, answers in by_architecture.items():
        architecture = ARCHITECTURES[name]
        groups = grouped.setdefault(family_title(architecture), {})
        groups.setdefault(_key(answers), _Group(answers)).add(architecture, answers)
    order = {title: i for i, title in enumerate(FAMILY_ORDER)}
    told = [
        Family(number=number, title=title, rows=tuple(group.row(sense, dtype) for group in groups.values()))
        for number, (title, groups) in enumerate(
            sorted(grouped.items(), key=lambda item: order.get(item[0], len(order)))
        )
    ]
    for text in (text for family in told for row in family.rows for text in (row.answer, *row.others)):
        if bibliography is not None:
            bibliography.cite(text.reference)
    return told


@dataclass
class _Group:
    """Architectures with the same answers, and what was tried in vain for any of them."""

    verdicts: Mapping[Sense, Verdict]
    architectures: list[Architecture] = field(default_factory=list)
    tried: dict[Sense, dict[str, None]] = field(default_factory=dict)

    def add(self, architecture: Architecture, answers: Mapping[Sense, Verdict]) -> None:
        self.architectures.append(architecture)
        for sense, verdict in answers.items():
            self.tried.setdefault(sense, {}).update(dict.fromkeys(verdict.tried))

    def row(self, sense: Sense, dtype: str) -> VerdictRow:
        answers = {
            s: replace(answer(self.verdicts[s]), sense=sense_title(s, dtype), tried=tuple(self.tried[s]))
            for s in SENSE_TITLES
            if s in self.verdicts
        }
        first = sense if sense in answers else next(iter(answers))
        return VerdictRow(architectures=tuple(self.architectures), sense=first, answers=answers)


FAMILY_ORDER: Sequence[str] = (
    "Diagonal, gates in [0, 1]",
    "Diagonal, gates in [−1, 1]",
    "Diagonal, complex gates",
    "Householder products",
    "Permutation × diagonal",
    "Dense linear",
    "Time-invariant linear",
    "Nonlinear recurrence",
    "Attention",
    "Hybrids",
)

_DIAGONAL_TITLES = {
    Gates.NONNEGATIVE: FAMILY_ORDER[0],
    Gates.SIGNED: FAMILY_ORDER[1],
    Gates.COMPLEX: FAMILY_ORDER[2],
}
_TRANSITION_TITLES = {
    Transition.HOUSEHOLDER: FAMILY_ORDER[3],
    Transition.PERMUTATION_DIAGONAL: FAMILY_ORDER[4],
    Transition.DENSE: FAMILY_ORDER[5],
}
_RECURRENCE_TITLES = {
    MemoryKind.NONLINEAR: FAMILY_ORDER[7],
    MemoryKind.ATTENTION: FAMILY_ORDER[8],
    MemoryKind.HYBRID: FAMILY_ORDER[9],
}


def family_title(architecture: Architecture) -> str:
    """Returns the heading under which an architecture is listed."""
    properties = architecture.properties
    if properties.recurrence in _RECURRENCE_TITLES:
        return _RECURRENCE_TITLES[properties.recurrence]
    if not properties.input_dependent:
        return FAMILY_ORDER[6]
    if properties.transition is Transition.DIAGONAL and properties.gates in _DIAGONAL_TITLES:
        return _DIAGONAL_TITLES[properties.gates]
    return _TRANSITION_TITLES.get(properties.transition, FAMILY_ORDER[5])


def answer(verdict: Verdict) -> VerdictText:
    """Returns a verdict as text."""
    return VerdictText(
        sense=SENSE_TITLES[verdict.sense],
        status=verdict.status.value,
        reason=verdict.reason,
        reference=verdict.reference,
        provenance="" if verdict.provenance is None else _CHECKED[verdict.provenance],
        assumptions=verdict.assumptions,
        size="" if verdict.size is None else str(verdict.size),
        witness=witness_text(verdict.witness),
        tried=verdict.tried,
        mark=verdict.mark,
        conditional_on=verdict.conditional_on,
        model=verdict.model,
        no_network=verdict.no_network,
    )


_CHECKED: Mapping[Provenance, str] = {
    Provenance.READ: "in the original paper",
    Provenance.SECONDARY: "in a secondary source",
    Provenance.RECALLED: "recalled, the paper was not at hand",
    Provenance.DERIVED: "derived here, see docs/theory",
}


def witness_text(witness: Mapping[str, Any] | None) -> str:
    """Returns a witness as "name = value, …"."""
    if not witness:
        return ""
    return ", ".join(f"{name} = {_plain(value)}" for name, value in witness.items())


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value))
    if isinstance(value, Mapping):
        return f"({witness_text(value)})"
    return str(value)


def _key(answers: Mapping[Sense, Verdict]) -> tuple[Any, ...]:
    """The answers that two architectures must share to stand in one row."""
    return tuple(
        (sense, v.mark, v.reason, v.reference, str(v.size), v.assumptions, witness_text(v.witness))
        for sense, v in sorted(answers.items())
    )
