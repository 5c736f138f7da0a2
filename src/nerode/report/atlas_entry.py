"""One language of the atlas as plain values, ready for the page and for the cache of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nerode.algebra import Profile
from nerode.languages import Dfa, Language
from nerode.report.bibliography import Bibliography
from nerode.report.eggbox import Box
from nerode.report.language_view import view_language
from nerode.report.network_drawing import draw_network
from nerode.report.networks import NetworkStudy
from nerode.report.pages import environment
from nerode.report.verdict_rows import SENSE_TITLES, Answer, answer, families
from nerode.verdict import Sense, Verdict

_MOST_DRAWN = 24
"""A network with more lines than this is not drawn: one would not read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasRow:
    """What is known about one language of the atlas.

    Attributes:
        networks: compiled networks with their certificates.
        group: a heading that it shares with its neighbours ("Tomita", "groups" …), may be empty.
    """

    language: Language
    profile: Profile
    verdicts: Sequence[Verdict]
    dfa: Dfa | None = None
    eggboxes: Sequence[Box] = ()
    networks: Sequence[NetworkStudy] = ()
    group: str = ""


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


def entry_of(row: AtlasRow, *, sense: Sense = Sense.FINITE_PRECISION) -> AtlasEntry:
    """Returns a language as the page shows it.

    Args:
        row: what is known about it.
        sense: the arithmetic whose reasons are shown first.
    """
    bibliography = Bibliography()
    language = row.language
    view = view_language(
        language, row.profile, bibliography, dfa=row.dfa, eggboxes=row.eggboxes, compact=True
    )
    cells = _cells(row.verdicts, bibliography)
    template = environment().get_template("atlas_language.html.j2").module
    section = template.section(  # type: ignore[attr-defined]
        view,
        families([v for v in row.verdicts if v.sense is sense], bibliography, sense=sense),
        row.networks,
        _drawing(row.networks),
    )
    return AtlasEntry(
        name=language.name,
        group=row.group,
        text=" ".join((language.name, language.convention, language.kind, row.group)).lower(),
        task=next((v.task.value for v in row.verdicts), "predict"),
        cells=cells,
        summary=str(template.summary(view)),  # type: ignore[attr-defined]
        section=str(section),
        cited=bibliography.keys,
        networks=[_network(item) for item in row.networks if item.network is not None],
        proved=sum(item.is_proved for item in row.networks),
    )


def _cells(verdicts: Sequence[Verdict], bibliography: Bibliography) -> dict[str, list[list[Any] | None]]:
    found = {(v.architecture, v.sense): v for v in verdicts}
    return {
        name: [_record(found.get((name, sense)), bibliography) for sense in SENSE_TITLES]
        for name in dict.fromkeys(v.architecture for v in verdicts)
    }


def _record(verdict: Verdict | None, bibliography: Bibliography) -> list[Any] | None:
    if verdict is None:
        return None
    text: Answer = answer(verdict, bibliography)
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
