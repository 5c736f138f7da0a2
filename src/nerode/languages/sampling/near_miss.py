"""Drawing rejected words that are a few edits away from an accepted word.

The distribution is uniform over edit scripts. A script rewrites an accepted word from left to right; each
step keeps a letter, replaces it by another one, inserts a letter or deletes one, and at most a given
number of steps are not "keep". All scripts whose result has the wanted length and is rejected are equally
likely; a rejected word is therefore drawn in proportion to the number of scripts that lead to it.

Scripts are first drawn without the condition "rejected" until one satisfies it, which is fast for most
languages at any length. If that fails too often, the scripts that do satisfy it are drawn from an
automaton that reads scripts. Both ways have the same distribution, so it does not matter which one is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nerode.core import Budget, InputError
from nerode.languages.alphabet import Word
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from nerode.languages.operations import is_empty
from nerode.languages.sampling.shares import (
    LONGEST,
    check_length,
    count_words,
    error_bound,
    letter_shares,
    no_word_of_length,
    sample_accepted_batch,
    settle,
)

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
