"""States of a module as rows of bytes, and back.

States are compared by their bits, so 0.0 and -0.0 are two states: a module may tell them apart (by a
quotient, `copysign` or `atan2`), and taking them for one would prove too much. Telling them apart costs at
most a few states more. A NaN is refused wherever it occurs; infinities are numbers like others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nerode.core import InputError

Rows = npt.NDArray[np.uint8]
"""One row of bytes for each state."""

TYPES: Mapping[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64,
        torch.float32,
        torch.bfloat16,
        torch.float16,
        torch.complex128,
        torch.complex64,
        torch.int64,
        torch.int32,
        torch.bool,
    )
}
"""The types that a state may have."""


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor of a state, without its batch axis."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        """Bytes that it takes for one word."""
        return math.prod(self.shape) * TYPES[self.dtype].itemsize


Layout = tuple[Part, ...]
"""The tensors of a state, sorted by name."""


def layout_of(state: Mapping[str, Tensor]) -> Layout:
    """Returns the layout of a state.

    Raises:
        InputError: if a tensor has a type whose bits are not compared.
    """
    parts = []
    for name in sorted(state):
        tensor = state[name]
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in TYPES:
            raise InputError(f"the state {name!r} has the type {dtype}; allowed are {', '.join(TYPES)}")
        parts.append(Part(name, tuple(tensor.shape[1:]), dtype))
    return tuple(parts)


def to_rows(state: Mapping[str, Tensor], batch: int) -> Rows:
    """Returns the bits of a state (batch first), one row for each word of the batch."""
    rows = []
    for name in sorted(state):
        flat = state[name].detach().cpu().resolve_conj().resolve_neg().contiguous()
        flat = flat.reshape(batch, math.prod(flat.shape[1:]))
        if flat.shape[1]:
            rows.append(flat.view(torch.uint8).numpy())
    return np.concatenate(rows, axis=1) if rows else np.zeros((batch, 0), dtype=np.uint8)


def from_rows(rows: Rows, layout: Layout, *, device: torch.device | None = None) -> dict[str, Tensor]:
    """Returns the state whose bits the rows are."""
    state = {}
    first = 0
    for part in layout:
        block = np.ascontiguousarray(rows[:, first : first + part.bytes])
        first += part.bytes
        if part.bytes:
            tensor = torch.from_numpy(block).view(TYPES[part.dtype]).reshape(len(rows), *part.shape)
        else:
            tensor = torch.zeros(len(rows), *part.shape, dtype=TYPES[part.dtype])
        state[part.name] = tensor if device is None else tensor.to(device)
    return state


def nan_rows(state: Mapping[str, Tensor], batch: int) -> npt.NDArray[np.bool_]:
    """Returns for each word of the batch whether its state holds a NaN."""
    found = np.zeros(batch, dtype=np.bool_)
    for tensor in state.values():
        if tensor.is_floating_point() or tensor.is_complex():
            found |= tensor.isnan().reshape(batch, -1).any(dim=1).cpu().numpy()
    return found
