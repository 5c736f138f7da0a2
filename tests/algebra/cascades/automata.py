"""Random automata of the kinds that cascades are for, all minimal."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from nerode.algebra.groups_inside import find_counter
from nerode.languages import Alphabet, Dfa, minimise

LETTERS = "abcdefgh"

Generator = Callable[[random.Random], Dfa]


def minimal(rows: Sequence[Sequence[int]], accepting: Sequence[bool]) -> Dfa:
    """The minimal automaton of a table, started in state 0."""
    alphabet = Alphabet(tuple(LETTERS[: len(rows[0])]))
    table = np.array(rows, dtype=np.int32)
    return minimise(Dfa(alphabet=alphabet, transitions=table, start=0, accepting=np.array(accepting)))


def _flags(rng: random.Random, n: int) -> list[bool]:
    return [rng.random() < 0.5 for _ in range(n)]


def uniform(rng: random.Random, n: int = 6, k: int = 2) -> Dfa:
    """A uniformly random automaton."""
    return minimal([[rng.randrange(n) for _ in range(k)] for _ in range(n)], _flags(rng, n))


def counter_free(rng: random.Random, n: int = 6, k: int = 2) -> Dfa:
    """A uniformly random automaton among those without counters, by rejection."""
    while True:
        dfa = uniform(rng, n, k)
        if find_counter(dfa) is None:
            return dfa


def order_preserving(rng: random.Random, n: int = 8, k: int = 3) -> Dfa:
    """Letters keep the order of the states, so no word permutes any of them."""
    columns = [sorted(rng.randrange(n) for _ in range(n)) for _ in range(k)]
    return minimal(list(zip(*columns, strict=True)), _flags(rng, n))


def partially_ordered(rng: random.Random, n: int = 8, k: int = 3) -> Dfa:
    """Letters lead upwards or stay: an R-trivial language."""
    rows = [[rng.randrange(q, n) if rng.random() < 0.6 else q for _ in range(k)] for q in range(n)]
    return minimal(rows, _flags(rng, n))


def planted_cascade(rng: random.Random, levels: int = 4, k: int = 3) -> Dfa:
    """The reachable part of a random cascade of flip-flops, with random acceptance."""
    tables: list[dict[tuple[str, tuple[int, ...]], int | None]] = [{} for _ in range(levels)]

    def step(state: tuple[int, ...], symbol: str) -> tuple[int, ...]:
        labels = list(state)
        for i, table in enumerate(tables):
            command = table.setdefault((symbol, state[:i]), rng.choice([None, None, 0, 1]))
            labels[i] = labels[i] if command is None else command
        return tuple(labels)

    dfa = Dfa.build(LETTERS[:k], step, start=(0,) * levels, accept=[])
    return minimal(dfa.transitions.tolist(), _flags(rng, dfa.num_states))


def with_group(rng: random.Random, degree: int = 4, k: int = 3) -> Dfa:
    """Two random permutations of a few states, other random maps, and a few states that lead in."""
    n = degree + rng.randrange(3)
    columns = []
    for letter in range(k):
        column = [rng.randrange(n) for _ in range(n)]
        if letter < 2:
            column[:degree] = rng.sample(range(degree), degree)
        columns.append(column)
    return minimal(list(zip(*columns, strict=True)), _flags(rng, n))


COUNTER_FREE: dict[str, Generator] = {
    "uniform": counter_free,
    "order-preserving": order_preserving,
    "partially ordered": partially_ordered,
    "planted": planted_cascade,
}
