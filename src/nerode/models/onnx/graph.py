"""A small writer of ONNX graphs: values by name, constants shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from nerode.core import InputError

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

    def join(self, parts: Sequence[str]) -> str:
        """Adds the concatenation of rows."""
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=-1)

    def pick(self, x: str, places: Sequence[int]) -> str:
        """Adds some entries of rows."""
        return self.node("Gather", x, self.integers(places), axis=-1)

    def split(self, x: str, count: int) -> list[str]:
        """Adds parts of equal length of rows."""
        outputs = [f"{self.name}_{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node("Split", [x], outputs, axis=-1, num_outputs=count))
        return outputs

    def build(self, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]) -> GraphProto:
        """Returns the graph."""
        return helper.make_graph(
            self.nodes, self.name, list(inputs), list(outputs), initializer=self.constants
        )

    def value(self, name: str, axes: Sequence[int | str]) -> ValueInfoProto:
        """Returns the description of a value of the type of the graph."""
        return helper.make_tensor_value_info(name, ELEMENTS[self.dtype], list(axes))
