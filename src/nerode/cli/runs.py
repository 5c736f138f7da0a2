"""`nerode runs`: what is in a folder of runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from nerode.cli.options import PATH, Command, budgeted, default_option, force_option
from nerode.cli.settling import show_runs
from nerode.core import InputError, claim_file, claim_folder, write_atomically
from nerode.records import (
    RESULT,
    Measure,
    RunStore,
    find_run,
    list_runs,
    prune as prune_store,
    read_result,
    removable,
)
from nerode.report import make_console, name_table, plain_columns
from nerode.study import (
    LIST_HEADINGS,
    MEASURES,
    list_row,
    read_run_file,
    read_run_files,
    run_item,
    settled_run,
)
from nerode.sweeps import TRACKERS, export_run, flat_rows, flatten, to_csv, to_json_lines

_budgeted = budgeted(seconds=600.0, counts=False)
_folder = click.argument("folder", metavar="DIR", type=PATH)


class _Group(click.Group):
    """A group whose commands are listed with their whole first sentence."""

    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands in the order of their use."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, found.get_short_help_str(limit=200)) for name, found in self.commands.items()]
            )


@click.group(cls=_Group)
def runs() -> None:
    """List, show, export and prune the runs of a folder (`nerode train` writes them)."""


@runs.command("ls")
@_folder
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per run, one per line.")
@_budgeted
def list_command(folder: Path, as_json: bool) -> None:
    """List all runs: finished, failed, unfinished and damaged.

    \b
    nerode runs ls runs
    nerode runs ls runs/parity --json
    """
    store = RunStore(folder)
    found = list_runs(store)
    failures = {failure.key[:16]: failure.message for failure in store.failures()}
    others = [(name, "failed" if name in failures else "unfinished") for name in store.unfinished()]
    others += [(run.name, "damaged") for run in found if run.damage]
    good = [run for run in found if not run.damage]
    if as_json:
        for run in good:
            item = run_item({**run.result, "spec": run.spec, "key": run.key}, folder / run.name)
            click.echo(json.dumps(item, ensure_ascii=False))
        for name, status in others:
            click.echo(json.dumps({"run": name, "status": status, "message": failures.get(name, "")}))
        return
    rows = [list_row(run.name, run.spec, run.result, settled_run(folder / run.name)) for run in good]
    rows += [(name, "", "", "", "", status, failures.get(name, "")) for name, status in others]
    click.echo(plain_columns(LIST_HEADINGS, rows))


@runs.command("show")
@click.argument("place", metavar="[DIR] RUN", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as one JSON object.")
@_budgeted
def show_command(place: tuple[str, ...], as_json: bool) -> None:
    """Show one run; RUN is its folder, the beginning of its key, or `last`.

    \b
    nerode runs show 9b7e
    nerode runs show runs/parity last --json
    """
    if len(place) > 2:
        raise InputError(f"{len(place)} words were given; name one run, or a folder and a run in it")
    folder = find_run(Path(*place))
    if not (folder / RESULT).exists():
        raise InputError(f"no run begins with {folder.name!r}; `nerode runs ls` lists them")
    result = read_result(folder)
    if as_json:
        click.echo(json.dumps(result, ensure_ascii=False))
        return
    run = read_run_file(folder)
    console = make_console()
    spec = result.get("spec") or run.record.spec.to_mapping()
    console.print(name_table(("setting", "value"), [(n, str(v)) for n, v in flatten(spec)]))
    console.print()
    found = {name: value for name, value in result.items() if name not in _LONG}
    console.print(name_table(("found", "value"), [(n, str(v)) for n, v in flatten(found)]))
    console.print()
    show_runs([run])


_LONG = ("evaluations", "history", "spec", "complete", "environment")
"""What a run has found that is shown otherwise, or not at all."""


@runs.command("table")
@_folder
@click.option("--measure", type=click.Choice(list(MEASURES)), help="Accuracy to show.")
@_budgeted
def table_command(folder: Path, measure: Measure | None) -> None:
    """Show model × length for each task: every seed, then median and range.

    \b
    nerode runs table runs
    """
    found, left_out = read_run_files([folder])
    show_runs(found, measure=measure)
    for item in left_out:
        click.echo(f"left out: {item.path}: {item.why}", err=True)


@runs.command("export")
@_folder
@default_option(
    "--to",
    "form",
    type=click.Choice(["csv", "jsonl", *TRACKERS]),
    default="csv",
    help="One flat row per run and length, or the measurements for a viewer.",
)
@click.option("-o", "--out", type=PATH, help="File to write, or folder for viewers.")
@_budgeted
@force_option
def export_command(folder: Path, form: str, out: Path | None, force: bool) -> None:
    """Write the finished runs in another form.

    \b
    nerode runs export runs -o runs.csv
    nerode runs export runs --to tensorboard -o board
    """
    store = RunStore(folder)
    found = [run for run in list_runs(store) if not run.damage]
    if form in TRACKERS:
        if out is None:
            raise InputError(f"--to {form} writes a folder; say where with -o DIR")
        claim_folder(out, holds=("[0-9a-f]" * 16, "wandb"), of="exported runs", force=force)
        for run in found:
            export_run(form, store, run, out)
        return
    if out is not None:
        claim_file(out, force=force)
    rows = flat_rows(found)
    text = to_csv(rows) if form == "csv" else to_json_lines(rows)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_atomically(out, text)


@runs.command("prune")
@_folder
@click.option(
    "--keep",
    "sweeps",
    multiple=True,
    metavar="FILE.toml",
    type=PATH,
    help="Also remove finished runs that no sweep file given here asks for.",
)
@click.option("--yes", is_flag=True, help="Remove them; they are only listed without it.")
@_budgeted
def prune_command(folder: Path, sweeps: tuple[Path, ...], yes: bool) -> None:
    """Remove what stopped and failed runs have left, and what is damaged.

    \b
    nerode runs prune runs
    nerode runs prune runs --keep sweep.toml --yes
    """
    store = RunStore(folder)
    found = removable(store, keep=_keys(sweeps) if sweeps else None)
    for path in found:
        click.echo(str(path))
    if not yes:
        click.echo(f"{len(found)} folders would be removed; --yes removes them", err=True)
        return
    prune_store(store, found)
    click.echo(f"{len(found)} folders removed", err=True)


def _keys(files: tuple[Path, ...]) -> set[str]:
    from nerode.sweeps import read_sweep
    from nerode.training import TRAINING, with_small_defaults

    return {job.key for file in files for job in read_sweep(file).jobs(TRAINING, with_small_defaults)}
