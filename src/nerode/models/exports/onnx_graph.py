"""Compiled networks as ONNX graphs: one Scan over the letters, correct at any length.

A loop that is written out, or a scan by doubling, would be correct only at the length it was traced with.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    StringStringEntryProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from nerode.core import Exact, InputError, imaginary_part, real_part, to_float, write_atomically
from nerode.network import (
    Affine,
    Layer,
    LogitDecoder,
    Network,
    NetworkStep,
    Numbers,
    PointDecoder,
    Recurrence,
    RecurrenceStep,
    Row,
    ScoreDecoder,
)
from nerode.records import ModelClaim, claims_to_json

IR_VERSION = 10
OPSET = 18

MAX_BYTES = 1_500_000_000
"""Protocol buffers end at 2 GiB."""


def to_onnx(
    network: Network,
    *,
    dtype: str = "float32",
    carry_state: bool = False,
    claims: Sequence[ModelClaim] = (),
) -> ModelProto:
    """Returns the ONNX model of a network.

    Inputs: `letters` (batch, time) of int64, and with `carry_state` one `state_i` for each layer. Outputs:
    `scores` (batch, time, letters + 1) and `after_i`, the state of each layer after the last letter. What
    the scores mean is said in the metadata under `decoder`: "scores" are legal above 1/2, "points" likewise
    (they are 0 or 1), "softmax", "sparsemax" and "hardmax" are the logits of a distribution.

    Args:
        network: what the compiler made.
        dtype: float32 or float64.
        carry_state: whether the graph takes the states, for streams; otherwise it begins at the start.
        claims: what is known of the graph, for the metadata under `claims`.

    Raises:
        InputError: for another type, a weight beyond its largest number, or a network too large for one file.
    """
    if dtype not in ELEMENTS:
        raise InputError(f"ONNX graphs are written in {' or '.join(ELEMENTS)}; {dtype!r} was asked for")
    try:
        model = _write(network, dtype, carry_state)
        text = json.dumps(claims_to_json(claims), ensure_ascii=False)
        model.metadata_props.append(StringStringEntryProto(key="claims", value=text))
        return model
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


def write_onnx(
    path: Path,
    network: Network,
    *,
    dtype: str = "float32",
    carry_state: bool = False,
    claims: Sequence[ModelClaim] = (),
) -> int:
    """Writes the ONNX file of a network and returns its size in bytes; see `to_onnx`."""
    content = to_onnx(network, dtype=dtype, carry_state=carry_state, claims=claims).SerializeToString()
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


_FUNCTIONS = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "exp": "Exp"}


class OnnxNumbers(Numbers[str]):
    """Nodes of a graph.

    Args:
        graph: where the nodes are added.
        is_complex: whether the numbers that are converted are complex.
    """

    def __init__(self, graph: GraphWriter, *, is_complex: bool = False) -> None:
        self._graph, self._is_complex = graph, is_complex
        self._parts = [real_part, imaginary_part] if is_complex else [real_part]

    def map(self, affine: Affine, place: str) -> Callable[[str], str]:
        """Returns the image of real rows; complex images are two halves."""
        matrix = np.concatenate([_dense(affine.rows, affine.num_inputs, part) for part in self._parts])
        bias = np.array([to_float(part(b)) for part in self._parts for b in affine.bias])
        return lambda x: self._graph.affine(x, matrix, bias)

    def stateful(
        self, affine: Affine, place: str, number: int | None = None
    ) -> tuple[Callable[[str], str], Callable[[Any, str], str]]:
        """Returns a first half that waits for the state."""
        whole = self.map(affine, place)
        return lambda seen: seen, lambda seen, state: whole(self.join([seen, state]))

    def matrix(self, rows: Sequence[Row], place: str) -> Callable[[str, str], str]:
        """Returns (h, b) ↦ A h + b."""
        matrix = self._square(rows)
        return lambda h, b: self._graph.node("Add", self._graph.affine(h, matrix, np.zeros(1)), b)

    def vectors(self, table: Sequence[Sequence[Exact]], place: str) -> Callable[[str], str]:
        """Returns the rows of a table by number."""
        rows = np.array([[to_float(part(e)) for part in self._parts for e in row] for row in table])
        return lambda choice: self._graph.node("Gather", self._graph.array(rows), choice, axis=0)

    def by_rows(self, matrices: Sequence[Sequence[Row]]) -> Callable[[str, str, str], str]:
        """Returns (choice, h, b) ↦ A(choice) h + b."""
        stacked, graph = np.stack([self._square(rows) for rows in matrices]), self._graph

        def moved(choice: str, h: str, b: str) -> str:
            chosen = graph.node("Gather", graph.array(stacked), choice, axis=0)
            column = graph.node("Unsqueeze", h, graph.integers([-1]))
            product = graph.node("Squeeze", graph.node("MatMul", chosen, column), graph.integers([-1]))
            return graph.node("Add", product, b)

        return moved

    def selector(self, affine: Affine) -> Callable[[str], str]:
        """Returns the number of the largest row; selectors are real."""
        rows = OnnxNumbers(self._graph).map(affine, "selector")
        return lambda seen: self.one_hot(rows(seen))

    def one_hot(self, values: str) -> str:
        """Returns the number of the largest entry."""
        return self._graph.node("ArgMax", values, axis=-1, keepdims=0)

    def picks(self, places: Sequence[int], place: str) -> Callable[[str], str]:
        """Returns the map that picks some entries."""
        return lambda values: self._graph.node("Gather", values, self._graph.integers(places), axis=-1)

    def join(self, parts: Sequence[str]) -> str:
        """Returns vectors one after the other."""
        return parts[0] if len(parts) == 1 else self._graph.node("Concat", *parts, axis=-1)

    def split(self, values: str, count: int) -> list[str]:
        """Returns a vector in parts of equal length."""
        if count == 1:
            return [values]
        outputs = [f"{self._graph.name}_{len(self._graph.nodes)}_{i}" for i in range(count)]
        split = helper.make_node("Split", [values], outputs, axis=-1, num_outputs=count)
        self._graph.nodes.append(split)
        return outputs

    def parts(self, values: str) -> list[str]:
        """Returns the vector itself, which is its real parts, then the imaginary ones."""
        return [values]

    def apply(self, function: str, values: str) -> str:
        """Returns the images under a function."""
        if function == "clip":
            return self._graph.node("Clip", values, self._graph.number(0.0), self._graph.number(1.0))
        return self._graph.node(_FUNCTIONS[function], values)

    def times(self, left: str, right: str) -> str:
        """Returns products, complex ones by halves."""
        if not self._is_complex:
            return self._graph.node("Mul", left, right)
        (a, b), (u, v) = self.split(left, 2), self.split(right, 2)
        node = self._graph.node
        real = node("Sub", node("Mul", a, u), node("Mul", b, v))
        return self.join([real, node("Add", node("Mul", a, v), node("Mul", b, u))])

    def gated(self, gate: str, values: str, added: str) -> str:
        """Returns gate · value + added."""
        return self._graph.node("Add", self.times(gate, values), added)

    def over(self, left: str, right: str) -> str:
        """Returns quotients."""
        return self._graph.node("Div", left, right)

    def mix(self, share: str, old: str, new: str) -> str:
        """Returns (1 - share) · old + share · new."""
        kept = self._graph.node("Sub", self._graph.number(1.0), share)
        return self.gated(kept, old, self.times(share, new))

    def capped(self, share: str, cap: Exact) -> str:
        """Returns 1 - cap · (1 - share)."""
        one, most = self._graph.number(1.0), self._graph.number(to_float(cap))
        kept = self._graph.node("Mul", most, self._graph.node("Sub", one, share))
        return self._graph.node("Sub", one, kept)

    def recurrence(self, record: Recurrence, *, is_complex: bool) -> RecurrenceStep[str]:
        """Returns the step of a recurrence, in complex numbers if its state is complex."""
        return record.step(OnnxNumbers(self._graph, is_complex=is_complex))

    def _square(self, rows: Sequence[Row]) -> Floats:
        real = _dense(rows, len(rows), real_part)
        if not self._is_complex:
            return real
        imaginary = _dense(rows, len(rows), imaginary_part)
        return np.block([[real, -imaginary], [imaginary, real]])


def _dense(rows: Sequence[Row], columns: int, part: Callable[[Exact], Exact]) -> Floats:
    matrix = np.zeros((len(rows), columns))
    for i, row in enumerate(rows):
        for j, c in row:
            matrix[i, j] = to_float(part(c))
    return matrix


ELEMENTS = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}

Floats = npt.NDArray[np.float64]


class GraphWriter:
    """Collects the nodes and constants of a graph; every method returns the name of the new value."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name = name
        self.dtype = dtype
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._known: dict[tuple[bytes, str, tuple[int, ...]], str] = {}

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Adds an operator with one output."""
        output = f"{self.name}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def number(self, value: float) -> str:
        """Adds a constant of the type of the graph without axes."""
        return self.array(np.array(value))

    def array(self, values: Floats) -> str:
        """Adds a constant of the type of the graph.

        Raises:
            InputError: if a number is beyond the largest of the type.
        """
        with np.errstate(over="ignore"):
            rounded = np.asarray(values).astype(self.dtype)
        if not np.isfinite(rounded).all():
            raise InputError(f"a weight of the network is beyond the largest {self.dtype}; use a wider type")
        return self._constant(rounded)

    def integers(self, values: Sequence[int]) -> str:
        """Adds a constant of whole numbers."""
        return self._constant(np.array(values, dtype=np.int64))

    def _constant(self, values: npt.NDArray[Any]) -> str:
        key = (values.tobytes(), str(values.dtype), values.shape)
        if key not in self._known:
            name = f"{self.name}_constant_{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
            self._known[key] = name
        return self._known[key]

    def affine(self, x: str, matrix: Floats, bias: Floats) -> str:
        """Adds x Mᵀ + b for rows x."""
        product = self.node("MatMul", x, self.array(matrix.T))
        return self.node("Add", product, self.array(bias)) if bias.any() else product

    def build(self, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]) -> GraphProto:
        """Returns the graph."""
        return helper.make_graph(
            self.nodes, self.name, list(inputs), list(outputs), initializer=self.constants
        )

    def value(self, name: str, axes: Sequence[int | str]) -> ValueInfoProto:
        """Returns the description of a value of the type of the graph."""
        return helper.make_tensor_value_info(name, ELEMENTS[self.dtype], list(axes))
