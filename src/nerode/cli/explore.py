"""`nerode explore`: a local page that shows languages and networks move."""

from __future__ import annotations

import json

import click

from nerode.core import Budget, InputError
from nerode.languages import resolve_language


@click.command()
@click.argument("language", metavar="[LANG]", default="")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port; 0 for any free one.")
@click.option("--runs", hidden=True)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON, and open no browser.")
def explore(language: str, port: int, runs: str | None, no_browser: bool, as_json: bool) -> None:
    """Open a page on this machine: type a language, pick an architecture, step through words.

    \b
    nerode explore
    nerode explore "(ab)*" --port 8080
    """
    if runs is not None:
        raise InputError(
            "runs are no longer shown here: `nerode report DIR` lists them, `nerode analyse RUN` looks inside"
        )
    if language:
        resolve_language(language, budget=Budget(seconds=10))
    from nerode.explorer import serve

    def tell(address: str) -> None:
        if as_json:
            click.echo(json.dumps({"address": address}))
        else:
            click.echo(f"{address}\nOnly this machine can open it. Ctrl-C ends it.")

    serve(port=port, language=language, browser=not (no_browser or as_json), tell=tell)
