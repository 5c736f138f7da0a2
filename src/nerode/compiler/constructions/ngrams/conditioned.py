"""The n-gram SSM whose neurons are all detectors: on the contexts its hidden matrix is the identity.

The state h = B₀x_t + B₁x_{t-1} + … determines its summands when B = [B₀ B₁ …] has full column rank, so
A = [B₁ B₂ … 0] L with any left inverse L of B moves each block one age on: A Bᵢ = Bᵢ₊₁ and A^(n-1) = 0. No
neuron is there only to remember, and no neuron speaks on a window that is not its own.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.assembly import detector_names, word_embedding
from nerode.compiler.constructions.ngrams.layout import Layout
from nerode.compiler.constructions.ngrams.ssm import Neurons, ssm_network
from nerode.compiler.constructions.ngrams.targets import Targets
from nerode.compiler.linear_algebra import Matrix, independent_rows, invert, multiply, transpose
from nerode.network import Network

MOST_CONTEXTS = 200
"""The pseudo-inverse has as many entries as the square of the contexts; above this a sparse one is taken."""


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


def _pseudo_inverse(blocks: Matrix) -> tuple[range, Matrix] | None:
    """All neurons and the left inverse (BᵀB)⁻¹Bᵀ."""
    transposed = transpose(blocks)
    gram = invert(multiply(transposed, blocks))
    return None if gram is None else (range(len(blocks)), multiply(gram, transposed))


def _left_inverse_of_few(blocks: Matrix) -> tuple[list[int], Matrix] | None:
    """Neurons whose rows of B are a basis, and the inverse of these rows."""
    read = independent_rows(blocks, len(blocks[0]))
    inverse = invert([blocks[i] for i in read]) if len(read) == len(blocks[0]) else None
    return None if inverse is None else (read, inverse)
