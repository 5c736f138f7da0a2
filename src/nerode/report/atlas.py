"""The page of many languages: a matrix of languages and architectures, and a section for each language."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from nerode.algebra.records import Profile
from nerode.languages.dfa import Dfa
from nerode.languages.language import Language
from nerode.report.bibliography import Bibliography
from nerode.report.eggbox import Box
from nerode.report.language_view import LanguageView, view_language
from nerode.report.networks import NetworkStudy
from nerode.report.pages import render
from nerode.report.verdict_rows import (
    FAMILY_ORDER,
    SENSE_TITLES,
    Answer,
    Family,
    answer,
    families,
    family_title,
    sense_title,
)
from nerode.verdict.architectures import ARCHITECTURES, Architecture
from nerode.verdict.records import Sense, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasRow:
    """One language of the atlas.

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
class _Section:
    """What the page shows of one language."""

    number: int
    group: str
    view: LanguageView
    families: list[Family]
    networks: Sequence[NetworkStudy]
    statuses: list[str]


def atlas_page(
    rows: Sequence[AtlasRow],
    *,
    sense: Sense = Sense.FINITE_PRECISION,
    dtype: str = "float32",
    command: str = "",
) -> str:
    """Returns one HTML file with all languages; it needs no network, and a script only for comfort.

    Args:
        rows: the languages; those of one group are put together, else the order is kept.
        sense: the arithmetic that the matrix shows first.
        dtype: the float format of the IEEE sense, the default of `decide`.
        command: the command line that made the page.
    """
    groups = list(dict.fromkeys(row.group for row in rows))
    rows = sorted(rows, key=lambda row: groups.index(row.group))
    bibliography = Bibliography()
    architectures = _architectures(rows)
    book = _AnswerBook(bibliography)
    cells = [_cells(row, architectures, book) for row in rows]
    first = list(SENSE_TITLES).index(sense)
    statuses = [[book.status(answers[first]) for answers in row] for row in cells]
    data = {
        "languages": [row.language.name for row in rows],
        "architectures": [[a.title, a.name, a.update] for a in architectures],
        "senses": [sense_title(s, dtype) for s in SENSE_TITLES],
        "first": first,
        "strings": book.strings,
        "answers": book.answers,
        "cells": cells,
    }
    return render(
        "atlas.html.j2",
        styles=("atlas.css",),
        script="atlas.js",
        title=f"Atlas of {len(rows)} languages · nerode",
        sections=[_section(i, row, sense, statuses[i], bibliography) for i, row in enumerate(rows)],
        architectures=architectures,
        spans=_spans(architectures),
        totals={status: sum(row.count(status) for row in statuses) for status in ("yes", "no", "open")},
        task=next((v.task.value for row in rows for v in row.verdicts), "predict"),
        data=data,
        bibliography=bibliography,
        command=command,
    )


def _section(
    number: int, row: AtlasRow, sense: Sense, statuses: list[str], bibliography: Bibliography
) -> _Section:
    return _Section(
        number=number,
        group=row.group,
        view=view_language(
            row.language, row.profile, bibliography, dfa=row.dfa, eggboxes=row.eggboxes, compact=True
        ),
        families=families([v for v in row.verdicts if v.sense is sense], bibliography, sense=sense),
        networks=row.networks,
        statuses=statuses,
    )


def _architectures(rows: Sequence[AtlasRow]) -> list[Architecture]:
    """All architectures of the rows, by family, in the order of the registry inside each."""
    names = dict.fromkeys(v.architecture for row in rows for v in row.verdicts)
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


def _cells(row: AtlasRow, architectures: Sequence[Architecture], book: _AnswerBook) -> list[list[int]]:
    """The number of the answer for each architecture and sense; -1 where there is none."""
    found = {(v.architecture, v.sense): v for v in row.verdicts}
    return [
        [book.number(found.get((architecture.name, sense))) for sense in SENSE_TITLES]
        for architecture in architectures
    ]


class _AnswerBook:
    """All different answers of a page, each written once."""

    def __init__(self, bibliography: Bibliography) -> None:
        self.strings: list[str] = []
        self.answers: list[list[Any]] = []
        self._bibliography = bibliography
        self._places: dict[str, int] = {}
        self._numbers: dict[Hashable, int] = {}

    def number(self, verdict: Verdict | None) -> int:
        """Returns the number of a verdict's text."""
        if verdict is None:
            return -1
        text = answer(verdict, self._bibliography)
        key = (text.status, text.reason, text.citation, text.assumptions, text.size, text.witness, text.tried)
        if key not in self._numbers:
            self._numbers[key] = len(self.answers)
            self.answers.append(self._record(text))
        return self._numbers[key]

    def status(self, number: int) -> str:
        """Returns the status of an answer, "open" where nothing was asked."""
        return "open" if number < 0 else str(self.answers[number][0])

    def _record(self, text: Answer) -> list[Any]:
        """status, reason, citation, its key, provenance, size, witness, assumptions, tried."""
        citation = text.citation
        return [
            text.status,
            self._place(text.reason),
            self._place(citation.text if citation else ""),
            self._place(citation.key if citation else ""),
            self._place(text.provenance),
            self._place(text.size),
            self._place(text.witness),
            [self._place(line) for line in text.assumptions],
            [self._place(line) for line in text.tried],
        ]

    def _place(self, string: str) -> int:
        if string not in self._places:
            self._places[string] = len(self.strings)
            self.strings.append(string)
        return self._places[string]
