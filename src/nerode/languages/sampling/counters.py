"""Drawing words of counter and bracket languages by length."""

from __future__ import annotations

import bisect
import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.languages.alphabet import Word
from nerode.languages.dfa import Dfa
from nerode.languages.sampling.shares import sample_accepted

Steps = npt.NDArray[np.int64]

_GRID = 4096
"""Denominator of the tilt x in `_tilted_weights`: fine enough for words of a million letters, and coarse
enough for the weights of operators up to arity 5 to fit into 63 bits."""

_DRAWS = 1 << 20
"""Letters drawn at a time."""


def first_return(steps: Steps) -> int:
    """Returns where to begin so that the partial sums stay at 0 or above until the very last step.

    The steps are -1 or more and add up to -1. Then exactly one of their rotations is such, and it begins
    after the first lowest point; so a uniformly random sequence of given steps, rotated, is a uniformly
    random path.

    Implements: [DvoretzkyMotzkin1947]
    """
    return int(np.argmin(np.cumsum(steps))) + 1


def sample_expression(arity: int, length: int, rng: np.random.Generator, max_depth: int | None) -> Word:
    """Returns a uniformly random prefix expression of this length.

    Letters are drawn independently, with weights proportional to x^(arity of the letter), until the
    arities add up to length - 1. All sequences with that sum have the same weight, so the one found is
    uniform among them, and its rotation (`first_return`) is uniform among the expressions. The weights are
    integers: nothing is rounded. The number of attempts grows like the square root of the length.
    """
    refuse_depth(max_depth, "a Boolean expression")
    if length < 1:
        raise InputError(f"there is no expression of length {length}; the shortest has length 1")
    # Letter i < arity is the operator of arity i+1; the last two are the operands.
    step_of = np.array([*range(arity), -1, -1])
    bounds = np.cumsum(_tilted_weights(arity))
    rows = max(1, min(64, _DRAWS // length))
    while True:
        draws = rng.integers(0, bounds[-1], size=(rows, length))
        letters = np.searchsorted(bounds, draws, side="right")
        found = np.flatnonzero(step_of[letters].sum(axis=1) == -1)
        if len(found):
            word = letters[found[0]]
            return tuple(np.roll(word, -first_return(step_of[word])).tolist())


@functools.cache
def _tilted_weights(arity: int) -> npt.NDArray[np.int64]:
    """Integer weights of the letters, tilted so that the mean arity of a letter is just above 1."""

    def weights(x: int) -> list[int]:
        powers = [x**k * _GRID ** (arity - k) for k in range(arity + 1)]
        return [*powers[1:], powers[0], powers[0]]

    def excess(x: int) -> int:
        arities = [*range(1, arity + 1), 0, 0]
        return sum((k - 1) * w for k, w in zip(arities, weights(x), strict=True))

    # The tilt is x/_GRID, and below 2: at 2 even a single binary operator outweighs both operands.
    x = bisect.bisect_left(range(2 * _GRID), 0, key=excess)
    return np.array(weights(x), dtype=np.int64)


def sample_blocks(letters: int, length: int, rng: np.random.Generator, max_depth: int | None) -> Word:
    """Returns the only word of this length."""
    refuse_depth(max_depth, "a word of equal blocks")
    n, rest = divmod(length, letters)
    if rest or n < 1:
        nearest = [n * letters, (n + 1) * letters] if n >= 1 else [letters]
        raise InputError(
            f"there is no word of length {length}; lengths are multiples of {letters}, from {letters} on, "
            f"the nearest {' and '.join(map(str, nearest))}"
        )
    return tuple(letter for letter in range(letters) for _ in range(n))


def sample_majority(length: int, rng: np.random.Generator, max_depth: int | None) -> Word:
    """Returns a uniformly random word with more 1s than 0s.

    A fair word is drawn again if it is a tie, and its letters are exchanged if the 0s win: every word
    with more 1s comes from exactly two fair words.
    """
    refuse_depth(max_depth, "a majority word")
    if length < 1:
        raise InputError(f"there is no word of length {length}; the shortest has length 1")
    while True:
        word = rng.integers(0, 2, size=length)
        ones = int(word.sum())
        if 2 * ones != length:
            return tuple((word if 2 * ones > length else 1 - word).tolist())


def refuse_depth(max_depth: int | None, what: str) -> None:
    """Raises InputError if a bound on the depth was given for something that has none."""
    if max_depth is not None:
        raise InputError(f"{what} has no bracket depth, but max_depth={max_depth} was given; leave it out")


def even_half(length: int) -> int:
    """Returns half of an even length.

    Raises:
        InputError: if the length is odd or negative.
    """
    if length < 0:
        raise InputError(f"there is no word of length {length}; the nearest possible length is 0")
    if length % 2:
        raise InputError(
            f"there is no word of length {length}: bracket words have even length, "
            f"the nearest are {length - 1} and {length + 1}"
        )
    return length // 2


def log_sum(terms: npt.NDArray[np.float64]) -> float:
    """Returns the logarithm of the sum of the exponentials."""
    top = float(terms.max())
    return top if math.isinf(top) else top + math.log(float(np.exp(terms - top).sum()))


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


class ConfigurationSampler:
    """Draws words of a counter machine uniformly by length, by counting the ways from each configuration.

    Args:
        machine: with `start`, `alphabet`, `reads_last`, `allowed` and `add`.
    """

    most = 200_000
    """Configurations of one length that are counted."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine
        self._ways = functools.lru_cache(maxsize=32)(self._count)

    def __call__(self, length: int, rng: np.random.Generator, max_depth: int | None) -> Word:
        """Returns a uniformly random word of this length."""
        refuse_depth(max_depth, "a counter program")
        levels, ways = self._ways(length)
        configuration = (-1, self._machine.start)
        if not ways[0].get(configuration):
            raise InputError(f"the counter program has no word of length {length}")
        word = []
        for step in range(length):
            moves = [(a, after) for a, after in levels[step][configuration] if ways[step + 1].get(after)]
            counts = [ways[step + 1][after] for _, after in moves]
            # Numbers of ways grow beyond 64 bits; their shares need not be exact to the last of them.
            total = sum(counts)
            shares = np.array([count / total for count in counts])
            letter, configuration = moves[int(rng.choice(len(moves), p=shares / shares.sum()))]
            word.append(letter)
        return tuple(word)

    def _count(self, length: int) -> tuple[list[dict[Any, Any]], list[dict[Any, int]]]:
        machine, level = self._machine, {(-1, self._machine.start)}
        levels: list[dict[Any, Any]] = []
        seen = 0
        for _ in range(length):
            moves = {}
            for last, counters in level:
                letters = sorted(machine.allowed(last, counters)[0])
                moves[last, counters] = [
                    (a, (a if machine.reads_last else -1, machine.add(counters, a))) for a in letters
                ]
            levels.append(moves)
            level = {after for row in moves.values() for _, after in row}
            seen += len(level)
            if seen > self.most:
                raise InputError(
                    f"words of length {length} have more than {self.most:,} configurations; draw shorter ones"
                )
        ways = [{c: int(machine.allowed(*c)[1]) for c in level}]
        for moves in reversed(levels):
            ways.append({c: sum(ways[-1][after] for _, after in row) for c, row in moves.items()})
        return levels, ways[::-1]
