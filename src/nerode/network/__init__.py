"""The neutral record between compiler, models, proofs and pages: exact networks and their step."""

from nerode.network.affine import Affine, AffineBuilder, Row, zero_map
from nerode.network.decoders import Decoder, LogitDecoder, LogSum, PointDecoder, ScoreDecoder
from nerode.network.display import describe_network, network_parts
from nerode.network.interpreter import Answer, Configuration, Interpreter
from nerode.network.json_form import network_from_json, network_hash, network_text, network_to_json
from nerode.network.record import Embedding, Layer, Network, Origin
from nerode.network.recurrences import (
    CELL_GATES,
    CELL_STATES,
    ByChoice,
    Factor,
    Fixed,
    Gated,
    GatedCell,
    Householder,
    LetterMatrices,
    PermutationDiagonal,
    Recurrence,
    Squashed,
    Vector,
)
from nerode.network.stepping import relu

__all__ = [
    "CELL_GATES",
    "CELL_STATES",
    "Affine",
    "AffineBuilder",
    "Answer",
    "ByChoice",
    "Configuration",
    "Decoder",
    "Embedding",
    "Factor",
    "Fixed",
    "Gated",
    "GatedCell",
    "Householder",
    "Interpreter",
    "Layer",
    "LetterMatrices",
    "LogSum",
    "LogitDecoder",
    "Network",
    "Origin",
    "PermutationDiagonal",
    "PointDecoder",
    "Recurrence",
    "Row",
    "ScoreDecoder",
    "Squashed",
    "Vector",
    "describe_network",
    "network_from_json",
    "network_hash",
    "network_parts",
    "network_text",
    "network_to_json",
    "relu",
    "zero_map",
]
