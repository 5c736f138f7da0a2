"""The page of many languages: a matrix of languages and architectures, and a section for each of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from markupsafe import Markup

from nerode.report.pages.atlas_entry import AtlasAnswer, AtlasEntry, AtlasNetwork
from nerode.report.pages.highlights import Highlight
from nerode.report.pages.render import Bibliography, render
from nerode.report.tables.verdicts import (
    FAMILY_ORDER,
    SENSE_TITLES,
    family_title,
    sense_title,
)
from nerode.study import Disagreement, TrainingOutcome, find_disagreements
from nerode.verdict import ARCHITECTURES, Architecture, Sense, State


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """The section of one language."""

    number: int
    entry: AtlasEntry
    summary: Markup
    markup: Markup
    statuses: list[str]
    marks: list[str]
    trained: list[TrainingOutcome]


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
                marks=[book.mark(answers[first]) for answers in cells[i]],
                trained=known[i],
            )
            for i, entry in enumerate(entries)
        ],
        architectures=architectures,
        architecture_sections=_architecture_sections(entries, architectures, statuses),
        spans=_spans(architectures),
        totals={status: sum(row.count(status) for row in statuses) for status in ("yes", "no", "open")},
        open_cells=count_open(entries),
        task=next((entry.task for entry in entries), "predict"),
        data=data,
        bibliography=bibliography,
        command=command,
        trained_count=sum(map(len, known)),
        disagreements=_disagreements(entries, known, sense),
        highlights=highlights,
    )


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


def _spans(architectures: Sequence[Architecture]) -> list[tuple[str, int]]:
    """The families with their numbers of neighbouring columns."""
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
            made = next((n for n in entry.networks if architecture.name in (n.target, *n.also)), None)
            if made is not None:
                networks.append((number, entry.name, made))
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
    """Results of training, by the numbers of language and architecture."""
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
        (entry.name.lower(), name): answer.status
        for entry in entries
        for name, answers in entry.cells.items()
        if (answer := answers[place]) is not None
    }
    return find_disagreements([item for items in known for item in items], verdicts)


def _cells(entry: AtlasEntry, architectures: Sequence[Architecture], book: _AnswerBook) -> list[list[int]]:
    """The number of the answer for each architecture and sense; -1 where there is none."""
    nothing: tuple[AtlasAnswer | None, ...] = (None,) * len(SENSE_TITLES)
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
        self._numbers: dict[AtlasAnswer, int] = {}

    def number(self, answer: AtlasAnswer | None) -> int:
        """Returns the number of an answer, which is noted if it is new."""
        if answer is None:
            return -1
        if answer not in self._numbers:
            self._numbers[answer] = len(self.answers)
            texts = (
                answer.reason,
                answer.citation,
                answer.key,
                answer.provenance,
                answer.size,
                answer.witness,
            )
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
