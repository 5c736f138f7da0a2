"""What the last letters say before any level is read: a set of states, or a context."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

from nerode.algebra.cascades.assembly import Carrier, CascadeBuilder
from nerode.algebra.cascades.lookups import Lookup, Row, letter
from nerode.algebra.cascades.skeleton import Skeleton
from nerode.algebra.cascades.stages import Context
from nerode.languages import Dfa

Look = tuple[int, ...]
"""The last letters of a word, latest first."""


class WindowFront:
    """The beginnings of a chain for each look back at the last letters.

    After a window of w the state lies in Q·w. A word shorter than the window is seen whole, so its state is
    known. Without a window every look is empty and says Q.

    Args:
        dfa: the automaton.
        skeleton: the images of all its states.
        window: how many letters before the current one may be read.
    """

    def __init__(self, dfa: Dfa, skeleton: Skeleton, window: int) -> None:
        self.dfa = dfa
        self.skeleton = skeleton
        self.window = window
        number = {row: j for j, row in enumerate(skeleton.action.maps)}
        self._map_of = [number[tuple(column)] for column in dfa.transitions.T.tolist()]

    def contexts(self) -> dict[Look, Context]:
        """Returns the context of each letter with the letters before it."""
        return {
            look: Context(self._map_of[look[0]], self._image(look[1:]), self._image(look[: self.window]))
            for look in self._looks(1, self.window + 1)
        }

    def images(self) -> dict[Look, int]:
        """Returns the set of states after the last letters, the current one included."""
        return {look: self._image(look) for look in self._looks(0, self.window)}

    def _looks(self, least: int, most: int) -> Iterator[Look]:
        count = 0
        for length in range(least, most + 1):
            for look in itertools.product(range(self.dfa.num_letters), repeat=length):
                count += 1
                self.skeleton.budget.check("elements", count, window=self.window)
                yield look

    def _image(self, look: Look) -> int:
        image = 0 if len(look) == self.window else self.skeleton.singleton(self.dfa.start)
        for symbol in reversed(look):
            image = self.skeleton.after[self._map_of[symbol]][image]
        return image

    def add(self, builder: CascadeBuilder, name: str, results: Mapping[Look, int]) -> Carrier:
        """Adds the lookup from the last letters to a result for each look; none if nothing is looked at."""
        if results.keys() == {()}:
            return Carrier(None, (results[()],))
        meanings: dict[int, int] = {}
        otherwise: list[int] = []
        rows: list[Row] = []
        by_first: dict[int, list[tuple[Look, int]]] = {}
        for look, result in self._settled(results):
            by_first.setdefault(look[0], []).append((look, result))
        for first in range(self.dfa.num_letters + 1):
            cases = by_first.get(first, [])
            common = Counter(result for _, result in cases).most_common(1)
            usual = common[0][0] if common else next(iter(results.values()))
            otherwise.append(meanings.setdefault(usual, len(meanings)))
            rows.extend(
                Row(tuple(enumerate(look)), meanings.setdefault(result, len(meanings)))
                for look, result in cases
                if result != usual
            )
        length = 1 + max((position for row in rows for position, _ in row.literals), default=0)
        table = Lookup(
            name=name,
            num_values=len(meanings),
            reads=tuple(letter(i) for i in range(length)),
            otherwise=tuple(otherwise),
            rows=tuple(rows),
        )
        return Carrier(builder.add_lookup(table), tuple(meanings))

    def _settled(self, results: Mapping[Look, int]) -> list[tuple[Look, int]]:
        """Returns the shortest looks of at least one letter that settle the result."""
        length = max(map(len, results))
        missing = self.dfa.num_letters
        padded = {(*look, *(missing,) * (length - len(look))): result for look, result in results.items()}
        settled: list[tuple[Look, int]] = []
        pending: list[tuple[Look, Mapping[Look, int]]] = [((), padded)]
        while pending:
            seen, inside = pending.pop()
            first = next(iter(inside.values()))
            if seen and all(result == first for result in inside.values()):
                settled.append((seen, first))
                continue
            split: dict[int, dict[Look, int]] = {}
            for look, result in inside.items():
                split.setdefault(look[len(seen)], {})[look] = result
            pending.extend(((*seen, symbol), part) for symbol, part in split.items())
        return sorted(settled)


def describe_window(window: int) -> str:
    """Returns how a window is named at the end of a route, nothing if there is none."""
    return f" behind a window of {window} letter{'s' * (window > 1)}" if window else ""
