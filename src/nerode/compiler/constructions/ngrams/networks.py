"""The n-gram networks: an SSM with a delay line, an SSM of detectors alone, and an Elman network.

structural   a delay line and detectors; the transition matrix is nilpotent by its shape
conditioned  all neurons are detectors; on the contexts the hidden matrix is the identity. The state
             h = B₀x_t + B₁x_{t-1} + … determines its summands when B = [B₀ B₁ …] has full column rank, so
             A = [B₁ B₂ … 0] L with any left inverse L of B moves each block one age on: A Bᵢ = Bᵢ₊₁ and
             A^(n-1) = 0. No neuron is there only to remember; none speaks on the windows of others.
recurrent    the delay line and the detectors as ReLU units: h = relu(B x + A h + b), y = C h + c
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.layouts import Layout
from nerode.compiler.constructions.ngrams.targets import (
    UNKNOWN,
    Combination,
    Sharing,
    Targets,
    combine,
    no_sharing,
    share,
)
from nerode.compiler.rotations import independent_rows, invert, multiply
from nerode.core import Exact, Reference, simplify
from nerode.network import (
    Affine,
    Embedding,
    Fixed,
    Layer,
    LogitDecoder,
    LogSum,
    Network,
    Recurrence,
    Squashed,
    zero_map,
)

Rows = list[Mapping[int, Exact]]
Rational = Sequence[Sequence[Fraction]]
"""The rows of a matrix of fractions."""

Column = Mapping[int, LogSum]
"""The addition of one neuron to the score of each output when its value is 1."""

MOST_CONTEXTS = 200
"""The pseudo-inverse has as many entries as the square of the contexts; above this a sparse one is taken."""

_OFFSET = 2
"""Delay units hold numbers between -1 and 1 and this; above 1, so that they stay above zero."""


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


def logit_network(
    request: Request,
    *,
    embedding: Embedding,
    layer: Layer,
    columns: Sequence[Column],
    num_outputs: int,
    normaliser: str,
    route: str,
    reference: Reference,
) -> Network:
    """Returns the network of one layer whose outputs add their columns to the scores."""
    language = request.facts.language
    rows: list[list[tuple[int, LogSum]]] = [[] for _ in range(num_outputs)]
    for j, column in enumerate(columns):
        for output, weight in column.items():
            rows[output].append((j, weight))
    decoder = LogitDecoder(
        reads=layer.outputs,
        normaliser=normaliser,
        rows=tuple(map(tuple, rows)),
        empty=language.legal(language.initial()),
    )
    return Network(
        alphabet=language.alphabet,
        target=request.target.name,
        embedding=embedding,
        layers=(layer,),
        decoder=decoder,
        origin=request.origin(route=route, reference=reference),
    )


def _long_prefixes(targets: Targets) -> str:
    """The end of a route: where the network is correct."""
    return f"; correct after prefixes of {targets.length} words or more"


def state_layer(
    embedding: Embedding,
    names: Sequence[str],
    recurrence: Recurrence,
    *,
    readout_units: Affine,
    outputs: Sequence[str],
    readout: Affine,
    start: Sequence[Exact] | None = None,
) -> Layer:
    """Returns the layer that reads the embedding; it starts from zero unless a state is given."""
    return Layer(
        name="contexts",
        reads=embedding.directions,
        state=tuple(names),
        start=(0,) * len(names) if start is None else tuple(start),
        units=Affine(num_inputs=len(embedding.directions), bias=(), rows=()),
        recurrence=recurrence,
        readout_units=readout_units,
        outputs=tuple(outputs),
        readout=readout,
    )


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
    return logit_network(
        request,
        embedding=embedding,
        layer=layer,
        columns=neurons.columns,
        num_outputs=targets.num_outputs,
        normaliser=targets.normaliser,
        route=route + _long_prefixes(targets),
        reference=Reference("Nandakumar2024", "Theorem 4.1"),
    )


def structural_network(
    request: Request, targets: Targets, layout: Layout, *, width: int, shared: bool = True
) -> Network | None:
    """Returns the one-layer SSM with A^(n-1) = 0 exactly, by the places of its zeros.

    Neurons of the delay line keep the coordinates of the last n-2 words, each one age further on; detectors
    read the newest word and the delay line. With sharing there is exactly one neuron for each context.

    Implements: [Nandakumar2024, Theorem 4.1], with a delay line instead of a generic matrix.

    Args:
        request: language, target and options.
        targets: what to say after each context.
        layout: words and detectors.
        width: dimension of the embedding; coordinates that the layout does not use are zero.
        shared: whether the delay line also stands for contexts. It then speaks on other windows too, so
            this is not for unknown contexts.

    Returns:
        None if the delay line cannot stand for contexts.
    """
    if shared:
        sharing = share(layout.weights, layout.thresholded_features(), layout.num_delays)
        if sharing is None:
            return None
    else:
        sharing = no_sharing(layout.weights, layout.num_delays)
    neurons = Neurons()
    _add_delay_line(neurons, targets, layout, sharing)
    _add_detectors(neurons, request, targets, layout, sharing)
    return ssm_network(
        request,
        targets,
        neurons,
        embedding=word_embedding(layout, width),
        route=_route(targets, layout, shared),
    )


def _add_delay_line(neurons: Neurons, targets: Targets, layout: Layout, sharing: Sharing) -> None:
    thresholds = [threshold for group in layout.thresholds for threshold in group]
    for d, (name, threshold) in enumerate(zip(delay_names(layout), thresholds, strict=True)):
        age, c = divmod(d, layout.width)
        neurons.add(
            name,
            matrix={d - layout.width: 1} if age else {},
            write={} if age else {c: layout.scale},
            bias=threshold,
            column=targets.column(sharing.delays[d], merged=layout.alone),
        )


def _add_detectors(
    neurons: Neurons, request: Request, targets: Targets, layout: Layout, sharing: Sharing
) -> None:
    names = detector_names(request, layout, sharing.kept)
    for name, i, weight in zip(names, sharing.kept, sharing.own, strict=True):
        newest, *older = layout.detectors[i].weights
        neurons.add(
            name,
            matrix={d: v / layout.scale for d, v in enumerate(itertools.chain(*older))},
            write=dict(enumerate(newest)),
            bias=layout.detectors[i].threshold,
            column=targets.column(targets.beyond_unknown(weight), merged=layout.alone),
        )


def _route(targets: Targets, layout: Layout, shared: bool) -> str:
    beside = "" if shared else " beside the delay line"
    extra = " and one for unknown contexts" if targets.unknown is not None else ""
    return (
        f"{layout.shape}, one neuron for each of the {len(targets.contexts)} contexts{beside}{extra}; a "
        f"delay line of {layout.num_delays} neurons keeps the last {layout.ages} words and makes A nilpotent "
        "by its shape"
    )


def conditioned_network(
    request: Request, targets: Targets, layout: Layout, *, width: int, sparse: bool = False
) -> Network | None:
    """Returns the one-layer SSM with one detector for each context and nothing else.

    Implements: [Nandakumar2024, Theorem 4.1]

    Args:
        request: language, target and options.
        targets: what to say after each context.
        layout: words on a sphere and detectors.
        width: dimension of the embedding.
        sparse: whether A reads only as many neurons as it must, instead of all of them, which is better
            for floats.

    Returns:
        None if the contexts do not span all coordinates at all ages.
    """
    blocks = [list(itertools.chain(*detector.weights)) for detector in layout.detectors]
    sparse = sparse or len(blocks) > MOST_CONTEXTS
    inverse = _left_inverse_of_few(blocks) if sparse else _pseudo_inverse(blocks)
    if inverse is None:
        return None
    read, left = inverse
    moved = [[*block[layout.width :], *[Fraction(0)] * layout.width] for block in blocks]
    neurons = Neurons()
    parts = zip(detector_names(request, layout, range(len(blocks))), multiply(moved, left), strict=True)
    for i, (name, row) in enumerate(parts):
        neurons.add(
            name,
            matrix=dict(zip(read, row, strict=True)),
            write=dict(enumerate(layout.detectors[i].weights[0])),
            bias=layout.detectors[i].threshold,
            column=targets.column(targets.beyond_unknown(layout.weights[i]), merged=True),
        )
    extra = " and one for unknown contexts" if targets.unknown is not None else ""
    return ssm_network(
        request,
        targets,
        neurons,
        embedding=word_embedding(layout, width),
        route=f"{layout.shape}, one neuron for each of the {len(blocks)} contexts{extra}, every one a "
        f"detector; A reads {len(read)} of them and moves all words one age on",
    )


def _pseudo_inverse(blocks: Rational) -> tuple[range, Rational] | None:
    """All neurons and the left inverse (BᵀB)⁻¹Bᵀ."""
    transposed = list(zip(*blocks, strict=True))
    gram = invert(multiply(transposed, blocks))
    return None if gram is None else (range(len(blocks)), multiply(gram, transposed))


def _left_inverse_of_few(blocks: Rational) -> tuple[list[int], Rational] | None:
    """Neurons whose rows of B are a basis, and the inverse of these rows."""
    read = independent_rows(blocks, len(blocks[0]))
    inverse = invert([blocks[i] for i in read]) if len(read) == len(blocks[0]) else None
    return None if inverse is None else (read, inverse)


def recurrent_network(
    request: Request, targets: Targets, layout: Layout, *, width: int, shared: bool = True
) -> Network | None:
    """Returns the one-layer ReLU network with one unit for each context and an output bias.

    The units of the delay line carry an offset that keeps them above zero, so that their ReLU does nothing
    and the next one can copy them; detectors take the offset off again. (With a large bias on all units, as
    the paper has it, the hidden state would be affine in the last words and could not tell the contexts
    apart.) A is block nilpotent of order n-1.

    Implements: [Nandakumar2024], Appendix A.4 as corrected in docs/theory/ngrams.md.

    Args:
        request: language, target and options.
        targets: what to say after each context.
        layout: words and detectors.
        width: dimension of the embedding.
        shared: whether the delay line also stands for contexts; not for unknown contexts.

    Returns:
        None if the delay line cannot stand for contexts.
    """
    if shared:
        sharing = share(layout.weights, layout.linear_features(), layout.num_delays)
        if sharing is None:
            return None
    else:
        sharing = no_sharing(layout.weights, layout.num_delays)
    scale = Fraction(1, max(1, *(abs(v) for point in layout.points for v in point)))
    embedding = word_embedding(layout, width)
    names = [*delay_names(layout), *detector_names(request, layout, sharing.kept)]
    update, bias = _update(layout, sharing, width, scale)
    outputs = [*(f"unit {name}" for name in names), "one"]
    seen = width + len(names)
    layer = state_layer(
        embedding,
        names,
        Squashed(activation="relu", update=affine(seen, update, bias)),
        readout_units=zero_map(seen),
        outputs=outputs,
        readout=affine(seen, [*({width + j: 1} for j in range(len(names))), {}], [*[0] * len(names), 1]),
    )
    beside = "" if shared else " beside the delay line"
    return logit_network(
        request,
        embedding=embedding,
        layer=layer,
        columns=_columns(targets, sharing, scale),
        num_outputs=targets.num_outputs,
        normaliser=targets.normaliser,
        route=f"{layout.shape}, one ReLU unit for each of the {len(targets.contexts)} contexts{beside} and "
        f"an output bias; a delay line of {layout.num_delays} units keeps the last {layout.ages} words and "
        f"makes A block nilpotent{_long_prefixes(targets)}",
        reference=Reference("Nandakumar2024"),
    )


def _update(layout: Layout, sharing: Sharing, width: int, scale: Fraction) -> tuple[Rows, list[Exact]]:
    """The map of (embedding, state) to pre-activations; a delay unit holds scale · coordinate + offset."""
    rows: Rows = []
    bias: list[Exact] = []
    for d in range(layout.num_delays):
        newest = d < layout.width
        rows.append({d: scale} if newest else {width + d - layout.width: 1})
        bias.append(_OFFSET if newest else 0)
    for i in sharing.kept:
        newest_weights, *older = layout.detectors[i].weights
        kept = [v / scale for v in itertools.chain(*older)]
        rows.append(dict(enumerate(newest_weights)) | {width + d: v for d, v in enumerate(kept)})
        bias.append(layout.detectors[i].threshold - _OFFSET * sum(kept, Fraction(0)))
    return rows, bias


def _columns(targets: Targets, sharing: Sharing, scale: Fraction) -> list[Column]:
    """Output weights of delay units and detectors, and the output bias, which takes off the offset."""
    delays = [combine([(1 / scale, weight)]) for weight in sharing.delays]
    constant: Combination = combine((Fraction(-_OFFSET), weight) for weight in delays)
    if targets.unknown is not None:
        constant = {UNKNOWN: Fraction(1)}
    own = (targets.beyond_unknown(weight) for weight in sharing.own)
    return [targets.column(weight) for weight in (*delays, *own, constant)]
