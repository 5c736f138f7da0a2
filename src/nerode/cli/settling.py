"""Output of commands after training: the status of each run, the conclusion, the next steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nerode.cli.options import default_option
from nerode.cli.progress import Progress
from nerode.core import Budget
from nerode.records import STATUS_LEGEND, Measure
from nerode.report import axes_table, make_console, quote, results_table
from nerode.study import MEASURES, RunFile, TaskGroup, TheoryOfRuns, conclude_task, group_runs

if TYPE_CHECKING:
    from nerode.records import RunRecord

F = TypeVar("F", bound=Callable[..., Any])

SETTLE_SECONDS = 3.0
"""CPU seconds in which a run is settled, unless the user gives others."""

REPLAY_SECONDS = 600.0
"""CPU seconds in which the proof that the judge of a run found is replayed."""


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
) -> list[RunFile]:
    """Returns the runs with their settlements; those that diverged have none, nor has any without seconds.

    Args:
        runs: the records and their folders, some of which may have been there before.
        seconds: for each run.
        named: the modules that the user has named or trusted in this command. What the record of a run names
            is data, and is run only if it is one of these.
    """
    found = {record.key: RunFile(folder=folder, record=record) for record, folder in runs}
    if not seconds:
        return list(found.values())
    from nerode.analysis.settle import settled_or_new

    wanted = [(run.record, run.folder) for run in found.values() if run.record.divergence is None]
    with Progress("settling", len(wanted)) as progress:
        for record, folder in wanted:
            # What the judge of a run has proved is replayed to the end.
            judged = record.stopped == "judge"
            budget = Budget(seconds=max(seconds, REPLAY_SECONDS) if judged else seconds)
            trusted = record.spec.model.module in named
            settled = settled_or_new(folder, budget=budget, trust_code=trusted)
            run = found[record.key] = RunFile(folder=folder, record=record, settled=settled)
            progress.end(f"{record.title} seed {run.seed}: {run.status()}")
    return list(found.values())


def show_runs(runs: Sequence[RunFile], *, measure: Measure | None = None) -> None:
    """Prints model × length for each task: every seed with its status, then median and range."""
    console = make_console()
    tasks = group_runs(runs, measure=measure)
    for task in tasks:
        files = [run for model in task.models for run in model.runs]
        trained = "" if task.trained is None else ", trained on lengths {} to {}".format(*task.trained)
        console.print(f"{task.title}{trained}; {MEASURES[task.measure]}:\n", markup=False)
        console.print(results_table(files, task.measure, width=console.width))
        axes = axes_table([run.record for run in files], task.measure)
        if axes is not None:
            console.print()
            console.print(axes)
        console.print(f"\n{STATUS_LEGEND}; tests are passed from {task.threshold:g}")
    if tasks:
        console.print("Every seed is listed; nothing was chosen by its score.")


def show_conclusion(runs: Sequence[RunFile], *, out: Path) -> None:
    """Prints a sentence per model, theory beside training, and the commands that go on from here.

    Args:
        runs: the runs.
        out: the folder of all of them.
    """
    console = make_console()
    tasks = group_runs(runs)
    steps: list[tuple[str, str]] = []
    for task in tasks:
        theory = TheoryOfRuns(task)
        console.print(f"\n{task.title if len(tasks) > 1 else 'Conclusion'}", style="bold", markup=False)
        for sentence in conclude_task(task, theory):
            console.print(f"  {sentence}", markup=False)
        if theory.language is not None:
            steps.append(
                (
                    f"nerode report {out} --language {quote(_asked(task))}{_trusted(runs)}",
                    "theory, compiler, training and proofs in one table",
                )
            )
    if not runs:
        return
    first = next((run for run in runs if run.record.divergence is None), runs[0])
    proved = next((run for run in runs if run.status().kind == "proved"), None)
    steps = [(f"nerode report {out}", "curves, tables and theory on one page"), *steps]
    if proved is not None:
        steps.insert(0, (f"nerode verify {_place(proved)}", f"replay the proof of {_named(proved)}"))
    steps.append(
        (f"nerode analyse {_place(first)}", f"look inside {_named(first)}; `nerode runs ls {out}` lists all")
    )
    console.print("\nNext", style="bold")
    for command, what in steps:
        console.print(f"  {command}\n      {what}", markup=False, soft_wrap=True)


def _place(run: RunFile) -> str:
    """The folder of a run as another command takes it."""
    return f"{run.folder}{_trusted([run])}"


def _named(run: RunFile) -> str:
    return f"{run.record.title}, seed {run.seed}"


def _asked(task: TaskGroup) -> str:
    """The name by which `nerode report --language` knows what a task is about."""
    about = task.settings.get("language") or task.settings.get("monoid")
    return about if isinstance(about, str) else task.name


def _trusted(runs: Sequence[RunFile]) -> str:
    """The option that commands on these runs need, if one of them is of the user's own code."""
    return " --trust-code" if any(run.record.spec.model.module for run in runs) else ""
