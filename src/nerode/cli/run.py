"""`nerode run`: a compiled network on words or on one word that streams in, or the perplexity of a text."""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nerode.cli.options import PATH, Command, budgeted, trust_option
from nerode.core import InputError, charge, open_stream, plural, read_lines
from nerode.languages import END, Alphabet, Legal
from nerode.languages.ngrams import BOS, BackoffModel, NgramLanguage
from nerode.models.streaming import Stream, TextReader, score_text
from nerode.network import Answer, Interpreter, LogitDecoder, Network
from nerode.proofs import (
    FRAGILE,
    MODEL_FOLDER,
    WINDOW,
    is_polished,
    read_language,
    read_network,
    stated_claims,
)
from nerode.records import RESULT, SUBJECT_FILE, Folder, first_prefixes

if TYPE_CHECKING:
    from nerode.proofs.floats import ModelReader


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=PATH)
@click.argument("words", metavar="[WORD… | -]", nargs=-1)
@click.option("--words", "words_file", type=PATH, help="File with one word per line; - for standard input.")
@click.option(
    "--stream",
    "stream_file",
    type=PATH,
    help="File (- for standard input) with one long word; white space is ignored. For a back-off model: a "
    "text, one sentence per line, whose perplexity is printed.",
)
@click.option(
    "--model",
    "by_model",
    is_flag=True,
    help="Run the weights in DIR/model/ in their own float format instead of the exact network.",
)
@click.option(
    "--generate",
    "number",
    type=click.IntRange(min=1, max=100_000),
    metavar="N",
    help="N-gram models: draw N sentences of the network that go on from each WORD, or from the start.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of --generate.  [default: 0]")
@trust_option
@budgeted(seconds=math.inf, counts=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per word, one per line.")
def run(
    folder: Path,
    words: tuple[str, ...],
    words_file: Path | None,
    stream_file: Path | None,
    by_model: bool,
    number: int | None,
    seed: int,
    trust_code: bool,
    as_json: bool,
) -> None:
    """Run the network in DIR on words: accept or not, and what may follow each prefix.

    \b
    nerode run parity/ aaaa
    nerode run flip-flop/ --words words.txt --json
    nerode run flip-flop/ --model "w 1 i 0 r 1"
    generate | nerode run dyck-2-5/ --stream -
    nerode run runs/0da03a78b0411ff5 w1r1
    generate | nerode run flip-flop/ --model --stream -
    nerode run model/ --stream text.txt
    nerode run ngram/ --generate 5 --seed 1
    """
    if number is not None and (by_model or stream_file is not None):
        raise InputError("--generate draws from the exact network; leave --model and --stream out")
    about = _about_other_models(folder)
    if about:
        if stream_file is not None or number is not None:
            option = "--generate" if stream_file is None else "--stream"
            raise InputError(f"{folder} {about}; give words, not {option}")
        run_subject(folder, about, _texts(words, words_file), trust_code=trust_code, as_json=as_json)
        return
    both = stream_file is not None and (words or words_file is not None)
    if by_model:
        if both:
            raise InputError("give words or --stream, not both")
        if stream_file is not None:
            run_model_stream(folder, stream_file, as_json=as_json)
        else:
            run_model(folder, _texts(words, words_file), as_json=as_json)
        return
    network = read_network(folder)
    claims = [c for c in stated_claims(folder) if c.dtype is None and c.task not in (WINDOW, FRAGILE)]
    stated = list(dict.fromkeys(claim.scope + first_prefixes(claim.covers) for claim in claims))
    if not as_json:
        click.echo(_stated_line(folder, stated), err=True)
    model = _backoff_model(network, folder)
    if both:
        raise InputError("give words or --stream, not both")
    if stream_file is not None:
        if model is not None:
            run_text(network, model, stream_file, as_json=as_json)
        else:
            run_stream(network, stream_file, as_json=as_json, stated=stated)
        return
    if number is not None:
        beginnings = iter(("",)) if not words and words_file is None else _texts(words, words_file)
        run_generated(network, folder, beginnings, number=number, seed=seed, as_json=as_json)
        return
    interpreter = Interpreter(network)
    for text in _texts(words, words_file):
        word = (model or network.alphabet).encode(text)
        answers = interpreter.run(word)
        if as_json:
            item = {
                "word": network.alphabet.decode(word),
                "accept": answers[-1].legal.end,
                "next": [answer.legal.names(network.alphabet) for answer in answers],
                "claims": stated,
            }
            if answers[-1].distribution is not None:
                item["distribution"] = _distribution(answers[-1], word_names(network))
            click.echo(json.dumps(item, ensure_ascii=False))
        else:
            likely = (
                {} if answers[-1].distribution is None else _distribution(answers[-1], word_names(network))
            )
            line = _answer_line(answers[-1].legal, network.alphabet.decode(word), network.alphabet, likely)
            click.echo(line)


def _answer_line(
    legal: Legal | None, read: str, alphabet: Alphabet, likely: Mapping[str, float] | None = None
) -> str:
    """Whether what was read is accepted, and what may follow it, with probabilities where there are some."""
    if legal is None:
        return "nothing  the model says nothing before the first letter"
    chances = likely or {}
    names = [f"{name} {chances[name]:.3f}" if name in chances else name for name in legal.names(alphabet)]
    follow = ("  " if chances else " ").join(names) or "nothing"
    return f"{'accept' if legal.end else 'reject'}  {read}   next: {follow}"


def _about_other_models(folder: Path) -> str:
    """Returns the words for a folder of a training run or of another library; empty for compiled networks."""
    if (folder / RESULT).exists():
        return f"is a training run: `nerode verify {folder}` replays its proof, if it has one"
    if not (folder / SUBJECT_FILE).exists() or Folder(folder).subject.network.kind == "exact":
        return ""
    if is_polished(folder):
        return f"is a mended group: `nerode verify {folder}` says what is proved of it"
    if any(folder.glob("certificate.*.json")):
        return f"holds compiled weights: `nerode verify {folder.parent}` says what is proved of them"
    if Folder(folder).subject.imported is None:
        return "holds saved weights: nothing is proved of them"
    return "holds weights of another library: nothing is proved of them"


def run_subject(folder: Path, about: str, texts: Iterator[str], *, trust_code: bool, as_json: bool) -> None:
    """Runs a trained or imported model on words: its answers, or without a language its likeliest letters."""
    from nerode.analysis import answer_words, load_subject

    subject = load_subject(folder, trust_code=trust_code)
    if not as_json:
        click.echo(f"{folder} {about}", err=True)
    for answer in answer_words(subject, texts):
        if as_json:
            click.echo(json.dumps({**answer, "claims": []}, ensure_ascii=False))
        elif "class" in answer:
            click.echo(f"{answer['class']}  {answer['word']}")
        elif "accept" in answer:
            follow = f"   next: {' '.join(answer['next'][-1]) or 'nothing'}" if answer["next"] else ""
            click.echo(f"{'accept' if answer['accept'] else 'reject'}  {answer['word']}{follow}")
        else:
            likely = "  ".join(f"{name} {share:.3f}" for name, share in answer["likeliest"].items())
            click.echo(f"{answer['word']}   likeliest: {likely}")


def run_model(folder: Path, texts: Iterator[str], *, as_json: bool) -> None:
    """Runs the weights of a real architecture on words, letter by letter."""
    alphabet, reader = _open_model(folder, as_json=as_json)
    for text in texts:
        word = alphabet.encode(text)
        answers = reader.run(word)
        follow = [None if legal is None else legal.names(alphabet) for legal in answers]
        last = answers[-1]
        if as_json:
            accept = None if last is None else last.end
            item = {"word": alphabet.decode(word), "accept": accept, "next": follow, "dtype": reader.dtype}
            click.echo(json.dumps(item, ensure_ascii=False))
        else:
            click.echo(_answer_line(last, alphabet.decode(word), alphabet))


def _open_model(folder: Path, *, as_json: bool) -> tuple[Alphabet, ModelReader]:
    """The alphabet of a network, and the weights of its architecture, told to people on the error stream."""
    from nerode.proofs.floats import ModelReader

    alphabet, reader = read_network(folder).alphabet, ModelReader(folder)
    if not as_json:
        click.echo(f"{folder}/{MODEL_FOLDER}: {reader.about}", err=True)
    return alphabet, reader


def run_model_stream(folder: Path, path: Path, *, as_json: bool) -> None:
    """Reads a file as one word with the weights of a real architecture, in memory that does not grow."""
    alphabet, reader = _open_model(folder, as_json=as_json)
    begun = time.perf_counter()
    for letters in TextReader(alphabet).read(_parts(path)):
        reader.feed(letters.tolist())
    seconds = time.perf_counter() - begun
    legal = reader.answer
    if as_json:
        found = {
            "tokens": reader.tokens,
            "accept": None if legal is None else legal.end,
            "next": None if legal is None else legal.names(alphabet),
            "seconds": seconds,
            "dtype": reader.dtype,
            "positions_kept": reader.kept,
        }
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    click.echo(_answer_line(legal, f"{reader.tokens:,} tokens", alphabet))
    if legal is not None:
        kept = "a state of one size" if reader.kept is None else f"{reader.kept} positions kept by all heads"
        click.echo(f"{reader.tokens / seconds if seconds else 0:,.0f} tokens/s, {kept}, {reader.dtype}")


def _stated_line(folder: Path, stated: Sequence[str]) -> str:
    """The claims of the certificate, which a run does not check."""
    if not stated:
        return f"{folder} has no certificate: nothing is proved of this network"
    return f"the certificate in {folder} says: {'; '.join(stated)} (`nerode verify {folder}` checks it)"


def _texts(words: tuple[str, ...], words_file: Path | None) -> Iterator[str]:
    if words_file is not None and words:
        raise InputError("give words as arguments or with --words, not both")
    if words_file is None and words != ("-",):
        if not words:
            raise InputError('give a word (or "" for the empty one), --words FILE, or - for standard input')
        yield from words
        return
    yield from _lines(words_file or Path("-"))


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file, or of standard input for "-"."""
    with open_stream(path) as stream:
        yield from read_lines(stream, name=str(path), max_bytes=_MAX_WORD_BYTES)


def run_generated(
    network: Network, folder: Path, beginnings: Iterator[str], *, number: int, seed: int, as_json: bool
) -> None:
    """Draws sentences from the distributions of a network; words that it is not asked for, from its model."""
    language = read_language(folder)
    if not isinstance(network.decoder, LogitDecoder) or not isinstance(language, NgramLanguage):
        raise InputError(f"{folder} has no probabilities; --generate draws sentences of n-gram models")
    interpreter, choose, names = Interpreter(network), random.Random(seed), word_names(network)
    model = language.model
    given = 0 if isinstance(model, BackoffModel) else model.order - 1
    for text in beginnings:
        begun = (model if isinstance(model, BackoffModel) else network.alphabet).encode(text)
        for _ in range(number):
            word, states, answer = list[int](), interpreter.start(), interpreter.empty_answer()
            while len(word) < _LONGEST:
                if len(word) < len(begun):
                    letter = begun[len(word)]
                else:
                    # Of the first words the theorem says nothing: the model has them.
                    context = (*[BOS] * given, *word)[len(word) :]
                    likely = answer.distribution if len(word) >= given else model.distribution(context)
                    assert likely is not None
                    letter = choose.choices(list(likely), [float(p) for p in likely.values()])[0]
                if letter == len(network.alphabet):
                    break
                word.append(letter)
                states, answer = interpreter.step(states, letter)
            sentence, ended = " ".join(names[a] for a in word), len(word) < _LONGEST
            if as_json:
                click.echo(json.dumps({"word": sentence, "ended": ended}, ensure_ascii=False))
            else:
                click.echo(sentence + ("" if ended else " …"))


_LONGEST = 1_000
"""Words of a sentence that is drawn."""


def word_names(network: Network) -> tuple[str, ...]:
    """Returns the words of a network with probabilities, the end last."""
    return (*network.alphabet.symbols, END)


def _distribution(answer: Answer, names: tuple[str, ...]) -> dict[str, float]:
    assert answer.distribution is not None
    likely = sorted(answer.distribution.items(), key=lambda item: -item[1])[:20]
    return {names[i]: float(p) for i, p in likely}


_MAX_WORD_BYTES = 1 << 22
"""Longest line of --words; longer words are for --stream."""

_PART = 1 << 20
_SECONDS_BETWEEN_LINES = 5.0


def run_stream(network: Network, path: Path, *, as_json: bool, stated: Sequence[str] = ()) -> None:
    """Reads a file, or standard input for "-", as one word and prints what the network says at its end."""
    stream, reader = Stream(network), TextReader(network.alphabet)
    begun = said = time.perf_counter()
    for letters in reader.read(_parts(path)):
        stream.feed(letters)
        charge()
        now = time.perf_counter()
        if now - said > (0.2 if sys.stderr.isatty() else _SECONDS_BETWEEN_LINES):
            _say(stream, now - begun)
            said = now
    seconds = time.perf_counter() - begun
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
    legal = stream.answer.legal
    if as_json:
        found = {
            "tokens": stream.tokens,
            "accept": legal.end,
            "next": legal.names(network.alphabet),
            "seconds": seconds,
            "tokens_per_second": stream.tokens / seconds if seconds else None,
            "configurations": stream.configurations,
            "table_full": stream.full,
            "claims": list(stated),
        }
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    speed = f"{stream.tokens / seconds:,.0f} tokens/s" if seconds else "at once"
    click.echo(_answer_line(legal, f"{stream.tokens:,} tokens", network.alphabet))
    click.echo(f"{speed}, {stream.configurations:,} configurations seen, exact arithmetic")


def _backoff_model(network: Network, folder: Path) -> BackoffModel | None:
    """The model of a network that was compiled from an ARPA file."""
    if not isinstance(network.decoder, LogitDecoder):
        return None
    language = read_language(folder)
    model = language.model if isinstance(language, NgramLanguage) else None
    return model if isinstance(model, BackoffModel) else None


def run_text(network: Network, model: BackoffModel, path: Path, *, as_json: bool) -> None:
    """Reads a text, one sentence per line, and prints the perplexity of the network and of its model."""
    begun = time.perf_counter()
    found = score_text(network, model, _lines(path))
    seconds = time.perf_counter() - begun
    perplexity, expected = found.perplexities()
    if as_json:
        item = {
            "sentences": found.sentences,
            "tokens": found.words,
            "unknown": found.unknown,
            "perplexity": perplexity,
            "model_perplexity": expected,
            "seconds": seconds,
        }
        click.echo(json.dumps(item, ensure_ascii=False))
        return
    click.echo(f"perplexity {perplexity:.6g} of the network, {expected:.6g} of the model")
    unknown = f", {found.unknown:,} of them unknown, read as {model.unknown_name}" if found.unknown else ""
    click.echo(
        f"{plural(found.sentences, 'sentence')}, {plural(found.words, 'word')}{unknown}; ends count, float64"
    )


def _parts(path: Path) -> Iterator[bytes]:
    with open_stream(path) as file:
        while part := file.read(_PART):
            yield part


def _say(stream: Stream, seconds: float) -> None:
    line = f"{stream.tokens:,} tokens, {stream.tokens / seconds:,.0f} per second"
    click.echo(f"\r\033[K{line}" if sys.stderr.isatty() else line, err=True, nl=not sys.stderr.isatty())
