"""The architectures, one file each; importing this fills the table of `nerode.models.zoo`."""

from nerode.models.architectures import (
    deltanet,
    deltaproduct,
    elman,
    gated_deltanet,
    gla,
    gru,
    hgrn2,
    lstm,
    mamba,
    mamba2,
    mlstm,
    nru,
    slstm,
)

__all__ = [
    "deltanet",
    "deltaproduct",
    "elman",
    "gated_deltanet",
    "gla",
    "gru",
    "hgrn2",
    "lstm",
    "mamba",
    "mamba2",
    "mlstm",
    "nru",
    "slstm",
]
