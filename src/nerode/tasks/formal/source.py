"""Generators of the words of a language, and the letters that may follow each prefix, many at once."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.languages import START, CounterLanguage, CounterMachine, Dfa, Dyck, Language
from nerode.languages.sampling import depth_automaton, even_half, letter_shares, sample_accepted_batch
from nerode.tasks.task import Integers, walk

Bools = npt.NDArray[np.bool_]
"""Bits, as NumPy keeps them."""


def balanced_words(
    kinds: int, depth: int | None, length: int, count: int, rng: np.random.Generator
) -> Integers:
    """Returns uniformly random balanced words; letter 2i opens kind i and letter 2i+1 closes it.

    Args:
        kinds: number of kinds of brackets.
        depth: most brackets open at a time, None for no bound.
        length: of the words, even.
        count: how many.
        rng: where the randomness comes from.
    """
    half = even_half(length)
    if length == 0:
        return np.empty((count, 0), dtype=np.int64)
    if depth is None or depth >= half:
        opens = _free_paths(half, count, rng)
    else:
        opens = sample_accepted_batch(depth_automaton(depth), length, count, rng) == 0
    return with_kinds(opens, kinds, rng)


def _free_paths(half: int, count: int, rng: np.random.Generator) -> Bools:
    """Uniform balanced paths: of the rotations of one step more down than up, one stays above.

    Implements: [DvoretzkyMotzkin1947]
    """
    steps = np.full((count, 2 * half + 1), -1, dtype=np.int32)
    steps[:, :half] = 1
    steps = rng.permuted(steps, axis=1)
    first = steps.cumsum(axis=1).argmin(axis=1)[:, None] + 1
    places = (np.arange(2 * half)[None] + first) % (2 * half + 1)
    return np.take_along_axis(steps, places, axis=1) > 0


def with_kinds(opens: Bools, kinds: int, rng: np.random.Generator) -> Integers:
    """Returns the words of balanced paths, the kind of each pair being drawn uniformly."""
    count, length = opens.shape
    # The brackets of one level open and close in turn, so that sorting by level puts pairs side by side.
    order = levels(opens).argsort(axis=1, kind="stable")
    kind = np.empty(opens.shape, dtype=np.int64)
    np.put_along_axis(kind, order, rng.integers(0, kinds, (count, length // 2)).repeat(2, axis=1), axis=1)
    return 2 * kind + ~opens


def levels(opens: Bools) -> Integers:
    """Returns how many brackets are open with each bracket, itself included."""
    depths: Integers = np.where(opens, 1, -1).cumsum(axis=1)
    return depths + ~opens


def last_open(words: Integers) -> Integers:
    """Returns the kind of the bracket that was opened last and is open after each letter, -1 for none.

    It is `stack_tops` for balanced words, faster if they are not deep.
    """
    opens = words % 2 == 0
    level = levels(opens)
    depths = level - ~opens
    places = np.arange(words.shape[1])
    found = np.full(words.shape, -1, dtype=np.int64)
    for depth in range(1, int(depths.max(initial=0)) + 1):
        at = np.maximum.accumulate(np.where(opens & (level == depth), places, 0), axis=1)
        here = depths == depth
        found[here] = np.take_along_axis(words, at, axis=1)[here] >> 1
    return found


def stack_tops(words: Integers, depth: int | None) -> tuple[Integers, Integers]:
    """Returns how many brackets are open after each letter, and the kind of the last one.

    Both are -1 once the word cannot be completed; the kind is -1 where none is open.

    Args:
        words: letters as `balanced_words` has them.
        depth: most brackets open at a time, None for no bound.
    """
    if words.size and words.min() < 0:
        raise InputError("letters of brackets are numbers from 0 on")
    count, length = words.shape
    limit = length if depth is None else min(depth, length)
    rows = np.arange(count)
    # Place 0 is below the stack; one place more than the limit, for what is one too many.
    stack = np.full((count, limit + 2), -1, dtype=np.int64)
    here = np.zeros(count, dtype=np.int64)
    alive = np.ones(count, dtype=np.bool_)
    depths, tops = np.empty_like(words), np.empty_like(words)
    for t in range(length):
        kind, closes = words[:, t] >> 1, (words[:, t] & 1).astype(np.bool_)
        alive &= np.where(closes, stack[rows, here] == kind, here < limit)
        here = np.where(alive, here + np.where(closes, -1, 1), 0)
        opened = alive & ~closes
        stack[rows[opened], here[opened]] = kind[opened]
        depths[:, t] = np.where(alive, here, -1)
        tops[:, t] = np.where(alive, stack[rows, here], -1)
    return depths, tops


MOST_STATES = 4096
"""States of an automaton that is walked by a table."""


class WordSource(ABC):
    """Words of a language, drawn as its sampler distributes them."""

    @abstractmethod
    def words(self, length: int, count: int, rng: np.random.Generator) -> Integers:
        """Returns words of the language (words, time), or raises InputError if none has this length."""

    @abstractmethod
    def legal(self, words: Integers) -> Bools:
        """Returns what may follow each prefix but the empty one (words, time, letters + 1), the end last.

        Nothing may follow a prefix that no word of the language begins with.
        """

    def has(self, length: int) -> bool:
        """Returns whether the language has a word of a length."""
        try:
            self.words(length, 1, np.random.default_rng(0))
        except InputError:
            return False
        return True

    def accepted(self, words: Integers) -> Bools:
        """Returns whether each prefix but the empty one is in the language (words, time)."""
        ends: Bools = self.legal(words)[..., -1]
        return ends


class AutomatonWords(WordSource):
    """Words that an automaton accepts, all of a length being as likely.

    Args:
        dfa: a minimal automaton.
        language: draws the words if it does so in another way than uniformly.
    """

    def __init__(self, dfa: Dfa, language: Language | None = None) -> None:
        self.dfa = dfa
        self._language = language
        self._follows = np.concatenate([dfa.legal, dfa.accepting[:, None]], axis=1)

    def words(self, length: int, count: int, rng: np.random.Generator) -> Integers:
        """Returns accepted words."""
        if self._language is not None:
            return one_by_one(self._language, length, count, rng)
        return sample_accepted_batch(self.dfa, length, count, rng).astype(np.int64)

    def has(self, length: int) -> bool:
        """Returns whether a word of a length is accepted."""
        return length >= 0 and letter_shares(self.dfa).approximate_count(length)[0] > 0

    def states(self, words: Integers) -> Integers:
        """Returns the state after each letter."""
        return walk(self.dfa.transitions, words, start=self.dfa.start)

    def legal(self, words: Integers) -> Bools:
        """Returns what the states allow."""
        return self._follows.take(self.states(words), axis=0)

    def accepted(self, words: Integers) -> Bools:
        """Returns whether the states accept."""
        return self.dfa.accepting.take(self.states(words))


class BracketWords(WordSource):
    """Balanced words, all of a length being as likely."""

    def __init__(self, language: Dyck) -> None:
        self._kinds, self._depth = len(language.pairs), language.depth

    def words(self, length: int, count: int, rng: np.random.Generator) -> Integers:
        """Returns balanced words."""
        return balanced_words(self._kinds, self._depth, length, count, rng)

    def legal(self, words: Integers) -> Bools:
        """Returns what stacks allow: another open bracket, the one that closes the last, or the end."""
        depths, tops = stack_tops(words, self._depth)
        found = np.zeros((*words.shape, 2 * self._kinds + 1), dtype=np.bool_)
        may_open = depths >= 0 if self._depth is None else (depths >= 0) & (depths < self._depth)
        found[..., :-1:2] = may_open[..., None]
        found[..., 1::2] = tops[..., None] == np.arange(self._kinds)
        found[..., -1] = depths == 0
        return found


class CounterWords(WordSource):
    """Words of a language of a counter machine, as its sampler distributes them."""

    def __init__(self, language: CounterLanguage) -> None:
        self._language = language

    def words(self, length: int, count: int, rng: np.random.Generator) -> Integers:
        """Returns words of the language."""
        if self._language.family == "dyck-1":
            return balanced_words(1, None, length, count, rng)
        return one_by_one(self._language, length, count, rng)

    def legal(self, words: Integers) -> Bools:
        """Returns what the rules of the machine allow."""
        machine = self._language.machine
        allowed = _allowed(machine, words)
        # A letter that was not allowed ends it for good.
        letters = np.take_along_axis(allowed[:, :-1], words[..., None], axis=2)[..., 0]
        alive = np.logical_and.accumulate(letters, axis=1)
        after: Bools = allowed[:, 1:] & alive[..., None]
        return after


def _allowed(machine: CounterMachine, words: Integers) -> Bools:
    """The letters that the rules allow after each prefix, the empty one first, if all before were allowed."""
    count, length = words.shape
    amounts = np.array(machine.increments, dtype=np.int64).reshape(len(machine.alphabet), -1)
    counters = np.empty((count, length + 1, len(machine.start)), dtype=np.int64)
    counters[:, 0] = machine.start
    np.cumsum(amounts[words], axis=1, out=counters[:, 1:])
    counters[:, 1:] += np.array(machine.start, dtype=np.int64)
    last = np.full((count, length + 1), START, dtype=np.int64)
    last[:, 1:] = words
    found = np.zeros((count, length + 1, len(machine.alphabet) + 1), dtype=np.bool_)
    for rule in machine.rules:
        holds = np.ones((count, length + 1), dtype=np.bool_)
        if rule.after is not None:
            holds &= np.isin(last, sorted(rule.after))
        for counter in rule.zero:
            holds &= counters[..., counter] == 0
        for counter in rule.positive:
            holds &= counters[..., counter] > 0
        follows = np.zeros(found.shape[2], dtype=np.bool_)
        follows[sorted(rule.symbols)] = True
        follows[-1] = rule.end
        found |= holds[..., None] & follows
    return found


def one_by_one(language: Language, length: int, count: int, rng: np.random.Generator) -> Integers:
    """Returns words from the sampler of a language that draws one at a time."""
    words = [language.sample(length, rng) for _ in range(count)]
    return np.array(words, dtype=np.int64).reshape(count, length)


def word_source(language: Language) -> WordSource:
    """Returns where the words of a language come from.

    Raises:
        BudgetExceeded: if it needs an automaton that is too large.
    """
    states = language.num_states()
    if isinstance(language, Dyck) and (states is None or states > MOST_STATES):
        return BracketWords(language)
    if isinstance(language, CounterLanguage):
        return CounterWords(language)
    # The words of an n-gram model have probabilities.
    return AutomatonWords(language.dfa(), language if language.kind == "n-gram" else None)
