"""A second opinion on regular languages, from the definitions: the transition monoid is listed as maps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nerode.languages import Alphabet, Dfa, minimise

Map = tuple[int, ...]


def after(first: Map, second: Map) -> Map:
    """The map that does first, then second."""
    return tuple(second[q] for q in first)


def random_automaton(seed: int, *, most_states: int = 7) -> Dfa:
    """A minimal automaton of one of several kinds: any maps, permutations, resets, monotone maps, a sink."""
    rng = np.random.default_rng(seed)
    kind = seed % 6
    states, letters = int(rng.integers(1, most_states)), int(rng.integers(1, 4))
    columns = []
    for _ in range(letters):
        column = rng.integers(0, states, states)
        if kind == 1 or (kind == 2 and rng.random() < 0.6):
            column = rng.permutation(states)
        elif kind == 2:
            column = np.full(states, rng.integers(states))
        elif kind == 3:
            column = np.sort(column)
        elif kind == 4:
            column = np.maximum(column, np.arange(states))
        elif kind == 5:
            column[-1] = states - 1
        columns.append(column)
    accepting = rng.random(states) < 0.5
    if kind == 5:
        accepting[-1] = False
    return minimise(
        Dfa(
            alphabet=Alphabet(tuple("abc"[:letters])),
            transitions=np.stack(columns, axis=1).astype(np.int32),
            start=0,
            accepting=accepting,
        )
    )


@dataclass(frozen=True)
class Oracle:
    """Facts about the language of a minimal automaton, each by enumeration."""

    dfa: Dfa
    task: str

    @cached_property
    def letters(self) -> list[Map]:
        return [tuple(map(int, column)) for column in self.dfa.transitions.T]

    @cached_property
    def monoid(self) -> set[Map]:
        return self._generated(set(self.letters))

    def _generated(self, generators: set[Map]) -> set[Map]:
        found, waiting = set(generators), list(generators)
        while waiting:
            f = waiting.pop()
            for g in generators:
                if (h := after(f, g)) not in found:
                    found.add(h)
                    waiting.append(h)
        return found

    @staticmethod
    def period(f: Map) -> int:
        powers = [f]
        while (following := after(powers[-1], f)) not in powers:
            powers.append(following)
        return len(powers) - powers.index(following)

    @cached_property
    def star_free(self) -> bool:
        return all(self.period(f) == 1 for f in self.monoid)

    @cached_property
    def stable(self) -> frozenset[Map]:
        """What words of length s do, for an s such that words of length 2s do the same."""
        by_length = [frozenset(self.letters)]
        while (
            longer := frozenset(after(f, g) for f in by_length[-1] for g in self.letters)
        ) not in by_length:
            by_length.append(longer)
        begun = by_length.index(longer)
        period = len(by_length) - begun
        return by_length[-(-(begun + 1) // period) * period - 1]

    @cached_property
    def in_ac0(self) -> bool:
        return all(self.period(f) == 1 for f in self.stable)

    @cached_property
    def groups(self) -> list[set[Map]]:
        """The maximal groups eMe ∩ units, for all idempotents e."""
        found = []
        for e in {f for f in self.monoid if after(f, f) == f}:
            local = {after(after(e, f), e) for f in self.monoid}
            units = {f for f in local if any(after(f, g) == e and after(g, f) == e for g in local)}
            found.append(units)
        return found

    @cached_property
    def two_groups(self) -> bool:
        return all(len(group) & (len(group) - 1) == 0 for group in self.groups)

    @cached_property
    def solvable(self) -> bool:
        return all(self._is_solvable(group) for group in self.groups)

    def _is_solvable(self, group: set[Map]) -> bool:
        while len(group) > 1:
            identity = next(f for f in group if after(f, f) == f)
            inverse = {f: next(g for g in group if after(f, g) == identity) for f in group}
            commutators = {after(after(f, g), after(inverse[f], inverse[g])) for f in group for g in group}
            derived = self._generated(commutators)
            if derived == group:
                return False
            group = derived
        return True

    @cached_property
    def group_language(self) -> bool:
        return all(len(set(f)) == len(f) for f in self.letters)

    @cached_property
    def kept(self) -> list[int]:
        live = self.dfa.legal.any(axis=1) | np.asarray(self.dfa.accepting)
        return [q for q in range(self.dfa.num_states) if self.task == "recognise" or live[q]]

    @cached_property
    def window(self) -> bool:
        """Whether every long word brings any two states together (to predict, or one to a dead one)."""
        apart = {(p, q) for p in self.kept for q in self.kept if p != q}
        while True:
            stay = {(p, q) for p, q in apart if any((f[p], f[q]) in apart for f in self.letters)}
            if stay == apart:
                return not apart
            apart = stay

    @cached_property
    def one_letter_counts(self) -> bool:
        """Whether the powers of some letter lead from some state around in a cycle of two or more."""
        inside = set(self.kept)
        for f in self.letters:
            for q in self.kept:
                path = [q]
                while f[path[-1]] in inside and f[path[-1]] not in path:
                    path.append(f[path[-1]])
                if f[path[-1]] in inside and path.index(f[path[-1]]) < len(path) - 1:
                    return True
        return False

    @cached_property
    def r_trivial(self) -> bool:
        """Whether no two elements of the monoid generate the same right ideal."""
        ideals: dict[frozenset[Map], Map] = {}
        for f in self.monoid | {tuple(range(self.dfa.num_states))}:
            ideal = frozenset({f} | {after(f, g) for g in self.monoid})
            if ideals.setdefault(ideal, f) != f:
                return False
        return True
