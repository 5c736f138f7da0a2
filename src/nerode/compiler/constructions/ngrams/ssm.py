"""The layer h = A h + B x, y = C relu(h + b) from the rows of its matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.assembly import (
    Column,
    Rows,
    affine,
    one_layer_network,
    sparse_rows,
    state_layer,
)
from nerode.compiler.constructions.ngrams.targets import UNKNOWN, Targets
from nerode.core import Exact, Reference
from nerode.network import Embedding, Fixed, Network

NAME = "n-gram-ssm"


@dataclass(slots=True, kw_only=True)
class Neurons:
    """Neurons of an SSM, collected one after the other.

    Attributes:
        names: what each neuron is for.
        matrix: rows of A.
        write: rows of B.
        bias: the entries of b.
        columns: columns of C.
    """

    names: list[str] = field(default_factory=list)
    matrix: Rows = field(default_factory=list)
    write: Rows = field(default_factory=list)
    bias: list[Exact] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)

    def add(
        self,
        name: str,
        *,
        matrix: Mapping[int, Exact],
        write: Mapping[int, Exact],
        bias: Exact,
        column: Column,
    ) -> None:
        """Adds a neuron."""
        self.names.append(name)
        self.matrix.append(matrix)
        self.write.append(write)
        self.bias.append(bias)
        self.columns.append(column)


def ssm_network(
    request: Request, targets: Targets, neurons: Neurons, *, embedding: Embedding, route: str
) -> Network:
    """Returns the SSM of some neurons, with one more that is always 1 where unknown contexts are treated."""
    if targets.unknown is not None:
        neurons.add("always", matrix={}, write={}, bias=1, column=targets.column({UNKNOWN: Fraction(1)}))
    reads, width = len(embedding.directions), len(neurons.names)
    layer = state_layer(
        embedding,
        neurons.names,
        Fixed(matrix=sparse_rows(neurons.matrix), write=affine(reads, neurons.write)),
        readout_units=affine(reads + width, [{reads + j: 1} for j in range(width)], neurons.bias),
        outputs=[f"relu {name}" for name in neurons.names],
        readout=affine(reads + 2 * width, [{reads + width + j: 1} for j in range(width)]),
    )
    return one_layer_network(
        request,
        targets,
        embedding=embedding,
        layer=layer,
        columns=neurons.columns,
        construction=NAME,
        route=route,
        reference=Reference("Nandakumar2024", "Theorem 4.1"),
    )
