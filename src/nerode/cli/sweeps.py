"""`nerode train FILE.toml`: all runs of a file; what is done stays, what is missing is run."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.progress import Progress
from nerode.cli.settling import settle_runs, show_conclusion
from nerode.core import InputError, plural
from nerode.records import STATUS_LEGEND, RunStore, claim_store, read_result, read_run
from nerode.report import make_console, results_table
from nerode.study import MEASURES, RESULT_KEYS, run_item
from nerode.sweeps import read_sweep

if TYPE_CHECKING:
    from nerode.sweeps import Executor, RunJob, RunOutcome, SweepReport

EXECUTORS = ("local", "ray", "slurm")


def train_file(
    file: Path,
    out: Path | None,
    *,
    executor: str,
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
    from nerode.sweeps import run_sweep
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
    runner = make_executor(executor, **options)
    titles = {job.key: _title(job.spec) for job in wanted}
    store = RunStore(root)
    left = sum(not store.is_done(job.key) for job in wanted)

    def see(outcome: RunOutcome) -> None:
        message = f": {outcome.message}" if outcome.message else ""
        line = f"{outcome.key[:16]} {titles[outcome.key]}: {outcome.status}{message}"
        progress.end(f"{line}, {outcome.seconds:.1f} s")

    try:
        with Progress(f"sweep into {root}", left) as progress:
            report = run_sweep(wanted, root=root, runner=TRAINING.name, executor=runner, on_outcome=see)
    except KeyboardInterrupt:
        click.echo(f"\nWhat is done is in {root}; the same command goes on.", err=True)
        raise
    _show(report, RunStore(root), settle, as_json, named=named)
    return 1 if report.problems else 0


def make_executor(
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


def _show(
    report: SweepReport, store: RunStore, settle: float, as_json: bool, *, named: Collection[str]
) -> None:
    bad = {outcome.key: outcome for outcome in report.problems}
    folders = [store.folder(key) for key in report.keys if key not in bad]
    records = [read_run(folder) for folder in folders]
    found = settle_runs(zip(records, folders, strict=True), settle, named=named)
    if as_json:
        for folder in folders:
            click.echo(json.dumps(run_item(read_result(folder), folder), ensure_ascii=False))
        for outcome in bad.values():
            item = dict.fromkeys(RESULT_KEYS) | {"key": outcome.key}
            click.echo(json.dumps({**item, "status": outcome.status, "message": outcome.message}))
        return
    console = make_console()
    if folders:
        measure = records[0].measure
        console.print(f"{MEASURES[measure]}:\n")
        console.print(results_table(found, measure, width=console.width))
        console.print(f"\n{STATUS_LEGEND}")
    new = len(report.outcomes) - len(bad)
    console.print(
        f"\n{plural(len(report.keys), 'run')}: {len(report.before)} done before, {new} now, {len(bad)} not "
        "done. Every seed is listed; nothing was chosen by its score."
    )
    for path in report.set_aside:
        console.print(f"a folder that could not be read was set aside: {path}")
    for outcome in bad.values():
        console.print(f"{outcome.key[:16]} {outcome.status}: {outcome.message}", markup=False)
    show_conclusion(found, out=store.root)
