"""Long short-term memory.

i, f, o = σ(W x_t + U h_{t-1} + b), g = tanh(W x_t + U h_{t-1} + b), each with weights of its own;
c_t = f ∘ c_{t-1} + i ∘ g, h_t = o ∘ tanh(c_t).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, Reference
from nerode.models.base import LayerKind, RecurrentLayer, State
from nerode.models.exact_gates import ExactCell, StackedRows
from nerode.models.kernels import cells
from nerode.models.kernels.cells import lstm_step
from nerode.models.kernels.linear import Linear
from nerode.models.weight_writer import BlockPlan, WeightWriter, as_tensor, set_affine


@dataclass(frozen=True, slots=True, kw_only=True)
class LstmSettings:
    """Settings of an LSTM layer.

    Attributes:
        hidden: number of units; None for as many as inputs.
        forget_bias: where the bias of the forget gate starts; None draws it like all other weights, as torch
            does, and 1 keeps memories at first, as is often recommended.
        recurrent_bias: whether a second bias is added to U h, as torch does; it adds parameters and changes
            nothing else.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    hidden: int | None = None
    forget_bias: float | None = None
    recurrent_bias: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        if self.hidden is not None and self.hidden < 1:
            raise InputError(f"hidden is {self.hidden}; an LSTM needs 1 unit or more")


class Lstm(RecurrentLayer):
    """An LSTM layer; its output is h, its state h and c.

    All weights are drawn uniformly from ±1/√hidden, as torch does. Gates are stacked in the order i, f, g, o.

    Implements: [HochreiterSchmidhuber1997]
    """

    def __init__(self, inputs: int, settings: LstmSettings) -> None:
        hidden = settings.hidden or inputs
        super().__init__(inputs, hidden)
        self.settings = settings
        self.read = Linear(inputs, 4 * hidden)
        self.recurrent = nn.Parameter(torch.empty(4 * hidden, hidden))
        self.recurrent_bias = nn.Parameter(torch.empty(4 * hidden)) if settings.recurrent_bias else None
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden**-0.5), hidden**-0.5)
        self.start = nn.Parameter(torch.zeros(2, hidden)) if settings.learned_start else None
        if settings.forget_bias is not None:
            self._set_forget_bias(settings.forget_bias)

    @torch.no_grad()
    def _set_forget_bias(self, value: float) -> None:
        forget = slice(self.outputs, 2 * self.outputs)
        self.read.bias[forget] = value
        if self.recurrent_bias is not None:
            self.recurrent_bias[forget] = 0

    def initial_state(self, batch: int) -> State:
        """Returns h₀ and c₀."""
        if self.start is None:
            return {"h": self.zeros(batch, self.outputs), "c": self.zeros(batch, self.outputs)}
        h, c = self.start
        return {"h": h.expand(batch, -1), "c": c.expand(batch, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns h_t, and h_t and c_t as the state."""
        h, c = lstm_step(self._project(x), self.recurrent, state["h"], state["c"])
        return h, {"h": h, "c": c}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns all h_t, and the last h_t and c_t."""
        bias = self.read.bias if self.recurrent_bias is None else self.read.bias + self.recurrent_bias
        h, c = cells.lstm(x, self.recurrent, (state["h"], state["c"]), (self.read.weight, bias))
        return h, {"h": h[:, -1], "c": c[:, -1]}

    def _project(self, x: Tensor) -> Tensor:
        projected: Tensor = self.read(x)
        return projected if self.recurrent_bias is None else projected + self.recurrent_bias


class LstmWriter(WeightWriter):
    """Writes LSTM cells."""

    alone = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of units."""
        return {"hidden": len(self.cell_of(block, "lstm").gates[0].inputs), "learned_start": True}

    def fill(self, layer: Lstm, block: BlockPlan) -> None:
        """Sets the weights; the layer stacks its gates as input, forget, cell, output."""
        gates = self.cell_of(block, "lstm").gates
        for number, gate in enumerate(gates[i] for i in (0, 1, 3, 2)):
            part = slice(number * layer.outputs, (number + 1) * layer.outputs)
            set_affine(layer.read.weight[part], layer.read.bias[part], gate.inputs, block.columns)
            layer.recurrent[part] = gate.recurrent
        layer.learned_start.copy_(as_tensor(self.layer_of(block).start).reshape(2, -1))


class ExactLstm(ExactCell):
    """An LSTM of bits: the input gate is the opposite of the forget gate, the output gate is open."""

    layer: Lstm
    keeps, candidate, opposite, opened = 1, 2, 0, (3,)

    def rows(self, layer: Lstm) -> StackedRows:
        """Returns the maps to i, f, g and o."""
        if layer.recurrent_bias is not None or layer.start is None:
            raise InputError("exact units are for LSTMs with one bias and learned_start = true")
        units = layer.outputs
        return StackedRows(
            layer.read.weight.view(4, units, -1),
            layer.recurrent.view(4, units, units),
            layer.read.bias.view(4, units),
        )

    def memory(self, layer: Lstm) -> Tensor:
        """Returns the start of c."""
        return layer.learned_start[1]

    def visible(self, memory: Tensor) -> Tensor:
        """Returns h through an open output gate."""
        return memory.tanh()

    def fold_start(self, layer: Lstm) -> None:
        """Lets h start as c shows."""
        layer.learned_start[0] = layer.learned_start[1].tanh()


KIND = LayerKind(
    name="lstm",
    title="LSTM",
    settings=LstmSettings,
    build=Lstm,
    equation="c = f ∘ c + i ∘ g, h = o ∘ tanh(c)",
    reference=Reference("HochreiterSchmidhuber1997"),
    writer=LstmWriter,
    gates={"two": ExactLstm},
)
