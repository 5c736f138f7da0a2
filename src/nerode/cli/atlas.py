"""`nerode atlas`: every named language and every architecture on one page. The main job."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from nerode.cli.options import budget_options, make_budget, sense_option, split_names
from nerode.core.errors import InputError
from nerode.core.files import write_atomically
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.bestiary import suite as suite_rows
from nerode.report.atlas import AtlasRow, atlas_page
from nerode.report.study import Study, study_language
from nerode.verdict.records import Sense, Status


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
@sense_option
@budget_options
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON instead of the path.")
def atlas(output: Path, suite: str | None, only: str | None, as_json: bool, **options: Any) -> None:
    """Write the page of every named language × every architecture."""
    budget = make_budget(options)
    started = time.monotonic()
    names = _names(suite, only)
    rows = []
    for name in _progress(names):
        study = study_language(find_language(name, budget.start()), budget=budget.start())
        rows.append(_row(name, study))
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


def _row(name: str, study: Study) -> AtlasRow:
    row = BESTIARY.get(name)
    return AtlasRow(
        language=study.language,
        profile=study.profile,
        verdicts=tuple(study.table),
        dfa=study.automaton,
        eggboxes=study.eggboxes,
        group=row.suites[0] if row is not None and row.suites else "",
    )


def _progress(names: list[str]) -> Iterator[str]:
    """Yields the names, with a bar on a terminal and one line a name elsewhere."""
    if sys.stderr.isatty():
        from rich.progress import track

        from nerode.report.terminal import make_console

        tracked: Iterable[str] = track(names, description="atlas", console=make_console(stderr=True))
        yield from tracked
        return
    for i, name in enumerate(names, start=1):
        click.echo(f"[{i}/{len(names)}] {name}", err=True)
        yield name
