"""What the kernels are measured against: chunked matrix forms and an eager scan, in plain torch."""

from __future__ import annotations

import torch
from torch import Tensor


def associative_scan(gate: Tensor, inputs: Tensor) -> Tensor:
    """torch's own associative scan, not compiled; it starts from zero."""
    from torch._higher_order_ops.associative_scan import associative_scan as scan

    def join(left: tuple[Tensor, Tensor], right: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return left[0] * right[0], right[0] * left[1] + right[1]

    result: Tensor = scan(join, (gate, inputs), dim=1, combine_mode="generic")[1]
    return result


def chunked_decay(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, size: int = 32) -> Tensor:
    """S_t = decay_t ∘ S_{t-1} + k_t^T v_t, o_t = q_t S_t, as matrix products inside chunks of `size` steps.

    Ratios of cumulated decays stand for the steps in between, so decays must be positive and not tiny.
    """
    q, k, v = (x.transpose(1, 2).unflatten(2, (-1, size)) for x in (q, k, v))
    gate = decay.transpose(1, 2).unflatten(2, (-1, size))
    gate = gate if gate.ndim == 5 else gate[..., None]
    total = gate.log().cumsum(dim=3)
    reach = total[..., -1:, :]
    lower = torch.ones(size, size, dtype=q.dtype).tril()
    if gate.shape[-1] == 1:
        scores = (q @ k.transpose(-1, -2)) * (total - total.transpose(-1, -2)).exp().nan_to_num(0) * lower
    else:
        scores = ((q * total.exp()) @ (k * (-total).exp()).transpose(-1, -2)) * lower
    inside = scores @ v
    written = (k * (reach - total).exp()).transpose(-1, -2) @ v
    read = q * total.exp()
    state = torch.zeros_like(written[:, :, 0])
    outputs = []
    for c in range(q.shape[2]):
        outputs.append(inside[:, :, c] + read[:, :, c] @ state)
        state = reach[:, :, c].exp().transpose(-1, -2) * state + written[:, :, c]
    return torch.cat(outputs, dim=2).transpose(1, 2)


def chunked_delta(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, size: int = 32) -> Tensor:
    """S ← (I − β k k^T) S + β k v^T, with the corrections of a chunk from one triangular solve."""
    q, k, v = (x.transpose(1, 2).unflatten(2, (-1, size)) for x in (q, k, v))
    strength = beta.transpose(1, 2).unflatten(2, (-1, size))[..., None]
    overlap = (strength * (k @ k.transpose(-1, -2))).tril(-1)
    system = overlap + torch.eye(size, dtype=q.dtype)
    both = torch.linalg.solve_triangular(
        system, torch.cat([strength * v, strength * k], dim=-1), upper=False, unitriangular=True
    )
    fresh, stale = both.split([v.shape[-1], k.shape[-1]], dim=-1)
    scores = (q @ k.transpose(-1, -2)).tril()
    state = q.new_zeros(*q.shape[:2], k.shape[-1], v.shape[-1])
    outputs = []
    for c in range(q.shape[2]):
        correction = fresh[:, :, c] - stale[:, :, c] @ state
        outputs.append(q[:, :, c] @ state + scores[:, :, c] @ correction)
        state = state + k[:, :, c].transpose(-1, -2) @ correction
    return torch.cat(outputs, dim=2).transpose(1, 2)
