"""torch's own LSTM and GRU."""

from __future__ import annotations

import torch
from torch import nn

from nerode.models.architectures.gru import Gru, GruSettings
from nerode.models.architectures.lstm import Lstm, LstmSettings
from nerode.models.audit.peer import Pair, Peer, give_weights, match_places
from nerode.models.base import SequenceLayer
from nerode.models.libraries.layers import torch_cell

INPUTS, HIDDEN = 5, 7


def pair_lstm(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our LSTM and torch's."""
    settings = LstmSettings(hidden=HIDDEN, recurrent_bias=True)
    return _pair(Lstm(INPUTS, settings), nn.LSTM(INPUTS, HIDDEN, batch_first=True), dtype)


def pair_gru(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our GRU and torch's."""
    return _pair(Gru(INPUTS, GruSettings(hidden=HIDDEN)), nn.GRU(INPUTS, HIDDEN, batch_first=True), dtype)


def _pair(ours: SequenceLayer, theirs: nn.Module, dtype: torch.dtype) -> Pair:
    ours, theirs = ours.to(dtype), theirs.to(dtype)
    matches = match_places(ours, theirs, torch_cell(0, bias=True))
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=INPUTS)


PEERS = tuple(
    Peer(
        name=f"torch-{cell}",
        library="torch",
        module="torch",
        layer=f"torch.nn.{cell.upper()}",
        ours=cell,
        build=build,
    )
    for cell, build in (("lstm", pair_lstm), ("gru", pair_gru))
)
