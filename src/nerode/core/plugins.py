"""Plug-ins: rows that installed packages add to the tables of nerode, by entry points.

| group                  | what an entry point names                                       |
|------------------------|-----------------------------------------------------------------|
| nerode.architectures   | a row of theory, `nerode.verdict.Architecture`; no torch        |
| nerode.layers          | a layer that can be trained, `nerode.models.base.LayerKind`     |
| nerode.languages       | a row of the bestiary, `nerode.languages.bestiary.Row`          |
| nerode.tasks           | a kind of task, `nerode.tasks.TaskKind`                         |
| nerode.theorems        | a row of the theorem table, `nerode.verdict.Theorem`; no torch  |

An entry point names the row itself. A plug-in never replaces a row of nerode, and a broken one is an error
that names the package.
"""

from __future__ import annotations

import importlib.metadata
from typing import TypeVar

from nerode.core.config import Registry
from nerode.core.errors import InputError

T = TypeVar("T")

PLUGIN_GROUPS = {
    name: f"nerode.{name}" for name in ("architectures", "layers", "languages", "tasks", "theorems")
}
"""The groups of entry points, by the table that they add to."""


def add_plugins(table: str, registry: Registry[T], kind: type[T]) -> list[T]:
    """Adds the rows of installed packages to a table, and returns them.

    Args:
        table: one of `PLUGIN_GROUPS`.
        registry: the table.
        kind: the class of its rows.

    Raises:
        InputError: if a plug-in cannot be loaded, is no such row, or has the name of another row.
    """
    added = []
    for point in sorted(_points(PLUGIN_GROUPS[table]), key=lambda p: p.name):
        package = point.dist.name if point.dist is not None else "an unknown package"
        where = f"the plug-in {point.name} = {point.value} of {package} ({PLUGIN_GROUPS[table]})"
        try:
            row = point.load()
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise InputError(f"{where} cannot be loaded: {what}; mend or uninstall {package}") from None
        if not isinstance(row, kind):
            raise InputError(
                f"{where} is a {type(row).__name__}, not a {kind.__name__}; mend or uninstall {package}"
            )
        try:
            registry.add(getattr(row, "name", point.name), row)
        except ValueError as error:
            raise InputError(f"{where} cannot be added: {error}; mend or uninstall {package}") from None
        added.append(row)
    return added


def _points(group: str) -> list[importlib.metadata.EntryPoint]:
    return list(importlib.metadata.entry_points(group=group))
