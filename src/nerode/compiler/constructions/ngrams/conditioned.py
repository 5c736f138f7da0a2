"""The n-gram SSM whose neurons all match: the hidden matrix over the contexts is the identity."""

from __future__ import annotations

from fractions import Fraction

from nerode.compiler.affine import zero_map
from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.assembly import (
    Rows,
    affine,
    logit_decoder,
    neuron_names,
    point_embedding,
    sparse_rows,
    thresholded,
)
from nerode.compiler.constructions.ngrams.embedding import place_words
from nerode.compiler.constructions.ngrams.neurons import Plan, output_weights
from nerode.compiler.constructions.ngrams.targets import Targets
from nerode.compiler.linear_algebra import Matrix, invert, multiply, transpose
from nerode.compiler.network import Layer, Network
from nerode.compiler.recurrences import TimeInvariant
from nerode.core.errors import NotCompilable
from nerode.core.refs import Reference
from nerode.languages.language import Legal

MOST_CONTEXTS = 400
"""The matrix has as many entries as the square of the contexts; above this use the structural variant."""


def conditioned_network(request: Request, targets: Targets, width: int, empty: Legal) -> Network:
    """Returns the one-layer SSM with one match neuron for each context.

    The state h_t = B₀x_t + B₁x_{t-1} + … determines its summands when the blocks [B₀ B₁ …] have full column
    rank, so A = [B₁ B₂ … 0] [B₀ B₁ …]⁺ moves each block one age on: A Bᵢ = Bᵢ₊₁ and A^(n-1) = 0.

    Implements: [Nandakumar2024, Theorem 4.1]
    """
    alphabet = request.facts.language.alphabet
    contexts = targets.contexts
    if len(contexts) > MOST_CONTEXTS:
        raise NotCompilable(
            request.target.name,
            [f"{len(contexts)} contexts would need a full matrix; use the structural variant"],
        )
    axes = tuple(sorted({w for c in contexts for w in c}))[:width]
    if len(axes) < width:
        raise NotCompilable(request.target.name, [f"an embedding of width {width} needs {width} words"])
    points = place_words(len(alphabet), width, axes)
    blocks = [
        [[Fraction(v, points.gap) for v in points.points[context[-1 - age]]] for context in contexts]
        for age in range(len(contexts[0]))
    ]
    matrix = _shift(blocks)
    if matrix is None:
        raise NotCompilable(
            request.target.name,
            [f"the contexts do not span an embedding of width {width}; give a smaller width"],
        )
    plan = Plan(axes=axes, leftovers=(), matched=contexts)
    columns, constant = output_weights(targets, plan)
    names = neuron_names(alphabet, (), contexts)
    rows: Rows = [dict(enumerate(row)) for row in matrix]
    write: Rows = [dict(enumerate(row)) for row in blocks[0]]
    bias = [1 - Fraction(len(contexts[0]) * points.norm, points.gap)] * len(contexts)
    if constant is not None:
        names, columns = (*names, "any context"), [*columns, constant]
        rows.append({})
        write.append({})
        bias.append(Fraction(1))
    units, readout = thresholded(width, len(names), bias)
    layer = Layer(
        name="contexts",
        reads=tuple(f"e{c}" for c in range(width)),
        state=names,
        start=(0,) * len(names),
        units=zero_map(width),
        recurrence=TimeInvariant(matrix=sparse_rows(rows), write=affine(width, write)),
        readout_units=units,
        outputs=tuple(f"relu {name}" for name in names),
        readout=readout,
    )
    return Network(
        alphabet=alphabet,
        target=request.target.name,
        embedding=point_embedding(points),
        layers=(layer,),
        decoder=logit_decoder(
            layer.outputs,
            columns,
            num_outputs=targets.num_outputs,
            normaliser=targets.normaliser,
            empty=empty,
        ),
        origin=request.origin(
            construction="n-gram-conditioned",
            route=f"one match neuron for each of the {len(contexts)} contexts, hidden matrix the identity; "
            f"right after prefixes of at least {len(contexts[0])} words",
            reference=Reference("Nandakumar2024", "Theorem 4.1"),
        ),
    )


def _shift(blocks: list[Matrix]) -> Matrix | None:
    """The matrix that takes block i to block i+1 and the last one to zero."""
    width = len(blocks[0][0])
    joined = [[v for block in blocks for v in block[i]] for i in range(len(blocks[0]))]
    moved = [
        [v for block in blocks[1:] for v in block[i]] + [Fraction(0)] * width for i in range(len(blocks[0]))
    ]
    transposed = transpose(joined)
    gram = invert(multiply(transposed, joined))
    if gram is None:
        return None
    return multiply(multiply(moved, gram), transposed)
