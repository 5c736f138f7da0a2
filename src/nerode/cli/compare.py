"""`nerode compare`: theory, compiler, training and certificates of a language side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from nerode.cli.options import Command, RunPath, budgeted, split_names, trust_option
from nerode.core import Budget, InputError
from nerode.report import make_console, standing_table


@click.command(cls=Command)
@click.argument("name", metavar="LANG_OR_TASK")
@click.argument("folders", metavar="RUNS…", nargs=-1, type=RunPath())
@click.option("--arch", metavar="A,B", help="Also compare these architectures, without runs.")
@trust_option
@budgeted(seconds=300.0)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare(
    name: str,
    folders: tuple[Path, ...],
    arch: str | None,
    trust_code: bool,
    as_json: bool,
    budget: Budget,
) -> None:
    """Compare what theory says with what compiles, what was trained and what is certified.

    RUNS are runs, compiled or polished networks, or folders of these. Disagreements come first; exit 1 if
    there are any.

    \b
    nerode compare tomita-5 runs/
    nerode compare parity runs/ parity-compiled/ --arch mamba,mamba-signed
    nerode compare a5 polished/ --arch mamba
    """
    from nerode.analysis import compare_standing

    named = split_names(arch) or []
    if not folders and not named:
        raise InputError("there is nothing to compare; name folders of runs, or architectures with --arch")
    language, rows = compare_standing(
        name, folders, architectures=named, budget=budget, trust_code=trust_code
    )
    items = [row.to_json() for row in rows]
    disagreements = [(row.architecture, text) for row in rows for text in row.disagreements]
    if as_json:
        click.echo(
            json.dumps({"language": language.name, "rows": items}, ensure_ascii=False, allow_nan=False)
        )
    else:
        console = make_console()
        for architecture, text in disagreements:
            console.print(f"! {architecture}: {text}", markup=False)
        if not disagreements:
            console.print("no disagreements")
        console.print()
        console.print(standing_table(items))
        console.print("\ntheory: finite precision, every length; certificates were checked again")
    sys.exit(1 if disagreements else 0)
