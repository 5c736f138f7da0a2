"""`nerode list`: the tables of what has a name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from nerode.core import InputError
from nerode.languages.bestiary import BESTIARY, PATTERNS, suite as suite_rows
from nerode.verdict import ALIASES, ARCHITECTURES

if TYPE_CHECKING:
    from nerode.reproduce import Paper, PaperTable

KINDS = ("languages", "architectures", "tasks", "papers", "constructions")


@click.command(name="list")
@click.argument("what", metavar="WHAT", type=click.Choice(KINDS))
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
    match what:
        case "languages":
            _list_languages(suite, as_json)
        case "architectures" if to_train:
            _list_zoo(as_json)
        case "architectures":
            _list_architectures(as_json)
        case "tasks":
            _list_tasks(as_json)
        case "papers":
            _list_papers(as_json)
        case _:
            _list_constructions(as_json)


def _list_languages(suite: str | None, as_json: bool) -> None:
    """Convention, source, and what each is there to break."""
    rows = list(BESTIARY.values()) if suite is None else suite_rows(suite)
    if as_json:
        for row in rows:
            item = {
                "name": row.name,
                "convention": row.convention,
                "source": str(row.source),
                "source_key": row.source.key,
                "breaks": row.breaks,
                "suites": list(row.suites),
            }
            click.echo(json.dumps(item, ensure_ascii=False))
        return
    from nerode.report import make_console, name_table

    console = make_console()
    console.print(
        name_table(
            ("name", "words that belong to it", "what it is there to break", "source"),
            [(row.name, row.convention, row.breaks, str(row.source)) for row in rows],
        )
    )
    if suite is None:
        console.print("\nAlso by pattern: " + ", ".join(pattern.example for pattern in PATTERNS))


def _list_architectures(as_json: bool) -> None:
    """The rows of theory with the classes that decide what they can express."""
    if as_json:
        for row in ARCHITECTURES.values():
            properties = row.properties
            item = {
                "name": row.name,
                "title": row.title,
                "is_class": row.is_class,
                "update": row.update,
                "class": properties.describe(),
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
            click.echo(json.dumps(item, ensure_ascii=False))
        return
    from nerode.report import make_console, name_table

    console = make_console()
    console.print(
        name_table(
            ("name", "update", "class", "source"),
            [
                (row.name, row.update, row.properties.describe(), str(row.reference))
                for row in ARCHITECTURES.values()
            ],
        )
    )
    console.print("\nTheory speaks of these. `nerode list architectures --train` lists what can be trained.")


def _list_zoo(as_json: bool) -> None:
    """The names of the zoo, with what differs from the kind of layer, and whether theory has a row."""
    from nerode.models import all_kinds

    rows = [(name, kind, kind.variants.get(name, {})) for name, kind in all_kinds().items()]
    if as_json:
        for name, kind, settings in rows:
            item = {
                "name": name,
                "kind": kind.name,
                "title": kind.title,
                "update": kind.equation,
                "settings": dict(settings),
                "theory": _has_theory(name),
                "reference": str(kind.reference),
            }
            click.echo(json.dumps(item, ensure_ascii=False))
        return
    from nerode.report import make_console, name_table

    cells = []
    for name, kind, settings in rows:
        shown = ", ".join(f"{key} {value}" for key, value in settings.items())
        title = f"{kind.title} ({shown})" if shown else kind.title
        theory = "yes" if _has_theory(name) else "–"
        cells.append((name, title, kind.equation, theory, str(kind.reference)))
    make_console().print(name_table(("name", "layer", "update", "theory", "source"), cells))


def _has_theory(name: str) -> bool:
    return ALIASES.get(name, name) in ARCHITECTURES


def _list_tasks(as_json: bool) -> None:
    """The tasks by kind: memory that each asks for, lengths of training, settings."""
    from nerode.records import TaskConfig
    from nerode.tasks import all_tasks, build_task

    kinds, presets = all_tasks()
    fixed: dict[str, tuple[str, Mapping[str, Any]]] = {name: (name, {}) for name in kinds} | presets
    # The kind stands above its presets.
    names = sorted(fixed, key=lambda name: (fixed[name][0], name != fixed[name][0], _in_counting_order(name)))
    tables: dict[str, list[tuple[str, ...]]] = {}
    for name in names:
        kind, preset = kinds[fixed[name][0]], dict(fixed[name][1])
        built = build_task(TaskConfig(name=name))
        memory, lengths = built.memory.name.lower(), built.training_lengths
        if as_json:
            item = {
                "name": name,
                "kind": kind.name,
                "preset": preset,
                "memory": memory,
                "training_lengths": list(lengths),
                "title": kind.title,
                "reference": str(kind.reference),
            }
            click.echo(json.dumps(item, ensure_ascii=False))
        cells = (name, memory, _range(*lengths), _settings(name, preset) if preset else "(default)")
        tables.setdefault(kind.name, []).append(cells)
    if as_json:
        return
    from nerode.report import make_console, name_table

    console = make_console()
    for kind_name, rows in tables.items():
        kind = kinds[kind_name]
        console.print(f"{kind.name}: {kind.title} ({kind.reference})", markup=False, highlight=False)
        console.print(name_table(("name", "memory", "lengths", "settings"), rows))
        console.print()


def _in_counting_order(name: str) -> list[tuple[bool, int, str]]:
    """Sorts "d-12" behind "d-4"."""
    parts = name.split("-")
    return [(False, int(part), "") if part.isdecimal() else (True, 0, part) for part in parts]


def _range(low: int, high: int) -> str:
    return f"{low}–{high}" if low < high else str(low)


def _settings(name: str, preset: dict[str, Any]) -> str:
    """The settings of a preset, without the language that its name ends with."""
    told = {"language"} if name.endswith(f"-{preset.get('language')}") else set()
    return ", ".join(f"{key} {value}" for key, value in preset.items() if key not in told)


def _list_papers(as_json: bool) -> None:
    """The papers and their tables that can be reproduced."""
    from nerode.reproduce import PAPERS

    rows = [(paper, table) for paper in PAPERS.values() for table in paper.tables]
    if as_json:
        for paper, table in rows:
            click.echo(json.dumps(_paper_item(paper, table), ensure_ascii=False))
        return
    from nerode.report import make_console, name_table

    cells = [
        (
            f"{paper.name}:{table.name}",
            table.title,
            f"{sum(line.runs_here for line in table.lines)} of {len(table.lines)}",
            f"{paper.reference}, {table.where}",
        )
        for paper, table in rows
    ]
    make_console().print(name_table(("name", "what it shows", "lines that run here", "source"), cells))


def _paper_item(paper: Paper, table: PaperTable) -> dict[str, Any]:
    return {
        "name": f"{paper.name}:{table.name}",
        "paper": paper.name,
        "table": table.name,
        "title": table.title,
        "where": table.where,
        "unit": table.unit,
        "protocol": table.protocol,
        "corrected": table.corrected,
        "scale": table.scale,
        "lines": len(table.lines),
        "lines_here": sum(line.runs_here for line in table.lines),
        "reference": str(paper.reference),
        "reference_key": paper.reference.key,
    }


def _list_constructions(as_json: bool) -> None:
    """The constructions of the compiler in the order in which they are tried."""
    from nerode.compiler import CONSTRUCTIONS

    rows = [
        (row.name, row.title, row.architecture.text, row.language.text, row.theorem)
        for row in CONSTRUCTIONS.values()
    ]
    titles = ("name", "title", "architectures", "languages", "theorem")
    if as_json:
        for row in rows:
            click.echo(json.dumps(dict(zip(titles, row, strict=True)), ensure_ascii=False))
        return
    from nerode.report import make_console, name_table

    make_console().print(name_table(titles, rows))
