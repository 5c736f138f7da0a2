"""The table of carriers: which architectures of the zoo can take over a compiled network."""

from __future__ import annotations

import torch

from nerode.core import NotCompilable
from nerode.models.compiled.carriers.assembly import Carrier, assemble
from nerode.models.compiled.carriers.cells import ElmanCarrier, GruCarrier, LstmCarrier, SlstmCarrier
from nerode.models.compiled.carriers.complex_diagonal import ComplexDiagonalCarrier
from nerode.models.compiled.carriers.delta import DeltaCarrier
from nerode.models.compiled.carriers.gla import GlaCarrier
from nerode.models.compiled.carriers.griffin import GriffinCarrier
from nerode.models.compiled.carriers.hgrn2 import Hgrn2Carrier
from nerode.models.compiled.carriers.ids4 import Ids4Carrier
from nerode.models.compiled.carriers.mamba import MambaCarrier
from nerode.models.compiled.carriers.mamba2 import Mamba2Carrier
from nerode.models.compiled.carriers.mlstm import MLstmCarrier
from nerode.models.compiled.carriers.one_layer import CellCarrier, assemble_cell
from nerode.models.compiled.carriers.pd_ssm import PdSsmCarrier
from nerode.models.compiled.carriers.plan import plan_stream
from nerode.models.compiled.carriers.s4d import carry_s4d
from nerode.models.compiled.carriers.ssm import carry_ssm
from nerode.models.model import Model
from nerode.models.zoo import find_member
from nerode.network import Network

STREAMS: dict[str, type[Carrier]] = {
    "complex-diagonal": ComplexDiagonalCarrier,
    "deltanet": DeltaCarrier,
    "deltanet-signed": DeltaCarrier,
    "deltaproduct": DeltaCarrier,
    "deltaproduct-signed": DeltaCarrier,
    "gated-deltanet": DeltaCarrier,
    "gated-deltanet-signed": DeltaCarrier,
    "gla": GlaCarrier,
    "griffin": GriffinCarrier,
    "griffin-signed": GriffinCarrier,
    "hgrn2": Hgrn2Carrier,
    "ids4": Ids4Carrier,
    "mamba": MambaCarrier,
    "mamba-2": Mamba2Carrier,
    "mamba-2-signed": Mamba2Carrier,
    "mamba-signed": MambaCarrier,
    "mlstm": MLstmCarrier,
    "pd-ssm": PdSsmCarrier,
}
"""Architectures that carry layer after layer on a residual stream."""

TIME_INVARIANT = {"s4d": carry_s4d, "ssm": carry_ssm}
"""Architectures with one fixed matrix."""

CELLS: dict[str, type[CellCarrier]] = {
    "elman-relu": ElmanCarrier,
    "elman-tanh": ElmanCarrier,
    "gru": GruCarrier,
    "lstm": LstmCarrier,
    "slstm": SlstmCarrier,
}
"""Architectures that carry one layer, which the head reads."""


_WIDEST = 600
"""Coordinates of a layer; the dense maps of a real architecture grow with their square."""


def remembers(architecture: str) -> bool:
    """Returns whether an architecture can carry networks with the exclusive scan: by its convolution."""
    carrier = STREAMS.get(find_member(architecture).name)
    return carrier is not None and carrier.delays


def carry(network: Network, architecture: str, *, dtype: torch.dtype = torch.float32) -> Model:
    """Returns an ordinary model of the zoo that computes what the network computes.

    Its scores mean what those of `load_model` mean: above 1/2 is legal, or logits for a distribution.

    Args:
        network: compiled for this architecture; without the exclusive scan unless the architecture has a
            convolution, which then shows states one letter late.
        architecture: a name of the zoo.
        dtype: the type of its weights.

    Raises:
        UnknownName: if the zoo has no such architecture.
        NotCompilable: with the reason, if it cannot carry the network.
        InputError: for a type that is too narrow for the weights.
    """
    name = find_member(architecture).name
    if network.width > _WIDEST:
        raise NotCompilable(name, [f"{network.width} coordinates are too many for dense layers"])
    if name in STREAMS:
        carrier = STREAMS[name](name)
        return assemble(plan_stream(network, name, delays=carrier.delays), carrier, dtype)
    if name in TIME_INVARIANT:
        return TIME_INVARIANT[name](network, name, dtype)
    if name in CELLS:
        return assemble_cell(network, CELLS[name](name), dtype)
    raise NotCompilable(name, ["there is no carrier for this architecture"])
