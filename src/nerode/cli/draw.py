"""`nerode draw`: automata, egg-boxes, cascades and networks as files for papers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nerode.cli.options import Command, budgeted, force_option, language_options, read_language
from nerode.core import Budget, InputError, claim_file
from nerode.report import DRAWING_FORMATS, draw as draw_value
from nerode.study import PARTS


@click.command(cls=Command)
@click.argument("language", metavar="LANG")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="File to write; its end says the format: .svg, .pdf, .tikz (or .tex), .dot.",
)
@click.option(
    "--what",
    type=click.Choice(PARTS),
    default="automaton",
    show_default=True,
    help="Part of the language to draw.",
)
@click.option(
    "--to", "target", default="diagonal", show_default=True, help="Target of the network that is drawn."
)
@click.option("--dead", is_flag=True, help="Draw dead states, too.")
@language_options
@force_option
@budgeted()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def draw(
    language: str,
    out: Path,
    what: str,
    target: str,
    dead: bool,
    force: bool,
    as_json: bool,
    budget: Budget,
    **options: Any,
) -> None:
    """Draw the automaton, the egg-boxes, a cascade or a compiled network of LANG.

    Drawings carry their own colours. A .tikz file needs the package tikz and nothing else.

    \b
    nerode draw tomita-3 -o tomita-3.svg
    nerode draw "(ab)*" --what egg-box -o eggs.tikz
    nerode draw flip-flop --what network --to mamba -o network.pdf
    """
    if out.suffix.lower() not in DRAWING_FORMATS:
        raise InputError(
            f"drawings are written as {', '.join(DRAWING_FORMATS)}; {str(out)!r} ends in none of these"
        )
    claim_file(out, force=force)
    found = read_language(
        language, ltl=options["ltl"], regex=options["regex"], alphabet=options["alphabet"], budget=budget
    )
    content = draw_value(found, out, what=what, to=target, show_dead=dead, budget=budget)
    item = {"language": found.name, "what": what, "out": str(out), "bytes": len(content)}
    click.echo(json.dumps(item, ensure_ascii=False) if as_json else f"{out}: {what} of {found.name}")
