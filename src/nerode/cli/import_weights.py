"""`nerode import`: weights of another library as a model of the zoo."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from nerode.cli.model_options import token_options
from nerode.cli.options import PATH, Command, budgeted, default_option, force_option
from nerode.core import Budget, InputError, claim_folder, plural, read_json
from nerode.languages import Language, resolve_language
from nerode.records import (
    RESULT,
    SUBJECT_FILE,
    SUBJECT_FORMAT,
    Folder,
    ImportOrigin,
    NetworkEntry,
    Reading,
    SubjectRecord,
    TokenLetters,
)

if TYPE_CHECKING:
    from nerode.models import SequenceModel
    from nerode.models.libraries import ForeignModel


@click.command(name="import", cls=Command)
@click.argument("source", metavar="SRC", type=PATH)
@click.option("-o", "--out", type=PATH, required=True, help="Folder to write.")
@token_options
@click.option("--language", metavar="LANG", help="The language that the model is about.")
@click.option(
    "--recognise", is_flag=True, help="The two scores say out and in, not which letters may follow."
)
@click.option(
    "--reading",
    metavar="RULE",
    help="With --language: softmax:P (a letter may follow if its probability, among letters and end, is at "
    "least P) or above:0 (the sign of its score).  [default: softmax:0.02 of a language model]",
)
@default_option(
    "--activation",
    type=click.Choice(["tanh", "relu"]),
    default="tanh",
    help="Activation of a torch RNN; its weights do not say.",
)
@force_option
@budgeted(seconds=600.0)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def import_command(source: Path, out: Path, as_json: bool, budget: Budget, **options: Any) -> None:
    """Read weights of another library as a model of the zoo.

    SRC is a folder that transformers wrote (Mamba, Falcon-Mamba, Mamba-2, RWKV, RecurrentGemma, xLSTM, GPT-2,
    Llama, Mistral, Qwen2, StarCoder2, BLOOM, MPT), one with the config
    and the weights of an xlstm model, or a safetensors file with a torch RNN, GRU or LSTM. Where
    the library is installed, its scores are compared with ours on random letters before anything is
    written. Then `analyse`, `prove`, `run` and `report` take the folder. By default all tokens are letters,
    and the config names the beginning and the end.

    \b
    nerode import mamba-130m/ --letters a=66,b=67 -o ab/
    nerode import lstm.safetensors --language parity --recognise -o parity-lstm/
    """
    _claim(out, force=options["force"])
    model, letters, origin, assumed, reading = import_model(source, out, budget=budget, **options)
    layers = list(dict.fromkeys(layer.name for layer in model.config.layers))
    if as_json:
        item = {
            "out": str(out),
            "library": origin.library,
            "kind": origin.format,
            "layers": [layer.name for layer in model.config.layers],
            "parameters": model.num_parameters,
            "letters": dict(zip(letters.alphabet, letters.tokens, strict=True))
            if options["letters"]
            else len(letters.tokens),
            "difference": origin.difference,
            "compared": origin.compared,
            "assumed": assumed,
            "longest": letters.longest,
            "reading": reading,
        }
        click.echo(json.dumps(item, ensure_ascii=False))
        return
    depth = plural(len(model.config.layers), "layer")
    size = f"{depth} ({', '.join(layers)}), {plural(model.num_parameters, 'parameter')}"
    click.echo(f"{out}: {size}, {plural(len(letters.tokens), 'letter')}")
    click.echo(
        origin.compared
        if origin.difference is None
        else f"scores differ from {origin.compared} by {origin.difference:.1e} of the largest"
    )
    if assumed:
        click.echo(f"assumed, because the weights do not say: {assumed}")
    if letters.longest is not None:
        click.echo(f"the library's model reads at most {plural(letters.longest, 'letter')}")
    if reading is not None:
        click.echo(f"reading: {reading}")
    click.echo("nothing is proved of these weights")
    following = "" if options["language"] is None else f" · nerode prove {out}"
    click.echo(f"Next: nerode analyse {out}{following}")


def import_model(
    source: Path, out: Path, *, budget: Budget, activation: Literal["tanh", "relu"] = "tanh", **options: Any
) -> tuple[SequenceModel, TokenLetters, ImportOrigin, str, str | None]:
    """Writes a model of another library as a folder; returns it with what was assumed, and its reading."""
    from nerode.analysis import imported_task
    from nerode.models import save_model
    from nerode.models.libraries import choose_letters, compare_foreign, read_foreign, with_letters
    from nerode.tasks import Prediction, build_task
    from nerode.training import write_subject

    language = None if options["language"] is None else resolve_language(options["language"], budget=budget)
    foreign = read_foreign(source, activation=activation)
    letters = choose_letters(
        options["letters"],
        begin=options["begin"],
        end=options["end"],
        files=foreign.files,
        vocabulary=foreign.vocabulary,
        alphabet=None if language is None else language.alphabet.symbols,
    )
    letters = replace(letters, longest=foreign.longest(letters))
    model = with_letters(foreign, letters)
    if language is not None:
        _require_scores(language, model.config.outputs, recognises=options["recognise"])
    difference, compared = compare_foreign(foreign)
    origin = ImportOrigin(
        library=foreign.library,
        format="torch-cell" if foreign.kind is None else foreign.kind.name,
        source=str(source),
        config=dict(foreign.files.config),
        cap=foreign.described.cap,
        difference=difference,
        compared=compared,
        language=options["language"] or "",
    )
    if language is None:
        entry = NetworkEntry(kind="zoo")
        save_model(out, model, subject=SubjectRecord(network=entry, letters=letters, origin=origin.to_json()))
        reading = None
    else:
        task = build_task(imported_task(origin, recognises=options["recognise"]))
        if isinstance(task, Prediction):
            task = task.read_by(_reading(options["reading"], foreign))
        write_subject(out, model, task, origin=origin.to_json(), letters=letters)
        reading = str(task.reading())
    return model, letters, origin, foreign.described.assumed, reading


def is_checkpoint(folder: Path) -> bool:
    """Returns whether a folder is one that another library wrote, and not one of nerode."""
    ours = (folder / SUBJECT_FILE).exists() or (folder / RESULT).exists()
    return not ours and (folder / "config.json").exists()


def _reading(wanted: str | None, foreign: ForeignModel) -> Reading:
    """The reading that is asked for; else that of what we exported, or probabilities of a language model.

    Raises:
        InputError: for a reading that the model's scores do not allow.
    """
    from nerode.analysis.asking import read_reading, softmax
    from nerode.models.exports import NOTE_FILE

    capped, signs, note = foreign.described.cap, Reading(kind="above"), foreign.files.path / NOTE_FILE
    if wanted is None:
        told: Any = read_json(note) if note.exists() else {}
        kept = told.get("reading") if isinstance(told, dict) else None
        shares = isinstance(kept, dict) and kept.get("kind") == "softmax" if note.exists() else True
        if capped or not (foreign.files.config and shares):
            return signs
        return softmax() if not kept else softmax(above=str(kept.get("threshold")))
    reading = read_reading(wanted)
    if reading is None or (reading.kind == "above" and reading != signs):
        raise InputError(f"{wanted!r} is no reading of an import; there are softmax:P and above:0")
    if reading.kind == "softmax" and capped:
        raise InputError(
            f"the model caps its scores at {capped:g}, which the import leaves out and probabilities need: "
            "`nerode ask SRC` reads it with the cap"
        )
    return reading


def _claim(out: Path, *, force: bool) -> None:
    """Refuses a folder that holds something else than an import, before any work is done."""
    claim_folder(out, holds=(SUBJECT_FILE,), form=SUBJECT_FORMAT, of="an import", force=force)
    folder = Folder(out)
    other = SUBJECT_FILE in folder and (RESULT in folder or folder.subject.imported is None)
    if other and not force:
        raise InputError(f"{out} holds another network; choose another folder, or fill it with --force")


def _require_scores(language: Language, scores: int, *, recognises: bool) -> None:
    """Raises InputError unless the scores can be read as those of this language."""
    wanted = 2 if recognises else len(language.alphabet) + 1
    if scores != wanted:
        reading = "out and in" if recognises else f"{plural(len(language.alphabet), 'letter')} and the end"
        raise InputError(
            f"the model gives {scores} scores; for {reading} of {language.name} it has to give {wanted}: "
            "name the letters with --letters and the end with --end, or leave --language out"
        )
