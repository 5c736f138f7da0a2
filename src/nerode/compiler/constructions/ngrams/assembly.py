"""The parts that all n-gram networks share: names, embedding, maps, output layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.layout import Layout
from nerode.compiler.constructions.ngrams.targets import Targets
from nerode.core import Exact, Reference, simplify
from nerode.network import Affine, Embedding, Layer, LogitDecoder, LogSum, Network, Recurrence

Rows = list[Mapping[int, Exact]]
Column = Mapping[int, LogSum]
"""What one neuron adds to the score of each output when its value is 1."""


def word_embedding(layout: Layout, width: int) -> Embedding:
    """Returns the embedding of the words; coordinates beyond those of the layout are zero."""
    rest = (0,) * (width - layout.width)
    return Embedding(
        directions=tuple(f"e{c}" for c in range(width)),
        vectors=tuple((*point, *rest) for point in layout.points),
    )


def delay_names(layout: Layout) -> list[str]:
    """Returns names for the neurons of the delay line, newest word first."""
    return [f"keep {age}.{c}" for age in range(layout.ages) for c in range(layout.width)]


def detector_names(request: Request, layout: Layout, kept: Sequence[int]) -> list[str]:
    """Returns names for detectors: the contexts that they look for."""
    symbols = request.facts.language.alphabet.symbols
    return ["after " + " ".join(symbols[w] for w in layout.contexts[i]) for i in kept]


def sparse_rows(rows: Rows) -> tuple[tuple[tuple[int, Exact], ...], ...]:
    """Returns rows as sorted tuples without zeros."""
    return tuple(tuple((j, simplify(c)) for j, c in sorted(row.items()) if c != 0) for row in rows)


def affine(num_inputs: int, rows: Rows, bias: Sequence[Exact] | None = None) -> Affine:
    """Returns an affine map of sparse rows."""
    offsets = (0,) * len(rows) if bias is None else tuple(map(simplify, bias))
    return Affine(num_inputs=num_inputs, bias=offsets, rows=sparse_rows(rows))


def one_layer_network(
    request: Request,
    targets: Targets,
    *,
    embedding: Embedding,
    layer: Layer,
    columns: Sequence[Column],
    construction: str,
    route: str,
    reference: Reference,
) -> Network:
    """Returns the network of one layer whose outputs add their columns to the scores."""
    language = request.facts.language
    rows: list[list[tuple[int, LogSum]]] = [[] for _ in range(targets.num_outputs)]
    for j, column in enumerate(columns):
        for output, weight in column.items():
            rows[output].append((j, weight))
    decoder = LogitDecoder(
        reads=layer.outputs,
        normaliser=targets.normaliser,
        rows=tuple(map(tuple, rows)),
        empty=language.legal(language.initial()),
    )
    return Network(
        alphabet=language.alphabet,
        target=request.target.name,
        embedding=embedding,
        layers=(layer,),
        decoder=decoder,
        origin=request.origin(
            construction=construction,
            route=f"{route}; right after prefixes of {targets.length} words or more",
            reference=reference,
        ),
    )


def state_layer(
    embedding: Embedding,
    names: Sequence[str],
    recurrence: Recurrence,
    *,
    readout_units: Affine,
    outputs: Sequence[str],
    readout: Affine,
) -> Layer:
    """Returns the layer that reads the embedding and starts from zero."""
    return Layer(
        name="contexts",
        reads=embedding.directions,
        state=tuple(names),
        start=(0,) * len(names),
        units=Affine(num_inputs=len(embedding.directions), bias=(), rows=()),
        recurrence=recurrence,
        readout_units=readout_units,
        outputs=tuple(outputs),
        readout=readout,
    )
