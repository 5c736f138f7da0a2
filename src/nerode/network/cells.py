"""Recurrences that are not linear: Elman networks, and the cells LSTM, GRU and sLSTM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from nerode.core import Exact, InputError, is_rational
from nerode.network.affine import Affine, NamedMap, StateNames, check_map, write_map
from nerode.network.moves import Kind, Recurrence
from nerode.network.numbers import Numbers, RecurrenceStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Squashed(Recurrence):
    """h = activation(update(reads, units, h)): the map reads the state before the letter as well.

    The activation is "tanh", "relu" or "clip" (to the interval from 0 to 1).
    """

    kind: ClassVar[str] = "elman"
    linear: ClassVar[bool] = False

    activation: str
    update: Affine

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the map does not fit the layer."""
        if self.activation not in ("tanh", "relu", "clip"):
            raise InputError(f"unknown activation {self.activation!r}; allowed are tanh, relu, clip")
        check_map(self.update, width, num_inputs + width, "update")

    def step(self, numbers: Numbers[Any]) -> RecurrenceStep[Any]:
        """Returns the step in some numbers."""
        return _SquashedStep(self, numbers)

    @property
    def exact(self) -> bool:
        """Whether the activation is not tanh."""
        return self.activation != "tanh"

    def maps(self) -> tuple[Affine, ...]:
        """Returns the update."""
        return (self.update,)

    def with_maps(self, change: Callable[[Affine], Affine]) -> Self:
        """Returns the recurrence with another update."""
        return replace(self, update=change(self.update))

    def sources(self) -> list[set[int]]:
        """Returns for each coordinate those that its next value may depend on."""
        first = self.update.num_inputs - self.update.num_outputs
        return [{j - first for j, _ in row if j >= first} for row in self.update.rows]

    def lines(self, names: StateNames) -> list[str]:
        """Returns one line per coordinate."""
        seen = [*names.marked_inputs, *(f"h'[{name}]" for name in names.state)]
        return write_map(self.update, names.marked_state, seen, around=self.activation)

    def tables(self, names: StateNames) -> list[NamedMap]:
        """Returns the update."""
        seen = [*names.inputs, *(f"{name}′" for name in names.state)]
        return [NamedMap.of(f"h = {self.activation}(…)", self.update, names.state, seen)]


class _SquashedStep:
    def __init__(self, record: Squashed, numbers: Numbers[Any]) -> None:
        self.numbers, self.activation = numbers, record.activation
        self.read, self.complete = numbers.stateful(record.update, "update")

    def drive(self, seen: Any, letter: Any) -> tuple[Any, ...]:
        return (self.read(seen),)

    def advance(self, drive: tuple[Any, ...], state: Any) -> Any:
        return self.numbers.apply(self.activation, self.complete(drive[0], state))

    def shown(self, drive: tuple[Any, ...], state: Any) -> dict[str, Any]:
        return {"sum": self.complete(drive[0], state)}


CELL_GATES = {
    "lstm": ("input", "forget", "output", "cell"),
    "gru": ("reset", "update", "candidate"),
    "slstm": ("input", "forget", "output", "cell"),
}
"""The pre-activations of each gated cell, in order."""

CELL_STATES = {"lstm": ("h", "c"), "gru": ("h",), "slstm": ("h", "c", "n")}
"""The blocks of each cell's state, in the order in which they are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedCell(Recurrence):
    """An LSTM, GRU or sLSTM cell; every gate is an affine map of what the layer reads and of h.

    The layer's state is the blocks of CELL_STATES one after the other, each as wide as one gate.

        lstm   c = σ(forget) c + σ(input) tanh(cell), h = σ(output) tanh(c)
        gru    r = σ(reset), z = σ(update), h = (1-z) h + z tanh(candidate with r ∘ h in place of h)
               with a cap: z = 1 - cap·(1 - σ(update)), so that at most this share of h is kept
        slstm  c = σ(forget) c + exp(input) tanh(cell), n = σ(forget) n + exp(input), h = σ(output) c / n
    """

    kind: ClassVar[str] = "gated-cell"
    linear: ClassVar[bool] = False

    cell: str
    gates: tuple[Affine, ...]
    cap: Exact = 1

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if a gate does not fit the layer."""
        if self.cell not in CELL_GATES:
            raise InputError(f"unknown cell {self.cell!r}; allowed are {', '.join(CELL_GATES)}")
        if len(self.gates) != len(CELL_GATES[self.cell]):
            raise InputError(f"{self.cell} has the gates {', '.join(CELL_GATES[self.cell])}")
        if self.cap != 1 and (self.cell != "gru" or not is_rational(self.cap) or not 0 < self.cap < 1):
            raise InputError(f"{self.cell} has the cap {self.cap}; only gru has one, above 0 and at most 1")
        if width % self.blocks:
            raise InputError(
                f"the state of {self.cell} has {self.blocks} blocks, {width} coordinates do not split"
            )
        for gate in self.gates:
            check_map(gate, width // self.blocks, num_inputs + width // self.blocks, "gate")

    def step(self, numbers: Numbers[Any]) -> RecurrenceStep[Any]:
        """Returns the step in some numbers."""
        return _CellStep(self, numbers)

    @property
    def exact(self) -> bool:
        """False: the gates are sigmoids."""
        return False

    @property
    def blocks(self) -> int:
        """Number of vectors that the state consists of."""
        return len(CELL_STATES[self.cell])

    def maps(self) -> tuple[Affine, ...]:
        """Returns the gates."""
        return self.gates

    def with_maps(self, change: Callable[[Affine], Affine]) -> Self:
        """Returns the recurrence with its gates changed."""
        return replace(self, gates=tuple(map(change, self.gates)))

    def lines(self, names: StateNames) -> list[str]:
        """Returns one line per gate and unit."""
        hidden = names.state[: len(names.state) // self.blocks]
        seen = [*names.marked_inputs, *(f"h'[{name}]" for name in hidden)]
        lines = [f"{self.cell} cell, gates before their nonlinearity:"]
        for gate, affine in zip(CELL_GATES[self.cell], self.gates, strict=True):
            lines += write_map(affine, [f"{gate} {name}" for name in hidden], seen)
        return lines

    def tables(self, names: StateNames) -> list[NamedMap]:
        """Returns the gates."""
        hidden = names.state[: len(names.state) // self.blocks]
        inputs = [*names.inputs, *(f"{name}′" for name in hidden)]
        gates = zip(CELL_GATES[self.cell], self.gates, strict=True)
        return [NamedMap.of(title, gate, hidden, inputs) for title, gate in gates]


class _CellStep:
    def __init__(self, record: GatedCell, numbers: Numbers[Any]) -> None:
        self.record, self.numbers = record, numbers
        names = CELL_GATES[record.cell]
        self.gates = [
            (name, self._function(name), *numbers.stateful(gate, f"{name} gate", number))
            for number, (name, gate) in enumerate(zip(names, record.gates, strict=True))
        ]

    def drive(self, seen: Any, letter: Any) -> tuple[Any, ...]:
        return tuple(read(seen) for _, _, read, _ in self.gates)

    def shown(self, drive: tuple[Any, ...], state: Any) -> dict[str, Any]:
        """Returns the gates after their nonlinearity."""
        h = self.numbers.split(state, self.record.blocks)[0]
        found: dict[str, Any] = {}
        for part, (name, function, _, complete) in zip(drive, self.gates, strict=True):
            inner = self.numbers.times(found["reset"], h) if name == "candidate" else h
            found[name] = self.numbers.apply(function, complete(part, inner))
        return found

    def _function(self, gate: str) -> str:
        if gate in ("cell", "candidate"):
            return "tanh"
        return "exp" if gate == "input" and self.record.cell == "slstm" else "sigmoid"

    def advance(self, drive: tuple[Any, ...], state: Any) -> Any:
        numbers, gates = self.numbers, self.shown(drive, state)
        if self.record.cell == "gru":
            share = gates["update"]
            if self.record.cap != 1:
                share = numbers.capped(share, self.record.cap)
            return numbers.mix(share, state, gates["candidate"])
        _, c, *rest = numbers.split(state, self.record.blocks)
        written = numbers.times(gates["input"], gates["cell"])
        c = numbers.gated(gates["forget"], c, written)
        if self.record.cell == "lstm":
            return numbers.join([numbers.times(gates["output"], numbers.apply("tanh", c)), c])
        n = numbers.gated(gates["forget"], rest[0], gates["input"])
        return numbers.join([numbers.over(numbers.times(gates["output"], c), n), c, n])


KINDS: dict[str, Kind] = {
    "elman": (Squashed, ("activation", "update"), ()),
    "gated-cell": (GatedCell, ("cell", "gates"), ("cap",)),
}
"""The recurrences of this module by their names in files."""
