"""`nerode explore`: a local page that shows languages and networks move."""

from __future__ import annotations

import json
from pathlib import Path

import click

from nerode.core import Budget, InputError
from nerode.languages import resolve_language


@click.command()
@click.argument("language", metavar="[LANG]", default="")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port; 0 for any free one.")
@click.option("--runs", type=click.Path(path_type=Path), help="Folder of runs to show.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON, and open no browser.")
def explore(language: str, port: int, runs: Path | None, no_browser: bool, as_json: bool) -> None:
    """Open a page on this machine: type a language, pick an architecture, step through words.

    \b
    nerode explore
    nerode explore "(ab)*" --port 8080
    nerode explore --runs runs/
    """
    if runs is not None and not runs.is_dir():
        raise InputError(f"there is no folder {str(runs)!r}; --runs wants one that `nerode train` wrote")
    if language:
        resolve_language(language, budget=Budget(seconds=10))
    from nerode.explorer import serve

    def tell(address: str) -> None:
        if as_json:
            click.echo(json.dumps({"address": address}))
        else:
            click.echo(f"{address}\nOnly this machine can open it. Ctrl-C ends it.")

    serve(port=port, language=language, runs=runs, browser=not (no_browser or as_json), tell=tell)
