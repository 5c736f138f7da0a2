"""The Mamba block of mambapy, with its parallel scan and with its loop."""

from __future__ import annotations

import functools
from typing import Any

import torch

from nerode.models.audit.peer import PEERS, Pair, Peer
from nerode.models.audit.peers.mamba_weights import STATES, WIDTH, pair_mamba


def pair_block(*, dtype: torch.dtype, length: int, parallel: bool) -> Pair:
    """Returns our Mamba and mambapy's block, which scans in parallel or step by step."""
    from mambapy import mamba

    config = mamba.MambaConfig(d_model=WIDTH, n_layers=1, d_state=STATES, pscan=parallel)
    block: Any = mamba.MambaBlock(config)
    return pair_mamba(block, dtype)


for _name, _parallel, _form in (("mambapy", True, "parallel scan"), ("mambapy-sequential", False, "loop")):
    PEERS.add(
        _name,
        Peer(
            name=_name,
            library="mambapy",
            module="mambapy",
            layer=f"mambapy.mamba.MambaBlock, {_form}",
            ours="mamba",
            build=functools.partial(pair_block, parallel=_parallel),
        ),
    )
