"""From a language to a network with exact weights."""

from nerode.compiler.affine import Affine, Row, zero_map
from nerode.compiler.construction import Options
from nerode.compiler.decoders import Decoder, LogitDecoder, LogSum, PointDecoder, ScoreDecoder
from nerode.compiler.display import describe_network, network_parts
from nerode.compiler.interpreter import Answer, Configuration, Interpreter
from nerode.compiler.json_form import network_from_json, network_hash, network_text, network_to_json
from nerode.compiler.network import Embedding, Layer, Network, Origin
from nerode.compiler.pipeline import compile_language
from nerode.compiler.recurrences import (
    CELL_GATES,
    CELL_STATES,
    Diagonal,
    Elman,
    Factor,
    GatedCell,
    Householder,
    LetterMatrices,
    PermutationDiagonal,
    Recurrence,
    TimeInvariant,
    Vector,
)
from nerode.compiler.stepping import relu

__all__ = [
    "CELL_GATES",
    "CELL_STATES",
    "Affine",
    "Answer",
    "Configuration",
    "Decoder",
    "Diagonal",
    "Elman",
    "Embedding",
    "Factor",
    "GatedCell",
    "Householder",
    "Interpreter",
    "Layer",
    "LetterMatrices",
    "LogSum",
    "LogitDecoder",
    "Network",
    "Options",
    "Origin",
    "PermutationDiagonal",
    "PointDecoder",
    "Recurrence",
    "Row",
    "ScoreDecoder",
    "TimeInvariant",
    "Vector",
    "compile_language",
    "describe_network",
    "network_from_json",
    "network_hash",
    "network_parts",
    "network_text",
    "network_to_json",
    "relu",
    "zero_map",
]
