"""The language's side of a search over cells: what is known of its configuration in a cell.

For a language with few configurations that is the configuration itself; for a counter machine the last
letter, the counters being the unknowns of the cell; for brackets the depth and the kind on top of the
stack, the rest of the stack being whatever the slots of the network hold.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

from nerode.core import InputError
from nerode.languages import CounterLanguage, Counters, Dyck, Language, Legal
from nerode.proofs.checker_invariants import Invariant

Part = Any
"""Hashable."""

Case = tuple[Part, Mapping[int, int]]
"""What is known after a letter, and kinds that have to be assumed at some depths before it."""


class Side(Protocol):
    """What a search needs to know of a language."""

    def start(self) -> Part:
        """What is known of the empty prefix."""

    def legal(self, part: Part, values: Sequence[int]) -> Legal:
        """What may follow; `values` has one value of each counter from its range."""

    def cases(self, part: Part, values: Sequence[int], letter: int) -> list[Case]:
        """What may be known after a letter."""

    def kinds(self, part: Part) -> Mapping[int, int]:
        """The kinds of bracket that are known, by depth."""

    def depth(self, part: Part) -> int:
        """Slots from 1 to this depth hold kinds that matter."""

    def ignores_counters(self, part: Part) -> bool:
        """Whether what may follow, now and later, is the same for all values of the counters."""


class FiniteSide:
    """A language whose configurations are told apart."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def start(self) -> Hashable:
        """The first configuration."""
        return self.language.initial()

    def legal(self, part: Part, values: Sequence[int]) -> Legal:
        """What the language says."""
        return self.language.legal(part)

    def cases(self, part: Part, values: Sequence[int], letter: int) -> list[Case]:
        """The next configuration."""
        return [(self.language.advance(part, letter), {})]

    def kinds(self, part: Part) -> Mapping[int, int]:
        """None: there are no slots."""
        return {}

    def depth(self, part: Part) -> int:
        """Always 0: there are no slots."""
        return 0

    def ignores_counters(self, part: Part) -> bool:
        """Always: the configuration says all."""
        return True


class CounterSide(FiniteSide):
    """A counter machine whose counters are the first counters of the invariant; None once it is dead."""

    def __init__(self, language: CounterLanguage, invariant: Invariant) -> None:
        super().__init__(language)
        machine = language.machine
        self.number = machine.num_counters
        counters = invariant.counters[: self.number]
        columns = tuple(zip(*machine.increments, strict=True)) if self.number else ()
        if (
            tuple(c.start for c in counters) != machine.start
            or tuple(c.increments for c in counters) != columns
        ):
            raise InputError("its first counters are not the counters of the language")

    def start(self) -> int:
        """No letter yet."""
        configuration = self.language.initial()
        assert isinstance(configuration, Counters)
        return configuration.last

    def legal(self, part: Part, values: Sequence[int]) -> Legal:
        """What the rules allow."""
        return self.language.legal(self._configuration(part, values))

    def cases(self, part: Part, values: Sequence[int], letter: int) -> list[Case]:
        """The last letter, or None if no rule allows it."""
        after = self.language.advance(self._configuration(part, values), letter)
        return [(None if after is None else after.last, {})]  # type: ignore[attr-defined]

    def ignores_counters(self, part: Part) -> bool:
        """Only once it is dead: where no rule holds, one may hold for other counters."""
        return part is None

    def _configuration(self, part: Part, values: Sequence[int]) -> Counters | None:
        return None if part is None else Counters(part, tuple(values[: self.number]))


class StackSide:
    """Brackets of bounded depth: (depth, kind on top), or None once it is dead."""

    def __init__(self, language: Dyck, invariant: Invariant) -> None:
        self.language = language
        if language.depth is None or len(invariant.slots) != language.depth:
            raise InputError(f"there are {len(invariant.slots)} slots for a depth of {language.depth}")
        if len(invariant.codes) != len(language.pairs):
            raise InputError(
                f"there are {len(invariant.codes)} codes for {len(language.pairs)} kinds of brackets"
            )

    def start(self) -> Part:
        """The empty stack."""
        return (0, -1)

    def legal(self, part: Part, values: Sequence[int]) -> Legal:
        """What any stack of this depth with this top allows."""
        return self.language.legal(self._stack(part))

    def cases(self, part: Part, values: Sequence[int], letter: int) -> list[Case]:
        """After a closing bracket any kind may be on top: each is a case of its own."""
        after = self.language.advance(self._stack(part), letter)
        if after is None:
            return [(None, {})]
        depth = len(after)
        if depth > part[0]:
            return [((depth, after[-1]), {})]
        if depth == 0:
            return [((0, -1), {})]
        return [((depth, kind), {depth: kind}) for kind in range(len(self.language.pairs))]

    def kinds(self, part: Part) -> Mapping[int, int]:
        """The kind on top."""
        return {} if part is None or part[0] == 0 else {part[0]: part[1]}

    def depth(self, part: Part) -> int:
        """The height of the stack."""
        return 0 if part is None else part[0]

    def ignores_counters(self, part: Part) -> bool:
        """Always: depth and top say all."""
        return True

    def _stack(self, part: Part) -> tuple[int, ...] | None:
        if part is None:
            return None
        depth, top = part
        return (*(0,) * (depth - 1), top) if depth else ()


def side_of(language: Language, invariant: Invariant) -> Side:
    """Returns the side that fits a language and an invariant.

    Raises:
        InputError: if the invariant does not speak of this language.
    """
    if isinstance(language, CounterLanguage):
        return CounterSide(language, invariant)
    if invariant.slots:
        if not isinstance(language, Dyck):
            raise InputError("slots are for bracket languages")
        return StackSide(language, invariant)
    return FiniteSide(language)
