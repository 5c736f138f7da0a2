"""`nerode ask`: what a model computes, and against a language a proof or a word on which it fails."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from nerode.cli.model_options import MODEL_OPTIONS, model_options, source_of
from nerode.cli.options import PATH, Command, budgeted, default_option, force_option, trust_option
from nerode.cli.progress import Progress
from nerode.cli.prove import EXIT_CODES
from nerode.core import Budget, InputError, claim_file, enforce, write_atomically
from nerode.languages import resolve_language
from nerode.report import answer_lines, answer_page, quote


@click.command(cls=Command, sections={"The model": (*MODEL_OPTIONS, "longest")})
@click.argument("model")
@click.option(
    "--language", metavar="LANG", help="What the model should do: prove it, or find a failing word."
)
@click.option("-o", "--out", type=PATH, help="HTML page to write.")
@default_option(
    "--states",
    type=click.IntRange(1, 1_000_000),
    default=100_000,
    help="Largest number of float states that a proof may list.",
)
@model_options
@click.option("--longest", type=click.IntRange(1), help="Largest number of letters that may be read.")
@trust_option
@force_option
@budgeted(seconds=8.0, counts=False, per="answer")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def ask(
    model: str,
    language: str | None,
    out: Path | None,
    states: int,
    longest: int | None,
    trust_code: bool,
    force: bool,
    as_json: bool,
    budget: Budget,
    **options: Any,
) -> None:
    """Learn the automaton that MODEL computes; prove that it does so at every length, or show where not.

    MODEL is a folder that transformers wrote, a safetensors file of a torch RNN, GRU or LSTM, an ONNX file, a
    run or any folder of nerode, or module:function, which builds a torch module (with --weights). A model
    that hands on its state from letter to letter can be proved; one that only maps words to scores can be
    refuted, but not proved.

    A letter may follow if its probability is at least 0.02, unless --reading says otherwise. Nothing is
    written beside the model.

    Exit code 0 if model and language (or learned automaton) are proved equal, 1 if a word tells them apart,
    3 if neither was found in the time.

    \b
    nerode ask tiny-llama/ --letters a,b,c
    nerode ask tiny-mamba/ --letters a=3,b=4 --begin 1 --end 2 --language "(ab)*" -o answer.html
    nerode ask mine:build --weights model.safetensors --letters ab
    nerode ask last
    """
    from nerode.analysis.asking import ASK_PARTS, ask as ask_model
    from nerode.proofs.floats import SettleSettings

    if out is not None:
        if out.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"{out} is no page; name a file that ends in .html")
        claim_file(out, force=force)
    with (
        enforce(budget.start()) as own,
        Progress(f"asking {model}", len(ASK_PARTS), unit="part", quiet=as_json) as progress,
    ):
        found = ask_model(
            source_of(model, options),
            None if language is None else resolve_language(language, budget=own),
            budget=own,
            settings=SettleSettings(states=states),
            on_part=progress.end,
            trust_code=trust_code,
            longest=longest,
            **options,
        ).to_json()
    given = {"language": language, **options, "longest": longest}
    if out is not None:
        if found["learned"] is not None:
            found["learned"]["file"] = str(out)
        write_atomically(out, answer_page(found, command=_command(model, given)))
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))
    else:
        click.echo("\n".join(answer_lines(found)))
        if out is not None:
            click.echo(f"{out}")
        click.echo(
            f"Next: {_next_step(found, model, given, budget, trusted=trust_code, page=out is not None)}"
        )
    sys.exit(EXIT_CODES[found["settlement"]["status"]])


def _next_step(
    found: dict[str, Any], model: str, given: dict[str, Any], budget: Budget, *, trusted: bool, page: bool
) -> str:
    """The command that goes on: give more time to what is open, show the rest."""
    again = _command(model, given) + " --trust-code" * trusted
    language, status = given["language"], found["settlement"]["status"]
    if status == "unsettled":
        return f"{again} --max-seconds {4 * budget.seconds:g}"
    if not page:
        return f"{again} -o answer.html"
    if language is not None:
        return f"nerode check {quote(language)}"
    expression = None if found["learned"] is None else found["learned"]["expression"]
    return f"{again} --json" if expression is None else f"nerode check {quote(expression)} --regex"


def _command(model: str, given: dict[str, Any]) -> str:
    """The command line that asks the same."""
    words = [f"--{name} {shlex.quote(str(value))}" for name, value in given.items() if value is not None]
    return " ".join([f"nerode ask {shlex.quote(model)}", *words])
