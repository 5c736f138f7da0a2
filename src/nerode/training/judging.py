"""The judge of a run: it is shown the model at checks, and returns words and whether to stop.

A judge is named in the spec and comes from outside. Training sees neither a proof nor a theorem: only words
that the model answers incorrectly, a flag that ends the run, and a note for its record. A judge is a function
of the models that it is shown. It counts its work and never measures time, so a run stays a pure function of
its spec. It never sees the lengths of tests.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from nerode.core import UnknownName
from nerode.records import ExactSpec
from nerode.tasks import Task


@dataclass(frozen=True, kw_only=True)
class Check:
    """A model whose words of training are all correct.

    Attributes:
        words: "all" or "valid": the words that it is trained on.
        model: with plain layers, in evaluation mode.
    """

    words: str
    model: nn.Module


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply of a judge.

    Attributes:
        stop: whether the run ends with this model.
        words: words that it answers incorrectly, by the numbers of their letters.
        note: plain values for the record of the run.
    """

    stop: bool = False
    words: tuple[tuple[int, ...], ...] = ()
    note: dict[str, Any] = field(default_factory=dict)


class Judge(Protocol):
    """Examines models while a run goes on."""

    def examine(self, check: Check) -> Reply:
        """Returns whether to stop, and words to train on."""

    def write(self, folder: Path) -> None:
        """Writes what it knows of the model that it stopped with into the folder of the run."""


class NoJudge:
    """Ends no run."""

    def examine(self, check: Check) -> Reply:
        """Returns nothing."""
        return Reply()

    def write(self, folder: Path) -> None:
        """Writes nothing."""


_JUDGES = {
    "none": ("", ""),
    "closure": ("nerode.analysis.judging", "ClosureJudge"),
    "boxes": ("nerode.analysis.judging", "BoxJudge"),
    "words": ("nerode.analysis.judging", "WordJudge"),
}
"""Where each judge is; it is imported when a run asks for it."""


def load_judge(name: str, task: Task, spec: ExactSpec) -> Judge:
    """Returns the judge of a run.

    Raises:
        UnknownName: if there is none of this name.
        InputError: if it cannot judge the task.
    """
    if name not in _JUDGES:
        raise UnknownName("judge", name, list(_JUDGES))
    module, maker = _JUDGES[name]
    if name == "none":
        return NoJudge()
    make: Callable[[Task, ExactSpec], Judge] = getattr(importlib.import_module(module), maker)
    return make(task, spec)
