"""`nerode import`: weights of another library as a model of the zoo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nerode.cli.options import PATH, Command, budgeted, default_option, force_option
from nerode.core import Budget, InputError, claim_folder, plural
from nerode.languages import Language, resolve_language
from nerode.records import IMPORT_FILE, IMPORT_FORMAT, ImportRecord


@click.command(name="import", cls=Command)
@click.argument("source", metavar="SRC", type=PATH)
@click.option("-o", "--out", type=PATH, required=True, help="Folder to write.")
@click.option(
    "--letters",
    metavar="a=12,b=15",
    help="The tokens that are letters, by number, or by name (a,b) where there is a tokenizer.json.  "
    "[default: the whole vocabulary]",
)
@click.option(
    "--begin", metavar="TOKEN", help="Token read before every word, or none.  [default: the config's]"
)
@click.option("--end", metavar="TOKEN", help="Token of the end of a word, or none.  [default: the config's]")
@click.option("--language", metavar="LANG", help="The language that the model is about.")
@click.option(
    "--recognise", is_flag=True, help="The two scores say out and in, not which letters may follow."
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

    SRC is a folder that transformers wrote (Mamba, Mamba-2, RWKV, RecurrentGemma, xLSTM), one with the config
    and the weights of an xlstm or mambapy model, or a safetensors file with a torch RNN, GRU or LSTM. Where
    the library is installed, its scores are compared with ours on random letters before anything is
    written. Then `analyse`, `prove`, `run` and `report` take the folder.

    \b
    nerode import mamba-130m/ --letters a=66,b=67 -o ab/
    nerode import lstm.safetensors --language parity --recognise -o parity-lstm/
    """
    from nerode.models.libraries import (
        choose_letters,
        compare_foreign,
        read_foreign,
        with_letters,
        write_import,
    )

    claim_folder(out, holds=(IMPORT_FILE,), form=IMPORT_FORMAT, of="an import", force=options["force"])
    language = None if options["language"] is None else resolve_language(options["language"], budget=budget)
    foreign = read_foreign(source, activation=options["activation"])
    letters = choose_letters(
        options["letters"],
        begin=options["begin"],
        end=options["end"],
        files=foreign.files,
        vocabulary=foreign.vocabulary,
        alphabet=None if language is None else language.alphabet.symbols,
    )
    model = with_letters(foreign, letters)
    if language is not None:
        _require_scores(language, model.config.outputs, recognises=options["recognise"])
    difference, compared = compare_foreign(foreign)
    record = ImportRecord(
        library=foreign.library,
        kind="torch-cell" if foreign.kind is None else foreign.kind.name,
        source=str(source),
        config=dict(foreign.files.config),
        letters=letters.names,
        tokens=letters.tokens,
        begin=letters.begin,
        end=letters.end,
        cap=foreign.described.cap,
        difference=difference,
        compared=compared,
        language=options["language"] or "",
        recognises=options["recognise"],
    )
    write_import(out, model, record)
    layers = list(dict.fromkeys(layer.name for layer in model.config.layers))
    if as_json:
        item = {
            "out": str(out),
            "library": record.library,
            "kind": record.kind,
            "layers": [layer.name for layer in model.config.layers],
            "parameters": model.num_parameters,
            "letters": dict(zip(letters.names, letters.tokens, strict=True))
            if options["letters"]
            else len(letters.tokens),
            "difference": difference,
            "compared": compared,
        }
        click.echo(json.dumps(item, ensure_ascii=False))
        return
    depth = plural(len(model.config.layers), "layer")
    size = f"{depth} ({', '.join(layers)}), {plural(model.num_parameters, 'parameter')}"
    click.echo(f"{out}: {size}, {plural(len(letters.tokens), 'letter')}")
    click.echo(
        compared
        if difference is None
        else f"scores differ from {compared} by {difference:.1e} of the largest"
    )
    click.echo("nothing is proved of these weights")
    click.echo(f"Next: nerode analyse {out}" + (f" · nerode prove {out}" if language is not None else ""))


def _require_scores(language: Language, scores: int, *, recognises: bool) -> None:
    """Raises InputError unless the scores can be read as those of this language."""
    wanted = 2 if recognises else len(language.alphabet) + 1
    if scores != wanted:
        reading = "out and in" if recognises else f"{plural(len(language.alphabet), 'letter')} and the end"
        raise InputError(
            f"the model gives {scores} scores; for {reading} of {language.name} it has to give {wanted}: "
            "name the letters with --letters and the end with --end, or leave --language out"
        )
