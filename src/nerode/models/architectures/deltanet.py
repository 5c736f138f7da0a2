"""DeltaNet, Gated DeltaNet and DeltaProduct: each token replaces what its keys retrieve.

DeltaNet:        S ← S - β k̂ (k̂ᵀ S) + β k̂ vᵀ,  o = q̂ᵀ S
Gated DeltaNet:  the state fades by a number before the delta rule, S ← (I - β k̂ k̂ᵀ) α S + β k̂ vᵀ
DeltaProduct:    S ← α S,  then S ← S - β_j k̂_j (k̂_jᵀ S) + β_j k̂_j v_jᵀ for j = 1 … n;  α = 1 unless gated

The transition of a token of DeltaProduct is a product of reflections.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from nerode.core import Exact, InputError, NotCompilable, Reference, to_float
from nerode.models.base import LayerKind
from nerode.models.parts.delta_rule import AROUND, DeltaRule, DeltaSettings
from nerode.models.registers import Register, registers_of, set_taps
from nerode.models.weight_writer import (
    ONE,
    BlockPlan,
    PlaceForm,
    ReflectionPlan,
    WeightWriter,
    combine,
    set_rows,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaNetSettings(DeltaSettings):
    """Settings of a DeltaNet layer: those of the delta rule."""


class DeltaNet(DeltaRule):
    """A DeltaNet layer: one key per token, no decay.

    Implements: [YangDeltaNet2024]
    """

    def __init__(self, inputs: int, settings: DeltaNetSettings) -> None:
        super().__init__(inputs, settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDeltaNetSettings(DeltaSettings):
    """Settings of a Gated DeltaNet layer: those of the delta rule, with an output gate as published.

    The authors take keys of 3/4 and values of 3/2 of the share that a head has of the width. Here both are
    the whole share when they are not given, so that any width that the heads divide will do.
    """

    output_gate: bool = True


class GatedDeltaNet(DeltaRule):
    """A Gated DeltaNet layer: one key per token, and the decay of Mamba-2.

    Implements: [YangGatedDeltaNet2025]
    """

    def __init__(self, inputs: int, settings: GatedDeltaNetSettings) -> None:
        super().__init__(inputs, settings, decays=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaProductSettings(DeltaSettings):
    """Settings of a DeltaProduct layer: those of the delta rule, and two of its own.

    Attributes:
        factors: number of keys, values and β per token.
        gated: whether the state fades before them, by the decay of Mamba-2.
    """

    factors: int = 2
    gated: bool = False
    output_gate: bool = True

    def __post_init__(self) -> None:
        DeltaSettings.__post_init__(self)
        if self.factors < 1:
            raise InputError(f"factors is {self.factors}; it has to be 1 or more")


class DeltaProduct(DeltaRule):
    """A DeltaProduct layer, gated or not.

    Implements: [Siems2025]
    """

    def __init__(self, inputs: int, settings: DeltaProductSettings) -> None:
        super().__init__(inputs, settings, factors=settings.factors, decays=settings.gated)


_SATURATED = 48
"""σ is 1 here, and at its negative too small to move a number in any type. A larger one would be steeper
where β is to be 1, between the two ends, and so blow up what was rounded before."""

_SCALE = 64
_TOLERANCE = 1e-9

_PLAIN = {
    "activation": "none",
    "query_norm": "none",
    "output_norm": "none",
    "scale": 1.0,
    "value_width": 1,
    "learned_start": True,
}


class DeltaWriter(WeightWriter):
    """Writes layers of reflections, and diagonal layers whose writes are tied to their gates.

    A register is a head with one key and one value: S ← (1 - β) S + β v. A vector h that reflections move is
    kept in as many heads as it has coordinates, each of which shows one of them; its keys are the mirrors. β
    is 0, 1 or 2 without rounding where the logistic function saturates. Queries and readings are neither
    normalised nor squashed, the convolution passes its input on, at once or one letter late, a decay is
    exactly 1, and an output gate is the constant 64, divided out.
    """

    delays = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns heads for the coordinates, and as many factors as the letters need."""
        move = None if block.layer is None else block.layer.move
        if not isinstance(move, ReflectionPlan):
            return _PLAIN | {"heads": max(1, len(block.states)), "key_width": 1} | self._factors(1)
        states = len(block.states)
        return (
            _PLAIN | {"heads": states, "key_width": states} | self._factors(max(1, *map(len, move.factors)))
        )

    def fill(self, layer: nn.Module, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, DeltaRule)
        mirrors = None if block.layer is None else block.layer.move
        registers = []
        if not isinstance(mirrors, ReflectionPlan):
            registers = registers_of(block, self.architecture, signs=layer.settings.signed)
        assert layer.convolution is not None
        set_taps(layer.convolution, registers, first=layer.sizes[0] + layer.sizes[1])
        if layer.decay is not None:
            layer.decay.bias.fill_(-_SATURATED)
        if layer.gate is not None:
            set_rows(layer.gate, [PlaceForm({ONE: _SCALE})] * layer.gate.out_features)
        for head, place in enumerate(block.states):
            layer.output.weight[place, head] = 1 if layer.gate is None else 1 / _SCALE
        if isinstance(mirrors, ReflectionPlan):
            self._fill_mirrors(layer, block, mirrors)
        else:
            self._fill_registers(layer, registers)

    def _factors(self, needed: int) -> dict[str, int]:
        if "deltaproduct" in self.architecture:
            return {"factors": needed}
        if needed > 1:
            raise NotCompilable(
                self.architecture,
                [f"a letter needs {needed} reflections; this architecture has one per letter"],
            )
        return {}

    def _fill_registers(self, layer: DeltaRule, registers: Sequence[Register]) -> None:
        ones = [PlaceForm({ONE: 1})] * len(registers)
        set_rows(layer.query, ones)
        set_rows(layer.key, ones)
        set_rows(layer.value, [_value(register) for register in registers])
        signed = layer.settings.signed
        logits = [self._when(r.moves, self._logit(1 - r.gate, signed=signed)) for r in registers]
        for number, register in enumerate(registers):
            if register.signs is not None:
                # 1 - 2σ(x) is 1, 0 and -1 without rounding at these three.
                logits[number] = register.signs.scaled(-_SATURATED)
        set_rows(layer.beta, logits)
        assert layer.start is not None
        for head, register in enumerate(registers):
            layer.start[head] = to_float(register.start)

    def _fill_mirrors(self, layer: DeltaRule, block: BlockPlan, move: ReflectionPlan) -> None:
        assert block.layer is not None
        assert layer.start is not None
        n, signed = len(block.states), layer.settings.signed
        values = [
            _solve_values(factors, write, self.architecture)
            for factors, write in zip(move.factors, move.writes, strict=True)
        ]
        for j in range(layer.factors):
            having = [(form, c) for c, form in enumerate(move.chosen) if j < len(move.factors[c])]
            key = [combine([(form, move.factors[c][j][1][i]) for form, c in having]) for i in range(n)]
            value = combine([(form, values[c][j]) for form, c in having])
            logits = [(form, self._logit(move.factors[c][j][0], signed=signed)) for form, c in having]
            strength = combine([(form, x + _SATURATED) for form, x in logits], -_SATURATED)
            for head in range(n):
                number = j * n + head
                set_rows(layer.key, key, first=number * n)
                set_rows(layer.value, [value], first=number)
                set_rows(layer.beta, [strength], first=number)
        for head in range(n):
            set_rows(layer.query, [PlaceForm({ONE: 1})], first=head * n + head)
            for i, first in enumerate(block.layer.start):
                layer.start[head, i, 0] = to_float(first)

    def _when(self, moves: PlaceForm | None, logit: Fraction) -> PlaceForm:
        """A logit where a register moves, and the one of β = 0 elsewhere."""
        if moves is None:
            return PlaceForm({}, logit)
        return combine([(moves, logit + _SATURATED)], -_SATURATED)

    def _logit(self, beta: Exact, *, signed: bool) -> Fraction:
        share = to_float(beta) / (2 if signed else 1)
        if not -_TOLERANCE <= share <= 1 + _TOLERANCE:
            raise NotCompilable(
                self.architecture, [f"a factor has β = {beta}; here β lies in [0,{1 + int(signed)}]"]
            )
        if share <= 0 or share >= 1:
            return Fraction(_SATURATED if share >= 1 else -_SATURATED)
        return Fraction(math.log(share / (1 - share)))


def _value(register: Register) -> PlaceForm:
    """The value v that a register is pulled towards: β v is written."""
    return PlaceForm() if register.gate == 1 else register.write.scaled(Fraction(1) / (1 - register.gate))


def _solve_values(
    factors: Sequence[tuple[Exact, Sequence[Exact]]], write: Sequence[Exact], architecture: str
) -> list[Fraction]:
    """The values v_j for which the factors of a letter write its vector.

    Each factor adds β k̂ v, and the later factors reflect that.
    """
    wanted = np.array([to_float(e) for e in write])
    columns: list[npt.NDArray[np.float64]] = []
    for strength, vector in factors:
        beta, key = to_float(strength), np.array([to_float(e) for e in vector])
        key = key / np.linalg.norm(key)
        columns = [c - beta * key * (key @ c) for c in columns]
        columns.append(beta * key)
    if not wanted.any():
        return [Fraction(0)] * len(factors)
    matrix = np.array(columns).T if columns else np.zeros((len(wanted), 0))
    solved = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    if np.abs(matrix @ solved - wanted).max() > _TOLERANCE:
        raise NotCompilable(architecture, ["a letter writes where none of its reflections points"])
    return [Fraction(float(v)) for v in solved]


DELTANET = LayerKind(
    name="deltanet",
    title="DeltaNet",
    settings=DeltaNetSettings,
    build=DeltaNet,
    equation="S = (I - β k kᵀ) S + β k vᵀ",
    reference=Reference("YangDeltaNet2024"),
    surroundings=AROUND,
    variants={"deltanet-signed": {"signed": True}},
    writer=DeltaWriter,
    written=("deltanet-signed",),
)

GATED_DELTANET = LayerKind(
    name="gated-deltanet",
    title="Gated DeltaNet",
    settings=GatedDeltaNetSettings,
    build=GatedDeltaNet,
    equation="S = α (I - β k kᵀ) S + β k vᵀ",
    reference=Reference("YangGatedDeltaNet2025"),
    surroundings=AROUND,
    variants={"gated-deltanet-signed": {"signed": True}},
    writer=DeltaWriter,
    written=("gated-deltanet-signed",),
)

DELTAPRODUCT = LayerKind(
    name="deltaproduct",
    title="DeltaProduct",
    settings=DeltaProductSettings,
    build=DeltaProduct,
    equation="S = ∏(I - β k kᵀ) S + …, several k, v, β per token",
    reference=Reference("Siems2025"),
    surroundings=AROUND,
    variants={
        "deltaproduct-signed": {"signed": True},
        "gated-deltaproduct": {"gated": True},
        "gated-deltaproduct-signed": {"gated": True, "signed": True},
    },
    writer=DeltaWriter,
    written=("deltaproduct-signed",),
)
