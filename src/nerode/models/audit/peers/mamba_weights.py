"""Our Mamba with weights of no special form, and its weights in the names that all libraries share."""

from __future__ import annotations

import torch
from torch import nn

from nerode.models.architectures.mamba import Mamba, MambaSettings
from nerode.models.audit.matching import give_weights, match_weights, shake
from nerode.models.audit.peer import Pair

WIDTH, STATES = 20, 5

NAMES = {"conv1d.weight": "convolution.weight", "conv1d.bias": "convolution.bias"}
"""For each weight of a Mamba block that is called otherwise here, its name here."""


def pair_mamba(theirs: nn.Module, dtype: torch.dtype, device: str = "cpu") -> Pair:
    """Returns our Mamba beside a library's block of the same size, which gets our weights."""
    ours = Mamba(WIDTH, MambaSettings(states=STATES))
    shake(ours, torch.default_generator, by=0.1)
    ours, theirs = ours.to(device, dtype), theirs.to(device, dtype)
    matches = match_weights(ours, theirs, NAMES)
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=WIDTH, device=device)
