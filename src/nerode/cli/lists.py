"""`nerode list`: the tables of what has a name."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from nerode.core import InputError
from nerode.languages.bestiary import BESTIARY, PATTERNS, suite as suite_rows
from nerode.verdict import ALIASES, ARCHITECTURES

_Row = tuple[tuple[str, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A table of named things.

    Attributes:
        headings: of the columns.
        rows: the cells of each, and its JSON object.
        note: a line below the table.
        groups: headings above the rows that begin with them, by the number of the first row.
    """

    headings: tuple[str, ...]
    rows: Sequence[_Row]
    note: str = ""
    groups: Mapping[int, str] | None = None

    def show(self, *, as_json: bool) -> None:
        """Prints the rows as JSON objects, one per line, or as tables."""
        if as_json:
            for _, item in self.rows:
                click.echo(json.dumps(item, ensure_ascii=False))
            return
        from nerode.report import make_console, name_table

        console = make_console()
        starts = [*(self.groups or {0: ""}), len(self.rows)]
        for start, end in itertools.pairwise(starts):
            if self.groups:
                console.print(self.groups[start], markup=False, highlight=False)
            console.print(name_table(self.headings, [cells for cells, _ in self.rows[start:end]]))
            if self.groups:
                console.print()
        if self.note:
            console.print(f"\n{self.note}")


def _languages(suite: str | None) -> Listing:
    """Convention, source, and what each language is there to break."""
    rows = list(BESTIARY.values()) if suite is None else suite_rows(suite)
    return Listing(
        headings=("name", "words that belong to it", "what it is there to break", "source"),
        rows=[
            (
                (row.name, row.convention, row.breaks, str(row.source)),
                {
                    "name": row.name,
                    "convention": row.convention,
                    "source": str(row.source),
                    "source_key": row.source.key,
                    "breaks": row.breaks,
                    "suites": list(row.suites),
                },
            )
            for row in rows
        ],
        note="Also by pattern: " + ", ".join(p.example for p in PATTERNS) if suite is None else "",
    )


def _architectures() -> Listing:
    """The rows of theory with the classes that decide what they can express."""
    rows: list[_Row] = []
    for row in ARCHITECTURES.values():
        properties = row.properties
        item: dict[str, Any] = {
            "name": row.name,
            "title": row.title,
            "is_class": row.is_class,
            "update": row.update,
            "class": properties.describe(),
            "training": properties.training,
            "inference": properties.inference,
            "recurrence": properties.recurrence.value,
            "transition": properties.transition.value,
            "gates": properties.gates.value,
            "input_dependent": properties.input_dependent,
            "free_write": properties.free_write,
            "unit_gate": properties.unit_gate.value,
            "state": properties.state.value,
            "reference": str(row.reference),
            "aliases": [alias for alias, name in ALIASES.items() if name == row.name],
        }
        cost = f"{properties.training}, {properties.inference}"
        rows.append(((row.name, row.update, item["class"], cost, str(row.reference)), item))
    return Listing(
        headings=("name", "update", "class", "training, inference", "source"),
        rows=rows,
        note="Inference costs n or n² for n letters. Theory speaks of these. "
        "`nerode list architectures --train` lists what can be trained.",
    )


def _zoo() -> Listing:
    """The names of the zoo, with what differs from the kind of layer, and whether theory has a row."""
    from nerode.models import all_kinds

    rows: list[_Row] = []
    for name, kind in all_kinds().items():
        settings = dict(kind.variants.get(name, {}))
        shown = ", ".join(f"{key} {value}" for key, value in settings.items())
        title = f"{kind.title} ({shown})" if shown else kind.title
        theory = ALIASES.get(name, name) in ARCHITECTURES
        item: dict[str, Any] = {
            "name": name,
            "kind": kind.name,
            "title": kind.title,
            "update": kind.equation,
            "settings": settings,
            "theory": theory,
            "reference": str(kind.reference),
        }
        rows.append(((name, title, kind.equation, "yes" if theory else "–", item["reference"]), item))
    return Listing(headings=("name", "layer", "update", "theory", "source"), rows=rows)


def _tasks() -> Listing:
    """The tasks by kind: memory that each asks for, lengths of training, settings."""
    from nerode.records import TaskConfig
    from nerode.tasks import all_tasks, build_task

    kinds, presets = all_tasks()
    fixed: dict[str, tuple[str, Mapping[str, Any]]] = {name: (name, {}) for name in kinds} | presets
    # The kind stands above its presets.
    names = sorted(fixed, key=lambda name: (fixed[name][0], name != fixed[name][0], _in_counting_order(name)))
    rows: list[_Row] = []
    groups: dict[int, str] = {}
    for name in names:
        kind, preset = kinds[fixed[name][0]], dict(fixed[name][1])
        built = build_task(TaskConfig(name=name))
        memory, (low, high) = built.memory.name.lower(), built.training_lengths
        if name == kind.name:
            groups[len(rows)] = f"{kind.name}: {kind.title} ({kind.reference})"
        item: dict[str, Any] = {
            "name": name,
            "kind": kind.name,
            "preset": preset,
            "memory": memory,
            "training_lengths": [low, high],
            "title": kind.title,
            "reference": str(kind.reference),
        }
        lengths = f"{low}–{high}" if low < high else str(low)
        rows.append(((name, memory, lengths, _settings(name, preset) if preset else "(default)"), item))
    return Listing(headings=("name", "memory", "lengths", "settings"), rows=rows, groups=groups)


def _in_counting_order(name: str) -> list[tuple[bool, int, str]]:
    """Sorts "d-12" behind "d-4"."""
    parts = name.split("-")
    return [(False, int(part), "") if part.isdecimal() else (True, 0, part) for part in parts]


def _settings(name: str, preset: dict[str, Any]) -> str:
    """The settings of a preset, without the language that its name ends with."""
    known = {"language"} if name.endswith(f"-{preset.get('language')}") else set()
    return ", ".join(f"{key} {value}" for key, value in preset.items() if key not in known)


def _papers() -> Listing:
    """The papers, their tables and their figures that can be reproduced."""
    from nerode.reproduce import PAPERS

    def rows() -> Iterator[_Row]:
        for paper in PAPERS.values():
            named = {table.name: (table, table.title, table.where) for table in paper.tables}
            drawn = {figure.name: (figure.part, figure.title, figure.where) for figure in paper.figures}
            for name, (table, title, where) in {**drawn, **named}.items():
                here = sum(line.runs_here for line in table.lines)
                item: dict[str, Any] = {
                    "name": f"{paper.name}:{name}",
                    "paper": paper.name,
                    "table": table.name,
                    "title": title,
                    "where": where,
                    "unit": table.unit,
                    "protocol": table.protocol,
                    "corrected": table.corrected,
                    "scale": table.scale,
                    "lines": len(table.lines),
                    "lines_here": here,
                    "reference": str(paper.reference),
                    "reference_key": paper.reference.key,
                }
                counted = f"{here} of {len(table.lines)}"
                yield (item["name"], title, counted, f"{paper.reference}, {where}"), item

    return Listing(headings=("name", "what it shows", "lines that run here", "source"), rows=list(rows()))


def _constructions() -> Listing:
    """The constructions of the compiler in the order in which they are tried."""
    from nerode.compiler import CONSTRUCTIONS

    headings = ("name", "title", "architectures", "languages", "theorem")
    cells = [
        (row.name, row.title, row.architecture.text, row.language.text, row.theorem)
        for row in CONSTRUCTIONS.values()
    ]
    return Listing(headings=headings, rows=[(row, dict(zip(headings, row, strict=True))) for row in cells])


_LISTINGS: Mapping[str, Callable[[], Listing]] = {
    "languages": lambda: _languages(None),
    "architectures": _architectures,
    "tasks": _tasks,
    "papers": _papers,
    "constructions": _constructions,
}


@click.command(name="list")
@click.argument("what", metavar="WHAT", type=click.Choice(list(_LISTINGS)))
@click.option("--suite", metavar="TAG", help="With languages: only those of one published suite.")
@click.option(
    "--train", "to_train", is_flag=True, help="With architectures: those that `nerode train --arch` accepts."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per row, one per line.")
def list_command(what: str, suite: str | None, to_train: bool, as_json: bool) -> None:
    """List what has a name: languages, architectures, tasks, papers or constructions.

    \b
    nerode list languages --suite tomita
    nerode list architectures --train
    nerode list tasks --json
    """
    if suite is not None and what != "languages":
        raise InputError(f"--suite belongs to languages; there are none among {what}")
    if to_train and what != "architectures":
        raise InputError(f"--train belongs to architectures; there are none among {what}")
    listing = _zoo() if to_train else _languages(suite) if suite is not None else _LISTINGS[what]()
    listing.show(as_json=as_json)
