"""Long words and texts through a compiled network, exactly and in constant memory.

A network that was proved correct by a finite closure visits few configurations. The first visit of a
configuration and letter is computed by the exact interpreter and remembered in a table; from then on it
costs one look-up. A network that counts visits ever new ones: when the table is full, the interpreter
alone goes on, slower and still in constant memory.

Each line of a text is a sentence. A network with the distributions of a language model starts anew with each,
in float64, and predicts every word and the end. Its perplexity is the exponential of the mean negative
log-probability.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.languages import Alphabet
from nerode.languages.ngrams import NextWordModel
from nerode.network import Answer, Interpreter, LogitDecoder, Network

MOST_CONFIGURATIONS = 50_000
"""Rows of the table; a network with more configurations is stepped."""

_UNKNOWN = 0
"""The row of transitions that have not been computed; it leads to itself."""


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
        start = (self._interpreter.start(), self._interpreter.empty_answer())
        self._known: list[tuple[Any, Answer]] = [start, start]
        self._rows: dict[Hashable, int] = {}
        self._table = [[_UNKNOWN] * len(self.alphabet) for _ in self._known]
        self._row = 1

    @property
    def answer(self) -> Answer:
        """The answer after the letters that were read."""
        return self._known[self._row][1]

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
        table, row = self._table, self._row
        for letter in word.tolist():
            row = table[row][letter] or self._learn(row, letter)
        self._row = row
        self.tokens += len(word)

    def _learn(self, before: int, letter: int) -> int:
        """Returns the row after a letter that the interpreter reads; a full table has none for new ones."""
        here = configuration, answer = self._interpreter.step(self._known[before][0], letter)
        likely = answer.distribution and tuple(sorted(answer.distribution.items()))
        key = (configuration, answer.legal, likely)
        row = self._rows.get(key, _UNKNOWN)
        if row == _UNKNOWN and not self.full:
            row = self._rows[key] = len(self._known)
            self._known.append(here)
            self._table.append([_UNKNOWN] * len(self.alphabet))
        if row == _UNKNOWN:
            self._known[_UNKNOWN] = here
        elif before != _UNKNOWN:
            self._table[before][letter] = row
        return row


class TextReader:
    """Turns bytes of text, in parts of any size, into letter numbers; white space only separates."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self._numbers = {symbol: i for i, symbol in enumerate(alphabet)}
        self._rest = ""

    def read(self, parts: Iterable[bytes]) -> Iterator[npt.NDArray[np.int32]]:
        """Yields the letters of each part.

        Raises:
            InputError: for a symbol that is not in the alphabet, or a byte that is not UTF-8, whichever is
                first.
        """
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for part in parts:
                yield self._letters(decoder.decode(part))
            yield self._letters(decoder.decode(b"", final=True) + " ")
        except UnicodeDecodeError as error:
            self._letters(error.object[: error.start].decode())
            byte = error.object[error.start]
            raise InputError(f"the byte 0x{byte:02x} of the text is not UTF-8; save it as UTF-8") from None

    def _letters(self, part: str) -> npt.NDArray[np.int32]:
        """The letters of this part; the beginning of a symbol that may go on is kept for the next one."""
        text = self._rest + part
        words, self._rest = text.split(), ""
        if not self.alphabet.spaced:
            words = list("".join(words))
        elif words and not text[-1].isspace():
            self._rest = words.pop()
        if len(self._rest) > 1 << 20:
            raise InputError(
                "there is no white space in a million bytes; write the symbols of this alphabet apart"
            )
        try:
            return np.array([self._numbers[w] for w in words], dtype=np.int32)
        except KeyError as error:
            raise InputError(
                f"the symbol {error.args[0][:40]!r} is not in the alphabet {{{self.alphabet.describe()}}}; "
                "use one of its symbols"
            ) from None


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
