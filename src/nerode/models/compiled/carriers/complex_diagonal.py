"""Rotations and registers in the complex diagonal layer.

A gate that only the letter decides turns by its angle, a sum over letters of which one is there. A register
has a radius of 1 or of its gate, clamped, and turns by half a circle where the gate is negative. Writes are
free, so counters are carried too.
"""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from nerode.core import NotCompilable, to_complex, to_float
from nerode.models.architectures.complex_diagonal import ComplexDiagonal
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.assembly import Carrier, set_rows
from nerode.models.compiled.carriers.forms import Form, at, combine, compose
from nerode.models.compiled.carriers.plan import BlockPlan
from nerode.models.compiled.carriers.registers import read_registers
from nerode.network import Gated


class ComplexDiagonalCarrier(Carrier):
    """Carries diagonal layers, real ones and complex ones."""

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of states; radii reach 0 and 1."""
        states = 1 if block.layer is None else block.layer.width
        return {"states": states, "radius": "clamp", "learned_start": True}

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, ComplexDiagonal)
        if block.layer is None:
            return
        assert layer.C is not None
        assert layer.start is not None
        if block.layer.complex_state:
            self._fill_rotations(layer, block)
        else:
            self._fill_registers(layer, block)
        for i, value in enumerate(block.layer.start):
            number = to_complex(value)
            layer.start[i, 0], layer.start[i, 1] = number.real, number.imag
        width = block.layer.width
        for i, place in enumerate(block.states):
            # Re(h) = Re(1 · h) and Im(h) = Re(-i · h).
            layer.C[place, i % width, i // width] = 1 if i < width else -1

    def _fill_registers(self, layer: ComplexDiagonal, block: BlockPlan) -> None:
        assert layer.radius is not None
        registers = read_registers(block, self.architecture)
        for i, register in enumerate(registers):
            gate = Fraction(to_float(register.gate))
            moves = Form({}, 1) if register.moves is None else register.moves
            set_rows(layer.radius, [combine([(moves, abs(gate) - 1)], 1)], first=i)
            if gate < 0:
                set_rows(layer.angle, [moves.scaled(Fraction(cmath.pi))], first=i)
            set_rows(layer.write, [register.write], first=2 * i)

    def _fill_rotations(self, layer: ComplexDiagonal, block: BlockPlan) -> None:
        assert block.layer is not None
        assert layer.radius is not None
        record = block.layer.recurrence
        if not isinstance(record, Gated):
            raise NotCompilable(self.architecture, [f"layer {block.layer.name} is {record.kind}"])
        gates, writes = compose(record.gate, block.seen), compose(record.write, block.seen)
        for i, (gate, write) in enumerate(zip(gates, writes, strict=True)):
            sizes, angles = zip(*(cmath.polar(g) for g in self._by_letter(gate, block)), strict=True)
            written = self._by_letter(write, block)
            set_rows(layer.radius, [_over_letters(sizes, block)], first=i)
            set_rows(layer.angle, [_over_letters(angles, block)], first=i)
            parts = [[w.real for w in written], [w.imag for w in written]]
            set_rows(layer.write, [_over_letters(part, block) for part in parts], first=2 * i)

    def _by_letter(self, form: Form, block: BlockPlan) -> list[complex]:
        """The value of a form after each letter."""
        if not form.terms.keys() <= set(block.letters):
            raise NotCompilable(
                self.architecture, ["a complex gate depends on more than the letter, which angles cannot sum"]
            )
        return [to_complex(form.constant + form.terms.get(place, 0)) for place in block.letters]


def _over_letters(values: Sequence[float], block: BlockPlan) -> Form:
    parts = zip(block.letters, values, strict=True)
    return combine([(at(place), Fraction(value)) for place, value in parts])
