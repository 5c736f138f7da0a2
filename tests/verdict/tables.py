"""Verdicts on all architectures, decided once per language and task for all tests of a process."""

from __future__ import annotations

import functools

from nerode.algebra import Profile, profile
from nerode.languages import Language, resolve_language
from nerode.verdict.architectures import ARCHITECTURES
from nerode.verdict.decision import decide
from nerode.verdict.records import VerdictTable, VerdictTask


def table(text: str, task: str = "predict") -> VerdictTable:
    """Returns the verdicts on a language by name or pattern."""
    return _decided(text, VerdictTask(task))


@functools.cache
def _decided(text: str, task: VerdictTask) -> VerdictTable:
    language, algebra = profiled(text)
    return decide(language, architectures=tuple(ARCHITECTURES), task=task, profile=algebra)


@functools.cache
def profiled(text: str) -> tuple[Language, Profile]:
    """Returns a language by name or pattern with its algebra, which all tasks and targets share."""
    language = resolve_language(text)
    return language, profile(language)
