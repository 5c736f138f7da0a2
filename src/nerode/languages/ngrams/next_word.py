"""The interface of n-gram models: next-word distributions, scores and samples."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from nerode.core import BudgetExceeded, InputError
from nerode.languages.alphabet import Alphabet, Word, WordLike

Context = tuple[int, ...]

BOS = -1
"""The number of the start mark inside a context; it is never predicted."""

BOS_NAME = "<s>"
"""How the start mark is written in files."""


class NextWordModel(ABC):
    """A distribution over the next word that looks at a bounded number of words.

    Words are numbered as in the vocabulary. The number `end` = len(vocabulary) stands for the extra
    symbol of the model: the end of the sentence.

    Attributes:
        order: n; the next word depends on the n-1 words before it.
        vocabulary: the words that can occur, without the end and the start mark.
    """

    order: int
    vocabulary: Alphabet

    @property
    @abstractmethod
    def num_contexts(self) -> int:
        """Number of contexts that have a distribution of their own."""

    @property
    @abstractmethod
    def num_windows(self) -> int:
        """Number of those contexts that have no start mark in them."""

    @property
    @abstractmethod
    def num_given(self) -> int:
        """The number of first words of a sentence that the model does not predict and has to be given."""

    @property
    @abstractmethod
    def unknown(self) -> int | None:
        """The word that stands for all words outside the vocabulary, if there is one."""

    @abstractmethod
    def initial(self) -> Context:
        """Returns the context of the empty prefix."""

    @abstractmethod
    def follow(self, context: Context, word: int) -> Context:
        """Returns the context after one more word."""

    @abstractmethod
    def distribution(self, context: Sequence[int | str]) -> Mapping[int, Any]:
        """Returns the probability of each possible next word (or `end`) after a context."""

    @abstractmethod
    def log_next(self, context: Context, word: int) -> float:
        """Returns the natural logarithm of the probability of a word (or `end`) after a context."""

    @property
    def end(self) -> int:
        """The number that stands for the end of the sentence."""
        return len(self.vocabulary)

    @functools.cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {symbol: i for i, symbol in enumerate(self.vocabulary)}

    def encode(self, words: WordLike) -> Word:
        """Returns a sentence as word numbers; a word outside the vocabulary becomes `unknown`.

        Raises:
            InputError: for a word outside the vocabulary of a model without an unknown word.
        """
        if isinstance(words, str):
            if self.unknown is None:
                return self.vocabulary.encode(words)
            words = words.split()
        encoded = []
        for word in words:
            if isinstance(word, str):
                number = self._numbers.get(word, self.unknown)
            else:
                number = word if 0 <= word < self.end else None
            if number is None:
                # The alphabet's own encoding raises the error that names the word and its position.
                return self.vocabulary.encode(words)
            encoded.append(int(number))
        return tuple(encoded)

    def context_after(self, prefix: WordLike) -> Context:
        """Returns what the model remembers of a prefix."""
        context = self.initial()
        for word in self.encode(prefix):
            context = self.follow(context, word)
        return context

    def next_distribution(self, prefix: WordLike) -> Mapping[int, Any]:
        """Returns the probability of each possible next word (or `end`) after a prefix.

        Raises:
            InputError: if the prefix has fewer than `num_given` words.
        """
        return self.distribution(self.context_after(prefix))

    def predictions(self, sentence: WordLike) -> Iterator[tuple[Context, int]]:
        """Yields each context of a sentence with the word that came next, `end` last."""
        words = self.encode(sentence)
        if len(words) < self.num_given:
            raise InputError(
                f"the sentence has {len(words)} words, but this model only predicts what follows "
                f"{self.num_given}; give a longer sentence or use a model with start marks"
            )
        context = self.initial()
        for position, word in enumerate((*words, self.end)):
            if position >= self.num_given:
                yield context, word
            if word != self.end:
                context = self.follow(context, word)

    def log_probability(self, sentence: WordLike) -> float:
        """Returns the natural logarithm of the probability of a sentence, its end included.

        The first `num_given` words count as given. A sentence that cannot occur gives -inf.
        """
        return math.fsum(self.log_next(context, word) for context, word in self.predictions(sentence))

    def perplexity(self, sentences: Iterable[WordLike]) -> float:
        """Returns exp of the mean negative log-probability of a prediction; ends count as predictions."""
        logs: list[float] = []
        for sentence in sentences:
            logs.extend(self.log_next(context, word) for context, word in self.predictions(sentence))
        if not logs:
            raise InputError("perplexity needs at least one sentence")
        mean = -math.fsum(logs) / len(logs)
        return math.exp(mean) if mean < 700.0 else math.inf

    def sample(self, rng: np.random.Generator, *, prefix: WordLike = (), max_words: int = 10_000) -> Word:
        """Returns a random sentence that continues a prefix.

        Raises:
            InputError: if the prefix has fewer than `num_given` words.
            BudgetExceeded: if the sentence has not ended after `max_words` words.
        """
        words = list(self.encode(prefix))
        context = self.context_after(words)
        while True:
            word = draw(self.distribution(context), rng)
            if word == self.end:
                return tuple(words)
            if len(words) >= max_words:
                raise BudgetExceeded(
                    "words", max_words, remedy="raise max_words; some models never end a sentence"
                )
            words.append(word)
            context = self.follow(context, word)

    def show(self, context: Iterable[int]) -> str:
        """Returns a context as text, start marks written as <s>."""
        names = (
            BOS_NAME if w == BOS else "</s>" if w == self.end else self.vocabulary.symbols[w] for w in context
        )
        return " ".join(names)


def slide(context: Context, word: int, length: int) -> Context:
    """Returns the last `length` entries of a context followed by a word."""
    extended = (*context, word)
    return extended[max(0, len(extended) - length) :]


def draw(distribution: Mapping[int, Fraction] | Mapping[int, float], rng: np.random.Generator) -> int:
    """Returns a word with its probability: exactly for fractions, to rounding for floats.

    Floats need not sum to one; the draw is proportional to them.
    """
    words = list(distribution)
    values = list(distribution.values())
    exact = [value for value in values if isinstance(value, Fraction)]
    if len(exact) == len(values):
        denominator = math.lcm(*(value.denominator for value in exact))
        left = _integer_below(denominator, rng)
        for word, value in zip(words, exact, strict=True):
            left -= value.numerator * (denominator // value.denominator)
            if left < 0:
                return word
    cumulative = np.cumsum(np.array(values, dtype=np.float64))
    place = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
    return words[min(place, len(words) - 1)]


def _integer_below(bound: int, rng: np.random.Generator) -> int:
    """Returns a uniformly random integer in 0 … bound-1 for a bound of any size."""
    bits = (bound - 1).bit_length()
    size = -(-bits // 8)
    while True:
        value = int.from_bytes(rng.bytes(size), "big") >> (8 * size - bits)
        if value < bound:
            return value


def log_fraction(value: Fraction) -> float:
    """Returns the natural logarithm of a fraction, also of one that no float can hold."""
    if value == 0:
        return -math.inf
    rounded = float(value)
    if rounded > 1e-300:
        return math.log(rounded)
    return math.log(value.numerator) - math.log(value.denominator)
