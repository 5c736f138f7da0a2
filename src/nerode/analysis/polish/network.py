"""The polished network: a model of orthogonal blocks that holds exact matrices as near as floats allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from nerode.analysis.polish.averaging import Averaged
from nerode.analysis.polish.exact_parts import ExactPart, NoExactForm, exact_parts
from nerode.analysis.polish.learned import Floats, LearnedTable, LetteredGroup
from nerode.models import LayerConfig, Model, ModelConfig
from nerode.models.architectures import Orthogonal


@dataclass(frozen=True, kw_only=True, eq=False)
class PolishedNetwork:
    """A network whose blocks are representations.

    Attributes:
        lettered: the group, and what each letter is.
        table: M of each element (elements, blocks, n, n).
        parts: the exact parts of each block.
        weight: C, (elements, blocks, n, n).
        bias: c, (elements,).
    """

    lettered: LetteredGroup
    table: Floats
    parts: tuple[tuple[ExactPart, ...], ...]
    weight: Floats
    bias: Floats

    @property
    def size(self) -> int:
        """Rows of a block."""
        return int(self.table.shape[-1])

    def margins(self) -> Floats:
        """Returns, for each product, how far its score is above the largest other one."""
        scores = np.einsum("gbij,obij->go", self.table, self.weight) + self.bias
        right = np.diagonal(scores).copy()
        np.fill_diagonal(scores, -np.inf)
        return np.asarray(right - scores.max(axis=1))


def polished_network(learned: LearnedTable, averaged: Averaged) -> PolishedNetwork:
    """Returns the network of the blocks that are representations.

    The state begins at I, so what it began at moves into the readout. A junk block is left out; the mean of
    what it added to the scores goes to the bias.

    Raises:
        NoExactForm: if every block is junk, or the exact form of one that is not was not found.
    """
    kept = list(averaged.kept)
    if not kept:
        raise NoExactForm(
            "no block is near a representation of the group; train until the lengths of training are right"
        )
    # C vec(M S) = C' vec(M) with C' = C Sᵀ in each block.
    weight = np.einsum("obij,bkj->obik", learned.weight, learned.start)
    junk = [block for block in range(learned.blocks) if block not in kept]
    added = np.einsum("gbij,obij->o", averaged.table[:, junk], weight[:, junk]) / learned.lettered.order
    return PolishedNetwork(
        lettered=learned.lettered,
        table=averaged.table[:, kept],
        parts=tuple(exact_parts(averaged.table[:, block], learned.lettered) for block in kept),
        weight=weight[:, kept],
        bias=learned.bias + added,
    )


def to_model(network: PolishedNetwork, dtype: torch.dtype) -> Model:
    """Returns the model that holds the matrices, rounded to floats of a type."""
    order, blocks, size, _ = network.table.shape
    settings = {"blocks": blocks, "size": size, "outputs": order, "form": "matrix"}
    config = ModelConfig(
        layers=(LayerConfig(name="orthogonal", settings=settings),),
        letters=len(network.lettered.letters),
        outputs=order,
        head="none",
    )
    model = Model(config.complete()).to(dtype).eval()
    layer = model.layers[0]
    assert isinstance(layer, Orthogonal)
    letters = network.table[list(network.lettered.letters)].reshape(-1, blocks * size * size)
    with torch.no_grad():
        layer.W.weight.copy_(torch.from_numpy(letters.T))
        layer.C.weight.copy_(torch.from_numpy(network.weight.reshape(order, -1)))
        layer.C.bias.copy_(torch.from_numpy(network.bias))
    return model
