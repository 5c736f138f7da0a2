"""Long words and texts through a compiled network, exactly and at the speed of a table walk.

A network that was proved correct by a finite closure visits few configurations. The first visit of a
configuration and letter is computed by the exact interpreter and remembered in a table; from then on it
costs one look-up. A network that counts visits ever new ones: when the table is full, the interpreter
alone goes on, slower and still in constant memory.

Each line of a text is a sentence. A network with the distributions of a language model starts anew with each,
in float64, and predicts every word and the end. Its perplexity is the exponential of the mean negative
log-probability.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.languages import Alphabet
from nerode.languages.ngrams import NextWordModel
from nerode.models.native.library import library
from nerode.network import Answer, Interpreter, LogitDecoder, Network

MOST_CONFIGURATIONS = 50_000
"""Rows of the table; a network with more configurations is stepped."""

_FIRST, _CHUNK = 256, 1 << 16
"""Letters that are walked at once: few after a transition that was new, because others will follow."""

_UNKNOWN = 0
"""The row of transitions that have not been computed; it leads to itself."""

Numbers = npt.NDArray[np.unsignedinteger[Any]]
"""Letters, or places in a table."""


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
                for letter in word[position:].tolist():
                    self._here = self._interpreter.step(self._here[0], letter)
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

    def _walk(self, part: Numbers) -> int:
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
        """Reads one letter by the interpreter and adds the transition to the table, unless it is full."""
        configuration, answer = self._interpreter.step(self._here[0], letter)
        self._here = (configuration, answer)
        before = self._row
        key = (
            configuration,
            answer.legal,
            answer.distribution and tuple(sorted(answer.distribution.items())),
        )
        self._row = self._rows.get(key, _UNKNOWN)
        if self._row == _UNKNOWN and not self.full:
            self._row = self._rows[key] = len(self._known)
            self._known.append(self._here)
            if len(self._known) > len(self._table):
                self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        if self._row != _UNKNOWN:
            self._table[before, letter] = self._row * self._table.shape[1]


def walk_table(table: Numbers, place: int, word: Numbers, visited: Numbers | None) -> int:
    """Returns the place after the letters, or -1 - position for a letter that is none.

    Args:
        table: (states, letters); a state is given by its place, the number of its row times the letters.
        place: where to begin.
        word: letter numbers.
        visited: receives the place after each letter, unless None.
    """
    letters = table.shape[1]
    native = library()
    if native is None:
        return _walk_plainly(table, place, word, visited)
    function = getattr(native, f"walk_{table.dtype}_{word.dtype}")
    function.restype = ctypes.c_int64
    end = function(
        ctypes.c_void_p(table.ctypes.data),
        ctypes.c_int64(letters),
        ctypes.c_int64(place),
        ctypes.c_void_p(word.ctypes.data),
        ctypes.c_int64(len(word)),
        ctypes.c_void_p(None if visited is None else visited.ctypes.data),
    )
    return int(end)


def _walk_plainly(table: Numbers, place: int, word: Numbers, visited: Numbers | None) -> int:
    wrong = np.flatnonzero(word >= table.shape[1])
    if len(wrong):
        return -1 - int(wrong[0])
    places = table.ravel().tolist()
    for position, letter in enumerate(word.tolist()):
        place = places[place + letter]
        if visited is not None:
            visited[position] = place
    return place


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


class NextWordScorer:
    """The log-probabilities that a network with a softmax gives words and the end, in float64.

    Args:
        network: the network of an n-gram model.

    Raises:
        InputError: if the network has no softmax.
    """

    def __init__(self, network: Network) -> None:
        # Only here: long words are read without torch.
        import torch

        from nerode.models.network_module.model import load_model

        decoder = network.decoder
        if not isinstance(decoder, LogitDecoder) or decoder.normaliser != "softmax":
            raise InputError(
                f"the network for {network.origin.language} has no softmax; perplexity is computed for "
                "networks of n-gram models"
            )
        self._torch, self._model = torch, load_model(network, dtype=torch.float64)

    def logs(self, words: Sequence[int]) -> npt.NDArray[np.float64]:
        """Returns the natural logarithms of all words and the end after each prefix, the empty one first."""
        scores = self._model.start_scores()
        if words:
            after, _ = self._model(self._torch.tensor([words]))
            scores = self._torch.cat([scores, after[0]])
        logs: npt.NDArray[np.float64] = scores.log_softmax(-1).numpy()
        return logs


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
        means = [math.fsum(costs) / (self.words + self.sentences) for costs in (self.network, self.model)]
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
        asked = list(model.predictions(words))
        following = [word for _, word in asked]
        logs = scorer.logs(model.encode(words))[-len(asked) :]
        found.network.append(-float(logs[np.arange(len(asked)), following].sum()))
        found.model.append(-sum(model.log_next(context, word) for context, word in asked))
    if not found.sentences:
        raise InputError("the text has no sentence; give one sentence per line")
    return found
