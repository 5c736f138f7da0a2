"""The page of many languages: a sentence, the matrix with their architectures, findings, the rest folded."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from markupsafe import Markup

from nerode.core import plural
from nerode.report.pages.atlas_entry import LANGUAGE_KINDS, AtlasEntry, AtlasNetwork
from nerode.report.pages.language import FINDINGS, OutcomeLine, outcome_line
from nerode.report.pages.render import Bibliography, render
from nerode.report.tables.verdicts import FAMILY_ORDER, SENSE_TITLES, VerdictText, family_title, sense_title
from nerode.study import READINGS, TrainingOutcome, find_disagreements
from nerode.verdict import ARCHITECTURES, Architecture, Sense, State


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """The section of one language."""

    number: int
    entry: AtlasEntry
    summary: Markup
    markup: Markup
    trained: list[TrainingOutcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """The row of one architecture in the matrix: for each language the status, the mark and the title."""

    number: int
    architecture: Architecture
    family: str
    starts: bool
    cells: list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ArchitectureSection:
    """The section of one architecture.

    Attributes:
        languages: for each status the numbers and names of the languages.
        networks: number and name of each language with a network, and the network.
    """

    architecture: Architecture
    family: str
    languages: dict[str, list[tuple[int, str]]]
    networks: list[tuple[int, str, AtlasNetwork]]


def atlas_page(
    entries: Sequence[AtlasEntry],
    *,
    sense: Sense = Sense.FINITE_PRECISION,
    command: str = "",
    trained: Sequence[TrainingOutcome] = (),
    declared: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """Returns one HTML file with all languages; it needs no network, and a script only for comfort.

    Args:
        entries: the languages; those of one group are put together, else the order is kept.
        sense: the arithmetic that the matrix shows first.
        command: the command line that made the page.
        trained: what training found.
        declared: verdicts by language and class, for trained models that declare one.
    """
    groups = list(dict.fromkeys(entry.group for entry in entries))
    entries = sorted(entries, key=lambda e: (LANGUAGE_KINDS.index(e.kind), groups.index(e.group)))
    architectures = _architectures(entries)
    book = _AnswerBook()
    cells = [_cells(entry, architectures, book) for entry in entries]
    first = list(SENSE_TITLES).index(sense)
    statuses = [[book.status(answers[first]) for answers in row] for row in cells]
    marks = [[book.mark(answers[first]) for answers in row] for row in cells]
    bibliography = Bibliography()
    for entry in entries:
        bibliography.note(entry.cited)
    known = [[item for item in trained if item.language == entry.name.lower()] for entry in entries]
    verdicts = {**_verdicts(entries, sense), **(declared or {})}
    families = list(dict.fromkeys(map(family_title, architectures)))
    data = {
        "languages": [[e.title, e.name, e.text, LANGUAGE_KINDS.index(e.kind)] for e in entries],
        "kinds": LANGUAGE_KINDS,
        "architectures": [
            [a.title, a.name, a.update, families.index(family_title(a))] for a in architectures
        ],
        "families": families,
        "senses": [sense_title(s, "float32") for s in SENSE_TITLES],
        "first": first,
        "strings": book.strings,
        "answers": book.answers,
        "cells": cells,
        "trained": _trained_data(known, architectures),
        "networks": [[[n.target, n.size, list(n.proofs)] for n in entry.networks] for entry in entries],
        "made": [_made(entry, architectures) for entry in entries],
    }
    totals = {status: sum(row.count(status) for row in statuses) for status in ("yes", "no", "open")}
    task = next((entry.task for entry in entries), "predict")
    return render(
        "atlas.html.j2",
        styles=("atlas.css",),
        script="atlas.js",
        title=f"Atlas of {plural(len(entries), 'language')} · nerode",
        headline=_headline(entries, architectures, statuses, task),
        sections=[
            _Section(
                number=i,
                entry=entry,
                summary=Markup(entry.summary),
                markup=Markup(entry.section),
                trained=known[i],
            )
            for i, entry in enumerate(entries)
        ],
        rows=_rows(entries, architectures, statuses, marks),
        kinds=_spans([entry.kind for entry in entries]),
        families=families,
        architecture_sections=_architecture_sections(entries, architectures, statuses),
        totals=totals,
        open_cells=count_open(entries),
        data=data,
        bibliography=bibliography,
        command=command,
        trained_count=sum(map(len, known)),
        differences=_differences(entries, known, verdicts),
        verdicts=verdicts,
        readings=READINGS,
        findings=FINDINGS,
    )


def _headline(
    entries: Sequence[AtlasEntry],
    architectures: Sequence[Architecture],
    statuses: Sequence[Sequence[str]],
    task: str,
) -> str:
    """The sentence above the matrix: what two well-known architectures can do with and without groups."""
    told: list[str] = []
    for name in _TOLD:
        column = next((i for i, a in enumerate(architectures) if a.name == name), None)
        if column is None:
            continue
        answers: dict[str, list[bool]] = {kind: [] for kind in LANGUAGE_KINDS}
        for entry, row in zip(entries, statuses, strict=True):
            answers[entry.kind].append(row[column] == "yes")
        plain, grouped = answers[LANGUAGE_KINDS[0]], answers[LANGUAGE_KINDS[1]] + answers[LANGUAGE_KINDS[2]]
        parts = [_counted(plain, "star-free languages")] if plain else []
        parts += [_counted(grouped, "languages that contain a group")] if grouped else []
        if told and len(parts) > 1 and all(plain + grouped):
            parts = [f"all {len(plain + grouped)}"]
        if parts:
            told.append(f"{architectures[column].title} can {task} {' and '.join(parts)}")
    return f"{'; '.join(told)}." if told else ""


_TOLD = ("mamba", "lstm")
"""Architectures of the sentence above the matrix."""


def _counted(flags: Sequence[bool], noun: str) -> str:
    """A share in words: "all 31 star-free languages", "none of the 27 …", "3 of the 9 …", "the one …"."""
    if len(flags) == 1:
        one = noun.replace("languages", "language").replace("contain ", "contains ")
        return f"the one {one}" if flags[0] else f"not the one {one}"
    if all(flags):
        return f"all {len(flags)} {noun}"
    return f"{sum(flags) or 'none'} of the {len(flags)} {noun}"


def _rows(
    entries: Sequence[AtlasEntry],
    architectures: Sequence[Architecture],
    statuses: Sequence[Sequence[str]],
    marks: Sequence[Sequence[str]],
) -> list[_Row]:
    rows: list[_Row] = []
    for i, architecture in enumerate(architectures):
        family = family_title(architecture)
        cells = [
            (found[i], shown[i], f"{entry.title} × {architecture.title}: {found[i]}")
            for entry, found, shown in zip(entries, statuses, marks, strict=True)
        ]
        starts = not rows or rows[-1].family != family
        rows.append(_Row(number=i, architecture=architecture, family=family, starts=starts, cells=cells))
    return rows


def _made(entry: AtlasEntry, architectures: Sequence[Architecture]) -> dict[int, int]:
    """For each architecture with a proved network the number of the network."""
    found: dict[int, int] = {}
    for column, architecture in enumerate(architectures):
        for number, network in enumerate(entry.networks):
            if network.proofs and architecture.name in (network.target, *network.also):
                found.setdefault(column, number)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCells:
    """The number of open cells of languages × architectures × senses; a sense without meaning has none.

    Attributes:
        cells: all cells that were asked for.
        open: those that are open.
        recurrent: those among them whose architecture has no attention.
        questions: the open questions with their numbers of cells, the largest first.
    """

    cells: int
    open: int
    recurrent: int
    questions: tuple[tuple[str, int], ...]


def count_open(entries: Sequence[AtlasEntry]) -> OpenCells:
    """Returns how many cells of these languages are open, and which questions they leave."""
    asked = [
        (ARCHITECTURES[name].properties.state is State.CACHE, answer)
        for entry in entries
        for name, answers in entry.cells.items()
        for answer in answers
        if answer is not None and answer.mark != "–"
    ]
    left = [(cached, answer) for cached, answer in asked if answer.status == "open"]
    questions = Counter(answer.reason for _, answer in left)
    return OpenCells(
        cells=len(asked),
        open=len(left),
        recurrent=sum(not cached for cached, _ in left),
        questions=tuple(questions.most_common()),
    )


def _architectures(entries: Sequence[AtlasEntry]) -> list[Architecture]:
    """All architectures of the entries, by family, in the order of the registry inside each."""
    names = dict.fromkeys(name for entry in entries for name in entry.cells)
    order = {title: i for i, title in enumerate(FAMILY_ORDER)}
    return sorted((ARCHITECTURES[name] for name in names), key=lambda a: order[family_title(a)])


def _spans(titles: Sequence[str]) -> list[tuple[str, int]]:
    """Neighbours that share a title, with their number."""
    return [(title, len(list(items))) for title, items in itertools.groupby(titles)]


def _architecture_sections(
    entries: Sequence[AtlasEntry], architectures: Sequence[Architecture], statuses: Sequence[Sequence[str]]
) -> list[_ArchitectureSection]:
    found = []
    for column, architecture in enumerate(architectures):
        languages: dict[str, list[tuple[int, str]]] = {"yes": [], "no": [], "open": []}
        networks = []
        for number, entry in enumerate(entries):
            languages[statuses[number][column]].append((number, entry.title))
            made = next((n for n in entry.networks if architecture.name in (n.target, *n.also)), None)
            if made is not None:
                networks.append((number, entry.title, made))
        found.append(
            _ArchitectureSection(
                architecture=architecture,
                family=family_title(architecture),
                languages=languages,
                networks=networks,
            )
        )
    return found


def _trained_data(
    known: Sequence[Sequence[TrainingOutcome]], architectures: Sequence[Architecture]
) -> dict[str, list[Any]]:
    """Results of training, by the numbers of language and architecture."""
    places = {architecture.name: i for i, architecture in enumerate(architectures)}
    found: dict[str, list[Any]] = {}
    for number, items in enumerate(known):
        for item in items:
            if item.architecture in places:
                shown = {**asdict(item), "learned": item.learned, "status": item.status}
                found.setdefault(f"{number},{places[item.architecture]}", []).append(shown)
    return found


def _verdicts(entries: Sequence[AtlasEntry], sense: Sense) -> dict[tuple[str, str], str]:
    """The status of every cell, by language and architecture."""
    place = list(SENSE_TITLES).index(sense)
    return {
        (entry.name.lower(), name): answer.status
        for entry in entries
        for name, answers in entry.cells.items()
        if (answer := answers[place]) is not None
    }


def _differences(
    entries: Sequence[AtlasEntry],
    known: Sequence[Sequence[TrainingOutcome]],
    verdicts: Mapping[tuple[str, str], str],
) -> list[OutcomeLine]:
    titles = {entry.name.lower(): entry.title for entry in entries}
    return [
        outcome_line(item.trained, verdict=item.verdict, language=titles[item.trained.language])
        for item in find_disagreements([item for items in known for item in items], verdicts)
    ]


def _cells(entry: AtlasEntry, architectures: Sequence[Architecture], book: _AnswerBook) -> list[list[int]]:
    """The number of the answer for each architecture and sense; -1 where there is none."""
    nothing: tuple[VerdictText | None, ...] = (None,) * len(SENSE_TITLES)
    return [
        [book.number(record) for record in entry.cells.get(architecture.name, nothing)]
        for architecture in architectures
    ]


class _AnswerBook:
    """All different answers of a page, each written once."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self.answers: list[list[str | int | list[int]]] = []
        self._places: dict[str, int] = {}
        self._numbers: dict[VerdictText, int] = {}

    def number(self, answer: VerdictText | None) -> int:
        """Returns the number of an answer, which is noted if it is new."""
        if answer is None:
            return -1
        if answer not in self._numbers:
            self._numbers[answer] = len(self.answers)
            cited = ("", "") if answer.reference is None else (str(answer.reference), answer.reference.key)
            texts = (answer.reason, *cited, answer.provenance, answer.size, answer.witness)
            lists = (answer.assumptions, answer.tried)
            self.answers.append(
                [
                    answer.status,
                    *map(self._place, texts),
                    *([self._place(line) for line in lines] for lines in lists),
                    self._place(answer.mark),
                    self._place(answer.conditional_on),
                    self._place(answer.no_network),
                ]
            )
        return self._numbers[answer]

    def status(self, number: int) -> str:
        """Returns the status of an answer, "open" where nothing was asked."""
        return "open" if number < 0 else str(self.answers[number][0])

    def mark(self, number: int) -> str:
        """Returns how an answer is shown, "?" where nothing was asked."""
        return "?" if number < 0 else self.strings[cast("int", self.answers[number][9])]

    def _place(self, string: str) -> int:
        if string not in self._places:
            self._places[string] = len(self.strings)
            self.strings.append(string)
        return self._places[string]
