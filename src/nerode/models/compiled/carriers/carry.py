"""The table of carriers: which architectures of the zoo can take over a compiled network."""

from __future__ import annotations

import torch

from nerode.compiler.network import Network
from nerode.core.errors import NotCompilable
from nerode.models.compiled.carriers.assembly import Carrier, assemble
from nerode.models.compiled.carriers.gla import GlaCarrier
from nerode.models.compiled.carriers.griffin import GriffinCarrier
from nerode.models.compiled.carriers.hgrn2 import Hgrn2Carrier
from nerode.models.compiled.carriers.mamba import MambaCarrier
from nerode.models.compiled.carriers.mlstm import MLstmCarrier
from nerode.models.compiled.carriers.plan import plan_stream
from nerode.models.model import Model
from nerode.models.zoo import find_member

STREAMS: dict[str, type[Carrier]] = {
    "gla": GlaCarrier,
    "griffin": GriffinCarrier,
    "griffin-signed": GriffinCarrier,
    "hgrn2": Hgrn2Carrier,
    "mamba": MambaCarrier,
    "mamba-signed": MambaCarrier,
    "mlstm": MLstmCarrier,
}
"""Architectures that carry layer after layer on a residual stream."""


def carry(network: Network, architecture: str, *, dtype: torch.dtype = torch.float32) -> Model:
    """Returns an ordinary model of the zoo that computes what the network computes.

    Its scores mean what those of `load_model` mean: above 1/2 is legal, or logits for a distribution.

    Args:
        network: compiled for this architecture; without the exclusive scan where it has several layers.
        architecture: a name of the zoo.
        dtype: the type of its weights.

    Raises:
        UnknownName: if the zoo has no such architecture.
        NotCompilable: with the reason, if it cannot carry the network.
        InputError: for a type that is too narrow for the weights.
    """
    name = find_member(architecture).name
    if name in STREAMS:
        return assemble(plan_stream(network, name), STREAMS[name](name), dtype)
    raise NotCompilable(name, ["there is no carrier for this architecture"])
