"""`nerode train`: what gradient descent finds for a task, at lengths never trained on, over several seeds."""

from __future__ import annotations

import functools
import json
import math
import os
import sys
from collections.abc import Collection, Sequence
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
from nerode.cli.progress import Board, Progress
from nerode.cli.settling import SETTLE_SECONDS, settle_option, settle_runs, show_conclusion, show_runs
from nerode.core import InputError, plural
from nerode.records import RunStore, claim_store, read_run
from nerode.report import settlement_lines
from nerode.study import MEASURES, RESULT_KEYS, run_item
from nerode.sweeps import TRACKERS, read_sweep

if TYPE_CHECKING:
    from nerode.records import RunRecord, TrainSpec
    from nerode.study import RunFile
    from nerode.sweeps import Executor, RunJob, RunOutcome, SweepReport

EXECUTORS = ("local", "ray", "slurm")

_FILE_OPTIONS = ("executor", "worker", "retries", "address", "slurm", "dry_run")
_TASK_OPTIONS = (
    "arch",
    "own",
    "seeds",
    "settings",
    "spec_file",
    "steps",
    "device",
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
@click.option(
    "--device",
    metavar="NAME",
    help="Device of torch to train and test on, for example cuda; not measured there. The same as --set "
    "run.device=…",
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
@click.option(
    "--worker",
    is_flag=True,
    help="Share the folder of runs with other workers, here or on other machines.",
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
    srun -n 8 nerode train parity.toml --worker --jobs 1

    \b
    [base]
    task.name = "parity"
    [grid]
    model.layers = ["mamba", "mamba-signed", "lstm"]
    run.seed = [0, 1, 2]
    """
    from nerode.records import run_name
    from nerode.training import run_all

    at_file = {name: options.pop(name) for name in _FILE_OPTIONS}
    if task is not None and task.lower().endswith(".toml"):
        _refuse_given(_TASK_OPTIONS, "the file says what is trained")
        common = {"force": force, "settle": settle, "as_json": as_json, "trust_code": options["trust_code"]}
        sys.exit(_train_file(Path(task), out, jobs=jobs, **at_file, **common))
    _refuse_given(_FILE_OPTIONS, "these options are for a FILE.toml, not for a task")
    out = out or Path("runs")
    specs = _specs(task, arch, own, seeds, _tables(spec_file, options), certify=certify)
    if not specs:
        sys.exit(1)
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
        kept = f"{len(found)} of {len(specs)} runs are stored"
        click.echo(f"\n{kept}; the same command continues, each run from its last checkpoint.", err=True)
        raise
    records = [found[number] for number in range(len(specs))]
    folders = [out / run_name(record.key) for record in records]
    named = {spec.model.module for spec in specs if spec.model.module}
    seconds = settle or (SETTLE_SECONDS if certify else 0.0)
    runs = settle_runs(zip(records, folders, strict=True), seconds, named=named)
    if as_json:
        _print_items(runs)
    else:
        show_runs(runs)
        if certify:
            _show_proofs(runs)
        show_conclusion(runs, out=out)
    asked = len(split_names(arch) or [""]) * seeds
    sys.exit(1 if certify and sum(run.status().kind == "proved" for run in runs) < asked else 0)


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
    for name in ("steps", "device"):
        if options[name] is not None:
            run[name] = options[name]
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


def certified_specs(task: str, layers: str, seeds: Sequence[int], tables: dict[str, Any]) -> list[TrainSpec]:
    """The specs that may end with a proof; theory says first whether there can be one, and how many layers.

    There are none where theory excludes a network. A layer that is named alone has the depth of the smallest
    known network, unless a recipe or the user says how many there are, or its gates see several letters.
    """
    from nerode.analysis import has_recipe, needs_depth
    from nerode.records import merge_tables
    from nerode.study import verdict_of_task
    from nerode.tasks import complete_task
    from nerode.training import make_specs

    def made(layers: str) -> list[TrainSpec]:
        return make_specs(
            task, [layers], seeds=seeds, tables=merge_tables(_recipe(tables["task"], [layers]), tables)
        )

    specs = made(layers)
    parts, asked = layers.split("+"), complete_task(specs[0].task)
    verdict = verdict_of_task(asked.name, asked.settings, parts[0])
    if verdict is None or len(set(parts)) > 1:
        return specs
    if verdict.status.value == "no" and not verdict.conditional_on:
        click.echo(
            f"{layers} is not trained: theory excludes a proof at every length at finite precision "
            f"({verdict.reason}). Leave out --certify to train it all the same.",
            err=True,
        )
        return []
    depth = specs[0].model.depth * len(specs[0].model.layers.split(","))
    known = None if verdict.size is None else verdict.size.layers
    if verdict.status.value != "yes" or known is None or known <= depth:
        return specs
    said = f"{layers}: the smallest known network has {known} layers"
    given = len(parts) > 1 or "depth" in tables.get("model", {}) or has_recipe(specs[0])
    if not given and needs_depth(specs[0]):
        click.echo(f"{said}; these are trained", err=True)
        return made("+".join(parts * known))
    why = f"; --arch {'+'.join(parts[:1] * known)} trains more"
    click.echo(f"{said}, {depth} {'is' if depth == 1 else 'are'} trained{why}", err=True)
    return specs


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
        return [spec for layers in names for spec in certified_specs(name, layers, chosen, tables)]
    return make_specs(name, names, seeds=chosen, tables=tables)


def _train_file(
    file: Path,
    out: Path | None,
    *,
    executor: str,
    worker: bool,
    dry_run: bool,
    force: bool,
    trust_code: bool,
    settle: float,
    as_json: bool,
    **options: Any,
) -> int:
    """Trains every combination of a file that is not there yet and returns the exit code: 1 if a run failed.

    The arguments are the options of `nerode train`; the runs go to runs/ and the name of the file by default.
    """
    from nerode.sweeps import run_sweep, run_worker
    from nerode.training import TRAINING, with_small_defaults

    root = out or Path("runs") / file.stem
    wanted = read_sweep(file).jobs(TRAINING, with_small_defaults, trust_code=trust_code)
    if dry_run:
        _preview(wanted, RunStore(root), as_json)
        return 0
    models = [job.spec.get("model") for job in wanted]
    named = {str(model["module"]) for model in models if isinstance(model, dict) and model.get("module")}
    if named:
        from nerode.analysis import require_own_models
        from nerode.training import make_spec

        require_own_models(make_spec(job.spec) for job in wanted)
    claim_store(root, force=force)
    if worker and executor != "local":
        raise InputError(f"--worker runs here, not by {executor}; leave one of them out")
    runner = _executor(executor, **options)
    titles = {job.key: _title(job.spec) for job in wanted}
    store = RunStore(root)
    left = sum(not store.is_done(job.key) for job in wanted)

    def see(outcome: RunOutcome) -> None:
        if outcome.status == "elsewhere":
            progress.end(f"{outcome.key[:16]} {titles[outcome.key]}: done by another worker")
            return
        message = f": {outcome.message}" if outcome.message else ""
        line = f"{outcome.key[:16]} {titles[outcome.key]}: {outcome.status}{message}"
        progress.end(f"{line}, {outcome.seconds:.1f} s")

    try:
        with Progress(f"sweep into {root}", left) as progress:
            if worker:
                sharing = functools.partial(run_worker, processes=options["jobs"], retries=options["retries"])
            else:
                sharing = functools.partial(run_sweep, executor=runner)
            report = sharing(wanted, root=root, runner=TRAINING.name, on_outcome=see)
    except KeyboardInterrupt:
        click.echo(f"\nFinished runs are in {root}; the same command continues.", err=True)
        raise
    _show_file(report, store, settle, as_json, named=named)
    return 1 if report.problems else 0


def _executor(
    name: str, *, jobs: int, retries: int, address: str | None = None, slurm: Sequence[str] = ()
) -> Executor:
    """Returns the executor of this name.

    Raises:
        InputError: if an option belongs to another executor.
    """
    if address is not None and name != "ray":
        raise InputError("--address belongs to Ray; add --executor ray")
    if slurm and name != "slurm":
        raise InputError("--slurm belongs to Slurm; add --executor slurm")
    if name == "ray":
        from nerode.sweeps import RayExecutor

        return RayExecutor(address=address, processes=jobs, retries=retries)
    if name == "slurm":
        from nerode.records import parse_assignments
        from nerode.sweeps import SlurmExecutor

        return SlurmExecutor(processes=jobs, settings=parse_assignments(slurm))
    from nerode.sweeps import LocalExecutor

    return LocalExecutor(processes=jobs, retries=retries)


def _title(spec: dict[str, Any]) -> str:
    model, run = spec.get("model", {}), spec.get("run", {})
    name = model.get("configuration") or model.get("module") or model.get("layers", "mamba")
    return f"{spec['task']['name']} {name} seed {run.get('seed', 0)}"


def _preview(jobs: Sequence[RunJob], store: RunStore, as_json: bool) -> None:
    for job in jobs:
        done = store.is_done(job.key)
        if as_json:
            click.echo(json.dumps({"key": job.key, "done": done, "spec": job.spec}, ensure_ascii=False))
        else:
            click.echo(f"{job.key[:16]}  {'done' if done else 'to run'}  {_title(job.spec)}")


def _show_file(
    report: SweepReport, store: RunStore, settle: float, as_json: bool, *, named: Collection[str]
) -> None:
    bad = {outcome.key: outcome for outcome in report.problems}
    others = {outcome.key for outcome in report.outcomes if outcome.status == "elsewhere"}
    # Workers do not prove the same runs side by side: each shows its own.
    folders = [store.folder(key) for key in report.keys if key not in bad and key not in others]
    runs = settle_runs(((read_run(folder), folder) for folder in folders), settle, named=named)
    if as_json:
        _print_items(runs)
        for outcome in bad.values():
            item = dict.fromkeys(RESULT_KEYS) | {"key": outcome.key}
            click.echo(json.dumps({**item, "status": outcome.status, "message": outcome.message}))
        return
    show_runs(runs)
    new = len(report.outcomes) - len(bad) - len(others)
    elsewhere = f"{len(others)} by other workers, " if others else ""
    done = f"{len(report.before)} done before, {new} now, {elsewhere}{len(bad)} not done."
    click.echo(f"{plural(len(report.keys), 'run')}: {done}")
    for path in report.set_aside:
        click.echo(f"a folder that could not be read was set aside: {path}")
    for outcome in bad.values():
        click.echo(f"{outcome.key[:16]} {outcome.status}: {outcome.message}")
    show_conclusion(runs, out=store.root)


def _print_items(runs: Sequence[RunFile]) -> None:
    for run in runs:
        item = run_item(run.record.to_json(), run.folder)
        click.echo(json.dumps(item, ensure_ascii=False, allow_nan=False))
