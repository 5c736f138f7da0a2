"""`nerode atlas`: every named language and every architecture on one page. The main job."""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from nerode.cli.options import budget_options, make_budget, sense_option, split_names
from nerode.core.budget import Budget
from nerode.core.errors import InputError
from nerode.core.files import write_atomically
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.bestiary import suite as suite_rows
from nerode.report.atlas import AtlasRow, atlas_page
from nerode.report.study import study_language
from nerode.verdict.records import Sense, Status

_SECONDS_A_PROOF = 10.0
"""On the page of all languages a network that takes longer to certify is shown without a proof."""


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("atlas.html"),
    show_default=True,
    help="The HTML file.",
)
@click.option("--suite", metavar="TAG", help="Only the languages of one published suite.")
@click.option("--only", metavar="NAME,…", help="Only these languages.")
@click.option(
    "--networks/--no-networks", default=True, show_default=True, help="Compile and certify networks."
)
@click.option("--jobs", type=click.IntRange(1, 64), default=os.cpu_count() or 1, help="Processes to use.")
@sense_option
@budget_options
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON instead of the path.")
def atlas(output: Path, suite: str | None, only: str | None, as_json: bool, **options: Any) -> None:
    """Write the page of every named language × every architecture."""
    budget = make_budget(options)
    started = time.monotonic()
    names = _names(suite, only)
    rows = list(_progress(_studied(names, budget, options["networks"], options["jobs"]), names))
    page = atlas_page(rows, sense=Sense(options["sense"]), command=_command(output, suite, only))
    write_atomically(output, page)
    if as_json:
        counts = {s.value: sum(v.status is s for r in rows for v in r.verdicts) for s in Status}
        click.echo(json.dumps({"languages": len(rows), "verdicts": counts, "out": str(output)}))
        return
    click.echo(f"{len(rows)} languages in {time.monotonic() - started:.1f} s", err=True)
    click.echo(str(output))


def _names(suite: str | None, only: str | None) -> list[str]:
    """The languages that are asked for, each once."""
    if suite is not None and only is not None:
        raise InputError("--suite and --only exclude each other; give one of them")
    if suite is not None:
        return [row.name for row in suite_rows(suite)]
    names = split_names(only, option="--only", listing="languages")
    if names is None:
        return list(BESTIARY)
    names = list(dict.fromkeys(name.lower() for name in names))
    for name in names:
        # A name that nothing has stops the work before it begins, not after an hour.
        find_language(name)
    return names


def _command(output: Path, suite: str | None, only: str | None) -> str:
    """The command line that makes the page again."""
    chosen = f" --suite {suite}" if suite else f" --only {only}" if only else ""
    return f"nerode atlas{chosen} -o {output}"


def _studied(names: list[str], budget: Budget, networks: bool, jobs: int) -> Iterator[AtlasRow]:
    """Yields the rows in order; several processes work ahead where there are several."""
    if jobs == 1 or len(names) == 1:
        for name in names:
            yield _row(name, _parts(name, budget, networks))
        return
    with ProcessPoolExecutor(max_workers=min(jobs, len(names))) as pool:
        found = pool.map(_parts, names, itertools.repeat(budget), itertools.repeat(networks))
        yield from map(_row, names, found)


def _parts(name: str, budget: Budget, networks: bool) -> dict[str, Any]:
    """What is found about a language, without the language: that may not travel between processes."""
    limits = replace(budget, seconds=min(budget.seconds, _SECONDS_A_PROOF)) if networks else budget
    study = study_language(find_language(name, budget.start()), networks=networks, budget=limits.start())
    return {
        "profile": study.profile,
        "verdicts": tuple(study.table),
        "dfa": study.automaton,
        "eggboxes": study.eggboxes,
        "networks": study.networks,
    }


def _row(name: str, parts: dict[str, Any]) -> AtlasRow:
    suites = BESTIARY[name].suites if name in BESTIARY else ()
    return AtlasRow(language=find_language(name), group=suites[0] if suites else "", **parts)


def _progress(rows: Iterator[AtlasRow], names: list[str]) -> Iterator[AtlasRow]:
    """Passes the rows on, with a bar on a terminal and one line a language elsewhere."""
    if sys.stderr.isatty():
        from rich.progress import track

        from nerode.report.terminal import make_console

        yield from track(rows, total=len(names), description="atlas", console=make_console(stderr=True))
        return
    for i, row in enumerate(rows, start=1):
        proved = sum(item.is_proved for item in row.networks)
        made = sum(item.network is not None for item in row.networks)
        click.echo(f"[{i}/{len(names)}] {names[i - 1]}: {made} networks, {proved} proved", err=True)
        yield row
