"""Scans over matrix states, fast on the CPU, each with its plain loop as the reference.

Where no native kernel runs, plain torch works on all positions of a chunk at once and hands the state on, for
gradients and on GPUs. The product of one decay per head between two positions is multiplied up, so that it
may be 0; of a decay for each row it is a quotient, and step by step where that would be by nearly 0. On a GPU
with the package fla its kernels are called instead; neither has been measured there.

decay_scan: decay by a number or a vector, for RetNet, Mamba-2, mLSTM, GLA and HGRN2.
delta_scan: the delta rule, for DeltaNet, its gated form and DeltaProduct.
erase_scan: a decay for each row and a key of its own for what is taken away, for RWKV-7.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.core import InputError
from nerode.models.kernels.arguments import dense_or_none, require_like, require_sequence
from nerode.models.native.calls import apply, call, dense, runs_natively

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


def decay_scan(
    q: Float[Tensor, "batch time heads keys"],
    k: Float[Tensor, "batch time heads keys"],
    v: Float[Tensor, "batch time heads values"],
    decay: Float[Tensor, "batch time heads ..."],
    initial: Float[Tensor, "batch heads keys values"] | None = None,
) -> tuple[Float[Tensor, "batch time heads values"], Float[Tensor, "batch heads keys values"]]:
    """Returns the readings o_t = q_t S_t and the last state, where S_t = decay_t ∘ S_{t-1} + k_t^T v_t.

    Large states are worked on in chunks, so a sequence in parts gives what the whole gives up to rounding;
    where all numbers are integers that the format holds, and decays 0, 1 or -1, bit for bit.

    Args:
        q: what is read.
        k: where it is written.
        v: what is written.
        decay: one number per head, (batch, time, heads), or one per row of S, (batch, time, heads, keys).
        initial: S_0; zero when not given.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [SunRetNet2023], [Yang2024Gla]
    """
    require_sequence("q", q, "batch time heads keys")
    require_sequence("v", v, "batch time heads values")
    batch, time, heads, keys = q.shape
    require_like("k", k, q.shape, q)
    require_like("v", v, (batch, time, heads, v.shape[3]), q)
    if decay.ndim not in (3, 4):
        raise InputError(
            f"`decay` has the shape {tuple(decay.shape)}; give {tuple(q.shape[:3])} or {tuple(q.shape)}"
        )
    require_like("decay", decay, q.shape[: decay.ndim], q)
    require_like("initial", initial, (batch, heads, keys, v.shape[3]), q)
    start = q.new_zeros(batch, heads, keys, v.shape[3]) if initial is None else initial
    if not runs_natively(q, k, v, decay, start):
        plain = decay_in_chunks if pays(q, k, v, decay, start) else decay_scan_reference
        return plain(q, k, v, decay, start)
    kernel, chunk = choose_kernel(time, keys, v.shape[3], vector=decay.ndim == 4, itemsize=q.itemsize)
    return _scan(kernel, (q, k, v, decay), start, (*q.shape, v.shape[3], chunk))


def steps_between_borders(time: int, state_bytes: int) -> int:
    """The number of states that the backward pass recomputes at once, few enough for the second cache.

    Large states would then keep a border at nearly every step; a share of √T bounds that memory.
    """
    return max(1, min(64, (3 << 16) // state_bytes), math.isqrt(time) // 2)


def choose_kernel(time: int, keys: int, values: int, *, vector: bool, itemsize: int) -> tuple[str, int]:
    """Returns the kernel, and the steps between the states that it keeps for its backward pass; measured.

    In chunks a step costs fewer loads and stores of the state, but more arithmetic: it pays for large states.
    """
    large = min(keys, values) >= 16 and keys * values >= (4096 if vector else 1024)
    if time >= 16 and large:
        return ("vector_chunks", min(time, 16)) if vector else ("scalar_chunks", min(time, 32))
    return "vector_decay" if vector else "scalar_decay", steps_between_borders(time, keys * values * itemsize)


def delta_scan(
    q: Float[Tensor, "batch time heads keys"],
    k: Float[Tensor, "batch time writes heads keys"],
    v: Float[Tensor, "batch time writes heads values"],
    beta: Float[Tensor, "batch time writes heads"],
    decay: Float[Tensor, "batch time heads"] | None = None,
    initial: Float[Tensor, "batch heads keys values"] | None = None,
) -> tuple[Float[Tensor, "batch time heads values"], Float[Tensor, "batch heads keys values"]]:
    """Returns the readings o_t = q_t S_t and the last state of the delta rule.

    Each token scales the state by its decay, then makes `writes` updates S ← (I − β k k^T) S + β k v^T, so
    that the transition of a token is a product of that many generalised Householder matrices. Keys are used
    as given: normalising them belongs to the caller.

    Args:
        q: what is read after the writes of a token.
        k: the keys, the axis `writes` in the order of the updates.
        v: the values.
        beta: the strengths; in [0, 2] for keys of length 1.
        decay: 1 when not given.
        initial: S_0; zero when not given.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [YangDeltaNet2024], [YangGatedDeltaNet2025]
    """
    require_sequence("q", q, "batch time heads keys")
    require_sequence("k", k, "batch time writes heads keys")
    require_sequence("v", v, "batch time writes heads values")
    batch, time, heads, keys = q.shape
    writes, values = k.shape[2], v.shape[4]
    require_like("k", k, (batch, time, writes, heads, keys), q)
    require_like("v", v, (batch, time, writes, heads, values), q)
    require_like("beta", beta, (batch, time, writes, heads), q)
    require_like("decay", decay, (batch, time, heads), q)
    require_like("initial", initial, (batch, heads, keys, values), q)
    start = q.new_zeros(batch, heads, keys, values) if initial is None else initial
    if not runs_natively(q, k, v, beta, decay, start):
        plain = delta_in_chunks if pays(q, k, v, beta, decay, start) else delta_scan_reference
        return plain(q, k, v, beta, decay, start)
    chunk = steps_between_borders(time, writes * keys * values * q.itemsize)
    return _scan("delta", (q, k, v, beta, decay), start, (batch, time, writes, heads, keys, values, chunk))


def erase_scan(
    q: Float[Tensor, "batch time heads keys"],
    k: Float[Tensor, "batch time heads keys"],
    v: Float[Tensor, "batch time heads values"],
    decay: Float[Tensor, "batch time heads keys"],
    lookup: Float[Tensor, "batch time heads keys"],
    erase: Float[Tensor, "batch time heads keys"],
    initial: Float[Tensor, "batch heads keys values"] | None = None,
) -> tuple[Float[Tensor, "batch time heads values"], Float[Tensor, "batch heads keys values"]]:
    """Returns the readings o_t = q_t S_t and the last state, S_t = decay ∘ S − erase (lookup^T S) + k v^T.

    What `lookup` finds in the state before the token is taken away along `erase`. With a decay of 1,
    lookup = k and erase = β k, this is the delta rule with the value β v.

    Args:
        q: what is read.
        k: where it is written.
        v: what is written.
        decay: one number for each row of S.
        lookup: what is looked up in the state.
        erase: where, and how much of it, is taken away.
        initial: S_0; zero when not given.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Peng2025Rwkv7]
    """
    require_sequence("q", q, "batch time heads keys")
    require_sequence("v", v, "batch time heads values")
    batch, time, heads, keys = q.shape
    for name, tensor in (("k", k), ("decay", decay), ("lookup", lookup), ("erase", erase)):
        require_like(name, tensor, q.shape, q)
    require_like("v", v, (batch, time, heads, v.shape[3]), q)
    require_like("initial", initial, (batch, heads, keys, v.shape[3]), q)
    start = q.new_zeros(batch, heads, keys, v.shape[3]) if initial is None else initial
    sequences = (q, k, v, decay, lookup, erase)
    if not runs_natively(*sequences, start):
        return erase_scan_reference(*sequences, start)
    chunk = steps_between_borders(time, keys * v.shape[3] * q.itemsize)
    return _scan("erase", sequences, start, (*q.shape, v.shape[3], chunk))


def erase_scan_reference(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, lookup: Tensor, erase: Tensor, initial: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state, S_t = decay ∘ S − erase (lookup^T S) + k v^T.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, heads, keys).
        v: (batch, time, heads, values).
        decay: (batch, time, heads, keys).
        lookup: (batch, time, heads, keys).
        erase: (batch, time, heads, keys).
        initial: (batch, heads, keys, values).
    """
    columns = [x[..., None].unbind(dim=1) for x in (q, k, decay, lookup, erase)]
    state = initial
    readings = []
    for q_t, k_t, decay_t, lookup_t, erase_t, v_t in zip(*columns, v.unbind(dim=1), strict=True):
        found = (lookup_t * state).sum(dim=-2, keepdim=True)
        state = decay_t * state - erase_t * found + k_t * v_t[:, :, None, :]
        readings.append((q_t * state).sum(dim=-2))
    return torch.stack(readings, dim=1), state


def _scan(
    kernel: str, sequences: tuple[Tensor | None, ...], start: Tensor, sizes: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """The readings and the last state by a native kernel.

    Args:
        kernel: the beginning of its name.
        sequences: q, k, v and what else it takes at each position; None for what is not given.
        start: S_0.
        sizes: of the axes, and last the steps between the states that are kept for the backward pass.
    """
    result: tuple[Tensor, Tensor] = apply(
        _MatrixScan, *sequences, start, kernel, sizes, torch.is_grad_enabled()
    )
    return result


class _MatrixScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        *given, start, ctx.kernel, ctx.sizes, keep = arguments
        q, _, v, *_ = given
        sequences, initial = [dense_or_none(tensor) for tensor in given], dense(start)
        readings, final = q.new_empty(*q.shape[:3], v.shape[-1]), torch.empty_like(initial)
        batch, heads, *shape = initial.shape
        chunks = -(-q.shape[1] // ctx.sizes[-1])
        borders = q.new_empty(batch, heads, chunks, *shape) if keep else None
        call(f"{ctx.kernel}_forward", *sequences, initial, readings, final, borders, *ctx.sizes)
        ctx.save_for_backward(*sequences, borders)
        return readings, final

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dreadings: Tensor, dfinal: Tensor) -> tuple[Tensor | None, ...]:
        *sequences, borders = ctx.saved_tensors
        gradients = [None if tensor is None else torch.empty_like(tensor) for tensor in sequences]
        # A copy always: the kernel turns it into the gradient of the initial state.
        dinitial = dense(dfinal).clone()
        call(
            f"{ctx.kernel}_backward",
            *(*sequences, borders, dense(dreadings)),
            *(*gradients, dinitial),
            *ctx.sizes,
        )
        return (*gradients, dinitial, None, None, None)
