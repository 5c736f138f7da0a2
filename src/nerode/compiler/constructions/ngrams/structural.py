"""The n-gram SSM whose transition matrix is nilpotent by its shape: a delay line and detectors."""

from __future__ import annotations

import itertools

from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.assembly import delay_names, detector_names, word_embedding
from nerode.compiler.constructions.ngrams.layout import Layout
from nerode.compiler.constructions.ngrams.sharing import Sharing, no_sharing, share
from nerode.compiler.constructions.ngrams.ssm import Neurons, ssm_network
from nerode.compiler.constructions.ngrams.targets import Targets
from nerode.network import Network


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
