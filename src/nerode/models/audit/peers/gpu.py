"""Layers and operations that need a CUDA device. No machine of this project has one: written, not measured.

What mamba-ssm calls its weights was read in its source (`modules/mamba_simple.py`), and the axes of fla's
operations in theirs (`ops/gla/chunk.py`, `ops/delta_rule`).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, normalize

from nerode.models.audit.peer import Pair, PairBuilder, Peer
from nerode.models.audit.peers.mambapy import STATES, WIDTH, pair_mamba
from nerode.models.kernels.matrix_scan import decay_scan_reference, delta_scan_reference

HEADS, SIZE = 2, 16
UNMEASURED = "never run by the authors, who have no CUDA device"


class Operation(nn.Module):
    """A function without weights, as a module, which a comparison can also run in float64."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        """Returns what the function returns."""
        return self.function(x)


def pair_mamba_ssm(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our Mamba and that of its authors, with their kernels."""
    from mamba_ssm import Mamba

    return pair_mamba(Mamba(d_model=WIDTH, d_state=STATES), dtype, "cuda")


def pair_gla(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns the decaying matrix state by our loop and by fla's chunks; x holds q, k, v and gate logits."""
    from fla.ops.gla import chunk_gla

    def ours(x: Tensor) -> Tensor:
        q, k, v, logits = _heads(x)
        start = x.new_zeros(len(x), HEADS, SIZE, SIZE)
        gates = logsigmoid(logits).exp()
        return decay_scan_reference(q * SIZE**-0.5, k, v, gates, start)[0]

    def theirs(x: Tensor) -> Tensor:
        q, k, v, logits = _heads(x)
        outputs: Tensor = chunk_gla(q, k, v, logsigmoid(logits))[0]
        return outputs

    return Pair(ours=Operation(ours), theirs=theirs, matches=(), inputs=4 * HEADS * SIZE, device="cuda")


def pair_delta_rule(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns the delta rule by our loop and by fla; x holds q, k, v and the logits of β.

    fla's chunks refuse float32, so its fused recurrence is taken there.
    """
    from fla.ops.delta_rule import chunk_delta_rule, fused_recurrent_delta_rule

    operation = fused_recurrent_delta_rule if dtype in (torch.float32, torch.float64) else chunk_delta_rule

    def ours(x: Tensor) -> Tensor:
        q, k, v, beta = _rule(x)
        start = x.new_zeros(len(x), HEADS, SIZE, SIZE)
        k, v, beta = (part[:, :, None] for part in (k, v, beta))
        return delta_scan_reference(q * SIZE**-0.5, k, v, beta, None, start)[0]

    def theirs(x: Tensor) -> Tensor:
        outputs: Tensor = operation(*_rule(x))[0]
        return outputs

    return Pair(ours=Operation(ours), theirs=theirs, matches=(), inputs=4 * HEADS * SIZE, device="cuda")


def _rule(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """q, unit keys, v, and one β per head."""
    q, k, v, logits = _heads(x)
    return q, normalize(k, dim=-1), v, torch.sigmoid(logits[..., 0])


def _heads(x: Tensor) -> tuple[Tensor, ...]:
    return x.reshape(*x.shape[:2], 4, HEADS, SIZE).unbind(2)


def _row(name: str, library: str, module: str, layer: str, ours: str, build: PairBuilder) -> Peer:
    return Peer(
        name=name,
        library=library,
        module=module,
        layer=layer,
        ours=ours,
        build=build,
        cuda=True,
        note=UNMEASURED,
    )


PEERS = (
    _row("mamba-ssm", "mamba-ssm", "mamba_ssm", "mamba_ssm.Mamba", "mamba", pair_mamba_ssm),
    _row("fla-gla", "flash-linear-attention", "fla", "fla.ops.gla.chunk_gla", "gla", pair_gla),
    _row(
        "fla-delta-rule",
        "flash-linear-attention",
        "fla",
        "fla.ops.delta_rule: chunks in 16 bits, fused recurrence in 32",
        "deltanet",
        pair_delta_rule,
    ),
)
