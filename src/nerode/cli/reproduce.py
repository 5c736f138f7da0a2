"""`nerode reproduce`: tables of papers, measured again, beside what was published."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.options import FOLDER, Command, budgeted, default_option, force_option
from nerode.cli.progress import Progress
from nerode.cli.settling import settle_option, settle_runs
from nerode.core import InputError, claim_file, claim_folder, write_atomically
from nerode.records import claim_store

if TYPE_CHECKING:
    from nerode.records import TableResult
    from nerode.reproduce import Paper, PaperTable
    from nerode.reproduce.measuring import QueuedLine

EXPERIMENTS = Path("experiments")


class SeedRange(click.ParamType["int | range"]):
    """A number of seeds, or the first and the last of them."""

    name = "n|first-last"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | range:
        """Returns the number, or the seeds."""
        first, dash, last = str(value).partition("-")
        if not dash:
            return click.IntRange(1, 1000).convert(value, param, ctx)
        if not (first.isdecimal() and last.isdecimal() and 0 <= int(last) - int(first) < 1000):
            self.fail(f"{value!r} is no range of at most 1,000 seeds; write it like 301-305", param, ctx)
        return range(int(first), int(last) + 1)


@click.command(cls=Command)
@click.argument("asked", metavar="[PAPER[:TABLE]]…", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Reproduce all papers.")
@default_option(
    "--scale",
    type=click.Choice(["cpu", "paper"]),
    default="cpu",
    help="cpu runs a smaller version here; paper writes a sweep file of the published configuration.",
)
@click.option(
    "--seeds",
    type=SeedRange(),
    help="Number of seeds, or which (301-305); by default those of each line.",
)
@default_option("--jobs", type=click.IntRange(1, 256), default=1, help="Number of runs at the same time.")
@click.option("--done", is_flag=True, help="Run nothing; use the runs that are in --out.")
@click.option(
    "--go-on",
    is_flag=True,
    help="Run line by line, the most published numbers per CPU hour first, and store each line when it is "
    "complete. Stop it at any time: the same command continues. With --done it shows what is left.",
)
@default_option(
    "--out",
    type=FOLDER,
    default=Path("runs/reproduce"),
    help="Folder of the runs; a run that is there is not repeated.",
)
@click.option(
    "--keep", type=FOLDER, help="Also write each table as JSON and Markdown into this folder of experiments."
)
@click.option(
    "--table", "claims", is_flag=True, help="Print the table of claims of stored results, and run nothing."
)
@click.option(
    "--figures",
    "drawn",
    type=FOLDER,
    help="Folder of the figures that are asked for by name, as SVG.  [default: OUT/figures]",
)
@force_option
@budgeted(seconds=math.inf, counts=False)
@settle_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per table, one per line.")
def reproduce(
    asked: Sequence[str],
    everything: bool,
    scale: str,
    seeds: int | range | None,
    jobs: int,
    done: bool,
    go_on: bool,
    out: Path,
    keep: Path | None,
    claims: bool,
    drawn: Path | None,
    force: bool,
    settle: float,
    as_json: bool,
) -> None:
    """Measure tables of papers again: published, ours, theory, agrees?

    \b
    nerode reproduce ngram-ssm
    nerode reproduce memory:table-4 --seeds 301-305 --jobs 2
    nerode reproduce memory:figure-2
    nerode reproduce sarrof:counters --scale paper --out sweeps
    nerode reproduce --all --go-on --keep experiments
    nerode reproduce --all --table > experiments/README.md
    """
    if claims:
        _show_claims(keep or EXPERIMENTS, _find(asked, everything or not asked), as_json)
        return
    tables = _find(asked, everything)
    if isinstance(seeds, range) and keep is not None:
        raise InputError("kept tables have the seeds of their lines; give --seeds 301-305 without --keep")
    if scale == "paper":
        if done or keep is not None:
            raise InputError("--scale paper writes sweep files and runs nothing; leave --done and --keep out")
        _write_sweeps(tables, seeds, out, force=force, as_json=as_json)
        return
    if not done:
        claim_store(out, force=force)
    if (go_on or keep is not None) and any(table not in paper.tables for paper, table in tables):
        raise InputError("--keep and --go-on take tables; a figure is drawn from runs of tables")
    if keep is not None:
        claim_folder(keep / "reproduce", holds=("*/*.json",), of="kept tables", force=force)
    if go_on:
        if seeds is not None or as_json:
            raise InputError(
                "--go-on runs all seeds of a line and prints its progress; leave --seeds and --json"
            )
        _go_on(tables, out, keep or EXPERIMENTS, 0 if done else jobs, settle=settle)
        return
    for paper, table in tables:
        _run(paper, table, out, seeds, 0 if done else jobs, keep, as_json, settle=settle)
    for name in dict.fromkeys(asked):
        _draw(name, out, seeds, keep or EXPERIMENTS, drawn or out / "figures")


def _go_on(
    tables: Sequence[tuple[Paper, PaperTable]], out: Path, keep: Path, jobs: int, *, settle: float
) -> None:
    """Runs what is left line by line; without jobs it only shows that."""
    from nerode.records import read_tables, write_table
    from nerode.report import table_markdown
    from nerode.reproduce import find_tables, judge_again
    from nerode.reproduce.measuring import list_queue, merge_lines, run_table, update_queue

    lines = list_queue(tables)
    failed: set[str] = set()
    while True:
        stored = {
            (result.paper, result.table): judge_again(
                result, next(table for _, table in find_tables(f"{result.paper}:{result.table}"))
            )
            for result in read_tables(keep / "reproduce")
        }
        queue = update_queue(lines, out=out, stored=list(stored.values()))
        left = [own for own in queue if not own.stored and own.name not in failed]
        _show_queue(queue, left, details=not jobs)
        if not jobs or not left:
            return
        now = left[0]
        result = run_table(
            now.paper, replace(now.table, lines=(now.line,)), out=out, jobs=jobs, on_line=click.echo
        )
        if result.lines and any(line.failed for line in result.lines if line.kind == "trained"):
            failed.add(now.name)
            continue
        result = _settled(result, out, settle)
        # Read anew: another driver may have written meanwhile.
        before = [
            t for t in read_tables(keep / "reproduce") if (t.paper, t.table) == (result.paper, result.table)
        ]
        result = merge_lines(result, before[0] if before else None, now.table)
        path = write_table(keep / "reproduce", result)
        write_atomically(path.with_suffix(".md"), table_markdown(result))


def _show_queue(queue: Sequence[QueuedLine], left: Sequence[QueuedLine], *, details: bool) -> None:
    """Prints how many lines and runs are done, which line is next, and what is left in hours."""
    runs = sum(own.missing for own in left)
    click.echo(
        f"{datetime.now(UTC):%H:%M} done {len(queue) - len(left)} of {len(queue)} lines; left {len(left)} "
        f"lines, {runs} runs, about {sum(own.hours for own in left):.1f} CPU hours"
    )
    for own in left if details else left[:1]:
        click.echo(
            f"{'  ' if details else 'next: '}{own.name}: {own.missing} runs of about {own.seconds:.0f} "
            f"CPU s, {own.cells} numbers"
        )


def _find(asked: Sequence[str], everything: bool) -> list[tuple[Paper, PaperTable]]:
    from nerode.reproduce import PAPERS, find_tables

    if everything == bool(asked):
        raise InputError("name papers or tables (`nerode list papers`), or give --all; one of the two")
    names = list(PAPERS) if everything else asked
    found = {(paper.name, table.name): (paper, table) for name in names for paper, table in find_tables(name)}
    return list(found.values())


def _run(
    paper: Paper,
    table: PaperTable,
    out: Path,
    seeds: int | range | None,
    jobs: int,
    keep: Path | None,
    as_json: bool,
    *,
    settle: float,
) -> None:
    from nerode.records import write_table
    from nerode.report import left_text, make_console, reproduction_table, table_markdown
    from nerode.reproduce.measuring import num_missing, run_table
    from nerode.study import conclude_table

    left = num_missing(table, out=out, seeds=seeds) if jobs else 0
    with Progress(f"{paper.name}:{table.name}", left) as progress:
        result = run_table(
            paper,
            table,
            out=out,
            seeds=seeds,
            jobs=jobs,
            on_line=progress.end,
        )
    result = _settled(result, out, settle)
    if keep is not None and (result.lines or result.waiting):
        path = write_table(keep / "reproduce", result)
        write_atomically(path.with_suffix(".md"), table_markdown(result))
    if as_json:
        click.echo(json.dumps(result.to_json(), ensure_ascii=False, allow_nan=False))
        return
    console = make_console()
    console.print(f"\n{result.citation}, {result.where}: {result.title}", style="bold", markup=False)
    console.print(f"CPU scale: {result.scale}.\n", markup=False)
    console.print(reproduction_table(result))
    console.print(
        f"\n{result.cpu_seconds:,.0f} CPU seconds.{left_text(result)} "
        "Every seed counts; nothing was chosen by its score.",
        markup=False,
    )
    console.print(result.rule, style="dim", markup=False)
    console.print(f"\nConclusion: {conclude_table(result)}", style="bold", markup=False)
    console.print(f"Next: nerode report {out}; nerode runs ls {out}", markup=False)


def _draw(name: str, out: Path, seeds: int | range | None, kept: Path, folder: Path) -> None:
    """Draws a figure that was asked for by its name, from runs that are there and from stored results."""
    from nerode.records import read_tables
    from nerode.report import draw_figure, save_figure
    from nerode.reproduce import find_figure
    from nerode.reproduce.measuring import merge_lines, read_outputs, read_states, run_table

    if (found := find_figure(name)) is None:
        return
    paper, figure = found
    result = run_table(paper, figure.part, out=out, seeds=seeds, jobs=0)
    stored = [
        t for t in read_tables(kept / "reproduce") if (t.paper, t.table) == (paper.name, figure.table.name)
    ]
    if seeds is None:
        result = merge_lines(result, stored[0] if stored else None, figure.part)
    drawn = draw_figure(
        figure,
        result,
        citation=str(paper.reference),
        outputs=read_outputs(result, figure.signals, out) if figure.kind == "signals" else (),
        states=read_states(result, out) if figure.kind == "states" else (),
    )
    if drawn is None:
        click.echo(f"{name}: there is no run to draw yet", err=True)
        return
    path = folder / f"{paper.name}-{figure.name}.svg"
    save_figure(drawn, path, width=9.0)
    lines = {(line.row, line.model) for line in result.lines}
    left = sum((line.row, line.model) not in lines for line in figure.part.lines)
    click.echo(
        f"{figure.where}: {path}" + (f"; {left} of its lines have no runs yet" if left else ""), err=True
    )


def _settled(result: TableResult, out: Path, seconds: float) -> TableResult:
    """The table with the status of each of its runs; a run that is settled already is not settled again."""
    from nerode.records import RunStore, read_run
    from nerode.study import read_run_file

    store = RunStore(out)
    folders = {key: store.folder(key) for line in result.lines for key in line.keys if store.is_done(key)}
    settle_runs(((read_run(folder), folder) for folder in folders.values()), seconds, named=())
    statuses = {key: read_run_file(folder).status_line for key, folder in folders.items()}
    lines = tuple(
        replace(line, ends=tuple(statuses[key] for key in line.keys if key in statuses))
        for line in result.lines
    )
    return replace(result, lines=lines)


def _write_sweeps(
    tables: Sequence[tuple[Paper, PaperTable]],
    seeds: int | range | None,
    out: Path,
    *,
    force: bool,
    as_json: bool,
) -> None:
    from nerode.reproduce import sweep_text

    claim_folder(out, holds=("*.toml",), of="sweep files of nerode", force=force)
    for paper, table in tables:
        if len(tables) > 1 and all(line.paper is None for line in table.lines):
            continue
        path = out / f"{paper.name}-{table.name}.toml"
        claim_file(path, force=force)
        write_atomically(path, sweep_text(paper, table, seeds=seeds))
        if as_json:
            click.echo(json.dumps({"paper": paper.name, "table": table.name, "sweep": str(path)}))
        else:
            click.echo(f"{path}: nerode train {path} --executor slurm (or ray, or local)")


def _show_claims(folder: Path, tables: Sequence[tuple[Paper, PaperTable]], as_json: bool) -> None:
    from nerode.records import read_tables
    from nerode.report import claims_page
    from nerode.reproduce import count_coverage, judge_again

    asked = {(paper.name, table.name): table for paper, table in tables}
    kept = [t for t in read_tables(folder / "reproduce") if (t.paper, t.table) in asked]
    results = [judge_again(t, asked[t.paper, t.table]) for t in kept]
    if not results:
        raise InputError(
            f"{folder / 'reproduce'} has no kept result of these; run with --keep {folder} first"
        )
    if as_json:
        for result in results:
            click.echo(json.dumps(result.to_json(), ensure_ascii=False, sort_keys=True, allow_nan=False))
        return
    click.echo(claims_page(results, count_coverage(results, tables)), nl=False)
