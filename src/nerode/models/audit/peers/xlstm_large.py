"""The mLSTM layer of xLSTM-7B around our scan: capped gates, a norm of each head, an output gate.

    q, k, v = linear in x          ĩ, f̃ = 15 tanh((W x + b) / 15)
    y       = W_out (σ(W_o x) ∘ norm(h)),  h of the mLSTM

It is not in the zoo: around the scan it differs from the block of the first paper in these maps only.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.models.architectures.mlstm_cell import Gates, initial_memory, mlstm_scan
from nerode.models.audit.matching import give_weights, match_weights, shake
from nerode.models.audit.peer import Pair
from nerode.models.parts.heads import HeadNorm, split_heads

_CAP = 15.0
_EPSILON = 1e-6


class Sizes(NamedTuple):
    """Sizes of the layer; half as many keys as values, as published."""

    width: int
    heads: int


class LargeMlstm(nn.Module):
    """The layer, with the names of weights that the library has."""

    SIZES: ClassVar = Sizes(width=32, heads=4)

    def __init__(self) -> None:
        super().__init__()
        width, heads = self.SIZES
        self.q = nn.Linear(width, width // 2, bias=False)
        self.k = nn.Linear(width, width // 2, bias=False)
        self.v = nn.Linear(width, width, bias=False)
        self.ogate_preact = nn.Linear(width, width, bias=False)
        self.igate_preact = nn.Linear(width, heads)
        self.fgate_preact = nn.Linear(width, heads)
        self.multihead_norm = HeadNorm(heads, width, "layer", eps=_EPSILON)
        self.out_proj = nn.Linear(width, width, bias=False)

    def forward(self, x: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time width"]:
        """Returns the outputs of a sequence."""
        q, k, v = (split_heads(part(x), self.SIZES.heads) for part in (self.q, self.k, self.v))
        gates = Gates(
            q=q,
            k=k * k.shape[-1] ** -0.5,
            v=v,
            log_input=_cap(self.igate_preact(x)),
            log_forget=nn.functional.logsigmoid(_cap(self.fgate_preact(x))),
        )
        zeros = x.new_zeros(len(x), self.SIZES.heads, k.shape[-1], v.shape[-1])
        h, _ = mlstm_scan(gates, initial_memory(zeros, None, None), _EPSILON)
        y: Tensor = self.out_proj(torch.sigmoid(self.ogate_preact(x)) * self.multihead_norm(h))
        return y


def pair_large_mlstm(theirs: nn.Module, dtype: torch.dtype) -> Pair:
    """Returns the layer around our scan beside a library's, which gets our weights."""
    ours = LargeMlstm()
    shake(ours, torch.default_generator, by=0.1)
    ours, theirs = ours.to(dtype), theirs.to(dtype)
    matches = match_weights(ours, theirs)
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=LargeMlstm.SIZES.width)


def _cap(x: Tensor) -> Tensor:
    return _CAP * torch.tanh(x / _CAP)
