"""`nerode check`: which architectures can express a language, and why."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from nerode.cli.options import (
    Command,
    LanguageReading,
    budgeted,
    language_options,
    sense_option,
    split_names,
    verdict_options,
)
from nerode.core import Budget, InputError, NerodeError, enforce
from nerode.study import check_language, check_object
from nerode.verdict import Sense, Status, VerdictTable, select_architectures


@click.command(cls=Command)
@click.argument("languages", metavar="LANG…", nargs=-1, required=True)
@verdict_options
@sense_option
@language_options
@budgeted(per="language")
@click.option("--all", "every", is_flag=True, help="Show the row of every architecture, not one per family.")
@click.option("--details", is_flag=True, help="List the theorems used and what they assume.")
@click.option(
    "--fail-on-no",
    is_flag=True,
    help="Exit 1 if the answer is `no` for some architecture in the chosen sense.",
)
@click.option(
    "--as",
    "form",
    type=click.Choice(["tex", "md", "csv"]),
    help="Print one table of all languages for a paper: LaTeX or Markdown in the chosen sense, CSV in all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per language, one per line.")
def check(
    languages: tuple[str, ...],
    as_json: bool,
    form: str | None,
    details: bool,
    every: bool,
    fail_on_no: bool,
    reading: LanguageReading,
    budget: Budget,
    **options: Any,
) -> None:
    """Say which architectures can express LANG at every length, in which arithmetic, and why.

    \b
    nerode check "(aa)*"
    nerode check parity tomita-3 --arch mamba,lstm --json
    nerode check "H (b -> Y O a)" --ltl --alphabet ab
    nerode check tomita-3 parity --arch mamba,lstm --as tex > verdicts.tex
    """
    architectures = split_names(options["arch"])
    select_architectures(architectures)
    sense = Sense(options["sense"])
    if form is not None and as_json:
        raise InputError("--as and --json exclude each other; give one of them")
    failed = refused = False
    tables: dict[str, VerdictTable] = {}
    for text in languages:
        with enforce(budget.start()) as limits:
            try:
                language = reading.read(text, limits)
            except NerodeError as error:
                # Several languages: one that cannot be read must not hide the answers for the others.
                if len(languages) == 1:
                    raise
                click.echo(f"nerode: {text}: {error}", err=True)
                failed = True
                continue
            known = check_language(
                language,
                architectures=architectures,
                task=options["task"],
                dtype=options["dtype"],
                budget=limits,
            )
            found, table = known.profile, known.table
            refused = refused or any(v.status is Status.NO and v.sense is sense for v in table)
            if form is not None:
                tables[text] = table
            elif as_json:
                click.echo(json.dumps(check_object(language, found, table), ensure_ascii=False))
            else:
                from nerode.report import check_view, make_console

                asked = reading.named_again(text)
                view = check_view(
                    language, found, table, sense=sense, details=details, whole=every, asked=asked
                )
                make_console().print(view)
    if tables:
        from nerode.report import to_latex, to_markdown, verdicts_csv, verdicts_table

        whole = [verdicts_table(tables, sense)]
        texts = {"tex": to_latex, "md": to_markdown}
        click.echo(verdicts_csv(tables) if form == "csv" else texts[str(form)](whole), nl=False)
    if failed:
        sys.exit(2)
    if fail_on_no and refused:
        sys.exit(1)
