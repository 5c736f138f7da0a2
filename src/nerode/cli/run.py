"""`nerode run`: a compiled network on words, or on one word that streams in, in exact arithmetic."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from nerode.cli.streams import run_stream
from nerode.core import InputError
from nerode.languages import END
from nerode.network import Answer, Interpreter
from nerode.proofs import read_network


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("words", metavar="[WORD… | -]", nargs=-1)
@click.option(
    "--words",
    "words_file",
    type=click.Path(path_type=Path),
    help="File with one word per line; - for standard input.",
)
@click.option(
    "--stream",
    "stream_file",
    type=click.Path(path_type=Path),
    help="File (- for standard input) with one long word; white space is ignored.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per word, one per line.")
def run(
    folder: Path,
    words: tuple[str, ...],
    words_file: Path | None,
    stream_file: Path | None,
    as_json: bool,
) -> None:
    """Run the network in DIR on words: accept or not, and what may follow each prefix.

    \b
    nerode run parity/ aaaa
    nerode run flip-flop/ --words words.txt --json
    generate | nerode run dyck-2-5/ --stream -
    """
    network = read_network(folder)
    if stream_file is not None:
        if words or words_file is not None:
            raise InputError("give words or --stream, not both")
        run_stream(network, stream_file, as_json=as_json)
        return
    interpreter = Interpreter(network)
    for text in _texts(words, words_file):
        word = network.alphabet.encode(text)
        answers = interpreter.run(word)
        if as_json:
            item = {
                "word": network.alphabet.decode(word),
                "accept": answers[-1].legal.end,
                "next": [answer.legal.names(network.alphabet) for answer in answers],
            }
            if answers[-1].distribution is not None:
                item["distribution"] = _distribution(answers[-1], network.alphabet.symbols)
            click.echo(json.dumps(item, ensure_ascii=False))
        else:
            verdict = "accept" if answers[-1].legal.end else "reject"
            follow = " ".join(answers[-1].legal.names(network.alphabet)) or "nothing"
            click.echo(f"{verdict}  {network.alphabet.decode(word)}   next: {follow}")


def _texts(words: tuple[str, ...], words_file: Path | None) -> Iterator[str]:
    if words_file is not None and words:
        raise InputError("give words as arguments or with --words, not both")
    if words_file is None and words != ("-",):
        if not words:
            raise InputError('give a word (or "" for the empty one), --words FILE, or - for standard input')
        yield from words
        return
    if words_file is None or str(words_file) == "-":
        yield from _lines(sys.stdin)
        return
    try:
        with words_file.open(encoding="utf-8") as lines:
            yield from _lines(lines)
    except OSError as error:
        raise InputError(f"cannot read {words_file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{words_file} is not UTF-8 text") from None


def _lines(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line.rstrip("\n")


def _distribution(answer: Answer, symbols: tuple[str, ...]) -> dict[str, float]:
    assert answer.distribution is not None
    names = (*symbols, END)
    likely = sorted(answer.distribution.items(), key=lambda item: -item[1])[:20]
    return {names[i]: float(p) for i, p in likely}
