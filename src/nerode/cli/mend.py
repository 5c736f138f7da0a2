"""`nerode mend`: the nearest model with a proof."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from nerode.cli.export_weights import write_card
from nerode.cli.import_weights import import_model, is_checkpoint
from nerode.cli.model_options import token_options
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
from nerode.core import Budget, InputError, claim_folder
from nerode.proofs import POLISH_FILE
from nerode.report import make_console, name_table, polished_lines, settlement_lines

if TYPE_CHECKING:
    from nerode.analysis.polish import PolishRecord
    from nerode.records import RunRecord

EXIT_CODES = {"proved": 0, "refuted": 1, "unsettled": 3}

METHODS = ("gates", "words", "group")

_OWN = "The function of your own that builds the module whose state dict MODEL is; this runs its code."


@click.command(cls=Command)
@click.argument("model", metavar="MODEL", type=RunPath())
@click.option("--model", "module", metavar="MODULE:FUNCTION", help=_OWN)
@click.option("-o", "--out", type=FOLDER, required=True, help="Folder of the mended model and its proof.")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    help="How: continue training through exact gates, or on failing words, or take the exact "
    "representation of a group that the matrices are near. By default the first that the model allows.",
)
@click.option("--task", "task_name", metavar="TASK", help="What a model should do that was not trained here.")
@click.option(
    "--language", metavar="LANG", help="The same as a language: which letters may follow, and the end."
)
@click.option("--recognise", is_flag=True, help="With --language: whether the word is in it.")
@token_options
@click.option("--steps", type=click.IntRange(1), help="Updates of the first attempt.")
@click.option("--rate", type=FiniteRange(0, min_open=True), help="Learning rate.")
@default_option("--seed", type=click.IntRange(0), default=0, help="Seed of the training words.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    help="With --method group: float format of the mended model; that of MODEL by default.",
)
@force_option
@trust_option
@budgeted(seconds=300.0, counts=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def mend(model: Path, out: Path, as_json: bool, budget: Budget, **options: Any) -> None:
    """Continue training a model, or change its weights, until it is proved; the proved model goes to -o.

    MODEL is the folder of a training run or of an import, a folder that transformers wrote, a saved model,
    which needs --task or --language, or the state dict of a module of your own (.safetensors), with the
    function that builds it. It is not changed. The folder -o is that of a run: `nerode verify`, `run`,
    `prove` and `export` take it, and it holds a model card (README.md).

    Exit code 0 if the mended model is proved, 1 if a word refutes it, 3 if neither.

    \b
    nerode mend runs/9b7ef0cf02d1bbd9 -o mended
    nerode mend runs/9b7ef0cf02d1bbd9 -o mended --method words
    nerode mend tiny-mamba/ -o mended --letters a,b --language "(ab)*"
    nerode mend saved/ -o mended --task predict-flip-flop
    nerode mend mine.safetensors --model mine:build --language parity --recognise -o mended
    """
    _mend(model, out, as_json=as_json, budget=budget, **options)


def _mend(
    folder: Path,
    out: Path,
    *,
    method: str | None = None,
    module: str | None = None,
    task_name: str | None = None,
    language: str | None = None,
    recognise: bool = False,
    letters: str | None = None,
    begin: str | None = None,
    end: str | None = None,
    steps: int | None = None,
    rate: float | None = None,
    seed: int = 0,
    dtype: str | None = None,
    force: bool = False,
    trust_code: bool = False,
    as_json: bool = False,
    budget: Budget,
) -> None:
    """Mends a model, prints how it ended, and leaves with its exit code."""
    from nerode.analysis import choose_method, given_module, load_subject, mend as mend_model
    from nerode.records import ModelSpec, TaskConfig

    if language is not None and task_name is not None:
        raise InputError("--task and --language both say what is correct; give one of them")
    task = None if task_name is None else TaskConfig(name=task_name)
    if language is not None:
        kind = "language-recognition" if recognise else "language-prediction"
        task = TaskConfig(name=kind, settings={"language": language})
    if module is not None:
        if task is None:
            raise InputError("nothing says what the module should do; name it (--task or --language)")
        subject = given_module(folder, module, task)
    elif is_checkpoint(folder):
        if language is None:
            raise InputError(f"nothing says what {folder} should do; name a language (--language)")
        marks: dict[str, Any] = {"letters": letters, "begin": begin, "end": end, "reading": None}
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch) / folder.name
            import_model(folder, place, language=language, recognise=recognise, budget=budget, **marks)
            subject, task = load_subject(place), None
    else:
        subject = load_subject(folder, trust_code=trust_code)
    chosen: str = method or choose_method(subject)
    if chosen == "group":
        _polish(folder, out, dtype=dtype, force=force, trust_code=trust_code, as_json=as_json, budget=budget)
        return
    if dtype is not None:
        raise InputError("--dtype is for --method group; training goes on in the format of the model")
    claim_folder(out, holds=("result.json",), of="a run", force=force)
    own = None if module is None else ModelSpec(module=module)
    run = {} if steps is None else {"steps": steps}
    optimiser = {} if rate is None else {"rate": rate}
    settings: Any = {
        "task": task,
        "module": own,
        "seed": seed,
        "settings": {"run": run, "optimiser": optimiser},
    }
    try:
        first: Literal["gates", "words"] = "gates" if chosen == "gates" else "words"
        record, found = mend_model(subject, out, method=first, budget=budget, **settings)
    except InputError as refusal:
        if chosen != "gates" or method is not None:
            raise
        # Nobody asked for exact gates, and words can be tried with what stands around a cell.
        click.echo(f"no exact gates: {refusal}; trained on failing words instead", err=True)
        chosen = "words"
        record, found = mend_model(subject, out, method="words", budget=budget, **settings)
    if found.status == "proved":
        write_card(out, trusted=bool(record.spec.model.module), budget=budget)
    if as_json:
        item = {"folder": str(folder), "out": str(out), "way": chosen, **found.to_json()}
        click.echo(json.dumps(item, ensure_ascii=False))
    else:
        _show_checks(record)
        click.echo("\n".join(settlement_lines(found, name=str(out))))
        if found.status == "proved":
            trusted = " --trust-code" if record.spec.model.module else ""
            click.echo(
                f"Next: nerode verify {out}{trusted} · nerode export {out} -o {out.name}.onnx{trusted}"
            )
    sys.exit(EXIT_CODES[found.status])


def _show_checks(record: RunRecord) -> None:
    """Writes the checks of a run to the error stream."""
    for check in record.checks:
        begun = "the given weights" if check["given"] else "fresh weights"
        outcome = check.get("outcome", "not learned")
        click.echo(
            f"attempt {check['attempt'] + 1} ({begun}, {check['words']} words), {check['step']} updates: "
            f"{check['accuracy']:.1%} of the training words correct, {outcome}",
            err=True,
        )


def _polish(
    folder: Path,
    out: Path,
    *,
    dtype: str | None,
    force: bool,
    trust_code: bool,
    as_json: bool,
    budget: Budget,
) -> None:
    """Replaces learned matrices by the exact representation near them, and proves the result."""
    claim_folder(out, holds=(POLISH_FILE,), of="a polished model", force=force)
    from nerode.analysis import load_subject
    from nerode.analysis.polish import polish as polish_subject

    record = polish_subject(
        load_subject(folder, trust_code=trust_code), out, dtype=dtype, lengths=_LENGTHS, budget=budget
    )
    if as_json:
        click.echo(json.dumps(record.to_json(), ensure_ascii=False, allow_nan=False))
    else:
        _show_polished(record, out)
    sys.exit(0 if record.proved else 1)


_LENGTHS = (64, 512, 4096)
"""Lengths at which a polished model is tested, beside the one that it comes from."""


def _show_polished(record: PolishRecord, out: Path) -> None:
    console = make_console()
    console.print(f"{record.name}: {record.group}, {record.elements} elements, {record.letters} letters\n")
    rows = [
        (
            str(row.block),
            f"{row.before:.2e}",
            f"{row.after:.2e}",
            f"{row.moved:.2e}",
            "junk" if row.is_junk else "kept",
        )
        for row in record.defects
    ]
    console.print(name_table(("block", "defect", "polished", "moved", ""), rows))
    console.print(f"\naveraged {record.rounds} times; defect: mean of ‖M(gh) - M(h) M(g)‖ over all pairs\n")
    after = {score.length: score for score in record.after}
    scores = [
        (
            f"{score.length:,}",
            f"{score.sequence:.3f}",
            f"{after[score.length].sequence:.3f}" if score.length in after else "–",
        )
        for score in record.before
    ]
    console.print(name_table(("length", "before", "after"), scores))
    console.print("\nshare of the words that are correct throughout")
    console.print()
    if record.proved:
        console.print(polished_lines(margin=record.margin, length=record.length, dtype=record.dtype))
        console.print(f"checked again from the files in {out} in {record.check_cpu_seconds:.1f} CPU seconds")
    else:
        console.print(f"no proof: {record.problem}")
