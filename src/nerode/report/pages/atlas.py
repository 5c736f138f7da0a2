"""The page of many languages: a matrix of languages and architectures, and a section for each of both.

An entry is what the page shows of one language, as plain values: it is computed apart and kept on disk.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from markupsafe import Markup

from nerode.report.pages.highlights import Highlight
from nerode.report.pages.language import NetworkDrawing, draw_network, view_language
from nerode.report.pages.render import Bibliography, environment, render
from nerode.report.tables.verdicts import (
    FAMILY_ORDER,
    SENSE_TITLES,
    VerdictText,
    answer,
    families,
    family_title,
    sense_title,
)
from nerode.study import Disagreement, NetworkStudy, Study, TrainingOutcome, find_disagreements
from nerode.verdict import ARCHITECTURES, Architecture, Sense, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """What the page shows of one language."""

    number: int
    entry: AtlasEntry
    summary: Markup
    markup: Markup
    statuses: list[str]
    trained: list[TrainingOutcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ArchitectureSection:
    """What the page shows of one architecture.

    Attributes:
        languages: for each status the numbers and names of the languages.
        networks: for each language with a network its number, name, size and proved lengths.
    """

    architecture: Architecture
    family: str
    languages: dict[str, list[tuple[int, str]]]
    networks: list[dict[str, Any]]


def atlas_page(
    entries: Sequence[AtlasEntry],
    *,
    sense: Sense = Sense.FINITE_PRECISION,
    dtype: str = "float32",
    command: str = "",
    trained: Sequence[TrainingOutcome] = (),
    highlights: Sequence[Highlight] = (),
) -> str:
    """Returns one HTML file with all languages; it needs no network, and a script only for comfort.

    Args:
        entries: the languages; those of one group are put together, else the order is kept.
        sense: the arithmetic that the matrix shows first.
        dtype: the float format of the IEEE sense, the default of `decide`.
        command: the command line that made the page.
        trained: what training found.
        highlights: comparisons for the top of the page.
    """
    groups = list(dict.fromkeys(entry.group for entry in entries))
    entries = sorted(entries, key=lambda entry: groups.index(entry.group))
    architectures = _architectures(entries)
    book = _AnswerBook()
    cells = [_cells(entry, architectures, book) for entry in entries]
    first = list(SENSE_TITLES).index(sense)
    statuses = [[book.status(answers[first]) for answers in row] for row in cells]
    bibliography = Bibliography()
    for entry in entries:
        bibliography.note(entry.cited)
    known = _by_language(trained, entries)
    data = {
        "languages": [entry.name for entry in entries],
        "architectures": [[a.title, a.name, a.update] for a in architectures],
        "senses": [sense_title(s, dtype) for s in SENSE_TITLES],
        "first": first,
        "strings": book.strings,
        "answers": book.answers,
        "cells": cells,
        "trained": _trained_data(known, architectures),
    }
    return render(
        "atlas.html.j2",
        styles=("atlas.css",),
        script="atlas.js",
        title=f"Atlas of {len(entries)} languages · nerode",
        sections=[
            _Section(
                number=i,
                entry=entry,
                summary=Markup(entry.summary),
                markup=Markup(entry.section),
                statuses=statuses[i],
                trained=known[i],
            )
            for i, entry in enumerate(entries)
        ],
        architectures=architectures,
        architecture_sections=_architecture_sections(entries, architectures, statuses),
        spans=_spans(architectures),
        totals={status: sum(row.count(status) for row in statuses) for status in ("yes", "no", "open")},
        task=next((entry.task for entry in entries), "predict"),
        data=data,
        bibliography=bibliography,
        command=command,
        trained_count=sum(map(len, known)),
        disagreements=_disagreements(entries, known, sense),
        highlights=highlights,
    )


def _architectures(entries: Sequence[AtlasEntry]) -> list[Architecture]:
    """All architectures of the entries, by family, in the order of the registry inside each."""
    names = dict.fromkeys(name for entry in entries for name in entry.cells)
    order = {title: i for i, title in enumerate(FAMILY_ORDER)}
    return sorted((ARCHITECTURES[name] for name in names), key=lambda a: order[family_title(a)])


def _spans(architectures: Sequence[Architecture]) -> list[tuple[str, int]]:
    """How many neighbouring columns each family takes."""
    spans: list[tuple[str, int]] = []
    for architecture in architectures:
        title = family_title(architecture)
        if spans and spans[-1][0] == title:
            spans[-1] = (title, spans[-1][1] + 1)
        else:
            spans.append((title, 1))
    return spans


def _architecture_sections(
    entries: Sequence[AtlasEntry], architectures: Sequence[Architecture], statuses: Sequence[Sequence[str]]
) -> list[_ArchitectureSection]:
    found = []
    for column, architecture in enumerate(architectures):
        languages: dict[str, list[tuple[int, str]]] = {"yes": [], "no": [], "open": []}
        networks = []
        for number, entry in enumerate(entries):
            languages[statuses[number][column]].append((number, entry.name))
            made = next((n for n in entry.networks if architecture.name in (n["target"], *n["also"])), None)
            if made is not None:
                networks.append({**made, "number": number, "language": entry.name})
        found.append(
            _ArchitectureSection(
                architecture=architecture,
                family=family_title(architecture),
                languages=languages,
                networks=networks,
            )
        )
    return found


def _by_language(
    trained: Sequence[TrainingOutcome], entries: Sequence[AtlasEntry]
) -> list[list[TrainingOutcome]]:
    return [[item for item in trained if item.language == entry.name.lower()] for entry in entries]


def _trained_data(
    known: Sequence[Sequence[TrainingOutcome]], architectures: Sequence[Architecture]
) -> dict[str, list[Any]]:
    """What was trained, by the numbers of language and architecture."""
    places = {architecture.name: i for i, architecture in enumerate(architectures)}
    found: dict[str, list[Any]] = {}
    for number, items in enumerate(known):
        for item in items:
            if item.architecture in places:
                shown = {**asdict(item), "generalises": item.generalises, "learned": item.learned}
                found.setdefault(f"{number},{places[item.architecture]}", []).append(shown)
    return found


def _disagreements(
    entries: Sequence[AtlasEntry], known: Sequence[Sequence[TrainingOutcome]], sense: Sense
) -> list[Disagreement]:
    place = list(SENSE_TITLES).index(sense)
    verdicts = {
        (entry.name.lower(), name): str(answer[0])
        for entry in entries
        for name, answers in entry.cells.items()
        if (answer := answers[place]) is not None
    }
    return find_disagreements([item for items in known for item in items], verdicts)


def _cells(entry: AtlasEntry, architectures: Sequence[Architecture], book: _AnswerBook) -> list[list[int]]:
    """The number of the answer for each architecture and sense; -1 where there is none."""
    nothing: list[list[Any] | None] = [None] * len(SENSE_TITLES)
    return [
        [book.number(record) for record in entry.cells.get(architecture.name, nothing)]
        for architecture in architectures
    ]


class _AnswerBook:
    """All different answers of a page, each written once."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self.answers: list[list[Any]] = []
        self._places: dict[str, int] = {}
        self._numbers: dict[Hashable, int] = {}

    def number(self, record: Sequence[Any] | None) -> int:
        """Returns the number of an answer, which is noted if it is new."""
        if record is None:
            return -1
        status, *texts, assumptions, tried = record
        key = (status, *texts, tuple(assumptions), tuple(tried))
        if key not in self._numbers:
            self._numbers[key] = len(self.answers)
            places = [self._place(text) for text in texts]
            lists = [[self._place(line) for line in lines] for lines in (assumptions, tried)]
            self.answers.append([status, *places, *lists])
        return self._numbers[key]

    def status(self, number: int) -> str:
        """Returns the status of an answer, "open" where nothing was asked."""
        return "open" if number < 0 else str(self.answers[number][0])

    def _place(self, string: str) -> int:
        if string not in self._places:
            self._places[string] = len(self.strings)
            self.strings.append(string)
        return self._places[string]


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
    cells = _records(verdicts, bibliography)
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


def _records(verdicts: Sequence[Verdict], bibliography: Bibliography) -> dict[str, list[list[Any] | None]]:
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


def _drawing(networks: Sequence[NetworkStudy]) -> NetworkDrawing | None:
    """The smallest proved network, if one can be read; None if there is none."""
    drawn = [
        (item.network.num_parameters, item.target, draw_network(item.network))
        for item in networks
        if item.network is not None and item.is_proved
    ]
    readable = [part for part in drawn if part[2].num_lines <= _MOST_DRAWN]
    return min(readable, key=lambda part: part[:2])[2] if readable else None
