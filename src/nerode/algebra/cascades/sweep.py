"""A proof for cascades with too many configurations to list: level by level.

A configuration is decoded from the top: after the first t levels some values are still needed to find the
state (in a chain: the image reached so far). The proof keeps, for each level, which labels can occur with
which of these values, and shows that this relation contains the start and is closed under every letter, and
that in all of it the state after the letter is the right one. The relation holds more configurations than
words reach, so the proof may fail although the cascade is right; it never succeeds when it is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nerode.algebra.cascades.partial_evaluation import PartialEvaluation
from nerode.algebra.cascades.records import Cascade
from nerode.core import Budget, InputError
from nerode.languages import Dfa

_TIME_CHECK = 4096


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
        cascade: what is to be proved right.
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
        """Returns whether the relation is closed and every state in it is right.

        Often every label is right with everything above it, so this is tried first.
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
        """Follows every letter through every level once; returns whether all final states are right.

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
