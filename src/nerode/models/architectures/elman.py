"""The Elman network: h_t = f(W x_t + U h_{t-1} + b), f = tanh or relu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, NotCompilable, Reference
from nerode.models.base import LayerKind, RecurrentLayer, State
from nerode.models.exact_gates import ExactCell, StackedRows
from nerode.models.kernels import cells
from nerode.models.kernels.linear import Linear
from nerode.models.weight_writer import BlockPlan, CellPlan, WeightWriter, as_tensor, set_affine


@dataclass(frozen=True, slots=True, kw_only=True)
class ElmanSettings:
    """Settings of an Elman layer.

    Attributes:
        hidden: number of units; None for as many as inputs.
        activation: f.
        recurrent_bias: whether a second bias is added to U h, as torch does; it adds parameters and changes
            nothing else.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    hidden: int | None = None
    activation: Literal["tanh", "relu"] = "tanh"
    recurrent_bias: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        if self.hidden is not None and self.hidden < 1:
            raise InputError(f"hidden is {self.hidden}; an Elman network needs 1 unit or more")


class Elman(RecurrentLayer):
    """An Elman layer; its output is its state.

    All weights are drawn uniformly from ±1/√hidden, as torch does.

    Implements: [Elman1990]
    """

    def __init__(self, inputs: int, settings: ElmanSettings) -> None:
        hidden = settings.hidden or inputs
        super().__init__(inputs, hidden)
        self.settings = settings
        self.read = Linear(inputs, hidden)
        self.recurrent = nn.Parameter(torch.empty(hidden, hidden))
        self.recurrent_bias = nn.Parameter(torch.empty(hidden)) if settings.recurrent_bias else None
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden**-0.5), hidden**-0.5)
        self.start = nn.Parameter(torch.zeros(hidden)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀."""
        return {"h": self.started(batch, self.outputs)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns h_t as output and state."""
        total = self._project(x) + state["h"] @ self.recurrent.T
        h = total.tanh() if self.settings.activation == "tanh" else total.relu()
        return h, {"h": h}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns all h_t and the last of them."""
        start = state["h"]
        h = cells.elman(self._project(x), self.recurrent, start, self.settings.activation)
        return h, {"h": h[:, -1]}

    def squashed_recurrence(self) -> tuple[Float[Tensor, "state state"], str]:
        """Returns U and the name of f."""
        return self.recurrent, self.settings.activation

    def _project(self, x: Tensor) -> Tensor:
        projected: Tensor = self.read(x)
        return projected if self.recurrent_bias is None else projected + self.recurrent_bias


class ElmanWriter(WeightWriter):
    """Writes Elman layers."""

    alone = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of units and the activation."""
        layer, move = self.layer_of(block), self.layer_of(block).move
        if not isinstance(move, CellPlan) or move.cell != "elman" or move.activation not in ("tanh", "relu"):
            raise NotCompilable(self.architecture, [f"layer {layer.name} is not an Elman layer of the zoo"])
        return {"hidden": layer.width, "activation": move.activation, "learned_start": True}

    def fill(self, layer: Elman, block: BlockPlan) -> None:
        """Sets the weights."""
        (update,) = self.cell_of(block, "elman").gates
        set_affine(layer.read.weight, layer.read.bias, update.inputs, block.columns)
        layer.recurrent.copy_(update.recurrent)
        layer.learned_start.copy_(as_tensor(self.layer_of(block).start))


class ExactElman(ExactCell):
    """An Elman network of bits: tanh is a sign."""

    layer: Elman

    def rows(self, layer: Elman) -> StackedRows:
        """Returns the only map."""
        if layer.settings.activation != "tanh" or layer.recurrent_bias is not None or layer.start is None:
            raise InputError(
                "exact units are for Elman networks with tanh, one bias and learned_start = true"
            )
        return StackedRows(layer.read.weight[None], layer.recurrent[None], layer.read.bias[None])

    def memory(self, layer: Elman) -> Tensor:
        """Returns the start of h."""
        return layer.learned_start


KIND = LayerKind(
    name="elman-tanh",
    title="Elman RNN (tanh)",
    settings=ElmanSettings,
    build=Elman,
    equation="h = tanh(W x + U h + b)",
    reference=Reference("Elman1990"),
    variants={"elman-relu": {"activation": "relu"}},
    writer=ElmanWriter,
    written=("elman-relu",),
    gates={"two": ExactElman},
)
