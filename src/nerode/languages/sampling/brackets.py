"""Drawing bracket words by length: paths first, then the kinds of brackets."""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.languages.alphabet import Word
from nerode.languages.dfa import Dfa
from nerode.languages.sampling.counters import even_half, first_return, log_sum
from nerode.languages.sampling.uniform import sample_accepted

Logs = npt.NDArray[np.float64]


def sample_path(length: int, rng: np.random.Generator, max_depth: int | None) -> list[bool]:
    """Returns a uniformly random balanced path (True opens), of depth at most `max_depth` if given."""
    half = even_half(length)
    if max_depth is None or max_depth >= half:
        steps = np.array([1] * half + [-1] * (half + 1))
        steps = rng.permutation(steps)
        opens: list[bool] = (np.roll(steps, -first_return(steps))[:-1] > 0).tolist()
        return opens
    if max_depth < 1:
        raise InputError(f"no word of length {length} has depth at most {max_depth}; the nearest length is 0")
    return [letter == 0 for letter in sample_accepted(depth_automaton(max_depth), length, rng)]


@functools.lru_cache(maxsize=32)
def depth_automaton(max_depth: int) -> Dfa:
    """Returns the automaton of balanced words over ( and ) of depth at most `max_depth`."""

    def step(depth: int, symbol: str) -> int | None:
        moved = depth + 1 if symbol == "(" else depth - 1
        return moved if 0 <= moved <= max_depth else None

    return Dfa.build(("(", ")"), step, start=0, accept=[0])


def sample_dyck(k: int, length: int, rng: np.random.Generator, max_depth: int | None) -> Word:
    """Returns a uniformly random balanced word of k kinds of brackets; letters are open, close by kind.

    Every path carries the same number k^(length/2) of words, so the path and the kinds are independent.
    """
    path = sample_path(length, rng, max_depth)
    kinds = iter(rng.integers(0, k, size=length // 2).tolist())
    stack: list[int] = []
    word = []
    for opens in path:
        if opens:
            stack.append(next(kinds))
            word.append(2 * stack[-1])
        else:
            word.append(2 * stack.pop() + 1)
    return tuple(word)


def sample_shuffle(k: int, length: int, rng: np.random.Generator, max_depth: int | None) -> Word:
    """Returns a random shuffle of k balanced words, one of each kind.

    The numbers of pairs n₁ … n_k are drawn with weight (2n)!/∏(2nᵢ)! · ∏ paths(nᵢ), then a path for each
    kind and an interleaving are drawn uniformly, which makes the word uniform. The weights are sums of
    float64 logarithms, so that probabilities are off by a relative error of about 1e-10.
    """
    half = even_half(length)
    sums = _shuffle_weights(k, half, max_depth)
    if math.isinf(sums[-1][half]):
        raise InputError(f"no word of length {length} has depth at most {max_depth}; the nearest length is 0")
    pairs = []
    for kinds in range(k, 1, -1):
        terms = sums[0][: half + 1] + sums[kinds - 2][half::-1]
        chances = np.exp(terms - terms.max())
        pairs.append(int(rng.choice(half + 1, p=chances / chances.sum())))
        half -= pairs[-1]
    pairs.append(half)
    places = rng.permutation(np.repeat(np.arange(k), 2 * np.array(pairs)))
    paths = [iter(sample_path(2 * n, rng, max_depth)) for n in pairs]
    return tuple(2 * kind + (0 if next(paths[kind]) else 1) for kind in places.tolist())


@functools.lru_cache(maxsize=16)
def _shuffle_weights(k: int, half: int, max_depth: int | None) -> tuple[Logs, ...]:
    """Row i, entry n: the logarithm of (shuffles of i+1 kinds with n pairs) / (2n)!."""
    one = np.array([logs - math.lgamma(2 * n + 1) for n, logs in enumerate(_log_paths(half, max_depth))])
    rows = [one]
    for _ in range(k - 1):
        previous = rows[-1]
        rows.append(np.array([log_sum(one[: n + 1] + previous[n::-1]) for n in range(half + 1)]))
    return tuple(rows)


def _log_paths(half: int, max_depth: int | None) -> list[float]:
    """The logarithms of the numbers of balanced paths with 0 … half pairs and bounded depth."""
    if max_depth is None or max_depth >= half:
        return [math.lgamma(2 * n + 1) - math.lgamma(n + 1) - math.lgamma(n + 2) for n in range(half + 1)]
    at_depth = [1] + [0] * max(0, max_depth)
    numbers = [1]
    for _ in range(half):
        for _ in range(2):
            padded = [0, *at_depth, 0]
            at_depth = [padded[d] + padded[d + 2] for d in range(len(at_depth))]
        numbers.append(at_depth[0])
    return [math.log(number) if number else -math.inf for number in numbers]
