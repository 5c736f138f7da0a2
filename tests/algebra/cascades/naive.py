"""A second reading of the Cascade record, straight from its description and independent of its own `run`."""

from __future__ import annotations

import random
from collections.abc import Sequence

from nerode.algebra.cascades.lookups import Lookup
from nerode.algebra.cascades.records import Add, Cascade, Permute, Reset
from nerode.languages import Dfa, Word


def lookup_value(cascade: Cascade, number: int, world: dict[str, Sequence[int]]) -> int:
    """The value of a lookup where `world` has the letters and the old and new labels; no memory."""
    table: Lookup = cascade.lookups[number]
    values = []
    for kind, index in table.reads:
        values.append(lookup_value(cascade, index, world) if kind == "lookup" else world[kind][index])
    results = [value for literals, value in table.rows if all(values[p] == v for p, v in literals)]
    assert len(results) <= 1, f"{len(results)} rows of {table.name} hold at once"
    if results:
        return results[0]
    return table.otherwise[0] if len(table.otherwise) == 1 else table.otherwise[values[0]]


def naive_trace(cascade: Cascade, word: Sequence[int]) -> list[int]:
    """The states that a cascade says before, between and after the letters of a word."""
    labels = [level.start for level in cascade.levels]
    states = []
    for symbol in [*word, None]:
        states.append(lookup_value(cascade, cascade.state, {"new": labels}))
        if symbol is None:
            return states
        world: dict[str, Sequence[int]] = {"letter": [symbol], "old": labels}
        following = []
        for level, label in zip(cascade.levels, labels, strict=True):
            command = level.commands[lookup_value(cascade, level.context, world)]
            if isinstance(command, Reset):
                label = command.label
            elif isinstance(command, Add):
                label = (label + command.amount) % level.num_labels
            elif isinstance(command, Permute):
                label = command.images[label]
            following.append(label)
        labels = following
    raise AssertionError("not reached")


def assert_runs(cascade: Cascade, dfa: Dfa, *, num_words: int = 3, length: int = 25, seed: int = 0) -> None:
    """Compares the cascade with the automaton on random words, by the naive reading."""
    rng = random.Random(seed)
    assert cascade.num_states == dfa.num_states
    for _ in range(num_words):
        word: Word = tuple(rng.randrange(dfa.num_letters) for _ in range(length if dfa.num_letters else 0))
        assert naive_trace(cascade, word) == list(dfa.trace(word))
