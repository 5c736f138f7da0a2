"""Scans over matrix states in plain torch, step by step and in chunks: where no native kernel runs.

Inside a chunk all positions are worked on at once; from chunk to chunk the state is handed on. The product of
one decay per head between two positions is multiplied up, so that it may be 0; of a decay for each row it is
a quotient, and step by step where that would be by nearly 0. On a GPU with the package fla its kernels are
called instead; neither has been measured there.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_LEAST_TIME = 16
"""Positions from which chunks pay."""

_SIZE, _LEAST_PRODUCT = 32, 1e-18


def pays(*tensors: Tensor | None) -> bool:
    """Whether a scan over these (batch, time, …) goes in chunks: on another device, or for gradients.

    On the CPU the plain loop stays where there are no gradients, which gives the same bits however a word is
    cut, and for 16 bits, whose runs keep their weights.
    """
    given = [tensor for tensor in tensors if tensor is not None]
    first = given[0]
    trains = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given)
    wide = first.dtype in (torch.float32, torch.float64)
    return first.shape[1] >= _LEAST_TIME and (first.device.type != "cpu" or (trains and wide))


def decay_scan_reference(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, initial: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state, where S_t = decay_t ∘ S_{t-1} + k_t^T v_t.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, heads, keys).
        v: (batch, time, heads, values).
        decay: (batch, time, heads) for one number per head, (batch, time, heads, keys) for one per row of S.
        initial: (batch, heads, keys, values).
    """
    rows = decay[..., None, None] if decay.ndim == 3 else decay[..., None]
    state = initial
    readings = []
    for q_t, k_t, v_t, row in zip(*(x.unbind(dim=1) for x in (q, k, v, rows)), strict=True):
        state = row * state + k_t[..., None] * v_t[:, :, None, :]
        readings.append((q_t[..., None] * state).sum(dim=-2))
    return torch.stack(readings, dim=1), state


def decay_in_chunks(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, initial: Tensor, size: int = _SIZE
) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state, where S_t = decay_t ∘ S_{t-1} + k_t^T v_t.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, heads, keys).
        v: (batch, time, heads, values).
        decay: (batch, time, heads) for one number per head, (batch, time, heads, keys) for one per row of S.
        initial: (batch, heads, keys, values).
        size: positions of a chunk.
    """
    if (found := _by_fla(q, k, v, decay, initial)) is not None:
        return found
    time, vector = q.shape[1], decay.ndim == 4
    gates = _cut(decay if vector else decay[..., None], size, 1.0)
    since_start = gates.cumprod(dim=-2)
    if vector and bool((since_start.abs() < _LEAST_PRODUCT).any()):
        return decay_scan_reference(q, k, v, decay, initial)
    q, k, v = (_cut(x, size, 0.0) for x in (q, k, v))
    last, read = since_start[..., -1, :, None], q * since_start
    if vector:
        fading = k / since_start
        scores = (read @ fading.transpose(-1, -2)).tril()
        kept = fading * last.transpose(-1, -2)
    else:
        passed = _products(gates[..., 0])
        scores, kept = q @ k.transpose(-1, -2) * passed, k * passed[..., -1, :, None]
    inside, written = scores @ v, kept.transpose(-1, -2) @ v
    state, outputs = initial, []
    for c in range(q.shape[1]):
        outputs.append(inside[:, c] + read[:, c] @ state)
        state = last[:, c] * state + written[:, c]
    return _joined(outputs, time), state


def delta_scan_reference(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, decay: Tensor | None, initial: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state of the delta rule.

    Each token scales the state by its decay, then makes n writes S ← (I − β k k^T) S + β k v^T.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, n, heads, keys).
        v: (batch, time, n, heads, values).
        beta: (batch, time, n, heads).
        decay: (batch, time, heads), or None for 1.
        initial: (batch, heads, keys, values).
    """
    decays = [None] * q.shape[1] if decay is None else decay[..., None, None].unbind(dim=1)
    state = initial
    readings = []
    for q_t, k_t, v_t, beta_t, decay_t in zip(
        *(x.unbind(dim=1) for x in (q, k, v, beta)), decays, strict=True
    ):
        state = state if decay_t is None else decay_t * state
        for key, value, strength in zip(*(x.unbind(dim=1) for x in (k_t, v_t, beta_t)), strict=True):
            found = (key[..., None] * state).sum(dim=-2)
            correction = strength[..., None] * (value - found)
            state = state + key[..., None] * correction[:, :, None, :]
        readings.append((q_t[..., None] * state).sum(dim=-2))
    return torch.stack(readings, dim=1), state


def delta_in_chunks(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, decay: Tensor | None, initial: Tensor, size: int = _SIZE
) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state of the delta rule.

    Each token scales the state by its decay, then makes n writes S ← (I − β k k^T) S + β k v^T. What the
    writes of a chunk add to the state solves one triangular system.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, n, heads, keys).
        v: (batch, time, n, heads, values).
        beta: (batch, time, n, heads).
        decay: (batch, time, heads), or None for 1.
        initial: (batch, heads, keys, values).
        size: tokens of a chunk.
    """
    if (found := _delta_by_fla(q, k, v, beta, decay, initial)) is not None:
        return found
    given, (_, time, writes) = q.dtype, k.shape[:3]
    if given in (torch.bfloat16, torch.float16):  # torch solves no systems in them
        wide = None if decay is None else decay.float()
        y, last = delta_in_chunks(q.float(), k.float(), v.float(), beta.float(), wide, initial.float(), size)
        return y.to(given), last.to(given)
    decay = torch.ones_like(q[..., 0]) if decay is None else decay
    # Only the first write of a token comes after a decay.
    steps = torch.cat([decay[:, :, None], torch.ones_like(beta[:, :, 1:])], dim=2).flatten(1, 2)
    size = max(1, size // writes)
    q = _cut(q, size, 0.0)
    k, v = (_cut(x.flatten(1, 2), size * writes, 0.0) for x in (k, v))
    strength = _cut(beta.flatten(1, 2)[..., None], size * writes, 0.0)
    gates = _cut(steps[..., None], size * writes, 1.0)[..., 0]
    passed, since_start = _products(gates), gates.cumprod(dim=-1)
    overlap = (strength * (k @ k.transpose(-1, -2)) * passed).tril(-1)
    both = torch.linalg.solve_triangular(
        overlap + torch.eye(size * writes, dtype=q.dtype, device=q.device),
        torch.cat([strength * v, strength * since_start[..., None] * k], dim=-1),
        upper=False,
        unitriangular=True,
    )
    fresh, stale = both.split([v.shape[-1], k.shape[-1]], dim=-1)
    scores = q @ k.transpose(-1, -2) * passed[..., writes - 1 :: writes, :]
    read = q * since_start[..., writes - 1 :: writes, None]
    kept = (k * passed[..., -1, :, None]).transpose(-1, -2)
    state, outputs = initial, []
    for c in range(q.shape[1]):
        added = fresh[:, c] - stale[:, c] @ state
        outputs.append(read[:, c] @ state + scores[:, c] @ added)
        state = since_start[:, c, :, -1, None, None] * state + kept[:, c] @ added
    return _joined(outputs, time), state


def _cut(x: Tensor, size: int, rest: float) -> Tensor:
    """Turns (batch, time, heads, n) into (batch, chunks, heads, size, n), the last chunk filled up."""
    missing = -x.shape[1] % size
    if missing:
        x = torch.cat([x, x.new_full((len(x), missing, *x.shape[2:]), rest)], dim=1)
    return x.unflatten(1, (-1, size)).transpose(2, 3)  # type: ignore[no-untyped-call, no-any-return]


def _joined(outputs: list[Tensor], time: int) -> Tensor:
    """The readings (batch, time, heads, values) of chunks (batch, heads, size, values)."""
    return torch.cat(outputs, dim=2)[:, :, :time].transpose(1, 2).contiguous()


def _products(decay: Tensor) -> Tensor:
    """The products of decays (…, size) after position j up to i, 0 where i < j."""
    size = decay.shape[-1]
    later = torch.ones(size, size, dtype=torch.bool, device=decay.device).tril(-1)
    return torch.where(later, decay[..., :, None], 1.0).cumprod(dim=-2).tril()


def _by_fla(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, initial: Tensor) -> tuple[Tensor, Tensor] | None:
    rule = _fla(*(("simple_gla", "chunk_simple_gla") if decay.ndim == 3 else ("gla", "chunk_gla")), q)
    if rule is None or not bool((decay > 0).all()):
        return None
    return rule(q, k, v, decay.log(), scale=1.0, initial_state=initial, output_final_state=True)  # type: ignore[no-any-return]


def _delta_by_fla(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, decay: Tensor | None, initial: Tensor
) -> tuple[Tensor, Tensor] | None:
    rule = _fla("gated_delta_rule", "chunk_gated_delta_rule", q)
    if rule is None or k.shape[2] > 1 or (decay is not None and not bool((decay > 0).all())):
        return None
    logs = torch.zeros_like(beta[:, :, 0]) if decay is None else decay.log()
    return rule(  # type: ignore[no-any-return]
        *(q, k[:, :, 0], v[:, :, 0]),
        g=logs,
        beta=beta[:, :, 0],
        scale=1.0,
        initial_state=initial,
        output_final_state=True,
    )


def _fla(module: str, name: str, x: Tensor) -> Callable[..., Any] | None:
    """A function of the package fla; None unless it is there and the tensors have 16 bits on a CUDA GPU."""
    fits = _on_cuda(x) and x.dtype in (torch.bfloat16, torch.float16)
    if not fits or importlib.util.find_spec("fla") is None:
        return None
    return getattr(importlib.import_module(f"fla.ops.{module}"), name, None)


def _on_cuda(x: Tensor) -> bool:
    return x.device.type == "cuda"
