"""Random automata of the subregular kinds that real specifications have, up to 600 states and 64 letters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nerode.core import Budget, BudgetExceeded
from nerode.languages import Alphabet, Dfa, minimise
from nerode.languages.operations import complement, concatenate, intersection, union

Rng = np.random.Generator
MOST_STATES = 600
ALPHABET_SIZES = (4, 16, 64)
LIMIT = Budget(states=2 * MOST_STATES, seconds=1e6)


def symbols(k: int) -> tuple[str, ...]:
    return tuple(f"a{i}" for i in range(k))


def random_factors(rng: Rng, k: int, count: int, length: int) -> list[tuple[str, ...]]:
    names = symbols(k)
    return [
        tuple(names[int(i)] for i in rng.integers(0, k, int(rng.integers(1, length + 1))))
        for _ in range(count)
    ]


def beginnings(factors: list[tuple[str, ...]]) -> frozenset[tuple[str, ...]]:
    return frozenset(f[:i] for f in factors for i in range(len(f) + 1))


def longest_end(window: tuple[str, ...], known: frozenset[tuple[str, ...]]) -> tuple[str, ...]:
    return next(window[i:] for i in range(len(window) + 1) if window[i:] in known)


def saturating_counts(
    k: int,
    factors: list[tuple[str, ...]],
    threshold: int,
    tier: frozenset[str],
    accept: Callable[[Any], bool],
) -> Dfa:
    """Counts occurrences of factors up to a threshold, among the letters of a tier."""
    known = beginnings(factors)

    def step(state: tuple[Any, Any], symbol: str) -> tuple[Any, Any]:
        if symbol not in tier:
            return state
        window, counts = (*state[0], symbol), state[1]
        counts = tuple(
            min(threshold, count + (window[-len(f) :] == f)) for f, count in zip(factors, counts, strict=True)
        )
        return longest_end(window, known), counts

    return Dfa.build(
        symbols(k), step, start=((), (0,) * len(factors)), accept=lambda s: accept(s[1]), budget=LIMIT
    )


def avoiding(k: int, factors: list[tuple[str, ...]], tier: frozenset[str]) -> Dfa:
    """Accepts words without certain factors among the letters of a tier."""
    known, forbidden = beginnings(factors), frozenset(factors)

    def step(window: tuple[str, ...], symbol: str) -> tuple[str, ...] | None:
        if symbol not in tier:
            return window
        window = (*window, symbol)
        if any(window[i:] in forbidden for i in range(len(window))):
            return None
        return longest_end(window, known)

    return Dfa.build(symbols(k), step, start=(), accept=lambda window: True, budget=LIMIT)


def subsequence_positions(k: int, pieces: list[tuple[str, ...]], accept: Callable[[Any], bool]) -> Dfa:
    """Follows how much of each piece has been seen as a subsequence."""

    def step(state: tuple[int, ...], symbol: str) -> tuple[int, ...]:
        return tuple(i + (i < len(p) and p[i] == symbol) for p, i in zip(pieces, state, strict=True))

    return Dfa.build(symbols(k), step, start=(0,) * len(pieces), accept=accept, budget=LIMIT)


def random_tier(rng: Rng, k: int) -> frozenset[str]:
    if rng.random() < 0.5:
        return frozenset(symbols(k))
    return frozenset(s for s in symbols(k) if rng.random() < 0.7) or frozenset(symbols(k)[:1])


def random_truth(rng: Rng) -> Callable[[Any], bool]:
    """A random Boolean function of hashable values, drawn as they come."""
    answers: dict[Any, bool] = {}
    return lambda value: answers.setdefault(value, bool(rng.random() < 0.5))


def strictly_local(rng: Rng, k: int) -> Dfa:
    factors = random_factors(rng, k, int(rng.integers(1, 100)), 8)
    return avoiding(k, [f for f in factors if len(f) > 2] or factors[:1], random_tier(rng, k))


def locally_testable(rng: Rng, k: int) -> Dfa:
    factors = random_factors(rng, k, int(rng.integers(2, 7)), 4)
    return saturating_counts(k, factors, 1, random_tier(rng, k), random_truth(rng))


def threshold_testable(rng: Rng, k: int) -> Dfa:
    factors = random_factors(rng, k, int(rng.integers(1, 4)), 3)
    return saturating_counts(k, factors, int(rng.integers(2, 6)), random_tier(rng, k), random_truth(rng))


def piecewise_testable(rng: Rng, k: int) -> Dfa:
    pieces = random_factors(rng, k, int(rng.integers(1, 4)), 6)
    return subsequence_positions(k, pieces, random_truth(rng))


def strictly_piecewise(rng: Rng, k: int) -> Dfa:
    pieces = random_factors(rng, k, int(rng.integers(1, 5)), 5)
    lengths = tuple(map(len, pieces))
    return subsequence_positions(k, pieces, lambda s: all(i < n for i, n in zip(s, lengths, strict=True)))


def star_free_expression(rng: Rng, k: int, depth: int = 6) -> Dfa:
    """A random expression from letters with union, intersection, complement and concatenation."""
    if depth == 0 or rng.random() < 0.1:
        chosen = frozenset(s for s in symbols(k) if rng.random() < 0.4)
        ending = rng.random() < 0.5
        return Dfa.build(
            symbols(k),
            lambda state, s: 1 if s in chosen and (ending or state == 0) else 0 if ending else None,
            start=0,
            accept=[1],
        )
    left = star_free_expression(rng, k, depth - 1)
    kind = rng.integers(4)
    if kind == 0:
        return minimise(complement(left))
    right = star_free_expression(rng, k, depth - 1)
    operation = (union, intersection, concatenate)[kind - 1]
    return minimise(operation(left, right))


def bounded_counter(rng: Rng, k: int) -> Dfa:
    """D_n: balanced words of one kind of brackets up to depth n."""
    depth = int(rng.integers(2, 60))
    return Dfa.build(
        "ab",
        lambda d, s: d + 1 if s == "a" and d < depth else d - 1 if s == "b" and d > 0 else None,
        start=0,
        accept=[0],
    )


def order_preserving(rng: Rng, k: int) -> Dfa:
    n, letters = int(rng.integers(5, 21)), 3
    return Dfa(
        alphabet=Alphabet(symbols(letters)),
        transitions=np.sort(rng.integers(0, n, (n, letters)), axis=0),
        start=0,
        accepting=rng.random(n) < 0.5,
    )


def with_a_counter(rng: Rng, k: int) -> Dfa:
    """A strictly local language whose words also have a number of letters divisible by m."""
    m = int(rng.integers(2, 8))
    chosen = frozenset(s for s in symbols(k) if rng.random() < 0.5) or frozenset(symbols(k)[:1])
    counter = Dfa.build(symbols(k), lambda i, s: (i + (s in chosen)) % m, start=0, accept=[0])
    return intersection(strictly_local(rng, k), counter)


KINDS: dict[str, Callable[[Rng, int], Dfa]] = {
    "strictly local": strictly_local,
    "locally testable": locally_testable,
    "threshold testable": threshold_testable,
    "piecewise testable": piecewise_testable,
    "strictly piecewise": strictly_piecewise,
    "star-free expression": star_free_expression,
    "bounded counter": bounded_counter,
    "order preserving": order_preserving,
    "with a counter": with_a_counter,
}


def automata(number: int, seed: int = 0) -> Iterator[tuple[str, Dfa]]:
    """Yields minimal automata with at least 3 and at most 600 states, the kinds in turn."""
    rng = np.random.default_rng(seed)
    found = 0
    for kind, k in itertools.cycle(itertools.product(KINDS, ALPHABET_SIZES)):
        if found == number:
            return
        try:
            dfa = minimise(KINDS[kind](rng, k))
        except BudgetExceeded:
            continue
        if 3 <= dfa.num_states <= MOST_STATES:
            found += 1
            yield kind, dfa
