"""One long word through a network, read in parts: constant memory, with progress and speed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from nerode.core import InputError
from nerode.models.compiled import Stream, TextReader
from nerode.network import Network

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
    line = f"{stream.tokens:,} tokens, {stream.tokens / seconds:,.0f} a second"
    click.echo(f"\r\033[K{line}" if sys.stderr.isatty() else line, err=True, nl=not sys.stderr.isatty())
