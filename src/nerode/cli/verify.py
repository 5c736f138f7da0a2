"""`nerode verify`: re-check a certificate with a program that shares no code with what made it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from nerode.certificates.certificate import claim_to_json
from nerode.certificates.checker import CheckResult, check_folder
from nerode.certificates.checker_problem import Failure
from nerode.cli.options import budget_options, make_budget
from nerode.report.claims import claim_line
from nerode.verdict.records import DTYPES


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--dtype", type=click.Choice(list(DTYPES)), help="Exit 1 unless a claim covers this float format."
)
@budget_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(folder: Path, dtype: str | None, as_json: bool, **options: Any) -> None:
    """Re-check the certificate in DIR; exit 1 if it does not hold."""
    result = check_folder(folder, budget=make_budget(options))
    missing = result.ok and dtype is not None and not any(c.dtype == dtype for c in result.claims)
    if as_json:
        click.echo(json.dumps(_object(result), ensure_ascii=False))
    elif result.ok:
        for claim in result.claims:
            click.echo(claim_line(claim))
    else:
        assert result.failure is not None
        click.echo(f"✗ refused: {result.failure.what}", err=True)
        if result.failure.entry:
            click.echo(f"  at {result.failure.entry}", err=True)
    if missing:
        click.echo(f"no claim covers {dtype}", err=True)
    sys.exit(0 if result.ok and not missing else 1)


def _object(result: CheckResult) -> dict[str, Any]:
    return {
        "ok": result.ok,
        "claims": [claim_to_json(claim) for claim in result.claims],
        "failure": None if result.failure is None else _failure(result.failure),
    }


def _failure(failure: Failure) -> dict[str, Any]:
    found: dict[str, Any] = {"what": failure.what, "entry": failure.entry or None}
    if failure.refutation is not None:
        found |= {
            "word": " ".join(failure.refutation.word),
            "at": failure.refutation.at,
            "expected": list(failure.refutation.expected),
            "got": list(failure.refutation.got),
        }
    return found
