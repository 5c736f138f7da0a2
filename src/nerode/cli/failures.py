"""Failures of certificates, for people and for programs."""

from __future__ import annotations

from typing import Any

import click

from nerode.proofs import Failure


def print_failure(what: str, failure: Failure) -> None:
    """Prints a failure, and the entry that it is about."""
    click.echo(f"✗ {what}: {failure.what}", err=True)
    if failure.entry:
        click.echo(f"  at {failure.entry}", err=True)


def failure_object(failure: Failure) -> dict[str, Any]:
    """Returns a failure for programs."""
    found: dict[str, Any] = {"what": failure.what, "entry": failure.entry or None}
    if failure.refutation is not None:
        found |= {
            "word": " ".join(failure.refutation.word),
            "at": failure.refutation.at,
            "expected": list(failure.refutation.expected),
            "got": list(failure.refutation.got),
        }
    return found
