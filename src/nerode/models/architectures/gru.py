"""The gated recurrent unit, in two forms.

r, z = σ(W x_t + U h_{t-1} + b), h_t = (1 - z) ∘ n + z ∘ h_{t-1}, where the candidate is
n = tanh(W x_t + b + r ∘ (U h_{t-1} + b'))     the reset gate after the product, as torch and cuDNN have it,
n = tanh(W x_t + b + U (r ∘ h_{t-1}) + b')     the reset gate before the product, as first published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, Reference
from nerode.models.base import LayerKind, RecurrentLayer, State
from nerode.models.exact_gates import ExactCell, GateForm, StackedRows
from nerode.models.kernels import cells
from nerode.models.kernels.cells import gru_reference, gru_reset_first_reference, gru_step, reset_first_step
from nerode.models.kernels.linear import Linear
from nerode.models.weight_writer import BlockPlan, PlaceForm, WeightWriter, as_tensor, set_affine


@dataclass(frozen=True, slots=True, kw_only=True)
class GruSettings:
    """Settings of a GRU layer.

    Attributes:
        hidden: number of units; None for as many as inputs.
        reset_after: whether the reset gate acts after the product with U, as in torch, or before it, as first
            published.
        recurrent_bias: whether a second bias is added to U h, as torch does. Only with `reset_after`, and
            only in the candidate, does it do anything that the first bias does not.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
        cap: the largest share of the state that is kept: z = cap·σ(…). Below 1 no unit can latch, and
            rounding errors die out; it runs without the fast kernels.
    """

    hidden: int | None = None
    reset_after: bool = True
    recurrent_bias: bool = True
    learned_start: bool = False
    cap: float = 1.0

    def __post_init__(self) -> None:
        if self.hidden is not None and self.hidden < 1:
            raise InputError(f"hidden is {self.hidden}; a GRU needs 1 unit or more")
        if not 0 < self.cap <= 1:
            raise InputError(f"cap is {self.cap}; a share is above 0 and at most 1")


class Gru(RecurrentLayer):
    """A GRU layer; its output is its state.

    All weights are drawn uniformly from ±1/√hidden, as torch does. Gates are stacked in the order r, z, n.
    Some authors write 1 - z for our z.

    Implements: [Cho2014]
    """

    def __init__(self, inputs: int, settings: GruSettings) -> None:
        hidden = settings.hidden or inputs
        super().__init__(inputs, hidden)
        self.settings = settings
        self.read = Linear(inputs, 3 * hidden)
        self.recurrent = nn.Parameter(torch.empty(3 * hidden, hidden))
        self.recurrent_bias = nn.Parameter(torch.empty(3 * hidden)) if settings.recurrent_bias else None
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden**-0.5), hidden**-0.5)
        self.start = nn.Parameter(torch.zeros(hidden)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀."""
        return {"h": self.started(batch, self.outputs)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns h_t as output and state."""
        projected, inner = self._project(x)
        if self.settings.reset_after:
            h = gru_step(projected, self.recurrent, inner, state["h"], self.settings.cap)
        else:
            h = reset_first_step(projected, self.recurrent, state["h"], self.settings.cap)
        return h, {"h": h}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns all h_t and the last of them."""
        start = state["h"]
        cap = self.settings.cap
        if cap == 1 and self.settings.reset_after:
            h = cells.gru(x, self.recurrent, self.recurrent_bias, start, (self.read.weight, self.read.bias))
            return h, {"h": h[:, -1]}
        projected, inner = self._project(x)
        if cap < 1 and self.settings.reset_after:
            h = gru_reference(projected, self.recurrent, inner, start, cap)
        elif cap < 1:
            h = gru_reset_first_reference(projected, self.recurrent, start, cap)
        else:
            h = cells.gru_reset_first(projected, self.recurrent, start)
        return h, {"h": h[:, -1]}

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The projection of the inputs, and the bias that the reset gate multiplies."""
        inner = self.recurrent.new_zeros(self.outputs)
        if self.recurrent_bias is None:
            return self.read(x), inner
        if not self.settings.reset_after:
            return self.read(x) + self.recurrent_bias, inner
        outer, inner = self.recurrent_bias[: 2 * self.outputs], self.recurrent_bias[2 * self.outputs :]
        return self.read(x) + nn.functional.pad(outer, (0, self.outputs)), inner


_OPEN = 1000
"""σ is exactly 1 here."""


class GruWriter(WeightWriter):
    """Writes GRU cells; a reset gate that never changes becomes part of the matrix that it multiplies."""

    alone = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of units, and where the reset gate acts."""
        reset = self.cell_of(block, "gru").gates[0]
        return {
            "hidden": self.layer_of(block).width,
            "reset_after": reset.is_constant,
            "recurrent_bias": False,
            "learned_start": True,
        }

    def fill(self, layer: Gru, block: BlockPlan) -> None:
        """Sets the weights; the layer's z is 1 - z of the network, so its rows change their sign."""
        reset, update, candidate = self.cell_of(block, "gru").gates
        resetting, around = reset.inputs, candidate.recurrent
        if layer.settings.reset_after:
            around = around * as_tensor(form.constant for form in resetting).sigmoid()
            resetting = [PlaceForm({}, _OPEN)] * layer.outputs
        rows = [*resetting, *(form.scaled(-1) for form in update.inputs), *candidate.inputs]
        set_affine(layer.read.weight, layer.read.bias, rows, block.columns)
        layer.recurrent.copy_(torch.cat([reset.recurrent, -update.recurrent, around]))
        layer.learned_start.copy_(as_tensor(self.layer_of(block).start))


class ExactGru(ExactCell):
    """A GRU of bits: the reset gate is open, the other one keeps a unit or replaces it."""

    layer: Gru
    form = GateForm(
        settings={
            "hidden": 32,
            "reset_after": False,
            "recurrent_bias": False,
            "cap": 1.0,
            "learned_start": True,
        },
        around="nothing",
    )
    keeps, candidate, opened = 1, 2, (0,)

    def rows(self, layer: Gru) -> StackedRows:
        """Returns the maps to r, z and n."""
        if layer.settings.cap < 1 or layer.recurrent_bias is not None or layer.start is None:
            raise InputError("exact units are for GRUs with cap = 1, one bias and learned_start = true")
        units = layer.outputs
        return StackedRows(
            layer.read.weight.view(3, units, -1),
            layer.recurrent.view(3, units, units),
            layer.read.bias.view(3, units),
        )

    def memory(self, layer: Gru) -> Tensor:
        """Returns the start of h."""
        return layer.learned_start


KIND = LayerKind(
    name="gru",
    title="GRU",
    settings=GruSettings,
    build=Gru,
    equation="h = (1-z) ∘ tanh(…) + z ∘ h",
    reference=Reference("Cho2014"),
    variants={"gru-reset-first": {"reset_after": False, "recurrent_bias": False}},
    writer=GruWriter,
    gates={"two": ExactGru},
)
