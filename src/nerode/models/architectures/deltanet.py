"""DeltaNet, Gated DeltaNet and DeltaProduct: each token replaces what its keys retrieve.

DeltaNet:        S ← S - β k̂ (k̂ᵀ S) + β k̂ vᵀ,  o = q̂ᵀ S
Gated DeltaNet:  the state fades by a number before the delta rule, S ← (I - β k̂ k̂ᵀ) α S + β k̂ vᵀ
DeltaProduct:    S ← α S,  then S ← S - β_j k̂_j (k̂_jᵀ S) + β_j k̂_j v_jᵀ for j = 1 … n;  α = 1 unless gated

The transition of a token of DeltaProduct is a product of reflections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nerode.core import Exact, InputError, NotCompilable, Reference, to_float
from nerode.models.base import LayerKind, State
from nerode.models.exact_gates import SATURATED, ExactGates, GateForm, ThreeValuedGates, amount, straight
from nerode.models.kernels.scan import diagonal_scan
from nerode.models.parts.delta_rule import AROUND, DeltaRule, DeltaSettings
from nerode.models.registers import SCALE, Register, log_odds, registers_of, set_taps
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

    def fill(self, layer: DeltaRule, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        mirrors = None if block.layer is None else block.layer.move
        registers = []
        if not isinstance(mirrors, ReflectionPlan):
            registers = registers_of(block, self.architecture, signs=layer.settings.signed)
        assert layer.convolution is not None
        set_taps(layer.convolution, registers, first=layer.sizes[0] + layer.sizes[1])
        if layer.decay is not None:
            layer.decay.bias.fill_(-_SATURATED)
        if layer.gate is not None:
            set_rows(layer.gate, [PlaceForm({ONE: SCALE})] * layer.gate.out_features)
        for head, place in enumerate(block.states):
            layer.output.weight[place, head] = 1 if layer.gate is None else 1 / SCALE
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
        logits = [r.switched(self._logit(1 - r.gate, signed=signed), -_SATURATED) for r in registers]
        for number, register in enumerate(registers):
            if register.signs is not None:
                # 1 - 2σ(x) is 1, 0 and -1 without rounding at these three.
                logits[number] = register.signs.scaled(-_SATURATED)
        set_rows(layer.beta, logits)
        for head, register in enumerate(registers):
            layer.learned_start[head] = to_float(register.start)

    def _fill_mirrors(self, layer: DeltaRule, block: BlockPlan, move: ReflectionPlan) -> None:
        assert block.layer is not None
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
                layer.learned_start[head, i, 0] = to_float(first)

    def _logit(self, beta: Exact, *, signed: bool) -> Fraction:
        share = to_float(beta) / (2 if signed else 1)
        if not -_TOLERANCE <= share <= 1 + _TOLERANCE:
            raise NotCompilable(
                self.architecture, [f"a factor has β = {beta}; here β lies in [0,{1 + int(signed)}]"]
            )
        return Fraction(log_odds(share, 1 - share, _SATURATED))


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


class ExactDelta(ExactGates):
    """DeltaNet, gated or not, with exact gates; the keys are the first axis of each head.

    A head rests, β = 0, or replaces what its first key retrieves, β = 1. With signs it flips that, β = 2, and
    writes nothing, so that the state is an image of the learned start and nothing is ever rounded. A decay is
    exactly 1.
    """

    layer: DeltaRule
    form = GateForm(settings={"convolution": 0, "activation": "none", "bias": True, "learned_start": True})

    def __init__(self, layer: DeltaRule, *, signed: bool) -> None:
        found = layer.settings
        if found.convolution or found.activation != "none" or not found.bias or layer.start is None:
            raise InputError(
                "exact gates are for DeltaNet with convolution = 0, activation = none, bias = true and "
                "learned_start = true"
            )
        super().__init__(layer, signed=signed)

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        on, _ = self.decide(layer.beta(x))
        value = layer.value(x).view(*x.shape[:2], layer.heads, layer.values)
        first, last = self.scan(on[..., None], on[..., None] * value, state["S"][:, :, 0])
        query = layer.scaled(layer.query(x).view(*x.shape[:2], layer.heads, layer.keys))
        rest = state["S"][:, None, :, 1:].expand(-1, x.shape[1], -1, -1, -1)
        S = torch.cat([first[..., None, :], rest], dim=-2)
        readings = (query[..., None] * S).sum(-2)
        after = torch.cat([last[:, :, None], state["S"][:, :, 1:]], dim=-2)
        return layer._read(x, readings), {"S": after}

    def score_rows(self, layer: DeltaRule) -> tuple[Tensor, Tensor]:
        """Returns the map to β."""
        return layer.beta.weight, layer.beta.bias

    def fold_scale(self, layer: DeltaRule, scale: float) -> None:
        """Sets the keys to the first axis of each head, and with signs the values to 0."""
        axis = torch.eye(layer.keys, dtype=layer.key.bias.dtype)[0]
        layer.key.weight.zero_()
        layer.key.bias.copy_(axis.repeat(layer.heads))
        if self.signed:
            layer.value.weight.zero_()
            layer.value.bias.zero_()
        if layer.decay is not None:
            layer.decay.read.weight.zero_()
            layer.decay.bias.fill_(-SATURATED)


_KEY = 256.0
"""A key that SiLU keeps and whose square is a power of two."""


class ThreeValuedDelta(ThreeValuedGates):
    """DeltaNet [-1,1] with gates 0, 1 and -1: the value decides about resets, β about flips.

    A head has one value, which its first key holds. Folded, σ(0) = 1/2 gives β = 1 and the gate 0. β does not
    go through the convolution, so that the first of two layers shows the last letters to the second. Values
    of a layer with memory do not look back either: they must not see more than β does.
    """

    layer: DeltaRule
    form = GateForm(
        settings={
            "heads": 16,
            "key_width": 2,
            "value_width": 1,
            "convolution": 2,
            "query_norm": "none",
            "output_norm": "none",
            "bias": True,
            "learned_start": True,
        }
    )

    def __init__(self, layer: DeltaRule, *, signed: bool) -> None:
        wanted = {**self.form.settings, "heads": layer.heads, "activation": "silu", "signed": True}
        if any(getattr(layer.settings, name) != value for name, value in wanted.items()):
            raise InputError(
                f"gates of three values are for DeltaNet with {wanted}; the number of heads is free"
            )
        super().__init__(layer, signed=signed)

    def begin(self) -> None:
        """Draws a start that flips can tell apart, and lets the last letter count in the values."""
        super().begin()
        taps = self._taps(self.layer)
        with torch.no_grad():
            nn.init.uniform_(taps[:, 0], -0.5, 0.5)
            taps[:, 1] = 1.0

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        assert layer.convolution is not None
        mixed, window = layer.convolution(layer._project(x), state["window"])
        query, _, resets = torch.split_with_sizes(mixed, layer.sizes, dim=-1)
        if not self.shows_window:
            resets = layer.value(x) * self._taps(layer)[:, 1]
        self._inputs = x.detach()
        reset, gate = self.decide_three(resets, layer.beta(x))
        first, last = diagonal_scan(gate, reset * amount(resets), state["S"][:, :, 0, 0])
        query = nn.functional.silu(query).view(*x.shape[:2], layer.heads, layer.keys)
        readings = query[..., 0] * first + query[..., 1] * state["S"][:, None, :, 1, 0]
        after = torch.stack([last, state["S"][:, :, 1, 0]], dim=-1)[..., None]
        return layer._read(x, layer.scale * readings[..., None]), {"S": after, "window": window}

    def score_rows(self, layer: DeltaRule) -> tuple[Tensor, Tensor]:
        """Returns the map to β."""
        return layer.beta.weight, layer.beta.bias

    def shift_resets(self, mean: Tensor, factor: Tensor) -> None:
        """Changes the map to the values and the convolution."""
        taps = self._taps(self.layer)
        self.layer.value.bias.sub_(mean / (taps.sum(1) if self.shows_window else taps[:, 1]))
        taps.mul_(factor[:, None])

    @staticmethod
    def _taps(layer: DeltaRule) -> Tensor:
        """The part of the convolution that the values go through, as a view."""
        assert layer.convolution is not None
        return layer.convolution.weight[-layer.sizes[2] :]

    @torch.no_grad()
    def fold(self, layer: DeltaRule) -> None:
        """Writes the decided gates into a plain layer with the same weights."""
        assert layer.convolution is not None
        scale = self.reset_scale()
        self._taps(layer).mul_(scale)
        if not self.shows_window:
            self._taps(layer)[:, 0] = 0.0
        layer.learned_start.mul_(scale)
        layer.output.weight.div_(scale)
        keys = layer.convolution.weight[layer.sizes[0] : -layer.sizes[2]]
        keys[:, 0], keys[:, 1] = 0.0, 1.0
        layer.key.weight.zero_()
        layer.key.bias.copy_(_KEY * torch.eye(layer.keys)[0].repeat(layer.heads))
        self.solve_gates(layer.beta, self._inputs)


_ROOTS = ((1.0, -1.0, 0.0), (0.0, 1.0, -1.0), (1.0, 0.0, -1.0))
"""The mirrors of the symmetric group of three things: each swaps two coordinates."""

_GRID = 2.0**10
"""The start is a multiple of 1 over this, so that swaps never round."""


class ExactProduct(ExactGates):
    """DeltaProduct with signs and exact mirrors: each key of a token is a root, and reflects or rests.

    The layer reads letters as they are. What a letter gives for a key scores the three roots; the best one is
    the key. Nothing is written, so that the state is a permutation of the rows of the learned start. The
    query is the same for every letter: what is answered then depends on the state alone, and not on the last
    letter beside it, with which short words could be learned one by one.
    """

    layer: DeltaProduct
    form = GateForm(
        settings={
            "convolution": 0,
            "activation": "none",
            "bias": True,
            "heads": 32,
            "key_width": 3,
            "value_width": 4,
            "output_gate": False,
            "learned_start": True,
        },
        around="nothing",
        embedding=False,
        patient=True,
    )

    def __init__(self, layer: DeltaProduct, *, signed: bool) -> None:
        found = layer.settings
        plain = not found.convolution and found.activation == "none" and found.bias and layer.decay is None
        if not (signed and plain and layer.keys == len(_ROOTS) and layer.start is not None):
            raise InputError(
                "exact mirrors are for DeltaProduct with signed = true, gated = false, convolution = 0, "
                "activation = none, bias = true, key_width = 3 and learned_start = true"
            )
        super().__init__(layer, signed=signed)

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        axes = (*x.shape[:2], layer.factors, layer.heads)
        on = self.decide(layer.beta(x))[0].view(*axes, 1)
        scores = layer.key(x).view(*axes, len(_ROOTS))
        chosen = nn.functional.one_hot(scores.argmax(-1), len(_ROOTS)).to(x.dtype)
        root = straight(chosen, scores.softmax(-1)) @ x.new_tensor(_ROOTS)
        S, found = state["S"], []
        for time in range(x.shape[1]):
            for factor in range(layer.factors):
                key = root[:, time, factor, ..., None]
                S = S - key * (on[:, time, factor] * (key * S).sum(-2))[..., None, :]
            found.append(S)
        query = layer.scaled(layer.query.bias.view(layer.heads, layer.keys))
        readings = (query[..., None] * torch.stack(found, dim=1)).sum(-2)
        return layer._read(x, readings), {"S": S}

    def initial_state(self, batch: int) -> State:
        """Returns the start, as short numbers."""
        start = self.layer.learned_start
        return {"S": straight((start * _GRID).round() / _GRID, start).expand(batch, -1, -1, -1)}

    def score_rows(self, layer: DeltaProduct) -> tuple[Tensor, Tensor]:
        """Returns the map to β."""
        return layer.beta.weight, layer.beta.bias

    def fold_scale(self, layer: DeltaProduct, scale: float) -> None:
        """Writes the root of each letter as its key, the values as 0, and the start in short numbers."""
        scores = (layer.key.weight + layer.key.bias[:, None]).view(-1, len(_ROOTS), layer.inputs)
        roots = layer.key.weight.new_tensor(_ROOTS)[scores.argmax(1)]
        layer.key.weight.copy_(roots.transpose(1, 2).reshape_as(layer.key.weight))
        layer.key.bias.zero_()
        layer.query.weight.zero_()
        layer.value.weight.zero_()
        layer.value.bias.zero_()
        layer.learned_start.copy_((layer.learned_start * _GRID).round() / _GRID)


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
    gates={"two": ExactDelta, "three": ThreeValuedDelta},
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
    gates={"two": ExactDelta},
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
    gates={"two": ExactProduct},
)
