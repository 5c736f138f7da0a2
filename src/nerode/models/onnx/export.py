"""A compiled network as an ONNX model: letters in, one score for each letter and the end out."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper

from nerode.core import InputError, imaginary_part, real_part, to_float, write_atomically
from nerode.models.onnx.graph import ELEMENTS, Floats, GraphWriter
from nerode.models.onnx.onnx_numbers import OnnxNumbers
from nerode.network import Layer, LogitDecoder, Network, NetworkStep, PointDecoder, ScoreDecoder

IR_VERSION = 10
OPSET = 18

MAX_BYTES = 1_500_000_000
"""Protocol buffers end at 2 GiB."""


def to_onnx(network: Network, *, dtype: str = "float32", carry_state: bool = False) -> ModelProto:
    """Returns the ONNX model of a network.

    Inputs: `letters` (batch, time) of int64, and with `carry_state` one `state_i` for each layer. Outputs:
    `scores` (batch, time, letters + 1) and `after_i`, the state of each layer after the last letter. What
    the scores mean is said in the metadata under `decoder`: "scores" are legal above 1/2, "points" likewise
    (they are 0 or 1), "softmax", "sparsemax" and "hardmax" are the logits of a distribution.

    Args:
        network: what the compiler made.
        dtype: float32 or float64.
        carry_state: whether the graph takes the states, for streams; otherwise it begins at the start.

    Raises:
        InputError: for another type, a weight beyond its largest number, or a network too large for one file.
    """
    if dtype not in ELEMENTS:
        raise InputError(f"ONNX graphs are written in {' or '.join(ELEMENTS)}; {dtype!r} was asked for")
    try:
        return _write(network, dtype, carry_state)
    except OverflowError:
        raise InputError("a weight of the network is beyond the largest float64") from None


def _write(network: Network, dtype: str, carry_state: bool) -> ModelProto:
    body = GraphWriter("step", dtype)
    states = [f"before_{i}" for i in range(network.depth)]
    scores, after = _write_body(body, network, states)
    batch: list[int | str] = ["batch"]
    step = body.build(
        [body.value(s, [*batch, _size(layer)]) for s, layer in zip(states, network.layers, strict=True)]
        + [helper.make_tensor_value_info("letter", TensorProto.INT64, batch)],
        [body.value(a, [*batch, _size(layer)]) for a, layer in zip(after, network.layers, strict=True)]
        + [body.value(scores, [*batch, len(network.alphabet) + 1])],
    )
    outer = GraphWriter("network", dtype)
    letters = helper.make_tensor_value_info("letters", TensorProto.INT64, ["batch", "time"])
    given = [outer.value(f"state_{i}", ["batch", _size(layer)]) for i, layer in enumerate(network.layers)]
    starts = [v.name for v in given] if carry_state else [_start(outer, layer) for layer in network.layers]
    results = [f"after_{i}" for i in range(network.depth)]
    outer.nodes.append(
        helper.make_node(
            "Scan",
            [*starts, "letters"],
            [*results, "scores"],
            body=step,
            num_scan_inputs=1,
            scan_input_axes=[1],
            scan_output_axes=[1],
        )
    )
    graph = outer.build(
        [letters, *(given if carry_state else [])],
        [
            outer.value("scores", ["batch", "time", len(network.alphabet) + 1]),
            *(outer.value(r, ["batch", _size(la)]) for r, la in zip(results, network.layers, strict=True)),
        ],
    )
    return _finish(graph, network)


def write_onnx(path: Path, network: Network, *, dtype: str = "float32", carry_state: bool = False) -> int:
    """Writes the ONNX file of a network and returns its size in bytes."""
    content = to_onnx(network, dtype=dtype, carry_state=carry_state).SerializeToString()
    write_atomically(path, content)
    return len(content)


def _finish(graph: onnx.GraphProto, network: Network) -> ModelProto:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="nerode")
    model.ir_version = IR_VERSION
    decoder = network.decoder
    facts = {
        "alphabet": "\n".join(network.alphabet),
        "decoder": decoder.normaliser if isinstance(decoder, LogitDecoder) else decoder.kind,
        "language": network.origin.language,
        "construction": network.origin.construction,
    }
    helper.set_model_props(model, facts)
    if model.ByteSize() > MAX_BYTES:
        raise InputError(f"the ONNX file would have {model.ByteSize():,} bytes; the most is {MAX_BYTES:,}")
    return model


def _write_body(graph: GraphWriter, network: Network, states: list[str]) -> tuple[str, list[str]]:
    """Adds one position of the whole network."""
    numbers = OnnxNumbers(graph)
    step = NetworkStep(network, numbers)
    after, stream = step.step(states, "letter")
    # The body of a Scan may not give out a value twice, nor one that it was given.
    return _write_scores(numbers, graph, network, step.decoded(stream)), [
        graph.node("Identity", state) for state in after
    ]


def _write_scores(numbers: OnnxNumbers, graph: GraphWriter, network: Network, reads: str) -> str:
    decoder = network.decoder
    letters = len(network.alphabet)
    match decoder:
        case ScoreDecoder():
            seen = numbers.with_units(decoder.units, "units")(reads)
            return numbers.map(decoder.scores, "scores")(seen)
        case PointDecoder():
            points = np.array([[to_float(real_part(e)) for e in p] for p in decoder.points])
            nearest = graph.node("ArgMax", graph.affine(reads, points, np.zeros(1)), axis=-1, keepdims=0)
            table = [
                [*(float(i in a.symbols) for i in range(letters)), float(a.end)] for a in decoder.answers
            ]
            return graph.node("Gather", graph.array(np.array(table)), nearest, axis=0)
        case LogitDecoder():
            return graph.affine(reads, _logit_matrix(decoder), np.zeros(1))


def _logit_matrix(decoder: LogitDecoder) -> Floats:
    matrix = np.zeros((len(decoder.rows), len(decoder.reads)))
    for i, row in enumerate(decoder.rows):
        for j, weight in row:
            if decoder.normaliser == "softmax":
                terms = (float(s) * (math.log(r.numerator) - math.log(r.denominator)) for s, r in weight)
                matrix[i, j] = math.fsum(terms)
            else:
                matrix[i, j] = float(weight[0][0]) if weight else 0.0
    return matrix


def _size(layer: Layer) -> int:
    return layer.width * (2 if layer.complex_state else 1)


def _start(graph: GraphWriter, layer: Layer) -> str:
    """The start state for each row of the batch."""
    parts = [real_part, imaginary_part] if layer.complex_state else [real_part]
    row = graph.array(np.array([[to_float(part(e)) for part in parts for e in layer.start]]))
    batch = graph.node("Shape", "letters", start=0, end=1)
    shape = graph.node("Concat", batch, graph.integers([_size(layer)]), axis=0)
    return graph.node("Expand", row, shape)
