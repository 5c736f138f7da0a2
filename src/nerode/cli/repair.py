"""`nerode repair`: the shortest word that a trained network gets wrong, and training that goes on with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.options import (
    FOLDER,
    Command,
    FiniteRange,
    RunPath,
    budgeted,
    default_option,
    force_option,
    trust_option,
)
from nerode.core import Budget
from nerode.report import settlement_lines

if TYPE_CHECKING:
    from nerode.analysis import FailureSearch


@click.command(cls=Command)
@click.argument("folder", metavar="RUN", type=RunPath())
@click.option(
    "-o",
    "--out",
    type=FOLDER,
    help="Continue training with the failing words, and write the model to this folder.",
)
@default_option("--rounds", type=click.IntRange(1, 1000), default=10, help="Largest number of failing words.")
@default_option("--steps", type=click.IntRange(1, 100_000), default=50, help="Updates per failing word.")
@default_option("--rate", type=FiniteRange(0, min_open=True), default=1e-3, help="Learning rate.")
@default_option("--seed", type=click.IntRange(0), default=0, help="Seed of the training words.")
@trust_option
@force_option
@budgeted(seconds=300.0)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def repair(folder: Path, out: Path | None, as_json: bool, budget: Budget, **options: Any) -> None:
    """Find the shortest word that a trained network answers wrongly; with -o, train on it until it is proved.

    With -o each round trains on a failing word and looks for the next, until the network is proved or rounds
    or time are used up. Exit code 1 if the network is wrong somewhere (with -o: still wrong afterwards).

    \b
    nerode repair runs/9b7ef0cf02d1bbd9
    nerode repair runs/9b7ef0cf02d1bbd9 -o mended
    """
    from nerode.analysis import RepairSettings, find_failing_word, load_subject, repair as mend
    from nerode.training import claim_model_folder, write_model

    if out is not None:
        claim_model_folder(out, force=options["force"])
    record = None
    subject = load_subject(folder, trust_code=options["trust_code"])
    if out is None:
        last, found = (search := find_failing_word(subject, budget=budget)), search.to_json()
    else:
        settings = RepairSettings(
            rounds=options["rounds"], steps=options["steps"], rate=options["rate"], seed=options["seed"]
        )
        record, model = mend(subject, settings=settings, budget=budget)
        write_model(out, model)
        last, found = record.last, {**record.to_json(), "out": str(out)}
        if not as_json:
            for number, done in enumerate(record.rounds, start=1):
                click.echo(f"round {number}: {_said(done.search)}; loss {done.loss:.3g} after training on it")
    click.echo(json.dumps(found, ensure_ascii=False, allow_nan=False) if as_json else _said(last))
    if record is not None and not as_json:
        click.echo("\n".join(settlement_lines(record.end)))
    if last.failing is not None:
        raise SystemExit(1)


def _said(search: FailureSearch) -> str:
    """The result of a search, in a line."""
    if search.failing is not None:
        word = " ".join(search.failing.word) or "the empty word"
        which = (
            "shortest failing word" if search.failing.shortest else "failing word (perhaps not the shortest)"
        )
        return f"{which}: {word} — expected {search.failing.expected}, got {search.failing.got}"
    if search.always_right:
        return (
            f"correct on every word, alone and step by step in these floats: all "
            f"{search.states:,} states were examined"
        )
    return (
        f"no failing word found; correct on every word of length {search.right_up_to} or less "
        f"({search.states:,} states; the search ended because of {search.why_ended})"
    )
