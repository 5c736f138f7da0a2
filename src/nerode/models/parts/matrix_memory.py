"""The memory of an mLSTM: one step, a whole sequence, and the gate of a position, in stabilised coordinates.

i_t has no upper bound, so C and n are kept divided by e^{m_t}, m_t = max(log f_t + m_{t-1}, ĩ_t). In these
coordinates both gates, e^{log f_t + m_{t-1} - m_t} and e^{ĩ_t - m_t}, are at most 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from nerode.models.base import DiagonalTransition, State
from nerode.models.kernels.matrix_scan import decay_scan
from nerode.models.parts.precision import stabilisers


@dataclass(frozen=True, slots=True, kw_only=True)
class MlstmInputs:
    """Queries, keys, values and gates of positions; the leading axes are (batch) or (batch, time).

    Attributes:
        q: what is read, (…, heads, keys).
        k: where it is written, already scaled, (…, heads, keys).
        v: what is written, (…, heads, values).
        log_input: ĩ, (…, heads).
        log_forget: log f, (…, heads).
    """

    q: Tensor
    k: Tensor
    v: Tensor
    log_input: Tensor
    log_forget: Tensor


def initial_memory(zeros: Tensor, start: Tensor | None, start_normaliser: Tensor | None) -> State:
    """Returns the state {C, n, m} before the first position.

    Args:
        zeros: (batch, heads, keys, values).
        start: C₀ (heads, keys, values); zero when not given.
        start_normaliser: n₀ (heads, keys); zero when not given.
    """
    state = {"C": zeros, "n": zeros[..., 0], "m": zeros[..., 0, 0]}
    if start is not None:
        state["C"] = start.expand_as(zeros)
    if start_normaliser is not None:
        state["n"] = start_normaliser.expand_as(state["n"])
    return state


def mlstm_step(
    g: MlstmInputs, state: State, epsilon: float
) -> tuple[Float[Tensor, "batch heads values"], State]:
    """Returns h of one position and the state after it; ε is added to the denominator."""
    m = torch.maximum(g.log_forget + state["m"], g.log_input)
    forget, write = torch.exp(g.log_forget + state["m"] - m), torch.exp(g.log_input - m)
    key = write[..., None] * g.k
    matrix = forget[..., None, None] * state["C"] + key[..., None] * g.v[..., None, :]
    normaliser = forget[..., None] * state["n"] + key
    reading, weight = (g.q[..., None] * matrix).sum(-2), (g.q * normaliser).sum(-1)
    return reading / _denominator(weight, m, epsilon), {"C": matrix, "n": normaliser, "m": m}


def mlstm_scan(
    g: MlstmInputs, state: State, epsilon: float
) -> tuple[Float[Tensor, "batch time heads values"], State]:
    """Returns h of all positions and the state after them; ε is added to the denominator."""
    before, m = stabilisers(g.log_input, g.log_forget, state["m"])
    forget, write = torch.exp(g.log_forget + before - m), torch.exp(g.log_input - m)
    # The normaliser is one more column of the matrix, into which each key writes 1.
    columns = torch.cat([g.v, torch.ones_like(g.v[..., :1])], dim=-1)
    start = torch.cat([state["C"], state["n"][..., None]], dim=-1)
    readings, final = decay_scan(g.q, write[..., None] * g.k, columns, forget, start)
    h = readings[..., :-1] / _denominator(readings[..., -1], m, epsilon)
    return h, {"C": final[..., :-1], "n": final[..., -1], "m": m[:, -1]}


def mlstm_transition(g: MlstmInputs, state: State) -> DiagonalTransition:
    """Returns the gate of the stored C, e^{log f_t + m_{t-1} - m_t}, which lies between 0 and 1."""
    before, m = stabilisers(g.log_input, g.log_forget, state["m"])
    return DiagonalTransition(state="C", gate=torch.exp(g.log_forget + before - m)[..., None, None])


def _denominator(weight: Tensor, m: Tensor, epsilon: float) -> Tensor:
    """max(|q · n|, 1) + ε in the coordinates divided by e^m, for each value."""
    # Infinity is right where e^{-m} overflows, but must not reach the gradient of exp, which would be 0 · ∞.
    highest = math.log(torch.finfo(m.dtype).max) - 0.01
    least = torch.exp((-m).clamp(max=highest)).masked_fill(-m > highest, math.inf)
    return (torch.maximum(weight.abs(), least) + epsilon)[..., None]
