"""From a plan to a model of the zoo: embedding, blocks of layers and ReLU feed-forward parts, head."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from nerode.core import InputError
from nerode.models.base import LayerBlock, SequenceLayer, Surroundings
from nerode.models.compiled.carriers.forms import Form, matrix
from nerode.models.compiled.carriers.heads import make_head
from nerode.models.compiled.carriers.plan import BlockPlan, Plan, embedding_table
from nerode.models.compiled.numbers import DTYPES, Converter
from nerode.models.model import Model, ModelConfig, build_model
from nerode.models.zoo import LayerConfig


class Carrier(ABC):
    """How one architecture carries the layers of a network.

    Args:
        architecture: its name in the zoo.
    """

    dtypes: tuple[torch.dtype, ...] = DTYPES
    """The types whose range its constants fit."""

    delays = False
    """Whether it has a convolution, which can show what stood on the stream one letter before."""

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture

    @abstractmethod
    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the settings of the layer of a block on a stream of so many places."""

    @abstractmethod
    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of the layer of a block; all are zero before."""


def assemble(plan: Plan, carrier: Carrier, dtype: torch.dtype) -> Model:
    """Returns the model of a plan, its weights set.

    Raises:
        InputError: for a type that the carrier does not fit.
    """
    if dtype in DTYPES and dtype not in carrier.dtypes:
        raise InputError(
            f"{carrier.architecture} keeps registers beyond the range of {dtype}; use a wider type"
        )
    head = make_head(plan, {place: place for place in range(plan.width)}, carrier.architecture)
    config = ModelConfig(
        layers=tuple(
            LayerConfig(name=carrier.architecture, settings=carrier.settings(block, plan.width))
            for block in plan.blocks
        ),
        surroundings=tuple(_around(block, plan.width) for block in plan.blocks),
        outputs=head.outputs,
        letters=len(plan.network.alphabet),
        width=plan.width,
        head="relu" if head.hidden else "linear",
        head_width=len(head.hidden),
    )
    model = build_model(config, seed=0).to(torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        assert isinstance(model.embedding, nn.Embedding)
        model.embedding.weight.copy_(embedding_table(plan))
        for module, block in zip(model.blocks, plan.blocks, strict=True):
            assert isinstance(module, LayerBlock)
            carrier.fill(module.layer, block)
            _fill_units(module, block, plan.width)
        head.fill(model.head)
    return finish(model, dtype)


def finish(model: Model, dtype: torch.dtype) -> Model:
    """Returns the model in a type, with frozen weights, all finite.

    Raises:
        InputError: if a weight is beyond the largest number of the type.
    """
    Converter(dtype)
    model = model.to(dtype).requires_grad_(False)
    for name, value in model.state_dict().items():
        if not torch.isfinite(value).all():
            raise InputError(f"the weight {name} is beyond the largest {dtype}; use a wider type")
    return model


def set_rows(linear: nn.Linear, forms: Sequence[Form], *, first: int = 0) -> None:
    """Sets rows of a linear map; constants are read from the stream, so that no bias is needed."""
    rows = matrix(forms, linear.in_features)
    linear.weight[first : first + len(forms)] = rows.to(linear.weight)


def _around(block: BlockPlan, width: int) -> Surroundings:
    if not block.units:
        return Surroundings(residual=True)
    return Surroundings(residual=True, feed_forward="relu", expansion=len(block.units) / width)


def _fill_units(module: LayerBlock, block: BlockPlan, width: int) -> None:
    if module.feed_forward is None:
        return
    set_rows(module.feed_forward.up, [form for _, form in block.units])
    for number, (place, _) in enumerate(block.units):
        module.feed_forward.down.weight[place, number] = 1
