"""Registers without forgetting, for layers of isometries: a write outweighs all writes before it.

The gate of a register is 1 and its writes are ±3·4ᵗ, t the number of letters, which a layer of its own
counts: all earlier writes together are smaller, so that the sign of the sum is the last write for ever. A
write is the difference of two powers of four, 4 to the power of t and of t + 1; which is which is a command
of the cascade. The other levels of the cascade are signs and numbers that turn.
"""

from __future__ import annotations

from fractions import Fraction

from nerode.algebra.cascades import Reset
from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.group_cascades import describe, solvable_levels
from nerode.compiler.forms import DirectionForm, total
from nerode.compiler.layer_builder import LayerBuilder
from nerode.compiler.level_codings import LevelLabels, show_labels
from nerode.compiler.level_layers import MachineLayers
from nerode.compiler.level_machine import without_counter_resets
from nerode.compiler.network_builder import LayerStack
from nerode.core import Reference
from nerode.network import Network
from nerode.verdict import (
    input_dependent,
    linear,
    never_holds,
    regular,
    solvable,
    star_free,
    time_invariant,
    unit_gates,
)

_HALF = Fraction(1, 2)


def compile_growing_registers(request: Request) -> Network:
    """Returns registers and turns with gates of modulus 1.

    Implements: [NerodeTheory]
    """
    return _compile(request, "")


def compile_quotient_registers(request: Request) -> Network:
    """Returns registers in quotients, for layers with any fixed gate and a language without groups.

    Implements: [NerodeTheory]
    """
    return _compile(request, ", in quotients by a unit that fades alike, for any fixed gate", quotients=True)


def _compile(request: Request, how: str, *, quotients: bool = False) -> Network:
    """Returns layers with gates of modulus 1 for a language whose groups are all solvable.

    Each depth of the cascade has up to three layers: signs and turns, which also show the commands of the
    registers; the powers of four; the registers.
    """
    machine, route = solvable_levels(request)
    machine = without_counter_resets(machine, request.options.budget, modulus=2)
    stack = LayerStack(request, quotients=quotients)
    layers = MachineLayers(stack, machine)
    for depth in range(1, machine.depth + 1):
        numbers = machine.at(depth)
        registers = [i for i in numbers if machine.levels[i].kind == "reset"]
        turns = [i for i in numbers if i not in registers]
        commands = _Commands(layers, registers)
        layers.add_together(turns, depth, commands.show if registers else None)
        if registers:
            _add_registers(layers, registers, depth, commands)
    return stack.network(
        layers.decoder(),
        route=f"{route}: {describe(machine)}; registers are sums of ±3·4ᵗ whose signs are read{how}: correct "
        "in exact arithmetic",
        reference=Reference("NerodeTheory"),
    )


class _Commands:
    """For each register of a depth and each label: where it is reset to this label, and where to another."""

    def __init__(self, layers: MachineLayers, registers: list[int]) -> None:
        self._layers, self._registers = layers, registers
        self.resets: dict[tuple[int, int], tuple[DirectionForm, DirectionForm]] = {}

    def show(self, builder: LayerBuilder) -> None:
        """Puts the commands on the stream."""
        builder.coordinate("idle", gate=1, write=0)
        for number in self._registers:
            level = self._layers.machine.levels[number]
            commands = self._layers.commands(number, builder, relu=builder.readout_relu)
            given = [
                builder.output(f"reset {number + 1}={label}", commands.is_given(Reset(label)))
                for label in range(level.num_labels)
            ]
            for label, here in enumerate(given):
                self.resets[number, label] = (here, total(given) - here)


def _add_registers(layers: MachineLayers, registers: list[int], depth: int, commands: _Commands) -> None:
    """Adds the layer of powers and the layer of registers of one depth."""
    stack = layers.stack
    builder = LayerBuilder(f"powers of depth {depth}", stack.stream)
    time = builder.coordinate("t", gate=1, write=1)
    writes = {
        (number, label): builder.output(
            f"write {number + 1}={label}",
            builder.readout_power(time + here) - builder.readout_power(time + other),
        )
        for (number, label), (here, other) in commands.resets.items()
    }
    stack.add(builder)
    builder = LayerBuilder(f"registers of depth {depth}", stack.stream, exposes_previous=True)
    for number in registers:
        level = layers.machine.levels[number]
        names = [f"h{number + 1}={label}" for label in range(level.num_labels)]
        now = [
            builder.coordinate(
                name, gate=1, write=writes[number, label], start=1 if label == level.start else -1
            )
            for label, name in enumerate(names)
        ]
        seen = [
            [(builder.readout_sign(form) + 1) * _HALF for form in forms]
            for forms in (now, [builder.previous(name) for name in names])
        ]
        layers.labels[number] = LevelLabels(
            new=show_labels(builder, number, level, seen[0], ""),
            old=show_labels(builder, number, level, seen[1], "'"),
        )
    stack.add(builder)


GROWING_REGISTERS = Construction(
    name="growing-registers",
    title="registers whose writes grow, and turns, with gates of modulus 1",
    theorem="exact-growing-registers",
    language=regular & solvable,
    architecture=linear & input_dependent & unit_gates,
    build=compile_growing_registers,
)

QUOTIENT_REGISTERS = Construction(
    name="quotient-registers",
    title="registers whose writes grow, as quotients of states that fade alike",
    theorem="exact-registers-fixed-decay",
    language=star_free,
    architecture=linear & time_invariant & never_holds,
    build=compile_quotient_registers,
)
