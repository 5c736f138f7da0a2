"""The two layers of the xlstm package, on its backends in plain torch."""

from __future__ import annotations

import functools
from typing import Any

import torch

from nerode.models.architectures.mlstm import MLstmBlock, MLstmSettings
from nerode.models.architectures.slstm import Slstm, SlstmSettings
from nerode.models.audit.peer import Pair, PairBuilder, Peer, give_weights, match_places, shake
from nerode.models.libraries.layers import MLSTM_BLOCK, SLSTM_BLOCK, SLSTM_CELL


def pair_mlstm(*, dtype: torch.dtype, length: int, epsilon: float | None = None) -> Pair:
    """Returns our mLSTM block and the package's.

    Args:
        dtype: of the weights.
        length: the longest sequence, which the package's mask has to be made for.
        epsilon: what is added to the denominator of h on both sides; None for the package's 1e-6.
    """
    from xlstm.blocks.mlstm.backends import parallel_stabilized_simple
    from xlstm.blocks.mlstm.layer import mLSTMLayer, mLSTMLayerConfig

    theirs: Any = mLSTMLayer(mLSTMLayerConfig(embedding_dim=32, num_heads=4, context_length=length))
    settings = MLstmSettings() if epsilon is None else MLstmSettings(epsilon=epsilon)
    if epsilon is not None:
        theirs.mlstm_cell.backend_fn = functools.partial(parallel_stabilized_simple, eps=epsilon)
    ours = MLstmBlock(32, settings)
    shake(ours, torch.default_generator, by=0.05)
    ours, theirs = ours.to(dtype), theirs.to(dtype)
    matches = match_places(ours, theirs, MLSTM_BLOCK)
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=32)


def pair_slstm(*, dtype: torch.dtype, length: int, convolution: int = 4) -> Pair:
    """Returns our sLSTM with the parts of its block around it, and the package's on its backend in torch."""
    from xlstm.blocks.slstm.layer import sLSTMLayer, sLSTMLayerConfig

    width, heads = 12, 3
    config = sLSTMLayerConfig(
        embedding_dim=width,
        num_heads=heads,
        conv1d_kernel_size=convolution,
        backend="vanilla",
        dtype="float32",
    )
    theirs: Any = sLSTMLayer(config)
    settings = SlstmSettings(heads=heads, headwise=True, convolution=convolution, group_norm=True)
    ours = Slstm(width, settings)
    shake(ours, torch.default_generator, by=0.1)
    ours, theirs = ours.to(dtype), theirs.to(dtype)
    matches = match_places(ours, theirs, SLSTM_BLOCK if convolution else SLSTM_CELL)
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=width)


def _row(name: str, layer: str, ours: str, build: PairBuilder, note: str) -> Peer:
    return Peer(name=name, library="xlstm", module="xlstm", layer=layer, ours=ours, build=build, note=note)


PEERS = (
    _row(
        "xlstm-mlstm",
        "mLSTMLayer, parallel form",
        "mlstm",
        pair_mlstm,
        note="the parallel form adds 1e-6 to a denominator that it scales otherwise than the recurrent one "
        "does",
    ),
    _row(
        "xlstm-slstm",
        "sLSTMLayer, vanilla backend",
        "slstm-block",
        pair_slstm,
        note="the cuda backend is not audited",
    ),
)
