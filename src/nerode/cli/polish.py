"""`nerode polish`: make a trained linear network an exact representation of its group, and prove it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nerode.cli.options import FOLDER, Command, RunPath, budgeted, default_option, force_option, trust_option
from nerode.core import Budget, InputError, claim_folder
from nerode.proofs import POLISH_FILE
from nerode.report import make_console, name_table, polished_lines

if TYPE_CHECKING:
    from nerode.analysis.polish import PolishRecord


@click.command(cls=Command)
@click.argument("run", metavar="RUN", type=RunPath())
@click.option("-o", "--out", type=FOLDER, help="Folder of the polished model and its certificate.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    help="Float format of the polished model; that of the run by default.",
)
@default_option("--lengths", default="64,512,4096", metavar="N,M", help="Lengths to test.")
@default_option(
    "--sequences", type=click.IntRange(1, 100_000), default=64, help="Number of words per length."
)
@click.option(
    "--check",
    is_flag=True,
    help="Check the certificate of a polished folder again, as verify does.",
)
@force_option
@trust_option
@budgeted(seconds=600.0, counts=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def polish(
    run: Path,
    out: Path | None,
    dtype: str | None,
    lengths: str,
    sequences: int,
    check: bool,
    force: bool,
    trust_code: bool,
    as_json: bool,
    budget: Budget,
) -> None:
    """Replace the learned matrices of RUN by the exact representation near them, and prove the result.

    RUN tracks a group with one layer of orthogonal blocks. Exit 1 if no proof was found.

    \b
    nerode train a5 --arch orthogonal … --out runs
    nerode polish runs/0123456789abcdef -o polished
    nerode verify polished
    """
    if check:
        _check(run, as_json, budget)
        return
    if out is None:
        raise InputError("give the folder for the polished model: nerode polish RUN -o DIR")
    claim_folder(out, holds=(POLISH_FILE,), of="a polished model", force=force)
    from nerode.analysis import load_subject
    from nerode.analysis.polish import polish as polish_subject

    record = polish_subject(
        load_subject(run, trust_code=trust_code),
        out,
        dtype=dtype,
        lengths=_lengths(lengths),
        sequences=sequences,
        budget=budget,
    )
    if as_json:
        click.echo(json.dumps(record.to_json(), ensure_ascii=False, allow_nan=False))
    else:
        _show(record, out)
    sys.exit(0 if record.proved else 1)


def _check(folder: Path, as_json: bool, budget: Budget) -> None:
    from dataclasses import asdict

    from nerode.proofs import check_polished

    found = check_polished(folder, budget=budget)
    if as_json:
        click.echo(json.dumps(asdict(found), ensure_ascii=False))
    elif found.ok:
        click.echo(f"products in {found.group}, {found.letters} letters")
        click.echo(polished_lines(margin=found.margin, length=found.length, dtype=found.dtype))
    else:
        click.echo(f"✗ refused: {found.problem}", err=True)
    sys.exit(0 if found.ok else 1)


def _lengths(text: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise InputError(f"--lengths is {text!r}; give whole numbers with commas, like 64,512,4096")
    return found


def _show(record: PolishRecord, out: Path) -> None:
    console = make_console()
    console.print(f"{record.name}: {record.group}, {record.elements} elements, {record.letters} letters\n")
    rows = [
        (
            str(row.block),
            f"{row.before:.2e}",
            f"{row.after:.2e}",
            f"{row.moved:.2e}",
            "junk" if row.is_junk else "kept",
        )
        for row in record.defects
    ]
    console.print(name_table(("block", "defect", "polished", "moved", ""), rows))
    console.print(f"\naveraged {record.rounds} times; defect: mean of ‖M(gh) - M(h) M(g)‖ over all pairs\n")
    after = {score.length: score for score in record.after}
    scores = [
        (
            f"{score.length:,}",
            f"{score.sequence:.3f}",
            f"{after[score.length].sequence:.3f}" if score.length in after else "–",
        )
        for score in record.before
    ]
    console.print(name_table(("length", "before", "after"), scores))
    console.print("\nshare of the words that are correct throughout")
    console.print()
    if record.proved:
        console.print(polished_lines(margin=record.margin, length=record.length, dtype=record.dtype))
        console.print(f"checked again from the files in {out} in {record.check_cpu_seconds:.1f} CPU seconds")
    else:
        console.print(f"no proof: {record.problem}")
