"""The end of commands that train: each run proved, refuted or unsettled; the conclusion; the next steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nerode.cli.options import default_option
from nerode.cli.progress import Progress
from nerode.core import Budget
from nerode.report import make_console, quote
from nerode.study import RunFile, TaskGroup, TheoryOfRuns, conclude_task, group_runs

if TYPE_CHECKING:
    from nerode.records import RunRecord, Settlement

F = TypeVar("F", bound=Callable[..., Any])

SETTLE_SECONDS = 3.0
"""CPU seconds in which a run is settled, unless the user gives others."""

REPLAY_SECONDS = 600.0
"""CPU seconds in which the proof that a run ended with is replayed."""

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
    return default_option(
        "--settle",
        type=SettleSeconds(),
        default=SETTLE_SECONDS,
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

    wanted = [(record, folder) for record, folder in runs if record.divergence is None]
    found = {}
    with Progress("settling", len(wanted)) as progress:
        for record, folder in wanted:
            # What the judge of a run has proved is replayed to the end.
            judged = record.stopped == "judge"
            budget = Budget(seconds=max(seconds, REPLAY_SECONDS) if judged else seconds)
            trusted = record.spec.model.module in named
            end = found[record.key] = settled_or_new(folder, budget=budget, trust_code=trusted)
            progress.end(f"{record.title} seed {record.spec.run.seed}: {end.mark} {end.status}")
    return found


def show_conclusion(
    runs: Sequence[tuple[RunRecord, Path]], settled: Mapping[str, Settlement], *, out: Path | None
) -> None:
    """Prints a sentence per model, theory beside training, and the commands that go on from here.

    Args:
        runs: the records and their folders.
        settled: the ends of the runs, by key.
        out: the folder of all runs; None if nothing was kept.
    """
    console = make_console()
    tasks = group_runs(
        [RunFile(folder=folder, record=record, settled=settled.get(record.key)) for record, folder in runs]
    )
    steps: list[tuple[str, str]] = []
    for task in tasks:
        theory = TheoryOfRuns(task)
        console.print(f"\n{task.title if len(tasks) > 1 else 'Conclusion'}", style="bold", markup=False)
        for sentence in conclude_task(task, theory):
            console.print(f"  {sentence}", markup=False)
        if theory.language is not None and out is not None:
            steps.append(
                (
                    f"nerode report {out} --language {quote(_asked(task))}",
                    "theory, compiler, training and proofs in one table",
                )
            )
    if out is None or not runs:
        return
    record, folder = next(((r, f) for r, f in runs if r.divergence is None), runs[0])
    steps = [(f"nerode report {out}", "curves, tables and theory on one page"), *steps]
    seed = f"{record.title}, seed {record.complete.run.seed}"
    trust = " --trust-code" if record.spec.model.module else ""
    steps.append(
        (f"nerode analyse {folder}{trust}", f"look inside {seed}; `nerode runs ls {out}` lists all keys")
    )
    console.print("\nNext", style="bold")
    for command, what in steps:
        console.print(f"  {command}\n      {what}", markup=False, soft_wrap=True)


def _asked(task: TaskGroup) -> str:
    """The name by which `nerode report --language` knows what a task is about."""
    about = task.settings.get("language") or task.settings.get("monoid")
    return about if isinstance(about, str) else task.name
