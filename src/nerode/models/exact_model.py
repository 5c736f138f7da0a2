"""A model of the zoo whose gated layers are in their exact form while it is trained."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.architectures.mamba import RoundedMemory
from nerode.models.base import LayerBlock, SequenceLayer
from nerode.models.exact_gates import ExactGates, ThreeValuedGates
from nerode.models.model import Model, ModelConfig


def exact_forms(config: ModelConfig, gates: str) -> list[type[ExactGates]]:
    """Returns the exact form of each layer of a model.

    Args:
        config: of the model.
        gates: "two", "three" or "rounded".

    Raises:
        InputError: if a layer has no such form.
    """
    forms: list[type[ExactGates]] = []
    for layer in config.layers:
        kind = layer.resolve()[0]
        form = {"two": kind.exact_gates, "three": kind.three_valued, "rounded": RoundedMemory}[gates]
        if form is None:
            what = "has no gates of three values" if gates == "three" else "does not tell its gate scores"
            raise InputError(f"{layer.name} {what}; exact gates are for layers that do")
        forms.append(form)
    return forms


class ExactModel:
    """A model with exact gates.

    Args:
        model: fresh weights; its blocks are changed.
        forms: the exact form of each of its layers.
    """

    def __init__(self, model: Model, forms: Sequence[type[ExactGates]]) -> None:
        self.model = model
        self.gates: list[ExactGates] = []
        for block, form in zip(model.blocks, forms, strict=True):
            assert isinstance(block, LayerBlock)
            signed = bool(getattr(block.layer.settings, "signed", False))
            exact = form(block.layer, signed=signed)
            exact.begin()
            block.layer = exact  # type: ignore[assignment]
            self.gates.append(exact)
        first = self.gates[0]
        if len(self.gates) > 1 and isinstance(first, ThreeValuedGates):
            first.live[:] = False
            first.shows_window = True

    def spread(self, words: Tensor) -> None:
        """Spreads the scores of each layer in turn over some words."""
        for gates in self.gates:
            with torch.no_grad():
                self.model(words)
            gates.spread()

    def plain(self, words: Tensor) -> Model:
        """Returns a plain model with the decided gates, as they are on some words, written into it."""
        with torch.no_grad():
            self.model(words)
        found = copy.deepcopy(self.model)
        for block, gates in zip(found.blocks, self.gates, strict=True):
            assert isinstance(block, LayerBlock)
            layer: SequenceLayer = block.layer.layer  # type: ignore[assignment]
            gates.fold(layer)
            block.layer = layer
        return found.eval()
