"""A proof for cascades with too many configurations to list: level by level.

A configuration is decoded from the top: after the first t levels some values are still needed to find the
state (in a chain: the image reached so far). The proof keeps, for each level, which labels can occur with
which of these values, and shows that this relation contains the start and is closed under every letter, and
that in all of it the state after the letter is the right one. The relation holds more configurations than
words reach, so the proof may fail although the cascade is right; it never succeeds when it is wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from nerode.algebra.cascades.lookups import Source
from nerode.algebra.cascades.records import Cascade
from nerode.core.budget import Budget
from nerode.languages.dfa import Dfa

Values = dict[Source, int]
Key = tuple[int, ...]
Frozen = tuple[tuple[Source, int], ...]


class LevelSweep:
    """The relation between decoded values and labels, grown until it is closed.

    Args:
        cascade: what is to be proved right.
        dfa: for this automaton.
        budget: its `elements` bound the work of one round, its seconds the whole.
    """

    def __init__(self, cascade: Cascade, dfa: Dfa, budget: Budget) -> None:
        self.cascade = cascade
        self.rows = dfa.transitions.tolist()
        self.start = dfa.start
        self.budget = budget
        contexts = {level.context for level in cascade.levels}
        self._commanding = _Plan(cascade, contexts, "old")
        self._decoding = _Plan(cascade, {cascade.state}, "new")
        self.possible: list[dict[Key, set[int]]] = [{} for _ in cascade.levels]
        self.grown = False

    def prove(self) -> bool:
        """Returns whether the relation is closed and every state in it is right."""
        values: Values = {}
        self._decoding.enter_letters(values, (self.cascade.num_letters,) * (self.cascade.window + 1))
        for t, level in enumerate(self.cascade.levels):
            self._note(t, values, level.start)
            values = self._decoding.advance(values, t, level.start)
        if self._decoding.value(values) != self.start:
            return False
        self.grown = True
        while self.grown:
            self.grown = False
            if not self._round():
                return False
        return True

    def _note(self, t: int, values: Values, label: int) -> None:
        labels = self.possible[t].setdefault(self._decoding.key(values), set())
        if label not in labels:
            labels.add(label)
            self.grown = True

    def _round(self) -> bool:
        """Follows every letter through every level once; returns whether all final states are right."""
        current = set(self._beginnings())
        for t, level in enumerate(self.cascade.levels):
            following = set()
            for symbol, *frozen in current:
                commanding, before, after = (dict(part) for part in frozen)
                command = level.commands[commanding[Source("lookup", level.context)]]
                for label in sorted(self.possible[t].get(self._decoding.key(before), ())):
                    changed = command.apply(label, level.num_labels)
                    self._note(t, after, changed)
                    following.add(
                        (
                            symbol,
                            _freeze(self._commanding.advance(commanding, t, label)),
                            _freeze(self._decoding.advance(before, t, label)),
                            _freeze(self._decoding.advance(after, t, changed)),
                        )
                    )
            current = following
            self.budget.check("elements", len(current))
        for symbol, _, first, last in current:
            state = self._decoding.value(dict(first))
            if self._decoding.value(dict(last)) != self.rows[state][symbol]:
                return False
        return True

    def _beginnings(self) -> Iterator[tuple[int, Frozen, Frozen, Frozen]]:
        missing, window = self.cascade.num_letters, self.cascade.window
        for known in range(1, window + 2):
            for seen in itertools.product(range(missing), repeat=known):
                letters = (*seen, *(missing,) * (window + 1 - known))
                commanding: Values = {}
                before: Values = {}
                after: Values = {}
                self._commanding.enter_letters(commanding, letters)
                self._decoding.enter_letters(before, (*letters[1:], missing))
                self._decoding.enter_letters(after, letters)
                yield letters[0], _freeze(commanding), _freeze(before), _freeze(after)


class _Plan:
    """Which lookups can be evaluated after which level, and which values are needed later on."""

    def __init__(self, cascade: Cascade, goals: set[int], kind: str) -> None:
        self.cascade = cascade
        self.goals = goals
        self.kind = kind
        needed = set(goals)
        for number in range(len(cascade.lookups) - 1, -1, -1):
            if number in needed:
                needed.update(s.number for s in cascade.lookups[number].reads if s.kind == "lookup")
        self.time: dict[Source, int] = {}
        due: list[list[int]] = [[] for _ in range(len(cascade.levels) + 1)]
        last_use: dict[Source, int] = {}
        for number in sorted(needed):
            reads = cascade.lookups[number].reads
            time = max((self._time(source) for source in reads), default=0)
            self.time[Source("lookup", number)] = time
            due[time].append(number)
            for source in reads:
                last_use[source] = max(last_use.get(source, 0), time)
        for goal in goals:
            # A context is read by levels, the state at the end.
            readers = [t for t, level in enumerate(cascade.levels) if level.context == goal]
            end = len(cascade.levels) + 1 if goal == cascade.state and kind == "new" else 0
            source = Source("lookup", goal)
            last_use[source] = max(last_use.get(source, 0), end, *(t + 1 for t in readers), 0)
        self.due = due
        self.last_use = last_use

    def _time(self, source: Source) -> int:
        if source.kind == "letter":
            return 0
        return self.time[source] if source.kind == "lookup" else source.number + 1

    def enter_letters(self, values: Values, letters: tuple[int, ...]) -> None:
        """Sets what the letters alone decide."""
        values.update({Source("letter", i): symbol for i, symbol in enumerate(letters)})
        self._evaluate(values, 0)
        self._forget(values, 0)

    def advance(self, values: Values, t: int, label: int) -> Values:
        """Returns the values once the label of level t is known, without those that are no longer needed."""
        known = {**values, Source(self.kind, t): label}
        self._evaluate(known, t + 1)
        self._forget(known, t + 1)
        return known

    def _evaluate(self, values: Values, time: int) -> None:
        for number in self.due[time]:
            table = self.cascade.lookups[number]
            values[Source("lookup", number)] = table.evaluate([values[source] for source in table.reads])

    def _forget(self, values: Values, time: int) -> None:
        for source in [s for s in values if self.last_use.get(s, 0) <= time]:
            del values[source]

    def key(self, values: Values) -> Key:
        """Returns the values as a tuple in a fixed order."""
        return tuple(values[source] for source in sorted(values))

    def value(self, values: Values) -> int:
        """Returns the value of the only goal."""
        (goal,) = self.goals
        return values[Source("lookup", goal)]


def _freeze(values: Values) -> Frozen:
    return tuple(sorted(values.items()))
