"""Long words and texts through a compiled network, exactly and at the speed of a table walk; needs no torch.

A network that was proved correct by a finite closure visits few configurations. The first visit of a
configuration and letter is computed by the exact interpreter and remembered in a table; from then on it
costs one look-up. A network that counts visits ever new ones: when the table is full, the interpreter
alone goes on, slower and still in constant memory.

Each line of a text is a sentence. A network with the distributions of a language model starts anew with each,
in float64, and predicts every word and the end. Its perplexity is the exponential of the mean negative
log-probability.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Exact, InputError, to_float
from nerode.languages import Alphabet
from nerode.languages.ngrams import NextWordModel
from nerode.models.kernels.table_walk import walk_table
from nerode.network import Affine, Answer, Interpreter, LogitDecoder, LogSum, Network, NetworkStep, Numbers

MOST_CONFIGURATIONS = 50_000
"""Rows of the table; a network with more configurations is stepped."""

_FIRST, _CHUNK = 256, 1 << 16
"""Letters that are walked at once: few after a transition that was new, because others will follow."""

_UNKNOWN = 0
"""The row of transitions that have not been computed; it leads to itself."""

Letters = npt.NDArray[np.unsignedinteger[Any]]


class Stream:
    """A network that reads a word in parts.

    Attributes:
        tokens: how many letters have been read.
    """

    def __init__(self, network: Network, *, most: int = MOST_CONFIGURATIONS) -> None:
        self.alphabet = network.alphabet
        self.tokens = 0
        self._interpreter = Interpreter(network)
        self._most = most
        self._dtype = np.uint8 if len(self.alphabet) <= 256 else np.uint32
        start = self._interpreter.start()
        empty = self._interpreter.empty_answer()
        self._known: list[tuple[Any, Answer]] = [(None, empty), (start, empty)]
        self._rows: dict[Hashable, int] = {}
        self._table = np.zeros((16, max(1, len(self.alphabet))), dtype=np.uint32)
        self._here: tuple[Any, Answer] = self._known[1]
        self._row = 1

    @property
    def answer(self) -> Answer:
        """The answer after the letters that were read."""
        return self._here[1]

    @property
    def configurations(self) -> int:
        """Number of configurations in the table."""
        return len(self._known) - 1

    @property
    def full(self) -> bool:
        """Whether the table is full, so that the rest is stepped."""
        return len(self._known) > self._most

    def feed(self, letters: npt.ArrayLike) -> None:
        """Reads letter numbers.

        Raises:
            InputError: for a number that is no letter; nothing of this part is read then.
        """
        word = np.asarray(letters)
        if word.size and (word.min() < 0 or word.max() >= len(self.alphabet)):
            place = int(np.argmax((word < 0) | (word >= len(self.alphabet))))
            raise InputError(
                f"the letter number {word[place]} at position {self.tokens + place + 1} is outside "
                f"0…{len(self.alphabet) - 1}"
            )
        word = word.astype(self._dtype)
        position, size = 0, _FIRST
        while position < len(word):
            if self._row == _UNKNOWN:
                self._step(word[position:])
                break
            part = word[position : position + size]
            read = self._walk(part)
            position += read
            if read < len(part):
                self._learn(int(word[position]))
                position, size = position + 1, _FIRST
            else:
                size = min(2 * size, _CHUNK)
        self.tokens += len(word)

    def _walk(self, part: Letters) -> int:
        """Goes as far as the table knows the way; returns how many letters that was."""
        letters = self._table.shape[1]
        visited = np.empty(len(part), dtype=np.uint32)
        walk_table(self._table, self._row * letters, part, visited)
        read = len(part)
        if visited[-1] == _UNKNOWN:
            read = int(np.argmax(visited == _UNKNOWN))
        if read:
            self._row = int(visited[read - 1]) // letters
            self._here = self._known[self._row]
        return read

    def _learn(self, letter: int) -> None:
        """Reads one letter by the interpreter and remembers what it did, if there is room."""
        configuration, answer = self._interpreter.step(self._here[0], letter)
        self._here = (configuration, answer)
        before = self._row
        key = (configuration, answer.legal, _frozen(answer))
        self._row = self._rows.get(key, _UNKNOWN)
        if self._row == _UNKNOWN and not self.full:
            self._row = self._rows[key] = len(self._known)
            self._known.append(self._here)
            if len(self._known) > len(self._table):
                self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        if self._row != _UNKNOWN:
            self._table[before, letter] = self._row * self._table.shape[1]

    def _step(self, word: Letters) -> None:
        configuration, answer = self._here
        for letter in word.tolist():
            configuration, answer = self._interpreter.step(configuration, letter)
        self._here = (configuration, answer)


def _frozen(answer: Answer) -> Hashable:
    return None if answer.distribution is None else tuple(sorted(answer.distribution.items()))


class TextReader:
    """Turns bytes of text, in parts of any size, into letter numbers; white space only separates."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self._numbers = {symbol: i for i, symbol in enumerate(alphabet)}
        self._rest = b""
        # Ten million letters a second are no time for a dict: bytes go through a table.
        self._bytes: npt.NDArray[np.int32] | None = None
        if all(len(symbol.encode()) == 1 for symbol in alphabet):
            table = np.full(256, -2, dtype=np.int32)
            table[list(b" \t\r\n")] = -1
            for symbol, number in self._numbers.items():
                table[symbol.encode()[0]] = number
            self._bytes = table

    def read(self, parts: Iterable[bytes]) -> Iterator[npt.NDArray[np.int32]]:
        """Yields the letters of each part.

        Raises:
            InputError: for a symbol that is not in the alphabet.
        """
        for part in parts:
            yield self._letters(part) if self._bytes is not None else self._symbols(part)
        if self._rest:
            yield self._symbols(b"", last=True)

    def _letters(self, part: bytes) -> npt.NDArray[np.int32]:
        assert self._bytes is not None
        found = self._bytes[np.frombuffer(part, dtype=np.uint8)]
        if len(found) and found.min() == -2:
            wrong = part[int(np.argmax(found == -2))]
            raise self._unknown(chr(wrong) if wrong < 128 else f"byte {wrong:#x}")
        return found[found >= 0]

    def _symbols(self, part: bytes, *, last: bool = False) -> npt.NDArray[np.int32]:
        """The symbols of this part; what may go on in the next part is kept for it."""
        text = self._rest + part
        end = len(text) if last else max(text.rfind(s) for s in (b" ", b"\n", b"\t")) + 1
        text, self._rest = text[:end], text[end:]
        if len(self._rest) > 1 << 20:
            raise InputError(
                "there is no white space in a million bytes; write the symbols of this alphabet apart"
            )
        try:
            words = text.decode("utf-8").split()
        except UnicodeDecodeError:
            raise InputError("the text is not UTF-8") from None
        if not self.alphabet.spaced:
            words = list("".join(words))
        try:
            return np.array([self._numbers[w] for w in words], dtype=np.int32)
        except KeyError as error:
            raise self._unknown(error.args[0]) from None

    def _unknown(self, symbol: str) -> InputError:
        return InputError(
            f"the symbol {symbol[:40]!r} is not in the alphabet {{{self.alphabet.describe()}}}; "
            "use one of its symbols"
        )


Floats = npt.NDArray[np.float64]
States = tuple[Floats, ...]
Rows = Sequence[Sequence[tuple[int, Exact]]]
Weights = Sequence[Sequence[tuple[int, float]]]

_REMEMBERED = 1 << 24
"""Numbers of states and distributions that are kept."""


class FloatVectors(Numbers[Floats]):
    """Vectors of float64, with sparse matrices; states are real."""

    def map(self, affine: Affine, place: str) -> Callable[[Floats], Floats]:
        """Returns an affine map."""
        matrix = SparseMatrix(_floats(affine.rows))
        bias = np.array([to_float(v) for v in affine.bias], dtype=np.float64)
        return lambda x: matrix @ x + bias

    def stateful(
        self, affine: Affine, place: str, number: int | None = None
    ) -> tuple[Callable[[Floats], Any], Callable[[Any, Floats], Floats]]:
        """Returns a first half that waits for the state."""
        whole = self.map(affine, place)
        return lambda seen: seen, lambda seen, state: whole(np.concatenate([seen, state]))

    def matrix(self, rows: Rows, place: str) -> Callable[[Floats, Floats], Floats]:
        """Returns (h, b) ↦ A h + b."""
        moved = self.by_rows([rows])
        return lambda h, added: moved(0, h, added)

    def vectors(self, table: Sequence[Sequence[Exact]], place: str) -> Callable[[int], Floats]:
        """Returns the vectors of a table."""
        floats = np.array([[to_float(e) for e in vector] for vector in table], dtype=np.float64)
        return lambda choice: floats[choice]

    def by_rows(self, matrices: Sequence[Rows]) -> Callable[[int, Floats, Floats], Floats]:
        """Returns (choice, h, b) ↦ A(choice) h + b."""
        tables = [SparseMatrix(_floats(rows)) for rows in matrices]
        return lambda choice, h, added: tables[choice] @ h + added

    def one_hot(self, values: Floats) -> int:
        """Returns the place of the largest entry."""
        return int(values.argmax())

    def picks(self, places: Sequence[int], place: str) -> Callable[[Floats], Floats]:
        """Returns the map that picks some entries."""
        wanted = list(places)
        return lambda values: values[wanted]

    def join(self, parts: Sequence[Floats]) -> Floats:
        """Returns vectors one after the other."""
        return np.concatenate(list(parts))

    def split(self, values: Floats, count: int) -> list[Floats]:
        """Returns a vector in parts of equal length."""
        return np.split(values, count)

    def parts(self, values: Floats) -> list[Floats]:
        """Returns the vector and zeros."""
        return [values, np.zeros_like(values)]

    def apply(self, function: str, values: Floats) -> Floats:
        """Returns the images under one of the functions of the class."""
        return _FUNCTIONS[function](values)

    def times(self, left: Floats, right: Floats) -> Floats:
        """Returns products."""
        return left * right

    def gated(self, gate: Floats, values: Floats, added: Floats) -> Floats:
        """Returns gate · value + added."""
        return gate * values + added

    def over(self, left: Floats, right: Floats) -> Floats:
        """Returns quotients."""
        return left / right

    def mix(self, share: Floats, old: Floats, new: Floats) -> Floats:
        """Returns (1 - share) · old + share · new."""
        return (1 - share) * old + share * new

    def capped(self, share: Floats, cap: Exact) -> Floats:
        """Returns 1 - cap · (1 - share)."""
        return 1 - to_float(cap) * (1 - share)


_FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "clip": lambda x: np.clip(x, 0.0, 1.0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "exp": np.exp,
}


def _floats(rows: Rows) -> Weights:
    return [[(j, to_float(v)) for j, v in row] for row in rows]


class SparseMatrix:
    """A matrix by its entries, row by row; a product adds them in their order."""

    def __init__(self, rows: Weights) -> None:
        self._rows = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self._columns = np.array([j for row in rows for j, _ in row], dtype=np.int64)
        self._values = np.array([v for row in rows for _, v in row], dtype=np.float64)
        self._height = len(rows)

    def __matmul__(self, vector: Floats) -> Floats:
        products = self._values * vector[self._columns]
        sums: Floats = np.bincount(self._rows, weights=products, minlength=self._height).astype(np.float64)
        return sums


class NextWordScorer:
    """The log-probabilities that a network with a softmax gives words and the end, in float64.

    Args:
        network: a network with real states.

    Attributes:
        start: the states before the first word, and the logarithms there.

    Raises:
        InputError: if the network has no softmax.
    """

    def __init__(self, network: Network) -> None:
        decoder = network.decoder
        if not isinstance(decoder, LogitDecoder) or decoder.normaliser != "softmax":
            raise InputError(
                f"the network for {network.origin.language} has no softmax; perplexity is computed for "
                "networks of n-gram models"
            )
        if any(layer.complex_state for layer in network.layers):
            raise InputError("perplexity is computed for networks with real states")
        self._step = NetworkStep(network, FloatVectors())
        rows = [[(j, _logarithm(weight)) for j, weight in row] for row in decoder.rows]
        self._scores = SparseMatrix(rows)
        self._most = _REMEMBERED // (len(decoder.rows) + network.state_size)
        self._known: dict[tuple[bytes, int], tuple[States, Floats]] = {}
        states = tuple(np.array([to_float(v) for v in layer.start]) for layer in network.layers)
        nothing = np.zeros(len(network.embedding.directions))
        self.start: tuple[States, Floats] = (states, self._logs(self._step.at_start(nothing, states)))

    def step(self, states: States, word: int) -> tuple[States, Floats]:
        """Returns the states after a word, and the logarithms of what follows it."""
        key = (b"".join(state.tobytes() for state in states), word)
        found = self._known.get(key)
        if found is None:
            after, stream = self._step.step(states, word)
            found = (tuple(after), self._logs(stream))
            if len(self._known) < self._most:
                self._known[key] = found
        return found

    def _logs(self, stream: Floats) -> Floats:
        """The natural logarithms of all words and the end."""
        scores: Floats = self._scores @ self._step.decoded(stream)
        logs: Floats = scores - np.logaddexp.reduce(scores)
        return logs


def _logarithm(weight: LogSum) -> float:
    return math.fsum(float(scale) * _ln(ratio.numerator, ratio.denominator) for scale, ratio in weight)


@functools.cache
def _ln(above: int, below: int) -> float:
    return math.log(above) - math.log(below)


@dataclass(slots=True)
class TextScore:
    """Costs of a text under a network and its model.

    Attributes:
        network: negative log-probabilities of the network, sentence by sentence.
        model: those of the model.
        words: number of words, ends not counted.
        unknown: how many of them are outside the vocabulary.
    """

    network: list[float] = field(default_factory=list)
    model: list[float] = field(default_factory=list)
    words: int = 0
    unknown: int = 0

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return len(self.network)

    def perplexities(self) -> tuple[float, float]:
        """Returns the perplexity of the network and that of the model."""
        predictions = self.words + self.sentences
        means = [math.fsum(costs) / predictions for costs in (self.network, self.model)]
        first, second = (math.exp(mean) if mean < 700.0 else math.inf for mean in means)
        return first, second


def score_text(network: Network, model: NextWordModel, lines: Iterable[str]) -> TextScore:
    """Returns what a network and its model say about a text, one sentence per line; blank lines are skipped.

    Raises:
        InputError: if there is no sentence, or a word is outside a vocabulary without an unknown word.
    """
    scorer, found = NextWordScorer(network), TextScore()
    vocabulary = frozenset(model.vocabulary)
    for number, line in enumerate(lines, start=1):
        words = line.split()
        outside = [word for word in words if word not in vocabulary]
        if outside and model.unknown is None:
            raise InputError(
                f"line {number}: the word {outside[0][:40]!r} is not among the {len(vocabulary):,} words of "
                "the model, which has no <unk>; replace it, or use a model with <unk>"
            )
        if not words:
            continue
        found.words += len(words)
        found.unknown += len(outside)
        cost = expected = 0.0
        states, logs = scorer.start
        for context, word in model.predictions(words):
            cost -= float(logs[word])
            expected -= model.log_next(context, word)
            if word != model.end:
                states, logs = scorer.step(states, word)
        found.network.append(cost)
        found.model.append(expected)
    if not found.sentences:
        raise InputError("the text has no sentence; give one sentence per line")
    return found
