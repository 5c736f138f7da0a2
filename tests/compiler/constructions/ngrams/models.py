"""N-gram models for tests, and comparing networks with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from hypothesis import strategies as st

from nerode.compiler.construction import NgramOptions, Options
from nerode.compiler.pipeline import compile_language
from nerode.core import Exact
from nerode.languages import Alphabet, Legal
from nerode.languages.ngrams import (
    NgramLanguage,
    NgramModel,
    ngram_language,
    seed_ngram_language,
)
from nerode.network import Fixed, LogitDecoder, Network, Squashed
from nerode.network.step import Interpreter
from tests.languages.ngrams.counted import model_from_sentences

Rows = list[dict[int, Fraction]]

EPS = Fraction(1, 1000)
ROWS = {"ssm": "n-gram-ssm", "elman-relu": "n-gram-rnn"}


@functools.cache
def seed() -> NgramLanguage:
    """The paper's language; its graph is computed once."""
    return seed_ngram_language()


def from_text(order: int, *sentences: str) -> NgramLanguage:
    """The language of the relative frequencies in some sentences."""
    model = model_from_sentences([sentence.split() for sentence in sentences], order)
    return ngram_language(model, name="text")


def compiled(language: NgramLanguage, to: str = "ssm", **options: object) -> Network:
    """The n-gram network for a target; never one of another construction."""
    chosen = Options(construction=ROWS[to], ngrams=NgramOptions(**options))  # type: ignore[arg-type]
    return compile_language(language, to, chosen)


def exact_model(language: NgramLanguage) -> NgramModel:
    assert isinstance(language.model, NgramModel)
    return language.model


def distance(left: Mapping[int, Fraction], right: Mapping[int, Fraction]) -> Fraction:
    """The L1 distance of two distributions."""
    return sum((abs(left.get(v, 0) - right.get(v, 0)) for v in {*left, *right}), Fraction(0))


def worst_on(
    network: Network,
    language: NgramLanguage,
    windows: Iterable[tuple[int, ...]],
    junk: Sequence[int] = (),
) -> Fraction:
    """The largest distance to the model after some windows, each after a prefix that should not matter.

    What the network calls legal must be what the model gives a positive probability.
    """
    model = exact_model(language)
    interpreter = Interpreter(network)
    before = [word % len(model.vocabulary) for word in junk]
    worst = Fraction(0)
    for window in windows:
        answer = interpreter.run((*before, *window))[-1]
        wanted = model.distribution(window)
        assert answer.distribution is not None
        assert answer.legal == Legal(frozenset(wanted) - {model.end}, model.end in wanted)
        worst = max(worst, distance(answer.distribution, wanted))
    return worst


def recurrence_rows(network: Network) -> tuple[Rows, Rows]:
    """A and B of a network with one linear or Elman layer."""
    (layer,) = network.layers
    if isinstance(layer.recurrence, Fixed):
        return [rationals(row) for row in layer.recurrence.matrix], [
            rationals(row) for row in layer.recurrence.write.rows
        ]
    assert isinstance(layer.recurrence, Squashed)
    first = len(layer.reads)
    rows = [rationals(row) for row in layer.recurrence.update.rows]
    matrix = [{j - first: v for j, v in row.items() if j >= first} for row in rows]
    return matrix, [{j: v for j, v in row.items() if j < first} for row in rows]


def rationals(row: Iterable[tuple[int, Exact]]) -> dict[int, Fraction]:
    found = {}
    for j, v in row:
        assert isinstance(v, int | Fraction)
        found[j] = Fraction(v)
    return found


def times(left: Rows, right: Rows) -> Rows:
    """The product of two sparse matrices, multiplied out."""
    product = []
    for row in left:
        total: dict[int, Fraction] = {}
        for j, a in row.items():
            for k, b in right[j].items():
                total[k] = total.get(k, Fraction(0)) + a * b
        product.append({k: v for k, v in total.items() if v})
    return product


def power(matrix: Rows, exponent: int) -> Rows:
    result = matrix
    for _ in range(exponent - 1):
        result = times(result, matrix)
    return result


def hidden_rows(
    network: Network, windows: Iterable[tuple[int, ...]], junk: Sequence[int] = ()
) -> list[list[Fraction]]:
    """What the layer puts out after each window: the rows of the hidden matrix."""
    interpreter = Interpreter(network)
    rows = []
    for window in windows:
        state = interpreter.start()
        for word in (*junk, *window[:-1]):
            state, _ = interpreter.step(state, word)
        stream = interpreter.stream(state, window[-1])
        rows.append([Fraction(stream[name]) for name in network.layers[0].outputs])
    return rows


def softmax_of(network: Network, hidden: Sequence[Fraction]) -> dict[int, Fraction]:
    """The distribution of a softmax for a row of the hidden matrix whose exponents are whole."""
    assert isinstance(network.decoder, LogitDecoder)
    scores = []
    for row in network.decoder.rows:
        powers: dict[Fraction, Fraction] = {}
        for j, weight in row:
            if hidden[j]:
                for scale, ratio in weight:
                    powers[ratio] = powers.get(ratio, Fraction(0)) + scale * hidden[j]
        assert all(exponent.denominator == 1 for exponent in powers.values())
        scores.append(math.prod((ratio**exponent for ratio, exponent in powers.items()), start=Fraction(1)))
    total = sum(scores)
    return {v: score / total for v, score in enumerate(scores)}


@st.composite
def texts(draw: st.DrawFn) -> NgramLanguage:
    """Models of order 2 to 4 counted from a few sentences over 2 to 8 words."""
    order = draw(st.integers(2, 4))
    words = "abcdefgh"[: draw(st.integers(2, 8))]
    sentence = st.lists(st.sampled_from(words), min_size=order - 1, max_size=7)
    sentences = draw(st.lists(sentence, min_size=1, max_size=6))
    return ngram_language(model_from_sentences(sentences, order), name="text")


@st.composite
def tables(draw: st.DrawFn) -> NgramLanguage:
    """Models given by any table of order 2 or 3; sentences may pass through windows that have no row."""
    order = draw(st.integers(2, 3))
    size = draw(st.integers(2, 4))
    word = st.integers(0, size - 1)
    contexts = draw(st.lists(st.tuples(*[word] * (order - 1)), min_size=1, max_size=6, unique=True))
    table = {}
    for context in contexts:
        shares = draw(st.dictionaries(st.integers(0, size), st.integers(1, 9), min_size=1))
        total = sum(shares.values())
        table[context] = {v: Fraction(share, total) for v, share in shares.items()}
    model = NgramModel.from_table(order=order, vocabulary=Alphabet(tuple("abcd"[:size])), table=table)
    return ngram_language(model, name="table")
