"""Drawing words and near misses of a regular language uniformly, by length: exact choices, rough counts.

A uniformly random accepted word of length t is drawn letter by letter: from state q, letter a is taken
with the share c(t-1, q·a) / c(t, q), where c counts the accepted words of a length from a state. The
counts have as many digits as the word has letters, so they are kept as floating-point numbers here. The
result is exactly uniform all the same: a random point that falls so near to the border between two
letters that the rounding errors could matter is settled with exact integers. At each letter this happens
with a probability of about 2 k `error_bound`: for two letters and words of length 10,000, once in tens of
millions of words.

Implements: [DeniseZimmermann1999]

Every function here is exactly uniform, at every length: see `letter_shares`. Time is proportional to the
length times the number of transitions; the tables of the automata used last are kept.

Near misses are rejected words that are a few edits away from an accepted word, uniform over edit scripts. A
script rewrites an accepted word from left to right; each step keeps a letter, replaces it by another one,
inserts a letter or deletes one, and at most a given number of steps are not "keep". All scripts whose result
has the wanted length and is rejected are equally likely; a rejected word is therefore drawn in proportion to
the number of scripts that lead to it. Scripts are first drawn without the condition "rejected" until one
satisfies it, which is fast for most languages at any length. If that fails too often, the scripts that do
satisfy it are drawn from an automaton that reads scripts. Both ways have the same distribution.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, InputError
from nerode.languages.alphabet import Word
from nerode.languages.determinise import minimise, trim
from nerode.languages.dfa import Dfa, IntArray
from nerode.languages.operations import is_empty, prefix_closure

Floats = npt.NDArray[np.float64]

_UNIT = 2.0**-53
"""Half the distance from 1 to the next floating-point number; also the grain of `Generator.random`."""

_NEVER = -(2**30)
"""The binary exponent that goes with a count of zero."""

_ROWS = 256
"""Lengths in a block; the first row of each block is kept, the others are computed again when needed."""

_BLOCK_BYTES = 1 << 24
_KEPT_BYTES = 1 << 24

_SPREAD = 500
"""Counts that differ by at most this power of two are added with one common scale."""

_PLAIN_GROWTH = 400
"""By how many powers of two such counts may grow before they are scaled again; no overflow, no underflow."""


def error_bound(length: int, num_letters: int) -> float:
    """Returns a bound on the error of a border between two shares, with `length` letters still to come.

    Counts are sums of non-negative terms, and scaling by a power of two is exact. So each of the `length`
    sums of k terms adds a relative error of at most (k - 1) u, u = 2⁻⁵³, and a border, the quotient of two
    such counts, has an error of at most 2 (k - 1) u times `length` to first order. The rest of the bound
    covers the second order (as long as k times `length` is below 10¹³), the rounding of the quotient and of
    the comparison, and the grain u of the random point.
    """
    return (2.5 * max(0, num_letters - 1) * length + 8) * _UNIT


class LetterShares:
    """The shares of the letters for each state and each length still to come, computed as far as needed.

    A count is a mantissa in [1/2, 1) and a binary exponent of its own, so that no count is lost beside
    another one that is larger by any factor.
    """

    def __init__(self, dfa: Dfa) -> None:
        self.dfa = trim(dfa)
        n, k = self.dfa.num_states, self.dfa.num_letters
        self._targets = np.ascontiguousarray(self.dfa.transitions.T)
        self._lists: list[list[int]] = self.dfa.transitions.tolist()
        row_bytes = 8 * n * max(2, k)
        self._rows = max(1, min(_ROWS, _BLOCK_BYTES // row_bytes))
        self._plain_rows = max(1, int(_PLAIN_GROWTH / math.log2(max(2, k))))
        self._kept: dict[int, Floats] = {}
        self._most_kept = max(1, _KEPT_BYTES // (self._rows * row_bytes))
        mantissas = np.where(self.dfa.accepting, 0.5, 0.0)
        exponents = np.where(self.dfa.accepting, 1, _NEVER).astype(np.int32)
        self._firsts = [(mantissas, exponents)]
        self._totals = [(float(mantissas[self.dfa.start]), int(exponents[self.dfa.start]))]

    def approximate_count(self, length: int) -> tuple[float, int]:
        """Returns (m, e) such that about m·2ᵉ words have this length; m is 0 exactly when none has."""
        while len(self._totals) <= length:
            self._borders(len(self._firsts) - 1)
        return self._totals[length]

    def draw(self, length: int, count: int, rng: np.random.Generator) -> IntArray:
        """Returns `count` independent uniformly random words of a length that has words, one per row."""
        words = np.empty((length, count), dtype=np.int32)
        states = np.full(count, self.dfa.start, dtype=np.int32)
        for first, shares, points in self._blocks(length, (count,), rng):
            error = error_bound(first + len(shares), self.dfa.num_letters)
            for to_come in range(first + len(shares), first, -1):
                point = points[to_come - first - 1]
                beyond = point[:, None] - shares[to_come - first - 1].take(states, axis=0)
                letters = (beyond >= 0).sum(axis=1, dtype=np.int32)
                doubt = np.abs(beyond, out=beyond).min(axis=1, initial=1.0) <= error
                if doubt.any():
                    for i in np.flatnonzero(doubt):
                        letters[i] = self._settled(int(states[i]), to_come, float(point[i]), rng)
                words[length - to_come] = letters
                states = self.dfa.transitions[states, letters]
        return np.ascontiguousarray(words.T)

    def draw_one(self, length: int, rng: np.random.Generator) -> Word:
        """Returns one uniformly random word of a length that has words; `draw` without arrays for one row."""
        word: list[int] = []
        state = self.dfa.start
        for first, shares, points in self._blocks(length, (), rng):
            error = error_bound(first + len(shares), self.dfa.num_letters)
            for row in reversed(range(len(shares))):
                point = float(points[row])
                borders = shares[row, state].tolist()
                letter = bisect.bisect_right(borders, point)
                if any(abs(point - border) <= error for border in borders[max(0, letter - 1) : letter + 1]):
                    letter = self._settled(state, first + row + 1, point, rng)
                word.append(letter)
                state = self._lists[state][letter]
        return tuple(word)

    def _blocks(
        self, length: int, shape: tuple[int, ...], rng: np.random.Generator
    ) -> Iterator[tuple[int, Floats, Floats]]:
        """Yields the first length, the borders and a random point for each row, from `length` downwards."""
        self.approximate_count(length)
        for number in reversed(range(-(-length // self._rows))):
            first = number * self._rows
            rows = min(self._rows, length - first)
            yield first, self._borders(number)[:rows], rng.random((rows, *shape))

    def _settled(self, state: int, to_come: int, point: float, rng: np.random.Generator) -> int:
        """Returns the letter that a random point stands for, by exact counts."""
        exact = next(itertools.islice(counts_from_states(self.dfa), to_come - 1, None))
        return settle(exact[self.dfa.transitions[state]].tolist(), point, rng)

    def _borders(self, number: int) -> Floats:
        """Returns the borders between the letters in a block, by length to come, state and letter."""
        if number in self._kept:
            return self._kept[number]
        mantissas, exponents = self._counts(number)
        if number + 1 == len(self._firsts):
            self._firsts.append((mantissas[-1].copy(), exponents[-1].copy()))
            start = self.dfa.start
            self._totals += zip(mantissas[1:, start].tolist(), exponents[1:, start].tolist(), strict=True)
        after = exponents[:-1, self._targets]
        top = after.max(axis=1, keepdims=True, initial=_NEVER)
        sums = np.ldexp(mantissas[:-1, self._targets], after - top).cumsum(axis=1)
        # A total is 0 or at least 1/2; the maximum avoids 0/0 in states that are never visited.
        borders = sums[:, :-1] / np.maximum(sums[:, -1:], 0.5)
        borders = np.ascontiguousarray(borders.transpose(0, 2, 1))
        if len(self._kept) < self._most_kept:
            self._kept[number] = borders
        return borders

    def _counts(self, number: int) -> tuple[Floats, IntArray]:
        """Returns the counts of a block and of the first length after it, by length and state."""
        mantissas = np.empty((self._rows + 1, self.dfa.num_states))
        exponents = np.empty((self._rows + 1, self.dfa.num_states), dtype=np.int32)
        mantissas[0], exponents[0] = self._firsts[number]
        row = 0
        while row < self._rows:
            near = exponents[row].max() - _SPREAD
            if ((exponents[row] >= near) | (exponents[row] == _NEVER)).all():
                end = min(self._rows, row + self._plain_rows)
                self._add_plainly(mantissas[row : end + 1], exponents[row : end + 1])
            else:
                end = row + 1
                self._add_scaled(mantissas[row : end + 1], exponents[row : end + 1])
            row = end
        return mantissas, exponents

    def _add_plainly(self, mantissas: Floats, exponents: IntArray) -> None:
        """Fills all rows from the first one with one common scale, when the counts allow that."""
        scale = exponents[0].max()
        values = np.empty_like(mantissas)
        values[0] = np.ldexp(mantissas[0], exponents[0] - scale)
        for before, row in itertools.pairwise(values):
            np.add.reduce(before.take(self._targets), axis=0, out=row)
        np.frexp(values[1:], mantissas[1:], exponents[1:])
        exponents[1:] = np.where(values[1:] > 0, exponents[1:] + scale, _NEVER)

    def _add_scaled(self, mantissas: Floats, exponents: IntArray) -> None:
        """Fills the second of two rows from the first one, whatever the sizes of the counts."""
        after = exponents[0].take(self._targets)
        top = after.max(axis=0, initial=_NEVER)
        total = np.ldexp(mantissas[0].take(self._targets), after - top).sum(axis=0)
        np.frexp(total, mantissas[1], exponents[1])
        exponents[1] += top


def settle(weights: list[int], point: float, rng: np.random.Generator) -> int:
    """Returns i with probability weights[i] / sum(weights), exactly.

    Args:
        weights: non-negative integers, not all 0.
        point: what `rng.random` gave; its 53 bits are the first bits of a random number in [0, 1), and
            more bits are drawn until they decide.
        rng: where further bits come from.
    """
    borders = list(itertools.accumulate(weights))
    total = borders[-1]
    bits, number = 53, int(point * 2**53)
    while True:
        lowest = number * total >> bits
        highest = ((number + 1) * total - 1) >> bits
        choice = next(i for i, border in enumerate(borders) if lowest < border)
        if highest < borders[choice]:
            return choice
        number = number << 64 | int.from_bytes(rng.bytes(8), "little")
        bits += 64


BigIntegers = npt.NDArray[np.object_]
"""An array of Python integers, which have no upper limit."""


def count_words(dfa: Dfa, length: int) -> int:
    """Returns the number of accepted words of exactly this length."""
    return next(itertools.islice(_counts(dfa), check_length(length), None))


def counts_from_states(dfa: Dfa) -> Iterator[BigIntegers]:
    """Yields, for length 0, 1, …, the numbers of words of that length that lead each state to acceptance."""
    counts = np.array([int(accepting) for accepting in dfa.accepting], dtype=object)
    while True:
        yield counts
        counts = counts[dfa.transitions].sum(axis=1)


def nearest_lengths(dfa: Dfa, length: int) -> tuple[int | None, int | None]:
    """Returns the nearest lengths below and above `length` that have accepted words, None where none has."""
    dfa = trim(dfa)
    below = None
    possible = dfa.accepting
    # Above `length` no gap is longer than the number of states: from a shortest word that lies beyond a
    # longer gap a loop could be cut out, and the shorter word would lie inside the gap or at its end.
    for reached in range(length + dfa.num_states + 1):
        if possible[dfa.start] and reached > length:
            return below, reached
        if possible[dfa.start] and reached < length:
            below = reached
        possible = np.logical_or.reduce(possible[dfa.transitions], axis=1)
    return below, None


def no_word_of_length(dfa: Dfa, length: int, *, kind: str = "accepted word") -> InputError:
    """Returns the error that says that no word has this length, and which lengths near it have one."""
    near = [str(found) for found in nearest_lengths(dfa, length) if found is not None]
    if near:
        lengths = f"the nearest {'lengths that have one are' if len(near) > 1 else 'length that has one is'} "
        hint = lengths + " and ".join(near)
    else:
        hint = "the language is empty"
    return InputError(f"no {kind} has length {length}; {hint}")


def check_length(length: int, longest: int | None = None) -> int:
    """Returns a length given by the user, or says what is wrong with it."""
    try:
        number = operator.index(length)
    except TypeError:
        raise InputError(f"the length {length!r} is not an integer; give a number of letters") from None
    if number < 0:
        raise InputError(f"the length {number} is negative; give 0 or more")
    if longest is not None and number > longest:
        raise InputError(f"the length {number:,} is too large; at most {longest:,} letters are possible here")
    return number


def _counts(dfa: Dfa) -> Iterator[int]:
    dfa = trim(dfa)
    return (int(counts[dfa.start]) for counts in counts_from_states(dfa))


_AUTOMATA_KEPT = 16

LONGEST = 10_000_000
"""Most letters of one word that is drawn."""


def sample_accepted(dfa: Dfa, length: int, rng: np.random.Generator) -> Word:
    """Returns a uniformly random accepted word of exactly this length.

    Raises:
        InputError: if no accepted word has this length; it says which lengths near it have one.
    """
    return _accepted_shares(dfa, length).draw_one(length, rng)


def sample_accepted_batch(dfa: Dfa, length: int, count: int, rng: np.random.Generator) -> IntArray:
    """Returns independent uniformly random accepted words of exactly this length, as `[count, length]`.

    Raises:
        InputError: if no accepted word has this length; it says which lengths near it have one.
    """
    return _accepted_shares(dfa, length).draw(length, check_count(count), rng)


def sample_prefix_batch(dfa: Dfa, length: int, count: int, rng: np.random.Generator) -> IntArray:
    """Returns independent uniformly random prefixes of accepted words, as `[count, length]`.

    Raises:
        InputError: if no accepted word is as long as this.
    """
    return _prefix_shares(dfa, length).draw(length, check_count(count), rng)


@functools.lru_cache(maxsize=_AUTOMATA_KEPT)
def letter_shares(dfa: Dfa) -> LetterShares:
    """Returns the tables of an automaton, from which words are drawn."""
    return LetterShares(dfa)


@functools.lru_cache(maxsize=_AUTOMATA_KEPT)
def _shares_of_prefixes(dfa: Dfa) -> LetterShares:
    return LetterShares(prefix_closure(dfa))


def _accepted_shares(dfa: Dfa, length: int) -> LetterShares:
    """Returns the tables of an automaton that has an accepted word of this length."""
    shares = letter_shares(dfa)
    if not shares.approximate_count(check_length(length, LONGEST))[0]:
        raise no_word_of_length(dfa, length)
    return shares


def _prefix_shares(dfa: Dfa, length: int) -> LetterShares:
    """Returns the tables for the prefixes, of which one has this length."""
    shares = _shares_of_prefixes(dfa)
    if not shares.approximate_count(check_length(length, LONGEST))[0]:
        raise no_word_of_length(shares.dfa, length, kind="prefix of an accepted word")
    return shares


def check_count(count: int) -> int:
    """Returns a number of words given by the user, or says what is wrong with it."""
    if count < 0:
        raise InputError(f"{count} words cannot be drawn; give 0 or more")
    return int(count)


_MOST_EDITS = 32
"""The kinds of edits can be mixed in about n³/6 ways, all of which are weighed."""

_ROUNDS = (1, 7, 56, 192)
"""How many scripts are drawn at a time."""

_MOST_LETTERS = 1 << 22
"""Letters drawn in vain, about, before the automaton of scripts is built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """The numbers of edits of each kind in a script, and the accepted words it may belong to.

    Attributes:
        source_length: length of the accepted word.
        scripts_per_word: number of scripts of this shape for each accepted word.
    """

    replaced: int
    inserted: int
    deleted: int
    source_length: int
    scripts_per_word: int


def sample_near_miss(
    dfa: Dfa, length: int, edits: int, rng: np.random.Generator, budget: Budget | None = None
) -> Word:
    """Returns a rejected word of exactly this length, at most `edits` edits away from an accepted word.

    Not uniform over such words, but uniform over the edit scripts that lead to them (see the module).

    Args:
        dfa: the language.
        length: number of letters of the result; the accepted word may be longer or shorter.
        edits: most letters replaced, inserted or deleted, together.
        rng: where the randomness comes from.
        budget: limits the automaton of scripts, which is built only if drawing and rejecting fails.

    Raises:
        InputError: if there is no such word.
        BudgetExceeded: if that could not be decided within the budget.
    """
    length = check_length(length, LONGEST - _MOST_EDITS)
    if not 1 <= edits <= _MOST_EDITS:
        raise InputError(f"{edits} edits were asked for; a near miss has 1 to {_MOST_EDITS}")
    shapes = list(_shapes(length, edits, dfa.num_letters))
    shares = letter_shares(dfa)
    if not any(shares.approximate_count(shape.source_length)[0] for shape in shapes):
        error = no_word_of_length(dfa, length)
        raise InputError(f"nothing is within {edits} edits of an accepted word at this length: {error}")
    drawn = 0
    for count in _ROUNDS:
        if drawn > _MOST_LETTERS:
            break
        drawn += count * length
        for word in _edited_words(dfa, shapes, count, rng):
            if not dfa.accepts(word):
                return word
    return _by_automaton(dfa, length, edits, rng, budget)


def _shapes(length: int, edits: int, num_letters: int) -> Iterator[_Shape]:
    """Yields all ways to spend at most `edits` edits on a result of this length."""
    for replaced, inserted, deleted in itertools.product(range(edits + 1), repeat=3):
        kept = length - replaced - inserted
        if kept < 0 or replaced + inserted + deleted > edits:
            continue
        orders = (
            math.comb(length + deleted, deleted)
            * math.comb(length, inserted)
            * math.comb(length - inserted, replaced)
        )
        scripts = orders * max(0, num_letters - 1) ** replaced * num_letters**inserted
        if scripts:
            yield _Shape(
                replaced=replaced,
                inserted=inserted,
                deleted=deleted,
                source_length=length - inserted + deleted,
                scripts_per_word=scripts,
            )


def _edited_words(dfa: Dfa, shapes: list[_Shape], count: int, rng: np.random.Generator) -> Iterator[Word]:
    """Yields the results of independent scripts, each uniformly random among those of all shapes."""
    chosen = _choose_shapes(dfa, shapes, count, rng)
    pending = {
        length: iter(sample_accepted_batch(dfa, length, sum(s.source_length == length for s in chosen), rng))
        for length in sorted({shape.source_length for shape in chosen})
    }
    for shape in chosen:
        yield _edit(next(pending[shape.source_length]), shape, dfa.num_letters, rng)


def _choose_shapes(dfa: Dfa, shapes: list[_Shape], count: int, rng: np.random.Generator) -> list[_Shape]:
    """Returns random shapes, in proportion to their numbers of scripts, exactly."""
    shares = letter_shares(dfa)
    sizes = []
    for shape in shapes:
        mantissa, exponent = shares.approximate_count(shape.source_length)
        shift = max(0, shape.scripts_per_word.bit_length() - 64)
        sizes.append((mantissa * float(shape.scripts_per_word >> shift), exponent + shift))
    top = max(exponent for mantissa, exponent in sizes if mantissa)
    weights = [math.ldexp(mantissa, exponent - top) if mantissa else 0.0 for mantissa, exponent in sizes]
    borders = np.cumsum(weights) / math.fsum(weights)
    points = rng.random(count)
    # The counts at the start have gone through as many additions as the longest words have letters; the
    # weights add a few roundings for each shape.
    longest = max(shape.source_length for shape in shapes)
    error = error_bound(longest, dfa.num_letters) + error_bound(1, len(shapes))
    chosen = []
    for point in points:
        index = int(np.searchsorted(borders[:-1], point, side="right"))
        if np.abs(borders[:-1] - point).min(initial=1.0) <= error:
            exact = [shape.scripts_per_word * count_words(dfa, shape.source_length) for shape in shapes]
            index = settle(exact, float(point), rng)
        chosen.append(shapes[index])
    return chosen


def _edit(word: np.ndarray, shape: _Shape, num_letters: int, rng: np.random.Generator) -> Word:
    """Returns the result of a uniformly random script of one shape on one word."""
    steps = shape.source_length + shape.inserted
    places = rng.choice(steps, shape.replaced + shape.inserted + shape.deleted, replace=False)
    replaced = places[: shape.replaced]
    inserted = places[shape.replaced : shape.replaced + shape.inserted]
    deleted = places[shape.replaced + shape.inserted :]
    letters = np.empty(steps, dtype=np.int64)
    letters[np.delete(np.arange(steps), inserted)] = word
    letters[inserted] = rng.integers(0, num_letters, shape.inserted)
    if shape.replaced:
        letters[replaced] += rng.integers(1, num_letters, shape.replaced)
        letters[replaced] %= num_letters
    return tuple(np.delete(letters, deleted).tolist())


def _by_automaton(dfa: Dfa, length: int, edits: int, rng: np.random.Generator, budget: Budget | None) -> Word:
    """Returns the result of a uniformly random script, drawn from the automaton of scripts."""
    return NearMissScripts(dfa, edits, budget).words(length, 1, rng)[0]


class NearMissScripts:
    """The automaton of scripts of a language, for many near misses of many lengths.

    Args:
        dfa: the language.
        edits: most letters replaced, inserted or deleted, together.
        budget: limits the automaton.

    Raises:
        BudgetExceeded: if the automaton has more states than the budget allows.
    """

    def __init__(self, dfa: Dfa, edits: int, budget: Budget | None = None) -> None:
        automaton, self._read = script_automaton(dfa, edits, budget)
        self._scripts = minimise(automaton)
        self._edits = edits

    def words(self, length: int, count: int, rng: np.random.Generator) -> list[Word]:
        """Returns rejected words of a length, each by a uniformly random script.

        Raises:
            InputError: if there is none.
        """
        scripts, steps = self._scripts, length + self._edits
        if is_empty(scripts) or not letter_shares(scripts).approximate_count(steps)[0]:
            raise InputError(
                f"every word of length {length} that is at most {self._edits} edits away from an accepted "
                "word is itself accepted; try another length or more edits"
            )
        return [self._read(script) for script in sample_accepted_batch(scripts, steps, count, rng).tolist()]


Step = tuple[int | None, int | None]
"""A letter that is read and a letter that is written; None where nothing is. (None, None) is padding."""

Progress = tuple[int, int, int, int]
"""State after what was read, state after what was written, edits, deletions."""

_PADDING: Step = (None, None)


def script_automaton(
    dfa: Dfa, edits: int, budget: Budget | None = None
) -> tuple[Dfa, Callable[[Sequence[int]], Word]]:
    """Returns an automaton of padded edit scripts, and the function from a script to the word that it writes.

    It accepts the scripts that read an accepted word, write a rejected word and have at most `edits` edits
    (steps that do not write what they read). Padding at the end of a script makes it as long as the word
    that it writes plus `edits`, whatever the number of deletions is, so that one length of scripts belongs
    to one length of words.

    Raises:
        BudgetExceeded: if it has more states than the budget allows.
    """
    letters = range(dfa.num_letters)
    steps: list[Step] = [(a, b) for a in letters for b in letters]
    steps += [(None, b) for b in letters] + [(a, None) for a in letters] + [_PADDING]
    table, live, accepting = dfa.transitions.tolist(), dfa.live.tolist(), dfa.accepting.tolist()

    def is_done(state: Progress) -> bool:
        return accepting[state[0]] and not accepting[state[1]]

    def after(state: Progress | int, symbol: str) -> Progress | int | None:
        read, written = step = steps[int(symbol)]
        if isinstance(state, int):
            return state - 1 if step == _PADDING and state else None
        p, q, used, deleted = state
        if step == _PADDING:
            return edits - deleted - 1 if is_done(state) and deleted < edits else None
        p = p if read is None else table[p][read]
        q = q if written is None else table[q][written]
        used += read != written
        return (p, q, used, deleted + (written is None)) if live[p] and used <= edits else None

    def accepts(state: Progress | int) -> bool:
        return state == 0 if isinstance(state, int) else state[3] == edits and is_done(state)

    automaton = Dfa.build(
        (str(i) for i in range(len(steps))),
        after,
        start=(dfa.start, dfa.start, 0, 0),
        accept=accepts,
        budget=budget,
    )

    def read_script(script: Sequence[int]) -> Word:
        return tuple(written for written in (steps[i][1] for i in script) if written is not None)

    return automaton, read_script
