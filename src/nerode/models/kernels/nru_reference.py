"""The non-saturating recurrent unit as a plain loop, on any device and in any precision."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import torch
from torch import Tensor

from nerode.core import InputError

ORDER = 5
"""The order of the norm by which directions are divided."""

LEAST = 1e-12
"""The least such norm; `native/nru.hpp` has it, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """How the heads of an NRU are laid out.

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
        """How many numbers describe the directions of all heads that write."""
        return 2 * self.side if self.factored else self.count * self.memory

    @property
    def width(self) -> int:
        """How many numbers all heads need: strengths to write and to erase, then directions of both."""
        return 2 * (self.count + self.span)


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


def nru(
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
