"""Layers of transformers, on the paths that run on any machine."""

from __future__ import annotations

import functools
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.models.architectures.griffin import Griffin, GriffinSettings
from nerode.models.architectures.mamba2 import Mamba2, Mamba2Settings
from nerode.models.architectures.mlstm import MlstmInputs, initial_memory, mlstm_scan
from nerode.models.architectures.rwkv4 import Rwkv4, Rwkv4Settings
from nerode.models.audit.peer import Match, Pair, PairBuilder, Peer, give_weights, match_weights, shake
from nerode.models.audit.peers.mambapy import STATES, WIDTH, pair_mamba
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
        gates = MlstmInputs(
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


MAMBA_2_NAMES = {
    "conv1d.weight": "convolution.weight",
    "conv1d.bias": "convolution.bias",
    "norm.weight": "norm_weight",
}
GRIFFIN_NAMES = {
    "conv_1d.weight": "convolution.weight",
    "conv_1d.bias": "convolution.bias",
    "rg_lru.recurrent_param": "decay",
    "rg_lru.recurrent_gate_weight": "recurrence_gate.weight",
    "rg_lru.recurrent_gate_bias": "recurrence_gate.bias",
    "rg_lru.input_gate_weight": "input_gate.weight",
    "rg_lru.input_gate_bias": "input_gate.bias",
}
RWKV_NAMES = {"time_decay": "decay", "time_first": "bonus"}


def pair_mamba_mixer(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our Mamba and transformers', on its path without special kernels."""
    from transformers import MambaConfig
    from transformers.models.mamba.modeling_mamba import MambaMixer

    config = MambaConfig(hidden_size=WIDTH, state_size=STATES, num_hidden_layers=1, use_mambapy=False)
    return pair_mamba(MambaMixer(config, layer_idx=0), dtype)


def pair_mamba_2(*, dtype: torch.dtype, length: int, groups: int = 1) -> Pair:
    """Returns our Mamba-2 and transformers', on its path without special kernels.

    Args:
        dtype: of the weights.
        length: not used.
        groups: groups of heads that share B and C, and that the authors' norm runs over.
    """
    from transformers import Mamba2Config
    from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

    config = Mamba2Config(
        hidden_size=8,
        state_size=6,
        num_heads=4,
        head_dim=4,
        n_groups=groups,
        chunk_size=8,
        num_hidden_layers=1,
        layer_norm_epsilon=1e-5,
    )
    ours = Mamba2(8, Mamba2Settings(states=6, head_size=4, groups=groups))
    theirs: Any = Mamba2Mixer(config, layer_idx=0)
    shake(ours, torch.default_generator, by=0.1)
    ours, theirs = ours.to(dtype), theirs.to(dtype)
    matches = match_weights(ours, theirs, MAMBA_2_NAMES)
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=8)


def pair_recurrent_gemma(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our recurrent block of Griffin and transformers'."""
    from transformers import RecurrentGemmaConfig
    from transformers.models.recurrent_gemma.modeling_recurrent_gemma import RecurrentGemmaRecurrentBlock

    config = RecurrentGemmaConfig(hidden_size=8, lru_width=12, num_attention_heads=3, num_hidden_layers=1)
    ours = Griffin(8, GriffinSettings(channels=12, blocks=3))
    theirs: Any = RecurrentGemmaRecurrentBlock(config, layer_idx=0)
    shake(ours, torch.default_generator, by=0.1)
    ours, theirs = ours.to(dtype), theirs.to(dtype)
    # The peer multiplies its gate matrices from the right.
    matches = tuple(
        Match(name=m.name, ours=m.ours, theirs=m.theirs, turned=m.name.endswith("_gate.weight"))
        for m in match_weights(ours, theirs, GRIFFIN_NAMES)
    )
    give_weights(matches)

    def run(x: Tensor) -> Tensor:
        # At a position 0 the peer leaves out the square root.
        positions = 1 + torch.arange(x.shape[1]).expand(x.shape[:2])
        outputs: Tensor = theirs(x, positions, None, use_cache=False)[0]
        return outputs

    return Pair(ours=ours, theirs=run, matches=matches, inputs=8)


def pair_rwkv(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our time mixing of RWKV-4 and transformers'."""
    from transformers import RwkvConfig
    from transformers.models.rwkv.modeling_rwkv import RwkvSelfAttention

    config = RwkvConfig(hidden_size=8, attention_hidden_size=12, intermediate_size=20, num_hidden_layers=3)
    ours = Rwkv4(8, Rwkv4Settings(width=12))
    theirs: Any = RwkvSelfAttention(config, layer_id=1)
    shake(ours, torch.default_generator, by=0.3)
    ours, theirs = ours.to(dtype), theirs.to(dtype)
    matches = match_rwkv(ours, theirs, rows=("receptance", "key", "value"))
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=8)


def match_rwkv(ours: Any, theirs: Any, rows: tuple[str, ...]) -> tuple[Match, ...]:
    """Returns the pairs of weights; each mixture of the peer is a row of our one weight for all of them."""
    mine = dict(ours.named_parameters())
    parts = {f"time_mix_{name}": number for number, name in enumerate(rows)}
    matches = []
    for name, weight in theirs.named_parameters():
        part = parts.get(name)
        here = RWKV_NAMES.get(name, name) if part is None else "mix"
        matches.append(Match(name=here, ours=mine[here], theirs=weight, part=part))
    return tuple(matches)


def pair_xlstm(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns the mLSTM of xLSTM-7B around our scan, and transformers'."""
    from transformers import xLSTMConfig
    from transformers.models.xlstm.modeling_xlstm import xLSTMBlock

    sizes = LargeMlstm.SIZES
    config = xLSTMConfig(hidden_size=sizes.width, num_heads=sizes.heads, num_hidden_layers=1)
    return pair_large_mlstm(xLSTMBlock(config.to_xlstm_block_config()).mlstm_layer, dtype)


def _row(name: str, layer: str, ours: str, build: PairBuilder, note: str = "") -> Peer:
    return Peer(
        name=name,
        library="transformers",
        module="transformers",
        layer=layer,
        ours=ours,
        build=build,
        note=note,
    )


PEERS = (
    _row("transformers-mamba", "MambaMixer, slow path", "mamba", pair_mamba_mixer),
    _row("transformers-mamba-2", "Mamba2Mixer, torch path in chunks of 8", "mamba-2", pair_mamba_2),
    _row(
        "transformers-mamba-2-groups",
        "Mamba2Mixer with 2 groups, torch path in chunks of 8",
        "mamba-2",
        functools.partial(pair_mamba_2, groups=2),
        note="the library's norm runs over all channels, the authors' over those of a group (docs/audit.md)",
    ),
    _row("transformers-rwkv", "RwkvSelfAttention, CPU path", "rwkv-4", pair_rwkv),
    _row(
        "transformers-recurrent-gemma",
        "RecurrentGemmaRecurrentBlock",
        "griffin",
        pair_recurrent_gemma,
        note="positions count from 1: at a position 0 the library leaves out the square root",
    ),
    _row(
        "transformers-xlstm",
        "mLSTM layer of xLSTMBlock in its default mode",
        "mlstm",
        pair_xlstm,
        note="our scan in the layer of xLSTM-7B; transformers takes the layer of xlstm where that is "
        "installed",
    ),
)
