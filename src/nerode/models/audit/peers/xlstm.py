"""The two layers of the xlstm package, on its backends in plain torch."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import torch

from nerode.models.architectures.mlstm import MLstmBlock, MLstmSettings
from nerode.models.architectures.slstm import Slstm, SlstmSettings
from nerode.models.audit.peer import Match, Pair, PairBuilder, Peer, give_weights, match_weights, shake

MLSTM_NAMES = {
    "proj_up.weight": "up.weight",
    "q_proj.weight": "query.weight",
    "k_proj.weight": "key.weight",
    "v_proj.weight": "value.weight",
    "conv1d.conv.weight": "convolution.weight",
    "conv1d.conv.bias": "convolution.bias",
    "mlstm_cell.igate.weight": "input_gate.weight",
    "mlstm_cell.igate.bias": "input_gate.bias",
    "mlstm_cell.fgate.weight": "forget_gate.weight",
    "mlstm_cell.fgate.bias": "forget_gate.bias",
    "mlstm_cell.outnorm.weight": "norm.weight",
    "learnable_skip": "skip",
    "proj_down.weight": "down.weight",
}
SLSTM_NAMES = {
    "conv1d.conv.weight": "convolution.weight",
    "conv1d.conv.bias": "convolution.bias",
    "slstm_cell._recurrent_kernel_": "recurrent",
    "slstm_cell._bias_": "bias",
    "group_norm.weight": "norm.weight",
}
SLSTM_READS = {"fgate.weight": 0, "igate.weight": 1, "zgate.weight": 2, "ogate.weight": 3}
"""The package calls the map of its input gate `fgate`, and that of its forget gate `igate`."""


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
    matches = _with_shifted_norm(match_weights(ours, theirs, MLSTM_NAMES))
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
    mine = dict(ours.named_parameters())
    matches = []
    for name, weight in theirs.named_parameters():
        part = SLSTM_READS.get(name)
        here = SLSTM_NAMES[name] if part is None else "read"
        matches.append(Match(name=here, ours=mine[here], theirs=weight, part=part))
    shifted = _with_shifted_norm(tuple(matches))
    give_weights(shifted)
    return Pair(ours=ours, theirs=theirs, matches=shifted, inputs=width)


def _with_shifted_norm(matches: tuple[Match, ...]) -> tuple[Match, ...]:
    """The package keeps the weight of a norm less one."""
    return tuple(dataclasses.replace(m, shift=-1.0) if m.name == "norm.weight" else m for m in matches)


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
