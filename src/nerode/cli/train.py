"""`nerode train`: what gradient descent finds for a task, at lengths never trained on, over several seeds."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.options import (
    FOLDER,
    PATH,
    Command,
    budgeted,
    default_option,
    force_option,
    split_names,
    trust_option,
)
from nerode.cli.settling import SETTLE_SECONDS, settle_option, settle_runs, show_conclusion
from nerode.cli.sweeps import EXECUTORS, train_file
from nerode.core import InputError
from nerode.records import STATUS_LEGEND
from nerode.report import RunRow, axes_table, live_table, make_console, results_table, settlement_lines
from nerode.study import MEASURES, run_item
from nerode.sweeps import TRACKERS, Tracker, open_tracker

if TYPE_CHECKING:
    from nerode.records import RunRecord, TrainSpec
    from nerode.study import RunFile
    from nerode.training import ProgressEvent


_FILE_OPTIONS = ("executor", "retries", "address", "slurm", "dry_run")
_TASK_OPTIONS = (
    "arch",
    "own",
    "seeds",
    "settings",
    "spec_file",
    "steps",
    "lengths",
    "measure",
    "certify",
    "viewer",
)


@click.command(cls=Command, sections={"Files of runs": _FILE_OPTIONS})
@click.argument("task", metavar="[TASK | FILE.toml]", required=False)
@click.option("--arch", metavar="A,B+C", help="Architectures; + joins the layers of one model.")
@click.option("--model", "own", metavar="MODULE:FUNCTION", help="Your own model; this runs its code.")
@default_option("--seeds", type=click.IntRange(1, 10_000), default=1, help="Number of seeds.")
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Any setting, for example optimiser.rate=1e-3.",
)
@click.option("--spec", "spec_file", type=PATH, help="TOML file with settings.")
@trust_option
@click.option(
    "--steps", type=click.IntRange(1), help="Largest number of updates; the same as --set run.steps=…"
)
@click.option("--lengths", metavar="N,M", help="Lengths to test; the same as --set run.test_lengths=[…]")
@click.option("--measure", type=click.Choice(list(MEASURES)), help="Accuracy to judge by and to show.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 10_000),
    default=os.cpu_count() or 1,
    help="Number of runs at the same time.",
)
@click.option(
    "--out",
    type=FOLDER,
    help="Folder of the runs; a run that is there is not repeated.  [default: runs; runs/FILE for a file]",
)
@click.option("--together", is_flag=True, hidden=True)
@click.option(
    "--certify",
    is_flag=True,
    help="Train by the recipe that ends with a proof: exact gates, and a search that may end the run; exit 1 "
    "if a run is not proved at every length.",
)
@click.option(
    "--log",
    "viewer",
    type=click.Choice(TRACKERS),
    help="Log loss and accuracy while training for this viewer, into OUT/live.",
)
@default_option("--executor", type=click.Choice(EXECUTORS), default="local", help="Executor of the runs.")
@default_option(
    "--retries",
    type=click.IntRange(0, 1000),
    default=3,
    help="Number of retries of a run whose process died.",
)
@click.option(
    "--address", metavar="HOST:PORT", help="Address of a Ray cluster; one is started here when not given."
)
@click.option(
    "--slurm",
    metavar="KEY=VALUE",
    multiple=True,
    help="Parameter of submitit, for example slurm_partition=cpu or timeout_min=60.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be run, and run nothing.")
@force_option
@budgeted(seconds=math.inf, counts=False)
@settle_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per run, one per line.")
def train(
    task: str | None,
    arch: str | None,
    own: str | None,
    seeds: int,
    spec_file: Path | None,
    jobs: int,
    out: Path | None,
    together: bool,
    certify: bool,
    settle: float,
    viewer: str | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train models on TASK and test them at lengths they never saw.

    FILE.toml holds settings, and lists of those that differ: every combination is trained. Run it again to
    continue it; add seeds, rates or lengths to the file to extend it. Exit 1 if a run failed.

    \b
    nerode train parity --arch mamba,mamba-signed,lstm,elman --seeds 3
    nerode train parity --arch mamba+mamba --set optimiser.rate=1e-3 --lengths 40,400
    nerode train predict-tomita-5 --arch elman --certify
    nerode train parity --arch lstm --log tensorboard
    nerode train --spec experiment.toml
    nerode train parity.toml --executor slurm --slurm slurm_partition=cpu

    \b
    [base]
    task.name = "parity"
    [grid]
    model.layers = ["mamba", "mamba-signed", "lstm"]
    run.seed = [0, 1, 2]
    """
    from nerode.records import claim_store, run_name
    from nerode.training import run_all

    if together:
        raise InputError("--together is gone: a pool of processes (--jobs) is as fast and keeps the runs")
    at_file = {name: options.pop(name) for name in _FILE_OPTIONS}
    if task is not None and task.lower().endswith(".toml"):
        _refuse_given(_TASK_OPTIONS, "the file says what is trained")
        common = {"force": force, "settle": settle, "as_json": as_json, "trust_code": options["trust_code"]}
        sys.exit(train_file(Path(task), out, jobs=jobs, **at_file, **common))
    _refuse_given(_FILE_OPTIONS, "a FILE.toml has these options, a task has none of them")
    out = out or Path("runs")
    specs = _specs(task, arch, own, seeds, _tables(spec_file, options), certify=certify)
    if any(spec.model.module for spec in specs):
        from nerode.analysis import require_own_models

        require_own_models(specs, certify=certify)
    claim_store(out, force=force)
    board = Board(specs, live=sys.stderr.isatty() and not as_json)
    if viewer is not None:
        board.log_to(viewer, out / "live", specs)
    found: dict[int, RunRecord] = {}
    try:
        with board:
            for number, record in run_all(specs, out, jobs=jobs, on_progress=board.see):
                found[number] = record
                board.end(number, record)
    except KeyboardInterrupt:
        kept = f"{len(found)} of {len(specs)} runs are kept"
        click.echo(f"\n{kept}; the same command goes on, a run from its last checkpoint.", err=True)
        raise
    records = [found[number] for number in range(len(specs))]
    folders = [out / run_name(record.key) for record in records]
    named = {spec.model.module for spec in specs if spec.model.module}
    seconds = settle or (SETTLE_SECONDS if certify else 0.0)
    runs = settle_runs(zip(records, folders, strict=True), seconds, named=named)
    if as_json:
        for record in records:
            item = run_item(record.to_json(), out / run_name(record.key))
            click.echo(json.dumps(item, ensure_ascii=False, allow_nan=False))
    else:
        _show(specs, runs)
        if certify:
            _show_proofs(runs)
        show_conclusion(runs, out=out)
    sys.exit(1 if certify and any(run.status().kind != "proved" for run in runs) else 0)


def _refuse_given(names: Collection[str], why: str) -> None:
    """Refuses options that the user has given."""
    context = click.get_current_context()
    line = click.core.ParameterSource.COMMANDLINE
    given = [
        p.opts[-1]
        for p in context.command.params
        if p.name in names and context.get_parameter_source(p.name) is line
    ]
    if given:
        raise InputError(f"{why}; leave {', '.join(given)} out")


def _show_proofs(runs: Sequence[RunFile]) -> None:
    """Prints the settlement of each run that was to be proved."""
    for run in runs:
        if run.settled is not None:
            click.echo("\n" + "\n".join(settlement_lines(run.settled, name=str(run.folder))))


def _tables(spec_file: Path | None, options: dict[str, Any]) -> dict[str, Any]:
    """The settings of the file, under those of the other options."""
    from nerode.records import merge_tables, parse_assignments, read_toml, refuse_code

    run: dict[str, Any] = {}
    if options["steps"] is not None:
        run["steps"] = options["steps"]
    if options["lengths"] is not None:
        run["test_lengths"] = _lengths(options["lengths"])
    if options["measure"] is not None:
        run["measure"] = options["measure"]
    file = {} if spec_file is None else read_toml(spec_file)
    refuse_code(file, str(spec_file), trust_code=options["trust_code"])
    return merge_tables(file, {"run": run} if run else {}, parse_assignments(options["settings"]))


def _lengths(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--lengths is {text!r}; give whole numbers with commas, like 40,64,256") from None


def _recipe(task: dict[str, Any], layers: list[str]) -> dict[str, Any]:
    """The settings of training that ends with a proof."""
    from nerode.analysis import recipe

    return recipe(task, "+".join(layers))


def _specs(
    task: str | None,
    arch: str | None,
    own: str | None,
    seeds: int,
    tables: dict[str, Any],
    *,
    certify: bool = False,
) -> list[TrainSpec]:
    """A spec for each architecture and seed; the seeds go on from that of the file."""
    from nerode.records import merge_tables
    from nerode.training import make_specs, specs_of_seeds

    model = tables.get("model", {})
    if own is not None and arch is not None:
        raise InputError("--arch and --model exclude each other; give one of them")
    named = isinstance(model, dict) and any(model.get(k) for k in ("layers", "configuration", "module"))
    if named and (arch or own):
        raise InputError("the settings name a model already; leave out --arch or --model")
    if task is not None:
        tables = merge_tables(tables, {"task": {"name": task}})
    name = tables["task"].get("name") if isinstance(tables.get("task"), dict) else None
    if not isinstance(name, str):
        raise InputError("name a task (`nerode list tasks` lists them), or give a file with --spec that does")
    run = tables.get("run", {})
    first = run.get("seed", 0) if isinstance(run, dict) else 0
    if not isinstance(first, int):
        raise InputError(f"run.seed is {first!r}; it has to be a whole number")
    chosen = range(first, first + seeds)
    if certify and (own is not None or (named and not model.get("layers"))):
        raise InputError("--certify is for layers of the zoo; name them with --arch")
    if own is not None or named:
        if certify:
            tables = merge_tables(_recipe(tables["task"], [model["layers"]] * model.get("depth", 1)), tables)
        tables = merge_tables(tables, {"model": {"module": own}} if own else {})
        return specs_of_seeds(tables, seeds=chosen)
    names = split_names(arch)
    if names is None:
        raise InputError("name what to train: --arch mamba,lstm (more: `nerode list architectures --train`)")
    if certify:
        under = [merge_tables(_recipe(tables["task"], [layers]), tables) for layers in names]
        return [
            spec
            for layers, own_tables in zip(names, under, strict=True)
            for spec in make_specs(name, [layers], seeds=chosen, tables=own_tables)
        ]
    return make_specs(name, names, seeds=chosen, tables=tables)


class Board:
    """Shows how runs get on: a table that is drawn anew on a terminal, one line per event elsewhere.

    Args:
        specs: the runs.
        live: whether there is a terminal.
    """

    def __init__(self, specs: list[TrainSpec], *, live: bool) -> None:
        self.rows = [RunRow(title=spec.model.title, seed=spec.run.seed) for spec in specs]
        self._live: Any = None
        if live:
            from rich.live import Live

            console = make_console(stderr=True)
            self._width = console.width
            self._live = Live(console=console, refresh_per_second=4, transient=True)
            self._live.update(live_table(self.rows, width=self._width))
        else:
            click.echo(f"{len(specs)} {'run' if len(specs) == 1 else 'runs'}", err=True)
        self._stack = ExitStack()
        self._trackers: list[Tracker] = []

    def log_to(self, viewer: str, out: Path, specs: list[TrainSpec]) -> None:
        """Also sends loss and accuracy of every run to a viewer, while it is trained."""
        from nerode.records import run_name
        from nerode.training import run_key

        for spec in specs:
            name = run_name(run_key(spec))
            self._trackers.append(open_tracker(viewer, out, name, spec.to_mapping(), live=True))

    def __enter__(self) -> Board:
        if self._live is not None:
            self._stack.enter_context(self._live)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def see(self, number: int, sight: ProgressEvent) -> None:
        """Shows how a run gets on."""
        row = self.rows[number]
        if row.state.startswith("done"):
            return
        row.state = "testing" if sight.event == "testing" else "training"
        row.step, row.steps, row.loss = sight.step, sight.steps, sight.loss
        row.accuracy, row.samples_per_second = sight.accuracy, sight.samples_per_second
        row.seconds_left = None if sight.event == "testing" else sight.seconds_left
        if self._trackers and sight.event != "testing":
            accuracy = {} if sight.accuracy is None else {"accuracy": sight.accuracy}
            self._trackers[number].log(sight.step, {"loss": sight.loss, "longest": sight.longest, **accuracy})
        self._draw(row, say=sight.event == "validation")

    def end(self, number: int, record: RunRecord) -> None:
        """Shows that a run has ended."""
        row = self.rows[number]
        how = {
            "steps": "done",
            "threshold": "done, learnt",
            "judge": "done, ended by its judge",
            "divergence": "done, diverged",
        }
        row.state, row.step = how[record.stopped], record.steps
        row.samples_per_second = row.seconds_left = None
        if record.history:
            row.accuracy = record.history[-1].validation.accuracy(record.measure)
            row.loss = record.history[-1].loss
        if self._trackers:
            self._trackers[number].close({"reaches": record.extrapolates_to, "steps": record.steps})
        self._draw(row, say=True)

    def _draw(self, row: RunRow, *, say: bool) -> None:
        if self._live is not None:
            self._live.update(live_table(self.rows, width=self._width))
        elif say:
            click.echo(row.line(), err=True)


def _show(specs: list[TrainSpec], runs: Sequence[RunFile]) -> None:
    from nerode.tasks import build_task

    console = make_console()
    measure = specs[0].run.measure
    low, high = build_task(specs[0].task).training_lengths
    console.print(f"{specs[0].task.name}, trained on lengths {low} to {high}; {MEASURES[measure]}:\n")
    console.print(results_table(runs, measure, width=console.width))
    axes = axes_table([run.record for run in runs], measure)
    if axes is not None:
        console.print()
        console.print(axes)
    threshold = specs[0].run.test_threshold
    console.print(f"\n{STATUS_LEGEND}; tests are passed from {threshold:g}")
    console.print("Every seed is listed; nothing was chosen by its score.")
