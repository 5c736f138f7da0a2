"""The n-gram model as an Elman network with ReLU units: h = relu(B x + A h + b), y = C h + c."""

from __future__ import annotations

import itertools
from fractions import Fraction

from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.assembly import (
    Column,
    Rows,
    affine,
    delay_names,
    detector_names,
    one_layer_network,
    state_layer,
    word_embedding,
)
from nerode.compiler.constructions.ngrams.layout import Layout
from nerode.compiler.constructions.ngrams.sharing import Sharing, combine, no_sharing, share
from nerode.compiler.constructions.ngrams.targets import UNKNOWN, Combination, Targets
from nerode.core import Exact, Reference
from nerode.network import Network, Squashed, zero_map

NAME = "n-gram-rnn"

_OFFSET = 2
"""Delay units hold numbers between -1 and 1 and this; above 1, so that they stay above zero."""


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
    return one_layer_network(
        request,
        targets,
        embedding=embedding,
        layer=layer,
        columns=_columns(targets, sharing, scale),
        construction=NAME,
        route=f"{layout.shape}, one ReLU unit for each of the {len(targets.contexts)} contexts{beside} and "
        f"an output bias; a delay line of {layout.num_delays} units keeps the last {layout.ages} words and "
        "makes A block nilpotent",
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
