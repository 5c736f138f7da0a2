"""The n-gram SSM whose transition matrix is nilpotent by its shape."""

from __future__ import annotations

from nerode.compiler.affine import zero_map
from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.assembly import (
    Rows,
    affine,
    logit_decoder,
    neuron_names,
    point_embedding,
    scaled,
    sparse_rows,
    thresholded,
)
from nerode.compiler.constructions.ngrams.embedding import WordPoints, place_words
from nerode.compiler.constructions.ngrams.neurons import Plan, make_plan, output_weights
from nerode.compiler.constructions.ngrams.targets import Targets
from nerode.compiler.network import Layer, Network
from nerode.compiler.recurrences import TimeInvariant
from nerode.core.exact import Exact
from nerode.core.refs import Reference
from nerode.languages.language import Legal


def structural_network(request: Request, targets: Targets, width: int, empty: Legal) -> Network:
    """Returns the one-layer SSM with one neuron for each context and A^(n-1) = 0 exactly.

    Implements: [Nandakumar2024, Theorem 4.1], with a delay line instead of a generic matrix.

    Args:
        request: language, target and options.
        targets: what to say after each context.
        width: dimension of the embedding, at least 2.
        empty: what may start a word.
    """
    alphabet = request.facts.language.alphabet
    plan = make_plan(targets.contexts, width, request.target.name)
    points = place_words(len(alphabet), width, plan.axes)
    matrix, write, bias = _recurrence(plan, points)
    names = neuron_names(alphabet, plan.leftovers, plan.matched)
    columns, constant = output_weights(targets, plan)
    if constant is not None:
        names = (*names, "any context")
        matrix.append({})
        write.append({})
        bias.append(1)
        columns.append(constant)
    units, readout = thresholded(width, len(names), bias)
    layer = Layer(
        name="contexts",
        reads=tuple(f"e{c}" for c in range(width)),
        state=names,
        start=(0,) * len(names),
        units=zero_map(width),
        recurrence=TimeInvariant(matrix=sparse_rows(matrix), write=affine(width, write)),
        readout_units=units,
        outputs=tuple(f"relu {name}" for name in names),
        readout=readout,
    )
    decoder = logit_decoder(
        layer.outputs, columns, num_outputs=targets.num_outputs, normaliser=targets.normaliser, empty=empty
    )
    extra = " and one for unknown contexts" if constant is not None else ""
    return Network(
        alphabet=alphabet,
        target=request.target.name,
        embedding=point_embedding(points),
        layers=(layer,),
        decoder=decoder,
        origin=request.origin(
            construction="n-gram-structural",
            route=f"one neuron for each of the {len(targets.contexts)} contexts{extra}; a delay line of "
            f"{len(plan.leftovers)} words makes A nilpotent; right after prefixes of at least "
            f"{len(targets.contexts[0])} words",
            reference=Reference("Nandakumar2024", "Theorem 4.1"),
        ),
    )


def _recurrence(plan: Plan, points: WordPoints) -> tuple[Rows, Rows, list[Exact]]:
    """Rows of A and B and the thresholds: delay line first, then one row for each matched context."""
    width, ages = points.width, len(plan.leftovers)
    matrix: Rows = []
    write: Rows = []
    bias: list[Exact] = []
    # A delay neuron holds radius · coordinate; scaled by 1/gap it is the product with the axis word.
    axis = scaled(points.radius, points.gap)
    threshold = 1 - scaled(points.norm, points.gap)
    for age in range(ages):
        for c in range(width):
            matrix.append({(age - 1) * width + c: 1} if age else {})
            write.append({} if age else {c: axis})
            bias.append(threshold)
    for context in plan.matched:
        newest, *older = reversed(context)
        write.append({c: scaled(v, points.gap) for c, v in enumerate(points.points[newest])})
        row: dict[int, Exact] = {}
        for age, word in enumerate(older):
            for c, v in enumerate(points.points[word]):
                row[age * width + c] = scaled(v, points.radius)
        matrix.append(row)
        bias.append(1 - scaled(len(context) * points.norm, points.gap))
    return matrix, write, bias
