"""Functions in the place of those of transformers and xlstm: the same arguments and results, other work.

Each takes the function that it stands for first, and hands over to it whatever the kernels do not take:
tensors that are not all on the CPU, what torch.compile, torch.export or functorch trace, packed sequences.
Numbers of 16 bits are computed as float32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, silu, softplus

from nerode.models.architectures.rwkv4 import weighted_means
from nerode.models.architectures.slstm import slstm
from nerode.models.kernels.matrix_scan import decay_scan, delta_scan
from nerode.models.kernels.scan import diagonal_scan, selective_scan
from nerode.models.native.calls import runs_natively
from nerode.models.parts.linear_attention import split_heads
from nerode.models.parts.matrix_memory import MlstmInputs, mlstm_scan
from nerode.models.parts.short_convolution import convolved

Plain = Callable[..., Any]

_NOTHING_YET = torch.finfo(torch.float32).min / 2
"""A stabiliser below all that comes."""


def mamba_scan(
    plain: Plain,
    hidden_states: Tensor,
    dt: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    D: Tensor | None = None,
    z: Tensor | None = None,
    delta_bias: Tensor | None = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
    **options: Any,
) -> Any:
    """Stands for `mamba_selective_scan`: (batch, channels, time) in, the same out."""
    tensors = (hidden_states, dt, A, B, C, D, z, delta_bias)
    if not _takes(*tensors) or _is_packed(options):
        return plain(
            *tensors[:5],
            D=D,
            z=z,
            delta_bias=delta_bias,
            delta_softplus=delta_softplus,
            return_last_state=return_last_state,
            **options,
        )
    given = hidden_states.dtype
    work = _working(given)
    x, delta, B, C = (tensor.transpose(1, 2).to(work).contiguous() for tensor in (hidden_states, dt, B, C))
    delta = delta if delta_bias is None else delta + delta_bias.to(work)
    delta = softplus(delta) if delta_softplus else delta
    y, last = selective_scan(x, delta, A.to(work), B, C, None if D is None else D.to(work))
    y = y if z is None else y * silu(z.transpose(1, 2))
    y = y.transpose(1, 2).to(given if D is None else torch.promote_types(given, D.dtype))
    return (y, last) if return_last_state else y


def causal_convolution(
    plain: Plain,
    hidden_states: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: str | None = None,
    **options: Any,
) -> Tensor:
    """Stands for `causal_conv1d_fn`: (batch, channels, time) in, the same out."""
    known = activation in (None, "silu", "swish")
    if not known or not _takes(hidden_states, weight, bias) or _is_packed(options):
        kept: Tensor = plain(hidden_states, weight, bias, activation=activation, **options)
        return kept
    work = _working(weight.dtype)
    x = hidden_states.transpose(1, 2).to(work)
    window = x.new_zeros(len(x), weight.shape[1] - 1, x.shape[2])
    y = convolved(torch.cat([window, x], dim=1), weight.to(work), None if bias is None else bias.to(work))
    y = y if activation is None else silu(y)
    return y.transpose(1, 2).to(hidden_states.dtype)


def mamba2_scan(
    plain: Plain,
    hidden_states: Tensor,
    dt: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    chunk_size: int,
    D: Tensor | None = None,
    dt_bias: Tensor | None = None,
    initial_states: Tensor | None = None,
    dt_softplus: bool = False,
    dt_limit: tuple[float, float] = (0.0, float("inf")),
    return_final_states: bool = False,
    **options: Any,
) -> Any:
    """Stands for `mamba2_chunk_scan`: (batch, time, heads, values) in, float32 out."""
    tensors = (hidden_states, dt, A, B, C, D, dt_bias, initial_states)
    if not _takes(*tensors) or _is_packed(options):
        return plain(
            *tensors[:5],
            chunk_size=chunk_size,
            D=D,
            dt_bias=dt_bias,
            initial_states=initial_states,
            dt_softplus=dt_softplus,
            dt_limit=dt_limit,
            return_final_states=return_final_states,
            **options,
        )
    dt = dt if dt_bias is None else dt + dt_bias.to(dt.dtype)
    dt = softplus(dt) if dt_softplus else dt
    dt = torch.clamp(dt, min=dt_limit[0], max=dt_limit[1]).float()
    x = hidden_states.float()
    heads, groups = x.shape[2], B.shape[2]
    k, q = (tensor.float().repeat_interleave(heads // groups, dim=2, output_size=heads) for tensor in (B, C))
    start = None if initial_states is None else initial_states.float().transpose(-1, -2)
    y, last = decay_scan(q, k, x * dt[..., None], torch.exp(A.float() * dt), start)
    y = y if D is None else y + D[..., None] * x
    return (y, last.transpose(-1, -2)) if return_final_states else y


def delta_rule(
    plain: Plain,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    g: Tensor,
    beta: Tensor,
    chunk_size: int = 64,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """Stands for `torch_chunk_gated_delta_rule`: (batch, time, heads, features) in, the same out."""
    tensors = (query, key, value, g, beta, initial_state)
    if not _takes(*tensors) or _is_packed(options):
        kept: tuple[Tensor, Tensor | None] = plain(
            *tensors[:5],
            chunk_size=chunk_size,
            initial_state=initial_state,
            output_final_state=output_final_state,
            use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel,
            **options,
        )
        return kept
    q, k, v, strength, decay = (tensor.float() for tensor in (query, key, value, beta, g))
    if use_qk_l2norm_in_kernel:
        q, k = (row * torch.rsqrt(row.square().sum(-1, keepdim=True) + 1e-6) for row in (q, k))
    shared = value.shape[2] // key.shape[2]
    if shared > 1:
        q, k = (row.repeat_interleave(shared, dim=2) for row in (q, k))
    start = None if initial_state is None else initial_state.float()
    scale = q.shape[-1] ** -0.5
    y, last = delta_scan(q * scale, k[:, :, None], v[:, :, None], strength[:, :, None], decay.exp(), start)
    return y.to(query.dtype), last if output_final_state else None


def rg_lru_scan(
    plain: Plain,
    layer: Any,
    hidden_states: Tensor,
    recurrent_gate: Tensor,
    reset: Tensor,
    recurrent_states: Tensor | None,
    acc_dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """Stands for `RecurrentGemmaRglru._rnn_scan`: (batch, time, channels) in, the same out."""
    tensors = (hidden_states, recurrent_gate, recurrent_states)
    if hidden_states.shape[1] == 1 or not _takes(*tensors, reset):
        kept: tuple[Tensor, Tensor] = plain(
            layer,
            hidden_states=hidden_states,
            recurrent_gate=recurrent_gate,
            reset=reset,
            recurrent_states=recurrent_states,
            acc_dtype=acc_dtype,
        )
        return kept
    gate = (recurrent_gate * ~reset).to(acc_dtype)
    start = None if recurrent_states is None else recurrent_states.to(acc_dtype)
    states, last = diagonal_scan(gate, hidden_states.to(acc_dtype), start)
    return states.to(hidden_states.dtype), last


def rwkv_attention(
    plain: Plain,
    time_decay: Tensor,
    time_first: Tensor,
    key: Tensor,
    value: Tensor,
    state: Any = None,
    return_state: bool = False,
) -> tuple[Tensor, Any]:
    """Stands for `rwkv_linear_attention_cpu`: (batch, time, channels) in, the same out."""
    before = () if state is None else tuple(state)
    if key.shape[1] == 1 or not _takes(time_decay, time_first, key, value, *before):
        kept: tuple[Tensor, Any] = plain(
            time_decay, time_first, key, value, state=state, return_state=return_state
        )
        return kept
    k, v = key.float(), value.float()
    if state is None:
        zeros = torch.zeros_like(k[:, 0])
        before = (zeros, zeros, torch.full_like(zeros, -1e38))
    y, after = weighted_means(torch.exp(time_decay.float()), time_first.float(), k, v, before)
    return y.to(key.dtype), list(after) if return_state or state is not None else None


def parallel_mlstm(plain: Plain, cell: Any, q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
    """Stands for `mLSTMCell.forward` of xlstm: (batch, time, features) in, the same out."""
    from xlstm.blocks.mlstm.backends import parallel_stabilized_simple

    heads, size = cell.config.num_heads, q.shape[-1] // cell.config.num_heads
    own = cell.backend_fn is parallel_stabilized_simple
    if not own or not _takes(q, k, v, cell.igate.weight) or _working(q.dtype) != q.dtype:
        kept: Tensor = plain(cell, q, k, v, **options)
        return kept
    gates = torch.cat([q, k, v], dim=-1)
    inputs = MlstmInputs(
        q=split_heads(q, heads),
        k=split_heads(k, heads) / math.sqrt(size),
        v=split_heads(v, heads),
        log_input=cell.igate(gates),
        log_forget=logsigmoid(cell.fgate(gates)),
    )
    zeros = q.new_zeros(len(q), heads, size, size)
    start = {"C": zeros, "n": zeros[..., 0], "m": zeros[..., 0, 0] + _NOTHING_YET}
    h, _ = mlstm_scan(inputs, start, 1e-6)
    y: Tensor = cell.outnorm(h.transpose(1, 2)).transpose(1, 2).flatten(2)
    return y


def chunked_mlstm(
    plain: Plain,
    backend: Any,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    i: Tensor,
    f: Tensor,
    c_initial: Tensor | None = None,
    n_initial: Tensor | None = None,
    m_initial: Tensor | None = None,
    return_last_states: bool | None = None,
    mode: str | None = None,
) -> Any:
    """Stands for `mLSTMBackend.forward` of mlstm_kernels: (batch, heads, time, features) in, the same out."""
    config = backend.config
    before = (c_initial, n_initial, m_initial)
    known = "siging" not in config.chunkwise_kernel and len({state is None for state in before}) == 1
    if q.shape[2] == 1 or not known or not _takes(q, k, v, i, f, *before) or torch.is_autocast_enabled("cpu"):
        return plain(backend, q, k, v, i, f, *before, return_last_states=return_last_states, mode=mode)
    work = _working(q.dtype)
    rows = [tensor.transpose(1, 2).to(work) for tensor in (q, k, v, i, f)]
    inputs = MlstmInputs(
        q=rows[0] * q.shape[-1] ** -0.5,
        k=rows[1],
        v=rows[2],
        log_input=rows[3],
        log_forget=logsigmoid(rows[4]),
    )
    if c_initial is None or n_initial is None or m_initial is None:
        zeros = rows[0].new_zeros(*k.shape[:2], k.shape[3], v.shape[3])
        start = {"C": zeros, "n": zeros[..., 0], "m": zeros[..., 0, 0]}
    else:
        start = {"C": c_initial.to(work), "n": n_initial.to(work), "m": m_initial.to(work).flatten(1)}
    h, last = mlstm_scan(inputs, start, config.eps)
    y = h.transpose(1, 2).to(q.dtype)
    inference = "inference" in (mode or config.mode)
    wanted = config.return_last_states if return_last_states is None else return_last_states
    return (y, (last["C"], last["n"], last["m"][..., None])) if inference or wanted else y


def slstm_steps(
    plain: Plain,
    x: Tensor,
    states: Tensor,
    R: Tensor,
    b: Tensor,
    pointwise_forward: Plain,
    constants: Any = None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Stands for `slstm_forward` of xlstm: x (time, batch, gates), states (4, batch, hidden).

    The gates, which the package does not use, are not given.
    """
    from xlstm.blocks.slstm.src.vanilla.slstm import slstm_forward_pointwise

    own = pointwise_forward is slstm_forward_pointwise and len({t.dtype for t in (x, states, R, b)}) == 1
    if not own or not _takes(x, states, R, b) or _working(x.dtype) != x.dtype:
        kept: tuple[Tensor, Tensor, Tensor] = plain(x, states, R, b, pointwise_forward, constants or {})
        return kept
    h, c, n, m = states.unbind()
    m = torch.full_like(m, _NOTHING_YET) if not n.any() else m
    after = slstm((x + b).transpose(0, 1), R, (h, c, n, m))
    sequence = torch.stack([part.transpose(0, 1) for part in after])
    return torch.cat([states[:, None], sequence], dim=1), sequence[:, -1], None


def _takes(*tensors: Tensor | None) -> bool:
    """Whether all tensors are on the CPU, and nothing traces the calls."""
    if any(tensor is not None and tensor.device.type != "cpu" for tensor in tensors):
        return False
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return False
    return runs_natively(torch.empty(0))


def _is_packed(options: dict[str, Any]) -> bool:
    return any(options.get(name) is not None for name in ("cu_seqlens", "seq_idx"))


def _working(dtype: torch.dtype) -> torch.dtype:
    """The type that sums are computed in."""
    return dtype if dtype in (torch.float32, torch.float64) else torch.float32
