"""`nerode tasks`: the table of what a model can be trained to do."""

from __future__ import annotations

import json
from typing import Any

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per task, one per line.")
def tasks(as_json: bool) -> None:
    """List the tasks: memory that each asks for, lengths of training, source."""
    from nerode.records import TaskConfig
    from nerode.tasks import all_tasks, build_task, resolve_task

    kinds, presets = all_tasks()
    rows = []
    for name in [*kinds, *presets]:
        task = TaskConfig(name=name)
        kind, built = resolve_task(task)[0], build_task(task)
        preset = dict(presets[name][1]) if name in presets else {}
        rows.append((name, kind, preset, built.memory.name.lower(), built.training_lengths))
    if as_json:
        for name, kind, preset, memory, lengths in rows:
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
        return
    from nerode.report import make_console, name_table

    cells = [
        (name, memory, _range(*lengths), _title(name, kind.name, kind.title, preset), str(kind.reference))
        for name, kind, preset, memory, lengths in rows
    ]
    make_console().print(name_table(("name", "memory", "lengths", "what is asked", "source"), cells))


def _range(low: int, high: int) -> str:
    return f"{low}–{high}" if low < high else str(low)


def _title(name: str, kind: str, title: str, preset: dict[str, Any]) -> str:
    """The title of a task, or the settings of a preset."""
    if name == kind:
        return title
    return f"{kind}: " + ", ".join(f"{key} {value}" for key, value in preset.items())
