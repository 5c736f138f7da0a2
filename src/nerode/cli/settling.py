"""The ends of runs for commands that train: each run proved, refuted by a word, or unsettled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nerode.core import Budget

if TYPE_CHECKING:
    from nerode.records import RunRecord, Settlement

F = TypeVar("F", bound=Callable[..., Any])

SETTLE_SECONDS = 3.0
"""CPU seconds in which a run is settled, unless the user gives others."""

LEGEND = "settled: ● proved at every length  ○ fails on a word of this length  ◐ open beyond this length"


class SettleSeconds(click.ParamType[float]):
    """CPU seconds, or "off" for none."""

    name = "seconds|off"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the seconds; 0 for off."""
        if value == "off":
            return 0.0
        return click.FloatRange(0, 3600).convert(value, param, ctx)


def settle_option(command: F) -> F:
    """Adds the option that says how long each run may take to be settled."""
    return click.option(
        "--settle",
        type=SettleSeconds(),
        default=SETTLE_SECONDS,
        show_default=True,
        help="CPU seconds per run to prove it or to find a word that it gets wrong; off for none.",
    )(command)


def settle_runs(
    runs: Iterable[tuple[RunRecord, Path]], seconds: float, *, named: Collection[str]
) -> dict[str, Settlement]:
    """Returns the ends of the runs that did not diverge, by key; none if there are no seconds.

    Args:
        runs: the records and their folders, some of which may have been there before.
        seconds: for each run.
        named: the modules that the user has named or trusted in this command. What the record of a run names
            is data, and is run only if it is one of these.
    """
    if not seconds:
        return {}
    from nerode.analysis.settle import settled_or_new

    return {
        record.key: settled_or_new(
            folder, budget=Budget(seconds=seconds), trust_code=record.spec.model.module in named
        )
        for record, folder in runs
        if record.divergence is None
    }
