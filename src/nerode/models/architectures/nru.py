"""The non-saturating recurrent unit: a rectified network beside a memory that is only added to.

h_t = relu(W x_t + U h_{t-1} + V m_{t-1} + b)
m_t = m_{t-1} + mean over heads of (α v - β w)
Each head reads h_t and m_{t-1}: α and β are linear, and so are the directions v and w, which are then divided
by their 5-norm. To save weights, the directions of all heads together are an outer product of two short
vectors. Optionally α, β, v and w are rectified.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from nerode.core import InputError, NotCompilable, Reference
from nerode.models.base import LayerKind, RecurrentLayer, State
from nerode.models.kernels.arguments import (
    dense_or_none,
    keep_tensors,
    or_none,
    require_like,
    require_sequence,
    run_cell,
    shifted,
    weight_gradients,
)
from nerode.models.kernels.linear import Linear
from nerode.models.native.calls import call, dense
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


ORDER = 5
"""The order of the norm by which directions are divided."""

LEAST = 1e-12
"""The least such norm; `native/nru.hpp` has it, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """The layout of the heads of an NRU.

    Attributes:
        count: how many write, and how many erase.
        memory: places of the memory.
        factored: whether the directions of all heads together are an outer product of two vectors.
        rectified: whether strengths and directions are rectified.
    """

    count: int
    memory: int
    factored: bool
    rectified: bool

    def __post_init__(self) -> None:
        if self.factored and self.side**2 != self.count * self.memory:
            raise InputError(
                f"{self.count} * {self.memory} places are not a square, which outer products need"
            )

    @property
    def side(self) -> int:
        """The length of each of the two vectors of an outer product."""
        return isqrt(self.count * self.memory)

    @property
    def span(self) -> int:
        """The size of the directions of all heads that write."""
        return 2 * self.side if self.factored else self.count * self.memory

    @property
    def width(self) -> int:
        """The size of all heads: strengths to write and to erase, then directions of both."""
        return 2 * (self.count + self.span)


def nru(
    inputs: Float[Tensor, "batch time hidden"],
    weight: Float[Tensor, "hidden state"],
    head_weight: Float[Tensor, "heads state"],
    head_bias: Float[Tensor, " heads"],
    initial: tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch memory"]],
    heads: Heads,
) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch time memory"]]:
    """Returns the states h_t = relu(x_t + W [h_{t-1}, m_{t-1}]) and the memories m_t.

    Args:
        inputs: x.
        weight: W; it reads h and the memory.
        head_weight: what makes the heads' numbers from h_t and m_{t-1}: strengths to write and to erase, then
            directions to write and to erase.
        head_bias: what is added to them.
        initial: h and the memory before the first position.
        heads: how the heads are laid out.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Chandar2019]
    """
    _check(inputs, weight, head_weight, head_bias, initial, heads)
    tensors = (inputs, weight, head_weight, head_bias, *initial)
    h, memory, *_ = run_cell(_Nru, partial(_plain, heads=heads), tensors, heads, torch.is_grad_enabled())
    return h, memory


def _plain(
    inputs: Tensor,
    weight: Tensor,
    head_weight: Tensor,
    head_bias: Tensor,
    state: Tensor,
    memory: Tensor,
    *,
    heads: Heads,
) -> tuple[Tensor, Tensor]:
    return nru_reference(inputs, weight, head_weight, head_bias, (state, memory), heads)


def _check(
    inputs: Tensor,
    weight: Tensor,
    head_weight: Tensor,
    head_bias: Tensor,
    initial: tuple[Tensor, Tensor],
    heads: Heads,
) -> None:
    require_sequence("inputs", inputs, "batch time hidden")
    batch, _, hidden = inputs.shape
    state = hidden + heads.memory
    require_like("weight", weight, (hidden, state), inputs)
    require_like("head_weight", head_weight, (heads.width, state), inputs)
    require_like("head_bias", head_bias, (heads.width,), inputs)
    require_like("initial", initial[0], (batch, hidden), inputs)
    require_like("initial memory", initial[1], (batch, heads.memory), inputs)


def _sizes(heads: Heads) -> tuple[int, int, int, int]:
    return heads.memory, heads.count, int(heads.factored), int(heads.rectified)


class _Nru(torch.autograd.Function):
    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
        *given, heads, keep = arguments
        inputs, weight, head_weight, head_bias, *initial = (dense(tensor) for tensor in given)
        axes = inputs.shape[:2]
        states, memories = torch.empty_like(inputs), inputs.new_empty(*axes, heads.memory)
        saved = inputs.new_empty(*axes, heads.width) if keep else inputs.new_empty(0)
        call(
            "nru_forward",
            *(inputs, weight, head_weight, head_bias, *initial),
            *(states, memories, or_none(saved)),
            *(1, *inputs.shape, *_sizes(heads)),
        )
        return states, memories, saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _, weight, head_weight, _, h0, m0, ctx.heads, _ = inputs
        keep_tensors(ctx, output[2], weight, head_weight, h0, m0, *output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Any, dmemories: Any, _: Any) -> tuple[Tensor | None, ...]:
        weight, head_weight, h0, m0, states, memories, saved = (dense(t) for t in ctx.saved_tensors)
        dinputs, dheads = torch.empty_like(states), torch.empty_like(saved)
        dh0, dm0 = torch.empty_like(h0), torch.empty_like(m0)
        call(
            "nru_backward",
            *(weight, head_weight, states, saved, dense_or_none(dstates), dense_or_none(dmemories)),
            *(dinputs, dheads, dh0, dm0),
            *(1, *states.shape, *_sizes(ctx.heads)),
        )
        before, kept = shifted(h0, states), shifted(m0, memories)
        dweight, _ = weight_gradients(dinputs, torch.cat([before, kept], dim=-1))
        dhead_weight, dhead_bias = weight_gradients(dheads, torch.cat([states, kept], dim=-1))
        return dinputs, dweight, dhead_weight, dhead_bias, dh0, dm0, None, None


def nru_step(
    inputs: Tensor,
    weight: Tensor,
    head_weight: Tensor,
    head_bias: Tensor,
    state: Tensor,
    memory: Tensor,
    heads: Heads,
) -> tuple[Tensor, Tensor]:
    """Returns h = relu(x + W [h, m]) and the memory that the heads make of the new h and the old memory."""
    h = torch.relu(inputs + torch.cat([state, memory], dim=-1) @ weight.T)
    given = torch.cat([h, memory], dim=-1) @ head_weight.T + head_bias
    strengths, directions = given[..., : 2 * heads.count], given[..., 2 * heads.count :]
    add, erase = strengths.relu().chunk(2, -1) if heads.rectified else strengths.chunk(2, -1)
    write, wipe = (_unit(part, heads) for part in directions.chunk(2, dim=-1))
    return h, memory + (add[..., None] * write - erase[..., None] * wipe).mean(-2)


def _unit(given: Tensor, heads: Heads) -> Tensor:
    """The directions (batch, heads, memory), each of norm 1."""
    if heads.factored:
        left, right = given.chunk(2, dim=-1)
        given = left[..., None] * right[..., None, :]
    direction = given.reshape(-1, heads.count, heads.memory)
    direction = direction.relu() if heads.rectified else direction
    # In float16 the least norm would be 0, and a direction of zeros, which relu may leave, 0 / 0.
    wide = direction.float() if direction.dtype is torch.float16 else direction
    return torch.nn.functional.normalize(wide, p=ORDER, dim=-1, eps=LEAST).to(direction.dtype)


def nru_reference(
    inputs: Tensor,
    weight: Tensor,
    head_weight: Tensor,
    head_bias: Tensor,
    initial: tuple[Tensor, Tensor],
    heads: Heads,
) -> tuple[Tensor, Tensor]:
    """Returns the states h_t and the memories m_t."""
    state, memory = initial
    states, memories = [], []
    for x in inputs.unbind(dim=1):
        state, memory = nru_step(x, weight, head_weight, head_bias, state, memory, heads)
        states.append(state)
        memories.append(memory)
    return torch.stack(states, dim=1), torch.stack(memories, dim=1)


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
