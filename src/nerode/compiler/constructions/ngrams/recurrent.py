"""The n-gram model as an Elman network with ReLU units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from nerode.compiler.affine import zero_map
from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.assembly import (
    Rows,
    affine,
    logit_decoder,
    point_embedding,
    scaled,
)
from nerode.compiler.constructions.ngrams.embedding import WordPoints, place_words
from nerode.compiler.constructions.ngrams.neurons import make_plan
from nerode.compiler.constructions.ngrams.targets import Context, Targets
from nerode.compiler.decoders import LogSum
from nerode.compiler.linear_algebra import Matrix, independent_rows, invert
from nerode.compiler.network import Layer, Network
from nerode.compiler.recurrences import Elman
from nerode.core.errors import NotCompilable
from nerode.core.exact import Exact
from nerode.core.refs import Reference
from nerode.languages.language import Legal


def recurrent_network(request: Request, targets: Targets, width: int, empty: Legal) -> Network:
    """Returns the one-layer ReLU network with one unit for each context and an output bias.

    The delay units carry an offset that keeps them above zero, so that their ReLU does nothing and the
    next unit can copy them; the match units take the offset off again. (With an offset on all units, as the
    paper has it, the hidden state would be affine in the last words and could not separate the contexts.)
    Delay units are linear features, so the contexts that they stand for are solved for exactly.

    Implements: [Nandakumar2024], Appendix A.4 as corrected in docs/theory.
    """
    if targets.unknown is not None or targets.normaliser != "softmax":
        raise NotCompilable(
            request.target.name, ["the recurrent form is made for a softmax without unknown contexts"]
        )
    alphabet = request.facts.language.alphabet
    contexts = targets.contexts
    ages = len(contexts[0]) - 1
    points = place_words(len(alphabet), width, make_plan(contexts, width, request.target.name).axes)
    features = [
        [Fraction(v) for age in range(ages) for v in points.points[c[len(c) - 1 - age]]] for c in contexts
    ]
    leftovers = independent_rows(features, ages * width)
    if len(leftovers) < ages * width:
        raise NotCompilable(
            request.target.name,
            [f"the contexts do not span an embedding of width {width}; give a smaller width"],
        )
    inverse = invert([features[i] for i in leftovers]) if ages else []
    assert inverse is not None
    matched = [i for i in range(len(contexts)) if i not in set(leftovers)]
    update, bias = _update(contexts, matched, points, ages)
    names = (
        *(f"delay {age}.{c}" for age in range(ages) for c in range(width)),
        *(" ".join(alphabet.symbols[w] for w in contexts[i]) for i in matched),
    )
    offset = points.radius + 1
    columns, constant = _columns(targets, features, leftovers, matched, inverse, offset)
    size = len(names)
    outputs = (*names, "one")
    readout: Rows = [{width + j: 1} for j in range(size)]
    layer = Layer(
        name="contexts",
        reads=tuple(f"e{c}" for c in range(width)),
        state=names,
        start=(0,) * size,
        units=zero_map(width),
        recurrence=Elman(activation="relu", update=affine(width + size, update, bias)),
        readout_units=zero_map(width + size),
        outputs=outputs,
        readout=affine(width + size, [*readout, {}], [0] * size + [1]),
    )
    return Network(
        alphabet=alphabet,
        target=request.target.name,
        embedding=point_embedding(points),
        layers=(layer,),
        decoder=logit_decoder(
            outputs,
            [*columns, constant],
            num_outputs=targets.num_outputs,
            normaliser=targets.normaliser,
            empty=empty,
        ),
        origin=request.origin(
            construction="n-gram-rnn",
            route=f"one ReLU unit for each of the {len(contexts)} contexts and an output bias, block nilpotent; "
            f"right after prefixes of at least {ages + 1} words",
            reference=Reference("Nandakumar2024"),
        ),
    )


def _update(
    contexts: Sequence[Context], matched: Sequence[int], points: WordPoints, ages: int
) -> tuple[Rows, list[Exact]]:
    """The map of (embedding, state) to pre-activations; a delay unit holds coordinate + radius + 1."""
    width = points.width
    offset = points.radius + 1
    rows: Rows = []
    bias: list[Exact] = []
    for age in range(ages):
        for c in range(width):
            rows.append({width + (age - 1) * width + c: 1} if age else {c: 1})
            bias.append(0 if age else offset)
    for i in matched:
        newest, *older = reversed(contexts[i])
        row: dict[int, Exact] = {c: scaled(v, points.gap) for c, v in enumerate(points.points[newest])}
        shift = 0
        for age, word in enumerate(older):
            for c, v in enumerate(points.points[word]):
                row[width + age * width + c] = scaled(v, points.gap)
                shift += v * offset
        rows.append(row)
        bias.append(1 - scaled(len(contexts[i]) * points.norm + shift, points.gap))
    return rows, bias


def _columns(
    targets: Targets,
    features: Sequence[Sequence[Fraction]],
    leftovers: Sequence[int],
    matched: Sequence[int],
    inverse: Matrix,
    offset: int,
) -> tuple[list[Mapping[int, LogSum]], Mapping[int, LogSum]]:
    """Output weights: the delay units solve for the leftovers, the match units add the difference."""
    combinations: list[dict[int, Fraction]] = []
    constant: dict[int, Fraction] = {}
    for row in inverse:
        combination = {i: v for i, v in zip(leftovers, row, strict=True) if v}
        combinations.append(combination)
        for i, v in combination.items():
            constant[i] = constant.get(i, Fraction(0)) - offset * v
    for i in matched:
        wanted = {i: Fraction(1)}
        for value, combination in zip(features[i], combinations[: len(inverse)], strict=True):
            for k, v in combination.items():
                if value:
                    wanted[k] = wanted.get(k, Fraction(0)) - value * v
        combinations.append({k: v for k, v in wanted.items() if v})
    return [_column(targets, c) for c in combinations], _column(targets, constant)


def _column(targets: Targets, combination: Mapping[int, Fraction]) -> Mapping[int, LogSum]:
    terms: dict[int, list[tuple[Fraction, Fraction]]] = {}
    for i, coefficient in sorted(combination.items()):
        for output, ratio in targets.scores[i].items():
            terms.setdefault(output, []).append((coefficient, ratio))
    return {output: tuple(pairs) for output, pairs in terms.items()}
