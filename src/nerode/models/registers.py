"""The coordinates of a diagonal layer as registers that hold, or fade and are written.

No real layer shows its state before the letter. Where the architecture has a short convolution, the next
block shows it: registers that forget at once are written with what the convolution saw one letter before.
"""

from __future__ import annotations

import cmath
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from torch import Tensor

from nerode.core import Exact, NotCompilable, to_complex, to_float
from nerode.models.parts.short_convolution import ShortConvolution
from nerode.models.parts.state_space import DiagonalSsm
from nerode.models.weight_writer import BlockPlan, FixedPlan, GatedPlan, PlaceForm, WeightWriter, combine

SCALE = 128
"""A signal that is 1, where SiLU or GELU acts on it: they keep this power of two, in every type."""

SATURATED = 1000
"""σ of this is exactly 1, and of minus this exactly 0, in every type."""

STEP = 32
"""Δ of a Mamba where a register moves; softplus keeps it, in every type."""

_RATE_OF_ZERO = 64.0
"""exp(-32 · 64) is 0 in every type."""

_COUNTING = -64.0
"""The logarithm of the rate of a counter: exp(-32 · exp(-64)) is 1 in every type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """One coordinate: h ← h where `moves` is 0, and h ← gate · h + write where it is 1.

    Attributes:
        moves: 0 or 1 at each position; None for a gate that is always the same, and where there are `signs`.
        gate: the gate where it moves.
        signs: the gate itself, if that is 1, 0 or -1; at -1 nothing is written.
        write: what is added.
        start: the value before the first letter.
        place: where the stream shows it.
        sign: how the stream shows it: added or taken away.
        late: whether it is written one letter late.
    """

    moves: PlaceForm | None
    gate: Exact
    write: PlaceForm
    start: Exact
    place: int
    sign: int = 1
    late: bool = False
    signs: PlaceForm | None = None

    @property
    def counts(self) -> bool:
        """Whether the register is an accumulator (gate 1)."""
        return self.moves is None and self.signs is None and self.gate == 1 and self.write != PlaceForm()

    def switched(self, moving: Exact, holding: Exact) -> PlaceForm:
        """Returns the form that is one number where the register moves, and another where it holds."""
        if self.moves is None:
            return PlaceForm({}, moving)
        return combine([(self.moves, moving - holding)], holding)


def registers_of(
    block: BlockPlan,
    architecture: str,
    *,
    tied: bool = True,
    squashed: bool = False,
    signs: bool = False,
) -> list[Register]:
    """Returns the registers of a block: those of its layer, or those that remember; none if it is idle.

    Args:
        block: the block.
        architecture: for errors.
        tied: whether the architecture writes only where it forgets.
        squashed: whether SiLU acts on what is written. What is late may be negative, and then takes two
            registers: SiLU(x) - SiLU(-x) = x.
        signs: whether a gate of the architecture can be exactly 1, 0 and -1.

    Raises:
        NotCompilable: if the architecture cannot carry the layer.
    """
    if block.layer is None:
        return [
            Register(moves=None, gate=0, write=form.scaled(sign), start=0, place=place, sign=sign, late=True)
            for place, form in zip(block.states, block.late, strict=True)
            for sign in ((1, -1) if squashed else (1,))
        ]
    registers = read_registers(block, architecture, signs=signs)
    if tied:
        _require_tied(registers, architecture)
    return registers


def set_taps(convolution: ShortConvolution, registers: Sequence[Register], *, first: int = 0) -> None:
    """Makes a convolution pass on every channel, those of late registers one letter late.

    Args:
        convolution: over two positions or more.
        registers: those whose writes go through it.
        first: the channel of the first of them.
    """
    convolution.weight[:, -1] = 1
    for channel, register in enumerate(registers, start=first):
        if register.late:
            convolution.weight[channel, -2:] = convolution.weight.new_tensor([1, 0])


def read_registers(block: BlockPlan, architecture: str, *, signs: bool = False) -> list[Register]:
    """Returns the registers of a layer; with `signs`, gates of 1, 0 and -1 as they are.

    Raises:
        NotCompilable: if the layer is not diagonal and real, or a gate takes more values than 1 and another.
    """
    layer = block.layer
    assert layer is not None
    if layer.complex_state:
        raise NotCompilable(architecture, [f"layer {layer.name} has a complex state"])
    move = layer.move
    if not isinstance(move, GatedPlan | FixedPlan):
        raise NotCompilable(architecture, [f"layer {layer.name} is {move.kind}, not diagonal"])
    registers = []
    for i, write in enumerate(move.writes):
        place, start, gates = block.states[i], layer.start[i], _three_signs(move, i)
        if signs and gates is not None:
            registers.append(Register(moves=None, gate=0, signs=gates, write=write, start=start, place=place))
            continue
        moves, gate = _gate(move, i, f"layer {layer.name}", architecture)
        registers.append(Register(moves=moves, gate=gate, write=write, start=start, place=place))
    return registers


def _three_signs(move: GatedPlan | FixedPlan, i: int) -> PlaceForm | None:
    """The gate of coordinate i if it takes the values 1, 0 and -1 and nothing is written at -1."""
    if isinstance(move, FixedPlan):
        return None
    updates = move.updates[i]
    if {gate for gate, _ in updates} | {1} != {1, 0, -1} or any(g == -1 and w != 0 for g, w in updates):
        return None
    return move.gates[i]


def _require_tied(registers: Sequence[Register], architecture: str) -> None:
    """Raises NotCompilable if an accumulator, as a counter is, is among the registers."""
    for register in registers:
        if register.counts:
            raise NotCompilable(
                architecture,
                ["a counter adds while its gate is 1, but this architecture writes only where it forgets"],
            )


def _gate(
    move: GatedPlan | FixedPlan, i: int, where: str, architecture: str
) -> tuple[PlaceForm | None, Exact]:
    """The signal that moves coordinate i, and its gate then: the gate is 1 - (1 - value) · moves."""
    if isinstance(move, FixedPlan):
        row = move.matrix[i]
        if any(j != i for j, _ in row):
            raise NotCompilable(architecture, [f"the matrix of {where} is not diagonal"])
        return None, row[0][1] if row else 0
    if not move.steps[i]:
        return None, move.gates[i].constant
    values = {gate for gate, _ in move.updates[i]} | {1}
    if len(values) == 1:
        # Only rare words move it; signals are 0 or 1, so that it steps down by its coefficients.
        values = values | {1 - abs(Fraction(c)) for c in move.steps[i] if isinstance(c, int | Fraction)}
    others = sorted(values - {1})
    if len(others) != 1 or not all(isinstance(v, int | Fraction) for v in values):
        found = ", ".join(map(str, sorted(values)))
        raise NotCompilable(
            architecture, [f"a gate of {where} takes the values {found}; here it can take 1 and one other"]
        )
    scale = Fraction(1) / (1 - others[0])
    return move.gates[i].scaled(-scale).plus(PlaceForm({}, scale)), others[0]


def share_of(gate: Exact, architecture: str, *, signed: bool = False) -> float:
    """Returns the number in [0,1] from which an architecture makes a gate: itself, or (gate + 1)/2 if signed.

    Raises:
        NotCompilable: if the gate is out of range.
    """
    share = (to_float(gate) + 1) / 2 if signed else to_float(gate)
    if not 0 <= share <= 1:
        raise NotCompilable(architecture, [f"a gate is {gate}; here gates lie in [{-int(signed)},1]"])
    return share


def log_odds(share: float, rest: float, saturated: float) -> float:
    """Returns the logit of a share and what is left of 1; where one of them is 0, plus or minus a number."""
    if share <= 0 or rest <= 0:
        return -saturated if share <= 0 else saturated
    return math.log(share / rest)


def log_rate(register: Register, architecture: str, *, signed: bool) -> float:
    """Returns A_log, at which a step of Δ = 32 leaves the gate of a register; any will do if it never moves.

    Raises:
        NotCompilable: if the gate is out of range.
    """
    share = share_of(register.gate, architecture, signed=signed)
    if register.counts:
        return _COUNTING
    return math.log({0.0: _RATE_OF_ZERO, 1.0: 1.0}.get(share) or -math.log(share) / STEP)


def untied(gate: Exact) -> Exact:
    """Returns the inverse of 1 - gate, by which a tied write is multiplied; 0 where nothing is written."""
    return 0 if gate == 1 else Fraction(1 / (1 - to_float(gate)))


def distinct_moves(registers: Sequence[Register]) -> list[PlaceForm]:
    """Returns the different signals that say when registers move."""
    found: list[PlaceForm] = []
    for register in registers:
        if register.moves is not None and register.moves not in found:
            found.append(register.moves)
    return found


def fixed_gates(block: BlockPlan, architecture: str) -> list[complex]:
    """Returns the gates of a diagonal layer whose gates never change.

    Raises:
        NotCompilable: if the layer is another one.
    """
    layer = block.layer
    assert layer is not None
    if isinstance(layer.move, FixedPlan) and all(
        j == i for i, row in enumerate(layer.move.matrix) for j, _ in row
    ):
        return [complex(sum(to_complex(c) for _, c in row)) for row in layer.move.matrix]
    if isinstance(layer.move, GatedPlan) and not any(layer.move.steps):
        return [to_complex(gate.constant) for gate in layer.move.gates]
    raise NotCompilable(architecture, [f"layer {layer.name} is not diagonal with gates that are fixed"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A system h ← gate · h + write · x of one input.

    Attributes:
        number: the place of the stream that it reads.
        shown: the place at which the stream shows 2 Re(read · h).
        gate: the same at each letter.
        write: the factor of the input.
        read: the factor of the state.
        start: the state before the first letter.
    """

    number: int
    shown: int
    gate: complex
    write: complex
    read: complex
    start: complex


class ChannelWriter(WeightWriter):
    """Writes diagonal layers with fixed gates where every channel is a system of its own with one input.

    A state h = g h + w becomes a channel for each place of the stream that a part of w stands at, once to
    show the real part of h and once, if it is complex, the imaginary part; the linear map after them adds
    them up.
    """

    sources = True

    def fill(self, layer: Any, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        if block.layer is None:
            return
        gates = fixed_gates(block, self.architecture)
        for number, place in enumerate(block.states):
            i = number % block.layer.width
            read = 0.5 if number < block.layer.width else -0.5j
            # The channel of the place itself has no input; it carries on what was there at the start.
            start = to_complex(block.layer.start[i])
            for source, write, first in ((place, 0j, start), *((s, f, 0j) for s, f in block.sources[number])):
                channel = Channel(
                    number=source, shown=place, gate=gates[i], write=write, read=read, start=first
                )
                self.set_channel(layer, channel)

    @abstractmethod
    def set_channel(self, layer: Any, channel: Channel) -> None:
        """Sets one channel."""


def set_diagonal(ssm: DiagonalSsm, channel: Channel) -> None:
    """Sets the only state of a feature; its step has the size 1, and its rate is ln g.

    A modulus of exactly 1 comes from a decay of exp(-1000) = 0.
    """
    decay, angle = log_decay(channel.gate), cmath.phase(channel.gate)
    ssm.log_decay[channel.number] = decay
    ssm.frequency[channel.number] = angle
    rate = complex(-math.exp(decay), angle)
    # What the system multiplies B by, (e^λ - 1)/λ, is divided out.
    write = channel.write if rate == 0 else channel.write * rate / (cmath.exp(rate) - 1)
    set_pair(ssm.B[channel.number, 0], write)
    set_pair(ssm.C[channel.number, 0], channel.read)


def set_pair(pair: Tensor, value: complex) -> None:
    """Sets the real and the imaginary part of a number."""
    pair[0], pair[1] = value.real, value.imag


_STILL, _FADED = -1000.0, 1000.0


def log_decay(gate: complex) -> float:
    """Returns d with |gate| = exp(-exp(d)): exp(-1000) is 0, so that 1 and 0 are exact in floats."""
    size = abs(gate)
    return _STILL if size == 1 else math.log(_FADED if size == 0 else -math.log(size))
