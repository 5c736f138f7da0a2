"""The table of tasks: the kinds of `formal/` and `synthetic/` and their presets, by name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nerode.core import InputError, Registry, UnknownName, add_plugins, from_mapping, read_bytes, to_mapping
from nerode.languages import looks_like_a_file
from nerode.records import MAX_LENGTH, TaskConfig
from nerode.tasks.formal import bounded_dyck, dfa_states, ngram_text, recognition
from nerode.tasks.synthetic import counting, flip_flop, modular_arithmetic, patterns, regular, state_tracking
from nerode.tasks.task import Task, TaskKind

KINDS: tuple[TaskKind, ...] = (
    bounded_dyck.KIND,
    patterns.COPYING,
    counting.KIND,
    patterns.DENOISING,
    dfa_states.KIND,
    flip_flop.KIND,
    regular.EVEN_PAIRS,
    regular.CYCLE_NAVIGATION,
    modular_arithmetic.PLAIN,
    modular_arithmetic.BRACKETS,
    recognition.NEXT_TOKEN,
    ngram_text.KIND,
    regular.PARITY,
    recognition.PREDICTION,
    patterns.RECALL,
    recognition.KIND,
    state_tracking.KIND,
)
"""All kinds of tasks."""

Presets = dict[str, tuple[str, Mapping[str, Any]]]
"""Names of tasks with settings: the name of the kind, and the settings that are fixed."""


def _collect() -> tuple[Registry[TaskKind], Presets]:
    """The kinds and the presets by name; the settings of the presets are checked here."""
    kinds: Registry[TaskKind] = Registry("task", hint="`nerode list tasks` lists them.")
    presets: Presets = {}
    for kind in KINDS:
        kinds.add(kind.name, kind)
        for name, settings in kind.presets.items():
            from_mapping(kind.settings, settings, where=name)
            presets[name] = (kind.name, settings)
    for kind in add_plugins("tasks", kinds, TaskKind):
        presets |= {name: (kind.name, settings) for name, settings in kind.presets.items()}
    return kinds, presets


_KINDS, _PRESETS = _collect()


def find_task(name: str) -> tuple[TaskKind, Mapping[str, Any]]:
    """Returns the kind that a name stands for and the settings that the name fixes."""
    name = name.lower()
    if name in _PRESETS:
        kind, settings = _PRESETS[name]
        return _KINDS[kind], settings
    if name not in _KINDS and f"predict-{name}" in _PRESETS:
        raise InputError(
            f"{name!r} is a language; its tasks are predict-{name} (which letters may follow) and "
            f"recognise-{name} (is the word in it); {_KINDS.hint}"
        )
    if name not in _KINDS:
        own = "For a pattern or a file: language-prediction with --set task.settings.language=…"
        raise UnknownName("task", name, [*_KINDS, *_PRESETS], hint=f"{_KINDS.hint} {own}")
    return _KINDS[name], {}


def all_tasks() -> tuple[Registry[TaskKind], Presets]:
    """Returns the kinds and the presets."""
    return _KINDS, _PRESETS


def resolve_task(config: TaskConfig) -> tuple[TaskKind, Any]:
    """Returns the kind of a task and its complete settings, or raises InputError."""
    kind, fixed = find_task(config.name)
    settings: Any = from_mapping(kind.settings, {**fixed, **config.settings}, where=config.name)
    for name, value in to_mapping(settings).items():
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, int) and number > MAX_LENGTH:
                raise InputError(f"{config.name}.{name} is {number}; it has to be at most {MAX_LENGTH:,}")
    return kind, settings


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
    return {path.name: hashlib.sha256(read_bytes(path)).hexdigest()} if path.is_file() else {}
