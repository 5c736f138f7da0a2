"""Cascades as JSON, and back.

A command is written null (hold), n (reset to label n), {"add": n} or {"permute": [images]}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nerode.algebra.cascades.commands import HOLD, Add, Command, Permute, Reset
from nerode.algebra.cascades.lookups import Lookup, Row, Source
from nerode.algebra.cascades.records import Cascade, Level
from nerode.core import InputError


def cascade_to_json(cascade: Cascade) -> dict[str, Any]:
    """Returns plain lists, dictionaries, numbers and text."""
    return {
        "num_letters": cascade.num_letters,
        "window": cascade.window,
        "num_states": cascade.num_states,
        "state": cascade.state,
        "route": cascade.route,
        "levels": [
            {
                "name": level.name,
                "num_labels": level.num_labels,
                "start": level.start,
                "context": level.context,
                "commands": [_command_to_json(command) for command in level.commands],
            }
            for level in cascade.levels
        ],
        "lookups": [
            {
                "name": table.name,
                "num_values": table.num_values,
                "reads": [[source.kind, source.number] for source in table.reads],
                "otherwise": list(table.otherwise),
                "rows": [[[list(pair) for pair in row.literals], row.value] for row in table.rows],
            }
            for table in cascade.lookups
        ],
    }


def cascade_from_json(data: Mapping[str, Any]) -> Cascade:
    """Returns the cascade of `cascade_to_json`.

    Raises:
        InputError: if the data does not have that form.
    """
    try:
        return Cascade(
            num_letters=int(data["num_letters"]),
            window=int(data["window"]),
            num_states=int(data["num_states"]),
            state=int(data["state"]),
            route=str(data["route"]),
            levels=tuple(_level_from_json(level) for level in data["levels"]),
            lookups=tuple(_lookup_from_json(table) for table in data["lookups"]),
        )
    except (KeyError, TypeError, ValueError, IndexError) as wrong:
        if isinstance(wrong, InputError):
            raise
        raise InputError(f"this is not a cascade: {wrong!r}; give what `cascade_to_json` writes") from wrong


def _level_from_json(data: Mapping[str, Any]) -> Level:
    return Level(
        name=str(data["name"]),
        num_labels=int(data["num_labels"]),
        start=int(data["start"]),
        context=int(data["context"]),
        commands=tuple(_command_from_json(command) for command in data["commands"]),
    )


def _lookup_from_json(data: Mapping[str, Any]) -> Lookup:
    return Lookup(
        name=str(data["name"]),
        num_values=int(data["num_values"]),
        reads=tuple(Source(str(kind), int(number)) for kind, number in data["reads"]),
        otherwise=tuple(map(int, data["otherwise"])),
        rows=tuple(
            Row(tuple((int(position), int(wanted)) for position, wanted in literals), int(value))
            for literals, value in data["rows"]
        ),
    )


def _command_to_json(command: Command) -> Any:
    if isinstance(command, Reset):
        return command.label
    if isinstance(command, Add):
        return {"add": command.amount}
    if isinstance(command, Permute):
        return {"permute": list(command.images)}
    return None


def _command_from_json(data: Any) -> Command:
    if data is None:
        return HOLD
    if isinstance(data, Mapping):
        return Add(int(data["add"])) if "add" in data else Permute(tuple(map(int, data["permute"])))
    return Reset(int(data))
