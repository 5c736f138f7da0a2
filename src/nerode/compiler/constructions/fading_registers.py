"""Star-free languages with fixed gates: registers that fade, whose sign is the last write for ever.

A register h ← λ h ± w is written, or h ← λ h holds. With λ below half of the rate at which w shrinks, the
sign of h is the sign of the last write, however small h has become. The registers of layer k of a cascade
have the gate 4⁻ᵏ, and beside them a number s_k starts at 1 and fades as fast; a label is read as ±s_k, which
is how layer k + 1 writes it into its own registers. Everything is compared in proportion to these numbers,
and the decoder only asks for signs. Languages that are star-free beside a clock get one, a number that turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from nerode.algebra.cascades import Command, NotCounterFree, Reset, decompose
from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.star_free import (
    add_clock,
    is_counter_free,
    marked_automaton,
    unmarked_legal,
)
from nerode.compiler.forms import DirectionForm, Relu, constant, direction, total
from nerode.compiler.layer_builder import LayerBuilder
from nerode.compiler.level_layers import answer_table
from nerode.compiler.level_machine import LevelMachine, TabledLevel, tabulate
from nerode.compiler.network_builder import LayerStack
from nerode.compiler.tables import Literal, decision_table, decode_table, table_indicator
from nerode.core import NotCompilable, Reference
from nerode.network import Network
from nerode.verdict import (
    can_fade,
    can_hold,
    complex_gates,
    linear,
    quasi_aperiodic,
    star_free,
    time_invariant,
)

_RATE = Fraction(1, 4)
_HALF = Fraction(1, 2)


def compile_fading_registers(request: Request) -> Network:
    """Returns time-invariant layers whose gates are powers of 1/4 that run a cascade of set-reset automata.

    Implements: [NerodeTheory]
    """
    m, dfa = marked_automaton(request.automaton, request, lambda found: is_counter_free(found, request))
    try:
        cascade = request.once(
            "star-free cascade beside a clock", lambda: decompose(dfa, request.options.budget)
        )
    except NotCounterFree as refusal:
        raise NotCompilable(request.target.name, [str(refusal)]) from None
    machine = request.once("machine beside a clock", lambda: tabulate(cascade, dfa, request.options.budget))
    if any(level.kind != "reset" for level in machine.levels):
        raise NotCompilable(request.target.name, ["the cascade has a level that is no set-reset automaton"])
    stack = LayerStack(request)
    letters = add_clock(stack, m) if m > 1 else [stack.letter(a) for a in range(dfa.num_letters)]
    layers = _FadingLayers(stack, machine, letters)
    for depth in range(1, layers.depth + 1):
        layers.add(depth)
    decoder = stack.decoder()
    decoder.compare_with(layers.scale(layers.depth))
    decode_table(
        decoder,
        answer_table(machine, unmarked_legal(dfa, m), request.options.budget),
        lambda level, label: layers.label(level, label, ""),
        join=layers.join(layers.depth),
    )
    clock = f"a clock modulo {m} marks the letters; " if m > 1 else ""
    return stack.network(
        decoder.build(stack.empty()),
        route=f"{clock}{cascade.route}: registers that fade by 1/4, 1/16 …, whose signs are the labels; "
        "correct in exact arithmetic",
        reference=Reference("NerodeTheory"),
    )


class _FadingLayers:
    """The layers of a machine of set-reset levels; labels are written in binary."""

    def __init__(self, stack: LayerStack, machine: LevelMachine, letters: Sequence[DirectionForm]) -> None:
        self.stack = stack
        self._letters = letters
        self.machine = machine
        self.depth = machine.depth
        self._depth_of: dict[str, int] = {}

    def scale(self, depth: int) -> DirectionForm:
        """Returns the number that fades with the registers of a layer; 1 before the first."""
        return direction(f"s{depth}") if depth else constant(1)

    def label(self, level: int, label: int, when: str) -> list[DirectionForm]:
        """Returns the literals, 0 or the scale, of a label of a level; "'" for before the letter."""
        scale = self.scale(self.machine.depths[level])
        bits = [direction(f"{self._name(level, bit)}{when}") for bit in range(self._num_bits(level))]
        return [b if label >> j & 1 else scale - b for j, b in enumerate(bits)]

    def join(self, depth: int) -> _Join:
        """Returns the conjunction of literals of layers up to a depth: 0, or the scale of that depth."""
        return _Join(self, depth)

    def scale_of(self, literal: DirectionForm) -> DirectionForm:
        """Returns what a literal is where it holds."""
        depth = max((self._depth_of[name] for name in literal.terms if name in self._depth_of), default=0)
        return self.scale(depth)

    def add(self, depth: int) -> None:
        """Adds the layer with all levels of a depth."""
        exclusive = self.stack.request.options.exclusive_scan
        builder = self.stack.layer(f"registers {depth}", exposes_previous=exclusive)
        gate = _RATE**depth
        one = builder.coordinate(f"s{depth}", gate=gate, write=0, start=1)
        builder.output(f"s{depth}", one)
        for number, level in enumerate(self.machine.levels):
            if self.machine.depths[number] == depth:
                self._add_level(builder, depth, number, level, one)
        self.stack.add(builder)

    def _add_level(
        self, builder: LayerBuilder, depth: int, number: int, level: TabledLevel, one: DirectionForm
    ) -> None:
        gate, join = _RATE**depth, self.join(depth - 1)
        sizes = [len(self._letters), *(self.machine.levels[p].num_labels for p in level.parents)]
        commands = decision_table(list(level.table), list(level.table.values()), sizes)
        for bit in range(self._num_bits(number)):
            name = self._name(number, bit)

            def writes(wanted: int, bit: int = bit) -> DirectionForm:
                def chosen(command: Command) -> bool:
                    return isinstance(command, Reset) and command.label >> bit & 1 == wanted

                return table_indicator(commands, chosen, self._before(level), builder.relu, (), join)

            write = writes(1) - writes(0)
            start = 1 if level.start >> bit & 1 else -1
            state = builder.coordinate(name, gate=gate, write=write, start=start)
            builder.output(name, _read(state, one, builder.readout_relu))
            self._depth_of[name] = self._depth_of[f"{name}'"] = depth
            if self.machine.is_read(number):
                if builder.exposes_previous:
                    before = builder.previous(name)
                else:
                    before = state - builder.coordinate(f"{name} now", gate=0, write=write)
                builder.output(f"{name}'", _read(before, one, builder.readout_relu))

    def _before(self, level: TabledLevel) -> Literal:
        """The literals of letters and of the labels of the parents before the letter."""

        def literal(variable: int, value: int) -> list[DirectionForm]:
            if variable == 0:
                return [self._letters[value]]
            return self.label(level.parents[variable - 1], value, "'")

        return literal

    def _num_bits(self, level: int) -> int:
        return max(1, (self.machine.levels[level].num_labels - 1).bit_length())

    def _name(self, level: int, bit: int) -> str:
        return f"q{level + 1}" if self._num_bits(level) == 1 else f"q{level + 1}.{bit}"


class _Join:
    """The conjunction of literals, each 0 or its scale: 0, or the scale of a depth, the smallest of all."""

    def __init__(self, layers: _FadingLayers, depth: int) -> None:
        self._layers = layers
        self._one = layers.scale(depth)

    def __call__(self, literals: Iterable[DirectionForm], relu: Relu) -> DirectionForm:
        parts = list(dict.fromkeys(literals))
        if not parts:
            return self._one
        if len(parts) == 1 and self._layers.scale_of(parts[0]) == self._one:
            return parts[0]
        return relu(total(part - self._layers.scale_of(part) for part in parts) + self._one)


def _read(value: DirectionForm, one: DirectionForm, relu: Relu) -> DirectionForm:
    """`one` for a positive register, 0 for a negative one, if it is at least half of `one`."""
    return (relu(2 * value + one) - relu(2 * value - one)) * _HALF


FADING_REGISTERS = Construction(
    name="fading-registers",
    title="registers with fixed gates, whose signs are the labels",
    theorem="exact-registers-fixed-gates",
    language=star_free,
    architecture=linear & time_invariant & can_hold & can_fade,
    build=compile_fading_registers,
)

CLOCKED_FADING_REGISTERS = replace(
    FADING_REGISTERS,
    name="clocked-fading-registers",
    title="a clock, and registers with fixed gates whose signs are the labels",
    language=quasi_aperiodic,
    architecture=linear & time_invariant & can_hold & can_fade & complex_gates,
)
