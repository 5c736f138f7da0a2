"""`nerode run`: a compiled network on words, or on one word that streams in, in exact arithmetic."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import click

from nerode.core import InputError
from nerode.languages import END
from nerode.models.compiled import Stream, TextReader
from nerode.network import Answer, Interpreter, Network
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


_PART = 1 << 20
_SECONDS_BETWEEN_LINES = 5.0


def run_stream(network: Network, path: Path, *, as_json: bool) -> None:
    """Reads a file, or standard input for "-", as one word and prints what the network says at its end."""
    stream, reader = Stream(network), TextReader(network.alphabet)
    begun = said = time.perf_counter()
    for letters in reader.read(_parts(path)):
        stream.feed(letters)
        now = time.perf_counter()
        if now - said > (0.2 if sys.stderr.isatty() else _SECONDS_BETWEEN_LINES):
            _say(stream, now - begun)
            said = now
    seconds = time.perf_counter() - begun
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
    legal = stream.answer.legal
    names = legal.names(network.alphabet)
    if as_json:
        found = {
            "tokens": stream.tokens,
            "accept": legal.end,
            "next": names,
            "seconds": seconds,
            "tokens_per_second": stream.tokens / seconds if seconds else None,
            "configurations": stream.configurations,
            "table_full": stream.full,
        }
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    verdict = "accept" if legal.end else "reject"
    speed = f"{stream.tokens / seconds:,.0f} tokens/s" if seconds else "at once"
    click.echo(f"{verdict}  {stream.tokens:,} tokens   next: {' '.join(names) or 'nothing'}")
    click.echo(f"{speed}, {stream.configurations:,} configurations seen, exact arithmetic")


def _parts(path: Path) -> Iterator[bytes]:
    if str(path) == "-":
        yield from _read(sys.stdin.buffer)
        return
    try:
        with path.open("rb") as file:
            yield from _read(file)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def _read(file: BinaryIO) -> Iterator[bytes]:
    while part := file.read(_PART):
        yield part


def _say(stream: Stream, seconds: float) -> None:
    line = f"{stream.tokens:,} tokens, {stream.tokens / seconds:,.0f} per second"
    click.echo(f"\r\033[K{line}" if sys.stderr.isatty() else line, err=True, nl=not sys.stderr.isatty())
