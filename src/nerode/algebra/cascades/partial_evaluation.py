"""Lookups evaluated as soon as the labels that they read are known, level by level."""

from __future__ import annotations

from nerode.algebra.cascades.lookups import Source, letter, lookup
from nerode.algebra.cascades.records import Cascade

Values = dict[Source, int]


class PartialEvaluation:
    """What is known of some lookups when the letter and the labels of the first levels are known.

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
        needed = set(goals)
        for number in range(len(self.cascade.lookups) - 1, -1, -1):
            if number in needed:
                needed.update(s.number for s in self.cascade.lookups[number].reads if s.kind == "lookup")
        times: dict[Source, int] = {}
        for number in sorted(needed):
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
        return self._number(0, {} if given is None else {letter(): given})

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
