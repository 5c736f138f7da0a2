"""How the coordinates of diagonal layers move, found by running a network exactly."""

from __future__ import annotations

from collections import deque

import numpy as np

from nerode.core import Exact
from nerode.network import Configuration, Gated, Interpreter, Network, relu

Updates = list[list[set[tuple[Exact, Exact]]]]
"""For each layer and each coordinate, the pairs (gate, write) that it meets; none for other recurrences."""

_SHORT, _WALKS, _LENGTH = 60, 3, 60


def find_updates(network: Network, *, seed: int = 0) -> Updates:
    """Returns the gates and writes on all short words and on random walks through legal letters.

    It is a search, not a proof: a pair that only rarer words bring about is not found. What is built on it
    has to be checked against the language.
    """
    finder = _Finder(network)
    if finder.constant:
        return finder.found
    finder.explore(_SHORT)
    for walk in range(_WALKS):
        finder.wander(_LENGTH, np.random.default_rng([seed, walk]))
    return finder.found


class _Finder:
    def __init__(self, network: Network) -> None:
        self.network = network
        self.interpreter = Interpreter(network)
        self.found: Updates = []
        self.constant = True
        for layer in network.layers:
            rows = layer.recurrence.gate.rows if isinstance(layer.recurrence, Gated) else ()
            self.found.append([set() for _ in rows])
            self.constant = self.constant and not any(rows)

    def explore(self, most: int) -> None:
        """Looks at the first configurations, breadth first."""
        start = self.interpreter.start()
        waiting, seen = deque([start]), {start}
        while waiting:
            configuration = waiting.popleft()
            for letter in range(len(self.network.alphabet)):
                self._look(configuration, letter)
                following = self.interpreter.step(configuration, letter)[0]
                if following not in seen and len(seen) < most:
                    seen.add(following)
                    waiting.append(following)

    def wander(self, length: int, random: np.random.Generator) -> None:
        """Looks along a random word whose letters are legal more often than not."""
        configuration, legal = self.interpreter.start(), self.network.decoder.empty.symbols
        letters = len(self.network.alphabet)
        for _ in range(length):
            letter = int(random.integers(letters))
            if legal and random.random() < 0.9:
                letter = int(random.choice(sorted(legal)))
            self._look(configuration, letter)
            configuration, answer = self.interpreter.step(configuration, letter)
            legal = answer.legal.symbols

    def _look(self, configuration: Configuration, letter: int) -> None:
        stream = self.interpreter.stream(configuration, letter)
        for layer, found in zip(self.network.layers, self.found, strict=True):
            if isinstance(layer.recurrence, Gated):
                reads = [stream[name] for name in layer.reads]
                seen = [*reads, *(relu(v) for v in layer.units(reads))]
                gates, writes = layer.recurrence.gate(seen), layer.recurrence.write(seen)
                for known, gate, write in zip(found, gates, writes, strict=True):
                    known.add((gate, write))
