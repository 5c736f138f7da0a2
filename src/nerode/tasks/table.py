"""The table of tasks: one row for each kind, filled by the other files of this folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerode.core import Reference, Registry, UnknownName, from_mapping, to_mapping
from nerode.languages import looks_like_a_file
from nerode.records import TaskConfig
from nerode.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKind:
    """A kind of task.

    Attributes:
        name: kebab-case.
        title: one line for listings.
        settings: the dataclass of its settings; all have defaults.
        build: makes the task from its settings.
        reference: where it was published.
        test_lengths: lengths at which the literature tests it.
    """

    name: str
    title: str
    settings: type
    build: Callable[[Any], Task]
    reference: Reference
    test_lengths: tuple[int, ...] = ()


KINDS: Registry[TaskKind] = Registry("task", hint="`nerode tasks` lists them.")
PRESETS: dict[str, tuple[str, Mapping[str, Any]]] = {}
"""Names of tasks with settings: the name of the kind, and what is set."""


def register_task(kind: TaskKind, **presets: Mapping[str, Any]) -> TaskKind:
    """Adds a kind under its own name, and presets of it under theirs (with `-` for `_`)."""
    KINDS.add(kind.name, kind)
    for name, settings in presets.items():
        from_mapping(kind.settings, settings, where=name)
        PRESETS[name.replace("_", "-")] = (kind.name, settings)
    return kind


def find_task(name: str) -> tuple[TaskKind, Mapping[str, Any]]:
    """Returns the kind that a name stands for and the settings that the name fixes."""
    import nerode.tasks.rows  # noqa: F401  (fills the table)

    name = name.lower()
    if name in PRESETS:
        kind, settings = PRESETS[name]
        return KINDS[kind], settings
    if name not in KINDS:
        raise UnknownName("task", name, [*KINDS, *PRESETS], hint=KINDS.hint)
    return KINDS[name], {}


def all_tasks() -> tuple[Registry[TaskKind], dict[str, tuple[str, Mapping[str, Any]]]]:
    """Returns the kinds and the presets."""
    import nerode.tasks.rows  # noqa: F401  (fills the table)

    return KINDS, PRESETS


def resolve_task(config: TaskConfig) -> tuple[TaskKind, Any]:
    """Returns the kind of a task and its complete settings, or raises InputError."""
    kind, fixed = find_task(config.name)
    return kind, from_mapping(kind.settings, {**fixed, **config.settings}, where=config.name)


def build_task(config: TaskConfig) -> Task:
    """Returns the task."""
    kind, settings = resolve_task(config)
    return kind.build(settings)


def complete_task(config: TaskConfig) -> TaskConfig:
    """Returns the same task with every setting written out, under the name of its kind."""
    kind, settings = resolve_task(config)
    return TaskConfig(name=kind.name, settings=to_mapping(settings))


def task_file_hashes(config: TaskConfig) -> dict[str, str]:
    """Returns the SHA-256 of the file that the language is read from, by its name; empty without one.

    A path alone does not say what a run is about: the file may have been edited since.
    """
    language = to_mapping(resolve_task(config)[1]).get("language")
    if not isinstance(language, str) or not looks_like_a_file(language):
        return {}
    path = Path(language)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()} if path.is_file() else {}
