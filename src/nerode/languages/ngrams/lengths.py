"""Sentences of an exact length, drawn as the model draws sentences that happen to have it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, InputError
from nerode.languages.alphabet import Word
from nerode.languages.ngrams.next_word import NextWordModel
from nerode.languages.ngrams.support import SupportGraph

Logs = npt.NDArray[np.float64]


class LengthSampler:
    """Draws sentences of a given length with their probability given that length.

    Works backwards: the weight of a state with k words to go is the probability that exactly k words and
    the end follow. Weights are kept as logarithms, so neither long sentences nor rare ones underflow;
    a length is refused exactly when no sentence has it.
    """

    def __init__(self, model: NextWordModel, graph: SupportGraph) -> None:
        self._first = np.zeros(len(graph.contexts) + 1, dtype=np.int64)
        self._first[1:] = np.cumsum([len(moves) for moves in graph.moves])
        words: list[int] = []
        targets: list[int] = []
        logs: list[float] = []
        ends: list[float] = []
        for context, moves in zip(graph.contexts, graph.moves, strict=True):
            for word, target in moves.items():
                words.append(word)
                targets.append(target)
                logs.append(model.log_next(context, word))
            ends.append(model.log_next(context, model.end))
        self._words = np.array(words, dtype=np.int64)
        self._targets = np.array(targets, dtype=np.int64)
        self._logs: Logs = np.array(logs, dtype=np.float64)
        self._layers: list[Logs] = [np.array(ends, dtype=np.float64)]

    def log_probability_of(self, length: int) -> float:
        """Returns the natural logarithm of the probability that a sentence has this many words."""
        if length < 0 or len(self._layers[0]) == 0:
            return -math.inf
        Budget().check("bytes", 8 * (length + 1) * len(self._layers[0]), length=length)
        while len(self._layers) <= length:
            self._layers.append(self._extend(self._layers[-1]))
        return float(self._layers[length][0])

    def _extend(self, layer: Logs) -> Logs:
        extended = np.full(len(layer), -np.inf)
        if len(self._logs):
            # Only states with edges have a segment; reduceat misreads empty ones.
            busy = np.flatnonzero(np.diff(self._first))
            extended[busy] = np.logaddexp.reduceat(self._logs + layer[self._targets], self._first[busy])
        return extended

    def draw(self, length: int, rng: np.random.Generator) -> Word:
        """Returns a random sentence of exactly this length.

        Raises:
            InputError: if no sentence has this length.
        """
        if self.log_probability_of(length) == -math.inf:
            shorter = [
                k for k in range(min(length, len(self._layers))) if self.log_probability_of(k) > -math.inf
            ]
            known = f"; the nearest below it is {shorter[-1]}" if shorter else ""
            raise InputError(f"there is no sentence of {length} words{known}; ask for another length")
        state = 0
        drawn = []
        for left in range(length, 0, -1):
            edges = slice(self._first[state], self._first[state + 1])
            weights = self._logs[edges] + self._layers[left - 1][self._targets[edges]]
            # Relative to the largest, so that the likeliest edges never underflow.
            cumulative = np.cumsum(np.exp(weights - weights.max()))
            place = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
            edge = int(self._first[state]) + min(place, len(cumulative) - 1)
            drawn.append(int(self._words[edge]))
            state = int(self._targets[edge])
        return tuple(drawn)
