"""`nerode report --language`: theory, compiler, training and certificates of a language side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from nerode.core import Budget, InputError
from nerode.report import make_console, standing_table


def show_standing(
    name: str,
    folders: Sequence[Path],
    named: Sequence[str],
    *,
    trust_code: bool,
    as_json: bool,
    budget: Budget,
) -> int:
    """Prints the table of a language, disagreements first, and returns the exit code: 1 if there are any.

    Folders hold runs or compiled networks; `named` are further architectures, without runs.
    """
    from nerode.analysis import compare_standing

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
    return 1 if disagreements else 0
