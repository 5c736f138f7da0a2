"""The Mamba block of mambapy, with its parallel scan and with its loop."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn

from nerode.models.architectures.mamba import Mamba, MambaSettings
from nerode.models.audit.peer import Pair, Peer, give_weights, match_places, shake
from nerode.models.libraries.layers import MAMBA

WIDTH, STATES = 20, 5


def pair_mamba(theirs: nn.Module, dtype: torch.dtype, device: str = "cpu") -> Pair:
    """Returns our Mamba beside a library's block of the same size, which gets our weights."""
    ours = Mamba(WIDTH, MambaSettings(states=STATES))
    shake(ours, torch.default_generator, by=0.1)
    ours, theirs = ours.to(device, dtype), theirs.to(device, dtype)
    matches = match_places(ours, theirs, MAMBA)
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=WIDTH, device=device)


def pair_block(*, dtype: torch.dtype, length: int, parallel: bool) -> Pair:
    """Returns our Mamba and mambapy's block, which scans in parallel or step by step."""
    from mambapy import mamba

    config = mamba.MambaConfig(d_model=WIDTH, n_layers=1, d_state=STATES, pscan=parallel)
    block: Any = mamba.MambaBlock(config)
    return pair_mamba(block, dtype)


PEERS = tuple(
    Peer(
        name=name,
        library="mambapy",
        module="mambapy",
        layer=f"mambapy.mamba.MambaBlock, {form}",
        ours="mamba",
        build=functools.partial(pair_block, parallel=parallel),
    )
    for name, parallel, form in (
        ("mambapy", True, "parallel scan"),
        ("mambapy-sequential", False, "loop"),
    )
)
