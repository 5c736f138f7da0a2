"""`nerode explain`: one self-contained page about a language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nerode.cli.options import (
    FILE,
    Command,
    LanguageReading,
    budgeted,
    default_option,
    force_option,
    language_options,
    read_trained,
    sense_option,
    split_names,
    trained_options,
    verdict_options,
)
from nerode.core import Budget, claim_file, write_atomically
from nerode.report import explain_page, quote, suggested_verdict
from nerode.study import study_language
from nerode.verdict import Sense

_SHARE = 0.75
"""Of the seconds, for the study; the rest is for the page."""


@click.command(cls=Command)
@click.argument("language", metavar="LANG")
@click.option("-o", "--output", type=FILE, required=True, help="HTML file to write.")
@verdict_options
@sense_option
@language_options
@force_option
@budgeted()
@default_option("--networks/--no-networks", default=True, help="Compile and certify networks.")
@trained_options
@click.option("--json", "as_json", is_flag=True, help="Print the path and the size as JSON.")
def explain(
    language: str,
    output: Path,
    networks: bool,
    as_json: bool,
    reading: LanguageReading,
    budget: Budget,
    **options: Any,
) -> None:
    """Write a page about LANG: automaton, egg-box, classes, verdicts with reasons and references.

    Results of training are shown beside the verdicts: stored ones (--experiments), and your own (--runs).

    \b
    nerode explain "(aa)*" -o even.html
    nerode explain flip-flop --arch mamba,lstm --sense ieee -o flip-flop.html
    nerode explain parity -o parity.html --runs runs
    """
    claim_file(output, force=options["force"])
    sense = Sense(options["sense"])
    trained = read_trained(options["experiments"], options["runs"])
    found, asked = reading.read(language, budget), reading.named_again(language)
    study = study_language(
        found,
        architectures=split_names(options["arch"]),
        task=options["task"],
        dtype=options["dtype"],
        networks=networks,
        budget=budget.part(_SHARE),
    )
    page = explain_page(
        study,
        sense=sense,
        definition=found.kind,
        command=f"nerode explain {asked} -o {quote(str(output))}",
        trained=trained,
    )
    write_atomically(output, page)
    if as_json:
        click.echo(json.dumps({"language": found.name, "out": str(output), "bytes": len(page.encode())}))
    else:
        click.echo(str(output))
        known = suggested_verdict(study.table, sense)
        steps = [f"nerode compile {asked} --to {known.architecture} -o network/"] if known else []
        steps.append(f"nerode draw {asked} -o automaton.svg")
        click.echo("Next: " + "\n      ".join(steps), err=True)
