"""`nerode explore`: a local page that shows languages and networks move."""

from __future__ import annotations

import json
from pathlib import Path

import click

from nerode.cli.options import PATH, force_option
from nerode.core import Budget, InputError
from nerode.languages import resolve_language


@click.command()
@click.argument("languages", metavar="[LANG…]", nargs=-1)
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port; 0 for any free one.")
@click.option(
    "--static",
    "folder",
    type=PATH,
    help="Write pages that need no server, of these languages, into this folder.",
)
@force_option
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON, and open no browser.")
def explore(
    languages: tuple[str, ...],
    port: int,
    folder: Path | None,
    force: bool,
    no_browser: bool,
    as_json: bool,
) -> None:
    """Open a page on this machine: type a language, pick an architecture, step through words.

    With --static, pages for a course are written: one per language, in which short words can be typed, and
    the exercise "guess the automaton". Any web server can host them, and they open from a disk.

    \b
    nerode explore
    nerode explore "(ab)*" --port 8080
    nerode explore parity "(ab)*" flip-flop --static course/
    """
    if folder is not None:
        from nerode.explorer import LANGUAGES, write_course

        first = write_course(
            folder, languages or LANGUAGES, force=force, tell=lambda name: click.echo(name, err=True)
        )
        click.echo(json.dumps({"out": str(first)}) if as_json else str(first))
        return
    if len(languages) > 1:
        raise InputError(
            f"the page shows one language, and {len(languages)} are named; --static writes several"
        )
    language = languages[0] if languages else ""
    if language:
        resolve_language(language, budget=Budget(seconds=10))
    from nerode.explorer import serve

    def tell(address: str) -> None:
        if as_json:
            click.echo(json.dumps({"address": address}))
        else:
            click.echo(f"{address}\nOnly this machine can open it. Ctrl-C ends it.")

    serve(port=port, language=language, browser=not (no_browser or as_json), tell=tell)
