"""`nerode explain`: one self-contained page about a language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nerode.cli.options import (
    budget_options,
    language_options,
    make_budget,
    named_again,
    read_language,
    sense_option,
    split_names,
    verdict_options,
)
from nerode.core import write_atomically
from nerode.report import explain_page, quote
from nerode.study import study_language
from nerode.verdict import Sense


@click.command()
@click.argument("language", metavar="LANG")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="HTML file to write.",
)
@verdict_options
@sense_option
@language_options
@budget_options
@click.option(
    "--networks/--no-networks", default=True, show_default=True, help="Compile and certify networks."
)
@click.option("--json", "as_json", is_flag=True, help="Print the path and the size as JSON.")
def explain(language: str, output: Path, networks: bool, as_json: bool, **options: Any) -> None:
    """Write a page about LANG: automaton, egg-box, classes, verdicts with reasons and references."""
    budget = make_budget(options)
    found = read_language(
        language, ltl=options["ltl"], regex=options["regex"], alphabet=options["alphabet"], budget=budget
    )
    asked = named_again(language, **{name: options[name] for name in ("ltl", "regex", "alphabet")})
    study = study_language(
        found,
        architectures=split_names(options["arch"]),
        task=options["task"],
        dtype=options["dtype"],
        networks=networks,
        budget=budget.start(),
    )
    page = explain_page(
        study,
        sense=Sense(options["sense"]),
        definition=found.kind,
        command=f"nerode explain {asked} -o {quote(str(output))}",
    )
    write_atomically(output, page)
    if as_json:
        click.echo(json.dumps({"language": found.name, "out": str(output), "bytes": len(page.encode())}))
    else:
        click.echo(str(output))
