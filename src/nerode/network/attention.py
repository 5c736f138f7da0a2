"""Attention in streaming form: heads as recurrences of what each of them has to remember.

    last      the value at the latest position that does not hold     h ← hold · h + value
    once      whether a bit has ever been 1                           h ← hold · h + value, hold = 1 - value
    previous  the value at the position before                        h ← value, read before the letter
    mean      the sum of all values, which softmax divides by count   h ← h + value

A coordinate belongs to one head; coordinates with the same kind and the same `hold` may share one. `start` of
the layer is what the beginning mark shows to each head. Where a head holds, its value has to be 0: then one
formula serves all kinds, and what a head sees of the whole past is the state of a finite recurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from nerode.core import Exact, InputError
from nerode.network.affine import Affine, NamedMap, StateNames, check_map, shorten, write_row
from nerode.network.moves import Gated, Kind, Recurrence, Transition
from nerode.network.numbers import Numbers, RecurrenceStep

HEAD_KINDS = ("last", "once", "previous", "mean")
"""What a head does with the past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionHeads(Recurrence):
    """Heads of one attention layer, one coordinate for each value that a head returns.

    Attributes:
        heads: the kind of the head of each coordinate.
        hold: 1 where the head of a coordinate keeps what it has, 0 where the position matches.
        values: the value of each coordinate at the position; 0 where it is held.
    """

    kind: ClassVar[str] = "attention"

    heads: tuple[str, ...]
    hold: Affine
    values: Affine

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the maps do not fit the layer, or a head is not what its kind says."""
        check_map(self.hold, width, num_inputs, "hold")
        check_map(self.values, width, num_inputs, "values")
        if len(self.heads) != width:
            raise InputError(f"{len(self.heads)} kinds of heads are given for {width} coordinates")
        rows = zip(
            self.heads, self.hold.bias, self.hold.rows, self.values.bias, self.values.rows, strict=True
        )
        for number, (kind, bias, row, base, values) in enumerate(rows):
            if kind not in HEAD_KINDS:
                raise InputError(f"unknown head {kind!r}; known are {', '.join(HEAD_KINDS)}")
            fixed = {"previous": 0, "mean": 1}.get(kind)
            if fixed is not None and (row or bias != fixed):
                raise InputError(f"coordinate {number} of a {kind} head has to hold {fixed} everywhere")
            if kind == "once" and (bias != 1 - base or row != tuple((j, -c) for j, c in values)):
                raise InputError(f"coordinate {number} of a once head has to hold where its value is 0")

    def step(self, numbers: Numbers[Any]) -> RecurrenceStep[Any]:
        """Returns the step in some numbers."""
        return self.as_gated().step(numbers)

    def maps(self) -> tuple[Affine, ...]:
        """Returns where the heads hold, and the values."""
        return self.hold, self.values

    def with_maps(self, change: Callable[[Affine], Affine]) -> Self:
        """Returns the heads with both maps changed."""
        return replace(self, hold=change(self.hold), values=change(self.values))

    def transition(self, seen: Sequence[Exact], letter: int) -> Transition:
        """Returns the diagonal matrix and the values of one letter."""
        return self.as_gated().transition(seen, letter)

    def as_gated(self) -> Gated:
        """Returns the streaming form: hold as a gate, the value as a write."""
        return Gated(gate=self.hold, write=self.values)

    def lines(self, names: StateNames) -> list[str]:
        """Returns one line per coordinate: what its head looks for, and what it returns."""
        lines = []
        for number, (kind, name) in enumerate(zip(self.heads, names.marked_state, strict=True)):
            hold, value = (
                write_row(given.rows[number], given.bias[number], names.marked_inputs)
                for given in self.maps()
            )
            lines.append(
                {
                    "last": f"{name} = {value} at the latest position without {hold}",
                    "once": f"{name} = whether {value} has been 1",
                    "previous": f"{name} = {value}, shown one position later",
                    "mean": f"{name} = the sum of {value}",
                }[kind]
            )
        return shorten(lines)

    def tables(self, names: StateNames) -> list[NamedMap]:
        """Returns where the heads hold, and the values."""
        return [
            NamedMap.of("hold", self.hold, names.state, names.inputs),
            NamedMap.of("value", self.values, names.state, names.inputs),
        ]


KINDS: dict[str, Kind] = {
    "attention": (AttentionHeads, ("heads", "hold", "values"), ()),
}
"""The recurrences of this module by their names in files."""
