"""Permutations in PD-SSM: a matrix of the dictionary for each letter, chosen by a saturated softmax.

The size of an entry is σ(1000) = 1 and its phase 2π σ(-1000) = 0, both exact. Other sizes and phases come
from hidden units, one for each letter: GELU(64) = 64 without rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from torch import Tensor, nn

from nerode.core import NotCompilable, to_complex
from nerode.models.architectures.pd_ssm import PdSsm
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.assembly import Carrier, set_rows
from nerode.models.compiled.carriers.forms import Form, at, combine, compose
from nerode.models.compiled.carriers.plan import BlockPlan
from nerode.models.compiled.carriers.registers import Register, distinct_moves, read_registers
from nerode.network import Gated, PermutationDiagonal

_SATURATED = 1000.0
_SCALE = 64.0


class PdSsmCarrier(Carrier):
    """Carries layers of permutation times diagonal, and diagonal ones."""

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the states, and a matrix for each letter."""
        states = 1 if block.layer is None else block.layer.width
        letters = max(1, len(block.letters))
        units = max(letters, len(distinct_moves(self._registers(block))))
        return {
            "states": states,
            "dictionary": letters,
            "expansion": -(-units // states),
            "learned_start": True,
        }

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, PdSsm)
        if block.layer is None:
            return
        assert layer.B is not None
        assert layer.start is not None
        for letter, place in enumerate(block.letters):
            layer.S.weight[letter, place] = _SATURATED
        self._fill_matrices(layer, block)
        for part, writes in enumerate(self._writes(block)):
            for i, form in enumerate(writes):
                layer.B[i, :, part] = form.row(layer.inputs).to(layer.B)
        for i, value in enumerate(block.layer.start):
            number = to_complex(value)
            layer.start[i, 0], layer.start[i, 1] = number.real, number.imag
        for i, place in enumerate(block.states):
            layer.C.weight[place, i] = 1

    def _fill_matrices(self, layer: PdSsm, block: BlockPlan) -> None:
        assert block.layer is not None
        record = block.layer.recurrence
        sizes, phases = _last(layer.size), _last(layer.phase)
        sizes.bias.fill_(_SATURATED)
        phases.bias.fill_(-_SATURATED)
        if isinstance(record, Gated):
            self._fill_registers(layer, block)
            return
        if not isinstance(record, PermutationDiagonal):
            raise NotCompilable(self.architecture, [f"layer {block.layer.name} is {record.kind}"])
        for letter, (images, diagonal) in enumerate(zip(record.images, record.diagonals, strict=True)):
            for j, i in enumerate(images):
                layer.dictionary[letter, i, j] = 1
            for mlp in (layer.size, layer.phase):
                _first(mlp).weight[letter, block.letters[letter]] = _SCALE
            for j, value in enumerate(diagonal):
                size, turn = _polar(to_complex(value))
                _set(sizes.weight, j, letter, _logit(size) - _SATURATED)
                _set(phases.weight, j, letter, _logit(turn) + _SATURATED)

    def _fill_registers(self, layer: PdSsm, block: BlockPlan) -> None:
        """Sets P to the identity; hidden units say when registers move."""
        registers = self._registers(block)
        signals = distinct_moves(registers)
        for mlp in (layer.size, layer.phase):
            set_rows(_first(mlp), [form.scaled(int(_SCALE)) for form in signals])
        for i, register in enumerate(registers):
            layer.dictionary[:, i, i] = 1
            size, turn = _polar(to_complex(register.gate))
            changes = (_logit(size) - _SATURATED, _logit(turn) + _SATURATED)
            for mlp, change in zip((layer.size, layer.phase), changes, strict=True):
                if register.moves is None:
                    _last(mlp).bias[i] += change
                else:
                    _set(_last(mlp).weight, i, signals.index(register.moves), change)

    def _registers(self, block: BlockPlan) -> list[Register]:
        if block.layer is None or not isinstance(block.layer.recurrence, Gated):
            return []
        return read_registers(block, self.architecture)

    def _writes(self, block: BlockPlan) -> tuple[list[Form], list[Form]]:
        """The real and the imaginary parts of what is written."""
        assert block.layer is not None
        record = block.layer.recurrence
        if isinstance(record, Gated):
            return compose(record.write, block.seen), []
        assert isinstance(record, PermutationDiagonal)
        real, imaginary = [], []
        for i in range(block.layer.width):
            values = [to_complex(write[i]) for write in record.writes]
            places = [at(place) for place in block.letters]
            real.append(combine([(p, Fraction(v.real)) for p, v in zip(places, values, strict=True)]))
            imaginary.append(combine([(p, Fraction(v.imag)) for p, v in zip(places, values, strict=True)]))
        return real, imaginary


def _set(weight: Tensor, state: int, letter: int, logit: float) -> None:
    weight[state, letter] = logit / _SCALE


def _polar(value: complex) -> tuple[float, float]:
    """The size, and the turn as a share of the full circle."""
    return abs(value), math.atan2(value.imag, value.real) / (2 * math.pi) % 1


def _logit(share: float) -> float:
    if share <= 0 or share >= 1:
        return _SATURATED if share >= 1 else -_SATURATED
    return math.log(share / (1 - share))


def _first(mlp: nn.Sequential) -> nn.Linear:
    linear = mlp[0]
    assert isinstance(linear, nn.Linear)
    return linear


def _last(mlp: nn.Sequential) -> nn.Linear:
    linear = mlp[2]
    assert isinstance(linear, nn.Linear)
    return linear
