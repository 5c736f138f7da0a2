"""The non-saturating recurrent unit: a rectified network beside a memory that is only added to.

h_t = relu(W x_t + U h_{t-1} + V m_{t-1} + b)
m_t = m_{t-1} + mean over heads of (α v - β w)
Each head reads h_t and m_{t-1}: α and β are linear, and so are the directions v and w, which are then divided
by their 5-norm. To save weights, the directions of all heads together are an outer product of two short
vectors. Optionally α, β, v and w are rectified.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, NotCompilable, Reference
from nerode.models.base import LayerKind, RecurrentLayer, State
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.nru import Heads, nru, nru_step
from nerode.models.weight_writer import BlockPlan, WeightWriter, as_tensor, set_affine


@dataclass(frozen=True, slots=True, kw_only=True)
class NruSettings:
    """Settings of an NRU layer.

    Attributes:
        hidden: number of units; None for as many as inputs.
        memory: number of places of the memory.
        heads: how many heads write, and how many erase.
        factored: whether directions are outer products; then memory * heads has to be a square.
        rectified: whether α, β and the directions are rectified.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    hidden: int | None = None
    memory: int = 64
    heads: int = 4
    factored: bool = True
    rectified: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        for name in ("hidden", "memory", "heads"):
            size = getattr(self, name)
            if size is not None and size < 1:
                raise InputError(f"{name} is {size}; an NRU needs 1 or more")
        places = self.memory * self.heads
        if self.factored and isqrt(places) ** 2 != places:
            raise InputError(
                f"memory * heads is {self.memory} * {self.heads} = {places}, which is not a square; "
                "directions that are outer products need one. Choose other sizes, or factored = false"
            )


class Nru(RecurrentLayer):
    """An NRU layer; its output is h, its state h and the memory.

    Every linear map is drawn as torch draws its own, uniformly from ±1/√(number of its inputs), as in the
    authors' code; the mean over heads and that heads do not read x_t are taken from there as well.

    Implements: [Chandar2019]
    """

    def __init__(self, inputs: int, settings: NruSettings) -> None:
        hidden = settings.hidden or inputs
        super().__init__(inputs, hidden)
        self.settings = settings
        self.heads = Heads(
            count=settings.heads,
            memory=settings.memory,
            factored=settings.factored,
            rectified=settings.rectified,
        )
        state = hidden + settings.memory
        self.read = Linear(inputs, hidden)
        self.recurrent = nn.Parameter(torch.empty(hidden, state))
        self.head_weight = nn.Parameter(torch.empty(self.heads.width, state))
        self.head_bias = nn.Parameter(torch.empty(self.heads.width))
        for parameter in (self.read.weight, self.read.bias, self.recurrent):
            nn.init.uniform_(parameter, -((state + inputs) ** -0.5), (state + inputs) ** -0.5)
        for parameter in (self.head_weight, self.head_bias):
            nn.init.uniform_(parameter, -(state**-0.5), state**-0.5)
        self.start = nn.Parameter(torch.zeros(state)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀ and m₀."""
        places = self.settings.memory
        if self.start is None:
            return {"h": self.zeros(batch, self.outputs), "memory": self.zeros(batch, places)}
        h, memory = self.start[: self.outputs], self.start[self.outputs :]
        return {"h": h.expand(batch, -1), "memory": memory.expand(batch, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns h_t, and h_t and m_t as the state."""
        h, memory = nru_step(
            self.read(x),
            *(self.recurrent, self.head_weight, self.head_bias),
            *(state["h"], state["memory"]),
            self.heads,
        )
        return h, {"h": h, "memory": memory}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns all h_t, and the last h_t and m_t."""
        h, memory = nru(
            self.read(x),
            *(self.recurrent, self.head_weight, self.head_bias),
            (state["h"], state["memory"]),
            self.heads,
        )
        return h, {"h": h[:, -1], "memory": memory[:, -1]}


class NruWriter(WeightWriter):
    """Writes rectified networks into the units; no head writes, and the memory stays 0."""

    alone = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of units, and the smallest memory that four heads share."""
        if self.cell_of(block, "elman").activation != "relu":
            raise NotCompilable(self.architecture, [f"layer {self.layer_of(block).name} is not rectified"])
        return {"hidden": self.layer_of(block).width, "memory": 4, "heads": 4, "learned_start": True}

    def fill(self, layer: Nru, block: BlockPlan) -> None:
        """Sets the weights of the units; those of the heads are 0."""
        (update,) = self.cell_of(block, "elman").gates
        set_affine(layer.read.weight, layer.read.bias, update.inputs, block.columns)
        layer.recurrent[:, : layer.outputs] = update.recurrent
        layer.learned_start[: layer.outputs] = as_tensor(self.layer_of(block).start)


KIND = LayerKind(
    name="nru",
    title="NRU",
    settings=NruSettings,
    build=Nru,
    equation="h = relu(W x + U h + V m), m = m + write - erase",
    reference=Reference("Chandar2019"),
    variants={"nru-one-head": {"heads": 1, "rectified": True}},
    writer=NruWriter,
)
