"""One language of the atlas as plain values, ready for the page and for the cache of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from nerode.report.bibliography import Bibliography
from nerode.report.language_view import view_language
from nerode.report.network_drawing import draw_network
from nerode.report.pages import environment
from nerode.report.verdict_rows import SENSE_TITLES, VerdictText, answer, families
from nerode.study import NetworkStudy, Study
from nerode.verdict import Sense, Verdict

_MOST_DRAWN = 24
"""A network with more lines than this is not drawn: one would not read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasEntry:
    """One language of the atlas.

    Attributes:
        name: of the language.
        group: a heading that it shares with its neighbours, may be empty.
        text: what a search looks through.
        task: what its verdicts are about.
        cells: for each architecture the answer in each sense (status, reason, citation, its key, provenance,
            size, witness, assumptions, tried), None where nothing was asked.
        summary: the line that is always seen, as markup.
        section: what is seen when it is opened, as markup.
        cited: keys of the works that it cites, in order.
        networks: for each target with a network: target, also, size, proofs, and the lengths at which each
            float format is proved right.
        proved: how many networks have a certificate.
    """

    name: str
    group: str
    text: str
    task: str
    cells: dict[str, list[list[Any] | None]]
    summary: str
    section: str
    cited: list[str]
    networks: list[dict[str, Any]]
    proved: int


def entry_of(study: Study, *, group: str = "", sense: Sense = Sense.FINITE_PRECISION) -> AtlasEntry:
    """Returns a language as the page shows it.

    Args:
        study: what is known about it.
        group: a heading that it shares with its neighbours ("Tomita", "groups" …), may be empty.
        sense: the arithmetic whose reasons are shown first.
    """
    bibliography = Bibliography()
    language, verdicts = study.language, list(study.table)
    view = view_language(study, bibliography, compact=True)
    cells = _cells(verdicts, bibliography)
    template = environment().get_template("atlas_language.html.j2").module
    section = template.section(  # type: ignore[attr-defined]
        view,
        families([v for v in verdicts if v.sense is sense], bibliography, sense=sense),
        study.networks,
        _drawing(study.networks),
    )
    return AtlasEntry(
        name=language.name,
        group=group,
        text=" ".join((language.name, language.convention, language.kind, group)).lower(),
        task=next((v.task.value for v in verdicts), "predict"),
        cells=cells,
        summary=str(template.summary(view)),  # type: ignore[attr-defined]
        section=str(section),
        cited=bibliography.keys,
        networks=[_network(item) for item in study.networks if item.network is not None],
        proved=sum(item.is_proved for item in study.networks),
    )


def entry_from_json(values: dict[str, Any] | None) -> AtlasEntry | None:
    """Returns the entry with these values, None if they are not those of an entry."""
    if values is None or values.keys() != {field.name for field in fields(AtlasEntry)}:
        return None
    return AtlasEntry(**values)


def _cells(verdicts: Sequence[Verdict], bibliography: Bibliography) -> dict[str, list[list[Any] | None]]:
    found = {(v.architecture, v.sense): v for v in verdicts}
    return {
        name: [_record(found.get((name, sense)), bibliography) for sense in SENSE_TITLES]
        for name in dict.fromkeys(v.architecture for v in verdicts)
    }


def _record(verdict: Verdict | None, bibliography: Bibliography) -> list[Any] | None:
    if verdict is None:
        return None
    text: VerdictText = answer(verdict, bibliography)
    citation = text.citation
    return [
        text.status,
        text.reason,
        citation.text if citation else "",
        citation.key if citation else "",
        text.provenance,
        text.size,
        text.witness,
        list(text.assumptions),
        list(text.tried),
    ]


def _network(item: NetworkStudy) -> dict[str, Any]:
    return {
        "target": item.target,
        "also": list(item.also),
        "size": item.size,
        "lengths": item.lengths,
        "proofs": item.proofs if item.is_proved else [],
    }


def _drawing(networks: Sequence[NetworkStudy]) -> Any:
    """The smallest proved network, if one can be read; None if there is none."""
    drawn = [
        (item.network.num_parameters, item.target, draw_network(item.network))
        for item in networks
        if item.network is not None and item.is_proved
    ]
    readable = [part for part in drawn if part[2].num_lines <= _MOST_DRAWN]
    return min(readable, key=lambda part: part[:2])[2] if readable else None
