"""Layers of transformers, on the paths that run on any machine."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor, nn

from nerode.models.architectures.griffin import Griffin, GriffinSettings
from nerode.models.architectures.mamba2 import Mamba2, Mamba2Settings
from nerode.models.architectures.mlstm import MLstmLarge, MLstmSettings
from nerode.models.architectures.rwkv4 import Rwkv4, Rwkv4Settings
from nerode.models.audit.peer import Pair, PairBuilder, Peer, give_weights, match_places, shake
from nerode.models.audit.peers.mambapy import STATES, WIDTH, pair_mamba
from nerode.models.libraries.layers import MAMBA_2, MLSTM_LARGE, RWKV_4, griffin

WIDE, HEADS = 32, 4
"""Sizes of the layer of xLSTM-7B; half as many keys as values, as published."""


def pair_large_mlstm(theirs: nn.Module, dtype: torch.dtype) -> Pair:
    """Returns our large mLSTM beside a library's, which gets our weights."""
    ours = MLstmLarge(WIDE, MLstmSettings(form="large", heads=HEADS, norm_epsilon=1e-6))
    shake(ours, torch.default_generator, by=0.1)
    ours, theirs = ours.to(dtype), theirs.to(dtype)
    matches = match_places(ours, theirs, MLSTM_LARGE)
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=WIDE)


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
    matches = match_places(ours, theirs, MAMBA_2)
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
    matches = match_places(ours, theirs, griffin(3))
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
    matches = match_places(ours, theirs, RWKV_4)
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=8)


def pair_xlstm(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns the mLSTM of xLSTM-7B around our scan, and transformers'."""
    from transformers import xLSTMConfig
    from transformers.models.xlstm.modeling_xlstm import xLSTMBlock

    config = xLSTMConfig(hidden_size=WIDE, num_heads=HEADS, num_hidden_layers=1)
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
        note="the layer of xLSTM-7B; transformers takes that of xlstm where it is installed",
    ),
)
