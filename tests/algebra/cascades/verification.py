"""The exact check that a cascade runs an automaton, for words of every length.

Few configurations are all explored. Many are swept level by level. A configuration is decoded from the top:
after the first t levels some values are still needed to find the state (in a chain: the image reached so
far). The sweep keeps, for each level, which labels can occur with which of these values. It shows that this
relation contains the start and is closed under every letter, and that in all of it the state after the letter
is the correct one. The relation holds more configurations than words reach, so the sweep may fail although
the cascade is correct; it never succeeds when the cascade is wrong.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from nerode.algebra.cascades.lookups import LETTER, Source, lookup, needed_lookups
from nerode.algebra.cascades.records import Cascade, Labels
from nerode.core import Budget, BudgetExceeded, InputError, NerodeError, started
from nerode.languages import Dfa, Word

FEW_CONFIGURATIONS = 1_000
"""Configurations to look at before the proof by levels is tried."""

_TIME_CHECK = 4096

Values = dict[Source, int]
"""The known values of letters, labels and lookups."""


class CascadeMismatch(NerodeError):
    """A cascade that does not run its automaton; `word` is a shortest one on which they differ."""

    def __init__(self, word: Word, expected: int, got: int) -> None:
        self.word = word
        self.expected = expected
        self.got = got
        shown = ", ".join(map(str, word[:40])) + (" …" if len(word) > 40 else "")
        super().__init__(
            f"after the letters ({shown}) the automaton is in {expected}, the cascade says {got}"
        )


def verify_cascade(cascade: Cascade, dfa: Dfa, budget: Budget | None = None) -> str:
    """Returns how it was shown that the cascade is in the automaton's state after every word.

    All configurations that words reach are looked at if they are few. Otherwise the proof goes level by
    level (see `LevelSweep`); only if that fails all configurations are looked at.

    Raises:
        CascadeMismatch: if the cascade says a wrong state somewhere.
        BudgetExceeded: if there are more configurations than `budget.elements`.
    """
    budget = started(budget)
    if (reached := _explore(cascade, dfa, budget, FEW_CONFIGURATIONS)) is None:
        if LevelSweep(cascade, dfa, budget, distinct_letters(cascade, dfa)).prove():
            return "closed under every letter, level by level"
        reached = _explore(cascade, dfa, budget, budget.elements)
        if reached is None:
            raise BudgetExceeded("elements", budget.elements)
    return f"all {reached} configurations that words reach"


def _explore(cascade: Cascade, dfa: Dfa, budget: Budget, limit: int) -> int | None:
    """Returns the number of configurations that words reach, all checked; None if they are too many."""
    letters = distinct_letters(cascade, dfa)
    rows = [[(symbol, row[symbol]) for symbol in letters] for row in dfa.transitions.tolist()]
    first = cascade.initial()
    predecessor: dict[Labels, tuple[Labels, int]] = {}
    states = {first: dfa.start}
    queue = [first]
    for position, labels in enumerate(queue):
        if len(queue) > limit:
            return None
        if position % 256 == 0:
            budget.check_time(configurations=len(queue))
        state = states[labels]
        got = cascade.state_of(labels)
        if got != state:
            raise CascadeMismatch(_word(predecessor, labels), state, got)
        for letter, target in rows[state]:
            following = cascade.step(labels, letter)
            if following not in states:
                states[following] = target
                predecessor[following] = (labels, letter)
                queue.append(following)
            elif states[following] != target and (got := cascade.state_of(following)) != target:
                raise CascadeMismatch((*_word(predecessor, labels), letter), target, got)
    return len(queue)


def distinct_letters(cascade: Cascade, dfa: Dfa) -> list[int]:
    """Returns one letter of each kind that automaton and cascade treat alike."""
    tables = [(table, table.reads.index(LETTER)) for table in cascade.lookups if LETTER in table.reads]
    kinds: dict[Hashable, int] = {}
    for symbol in range(dfa.num_letters):
        roles = []
        for table, position in tables:
            default = table.otherwise[symbol] if table.has_selector and position == 0 else None
            mine = frozenset(
                (tuple(pair for pair in row.literals if pair[0] != position), row.value)
                for row in table.rows
                if (position, symbol) in row.literals
            )
            roles.append((default, mine))
        kinds.setdefault((tuple(dfa.transitions[:, symbol].tolist()), tuple(roles)), symbol)
    return list(kinds.values())


def _word(predecessor: dict[Labels, tuple[Labels, int]], labels: Labels) -> Word:
    letters = []
    while labels in predecessor:
        labels, letter = predecessor[labels]
        letters.append(letter)
    return tuple(reversed(letters))


class Front(NamedTuple):
    """A letter on its way through the levels.

    Attributes:
        letter: its number.
        commanding: what is known of the contexts of the levels still to come.
        before: what decoding knows of the state before the letter.
        after: what decoding knows of the state after it.
    """

    letter: int
    commanding: int
    before: int
    after: int


class LevelSweep:
    """The relation between what decoding knows and the next label, grown until it is closed.

    Args:
        cascade: what is to be proved correct.
        dfa: for this automaton.
        budget: its `elements` bound the work of one round, its seconds the whole.
        letters: which letters to look at, if others are treated alike; all if not given.
    """

    def __init__(
        self, cascade: Cascade, dfa: Dfa, budget: Budget, letters: Sequence[int] | None = None
    ) -> None:
        self.cascade = cascade
        self.letters = range(dfa.num_letters) if letters is None else letters
        self.rows = dfa.transitions.tolist()
        self.start = dfa.start
        self.budget = budget
        self._commanding = PartialEvaluation(cascade, {level.context for level in cascade.levels}, "old")
        self._decoding = PartialEvaluation(cascade, {cascade.state}, "new")
        self.possible: list[dict[int, set[int]]] = [{} for _ in cascade.levels]
        self.grown = False

    def prove(self) -> bool:
        """Returns whether the relation is closed and every state in it is correct.

        Often every label is correct with everything above it, so this is tried first.
        """
        return self._starts_right() and (self._round(everything=True) or self._grow())

    def _starts_right(self) -> bool:
        known = self._decoding.begin()
        for t, level in enumerate(self.cascade.levels):
            self._note(t, known, level.start)
            known = self._decoding.follow(t, known, level.start)
        return self._state(known) == self.start

    def _grow(self) -> bool:
        self.grown = True
        while self.grown:
            self.grown = False
            if not self._round(everything=False):
                return False
        return True

    def _note(self, t: int, known: int, label: int) -> None:
        labels = self.possible[t].setdefault(known, set())
        if label not in labels:
            labels.add(label)
            self.grown = True

    def _state(self, known: int) -> int:
        return self._decoding.value(len(self.cascade.levels), known, self.cascade.state)

    def _round(self, *, everything: bool) -> bool:
        """Follows every letter through every level once; returns whether all final states are correct.

        Args:
            everything: whether every label counts as possible; the relation is then left alone.
        """
        try:
            fronts = set(self._beginnings())
            for t in range(len(self.cascade.levels)):
                fronts = self._pass_level(t, fronts, everything)
                self.budget.check("elements", len(fronts))
        except InputError:
            # Several rows of a lookup hold at once, in a configuration that words may or may not reach.
            return False
        return all(self._state(f.after) == self.rows[self._state(f.before)][f.letter] for f in fronts)

    def _pass_level(self, t: int, fronts: set[Front], everything: bool) -> set[Front]:
        level = self.cascade.levels[t]
        commanding, decoding = self._commanding, self._decoding
        following: set[Front] = set()
        for count, front in enumerate(fronts):
            if count % _TIME_CHECK == 0:
                self.budget.check_time()
            command = level.commands[commanding.value(t, front.commanding, level.context)]
            known = self.possible[t].get(front.before, ())
            for label in range(level.num_labels) if everything else sorted(known):
                changed = command.apply(label, level.num_labels)
                if not everything:
                    self._note(t, front.after, changed)
                following.add(
                    Front(
                        front.letter,
                        commanding.follow(t, front.commanding, label),
                        decoding.follow(t, front.before, label),
                        decoding.follow(t, front.after, changed),
                    )
                )
        return following

    def _beginnings(self) -> Iterator[Front]:
        known = self._decoding.begin()
        for letter in self.letters:
            yield Front(letter, self._commanding.begin(letter), known, known)


class PartialEvaluation:
    """Partial values of some lookups, given the letter and the labels of the first levels.

    Known values that are still needed are one piece of knowledge; at each level the pieces are numbered, so
    that each is evaluated once. `begin` gives a piece for the letters, `follow` the one after a label.

    Args:
        cascade: whose lookups.
        goals: the lookups that are wanted: contexts, which are needed until the last level that reads them,
            or the state, which is needed at the end.
        kind: which labels are given, "old" or "new".
    """

    def __init__(self, cascade: Cascade, goals: set[int], kind: str) -> None:
        self.cascade = cascade
        self.kind = kind
        num_levels = len(cascade.levels)
        self._due: list[list[int]] = [[] for _ in range(num_levels + 1)]
        self._last_use: dict[Source, int] = {}
        self._plan(goals)
        self._pieces: list[list[Values]] = [[] for _ in range(num_levels + 1)]
        self._numbers: list[dict[tuple[tuple[Source, int], ...], int]] = [{} for _ in range(num_levels + 1)]
        self._following: list[dict[tuple[int, int], int]] = [{} for _ in range(num_levels)]

    def _plan(self, goals: set[int]) -> None:
        """Finds out after which level each lookup is due and until when each value is needed."""
        times: dict[Source, int] = {}
        for number in needed_lookups(self.cascade.lookups, goals):
            reads = self.cascade.lookups[number].reads
            for source in reads:
                if source.kind != "lookup":
                    times[source] = 0 if source.kind == "letter" else source.number + 1
            time = max((times[source] for source in reads), default=0)
            times[lookup(number)] = time
            self._due[time].append(number)
            for source in reads:
                self._use(source, time)
        for t, level in enumerate(self.cascade.levels):
            if level.context in goals:
                self._use(lookup(level.context), t + 1)
        if self.cascade.state in goals:
            self._use(lookup(self.cascade.state), len(self.cascade.levels) + 1)

    def _use(self, source: Source, time: int) -> None:
        self._last_use[source] = max(self._last_use.get(source, 0), time)

    def begin(self, given: int | None = None) -> int:
        """Returns what is known from the letter alone, or without one."""
        return self._number(0, {} if given is None else {LETTER: given})

    def follow(self, t: int, piece: int, label: int) -> int:
        """Returns what is known once the label of level t is, too."""
        following = self._following[t].get((piece, label))
        if following is None:
            values = {**self._pieces[t][piece], Source(self.kind, t): label}
            following = self._following[t][piece, label] = self._number(t + 1, values)
        return following

    def _number(self, time: int, values: Values) -> int:
        for number in self._due[time]:
            table = self.cascade.lookups[number]
            values[lookup(number)] = table.evaluate([values[source] for source in table.reads])
        kept = {source: value for source, value in values.items() if self._last_use.get(source, 0) > time}
        numbers = self._numbers[time]
        piece = numbers.setdefault(tuple(sorted(kept.items())), len(numbers))
        if piece == len(self._pieces[time]):
            self._pieces[time].append(kept)
        return piece

    def value(self, time: int, piece: int, number: int) -> int:
        """Returns the value of a lookup that is wanted at this time."""
        return self._pieces[time][piece][lookup(number)]
