"""From a plan to a model of the zoo: embedding, blocks of layers and ReLU feed-forward parts, head."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nerode.compiler.decoders import LogitDecoder, PointDecoder, ScoreDecoder
from nerode.core.errors import InputError
from nerode.core.exact import to_float
from nerode.models.base import Layer
from nerode.models.compiled.carriers.forms import ONE, Form, compose, matrix
from nerode.models.compiled.carriers.plan import BlockPlan, Plan
from nerode.models.compiled.carriers.points import point_head
from nerode.models.compiled.decoder import Logits
from nerode.models.compiled.numbers import Converter
from nerode.models.model import Model, ModelConfig, build_model
from nerode.models.surroundings import Block, Surroundings
from nerode.models.zoo import LayerConfig


class Carrier(ABC):
    """How one architecture carries the layers of a network.

    Args:
        architecture: its name in the zoo.
    """

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture

    @abstractmethod
    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the settings of the layer of a block on a stream of so many places."""

    @abstractmethod
    def fill(self, layer: Layer, block: BlockPlan) -> None:
        """Sets the weights of the layer of a block; all are zero before."""


def assemble(plan: Plan, carrier: Carrier, dtype: torch.dtype) -> Model:
    """Returns the model of a plan, its weights set."""
    head = _Head(plan)
    config = ModelConfig(
        layers=tuple(
            LayerConfig(name=carrier.architecture, settings=carrier.settings(block, plan.width))
            for block in plan.blocks
        ),
        surroundings=tuple(_around(block, plan.width) for block in plan.blocks),
        outputs=len(head.last),
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
            assert isinstance(module, Block)
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


def embedding_table(plan: Plan) -> Tensor:
    """Returns what each letter puts on the stream: 1, its vector, and the units that read nothing else."""
    embedding = plan.network.embedding
    table = torch.zeros(len(embedding.vectors), plan.width, dtype=torch.float64)
    table[:, ONE] = 1
    for letter, vector in enumerate(embedding.vectors):
        for place, value in enumerate(vector, start=ONE + 1):
            table[letter, place] = to_float(value)
    for place, form in plan.embedded:
        table[:, place] = (table @ form.row(plan.width)).relu()
    return table


def set_rows(linear: nn.Linear, forms: Sequence[Form], *, first: int = 0) -> None:
    """Sets rows of a linear map; constants are read from the stream, so that no bias is needed."""
    rows = matrix(forms, linear.in_features)
    linear.weight[first : first + len(forms)] = rows.to(linear.weight)


def _around(block: BlockPlan, width: int) -> Surroundings:
    if not block.units:
        return Surroundings(residual=True)
    return Surroundings(residual=True, feed_forward="relu", expansion=len(block.units) / width)


def _fill_units(module: Block, block: BlockPlan, width: int) -> None:
    if module.feed_forward is None:
        return
    set_rows(module.feed_forward.up, [form for _, form in block.units])
    for number, (place, _) in enumerate(block.units):
        module.feed_forward.down.weight[place, number] = 1


class _Head:
    """The decoder as one hidden layer of ReLU units and a linear map, or as a linear map alone.

    Attributes:
        hidden: the forms of the hidden units; none for a linear map.
        last: the rows over the hidden units, or over the stream.
    """

    def __init__(self, plan: Plan) -> None:
        self.width = plan.width
        self.hidden: list[Form] = []
        decoder = plan.network.decoder
        match decoder:
            case ScoreDecoder():
                self._scores(decoder, plan.reads)
            case PointDecoder():
                self.hidden, self.last = point_head(decoder, plan.reads, len(plan.network.alphabet))
            case LogitDecoder():
                self._logits(decoder, plan)

    def fill(self, head: nn.Module) -> None:
        last = head
        if self.hidden:
            assert isinstance(head, nn.Sequential)
            first, last = head[0], head[2]
            assert isinstance(first, nn.Linear)
            set_rows(first, self.hidden)
        assert isinstance(last, nn.Linear)
        last.weight.copy_(self.last)

    def _scores(self, decoder: ScoreDecoder, reads: list[Form]) -> None:
        units = compose(decoder.units, reads)
        if not units:
            self.last = matrix(compose(decoder.scores, reads), self.width)
            return
        # What a score reads past the units goes through two of its own: z = relu(z) - relu(-z).
        direct = compose(decoder.scores, [*reads, *[Form()] * len(units)])
        self.hidden = [*units, *direct, *(form.scaled(-1) for form in direct)]
        rows = torch.zeros(len(direct), len(self.hidden), dtype=torch.float64)
        for number, row in enumerate(decoder.scores.rows):
            for j, c in row:
                if j >= len(reads):
                    rows[number, j - len(reads)] = to_float(c)
            rows[number, len(units) + number] = 1
            rows[number, len(units) + len(direct) + number] = -1
        self.last = rows

    def _logits(self, decoder: LogitDecoder, plan: Plan) -> None:
        weights = Logits(decoder, Converter(torch.float64)).scores.dense()
        self.last = weights @ matrix(plan.reads, self.width)
