"""Networks of one layer whose outputs are its state: letters, the layer, a head; no residual path.

The head reads the state alone. ReLU units of the readout become hidden units of the head.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from nerode.core import NotCompilable, to_float
from nerode.models.base import SequenceLayer, Surroundings
from nerode.models.compiled.carriers.assembly import finish
from nerode.models.compiled.carriers.forms import ONE, Form
from nerode.models.compiled.carriers.heads import make_head
from nerode.models.compiled.carriers.plan import BlockPlan, Plan, embedding_table, plan_stream
from nerode.models.model import Model, ModelConfig, build_model
from nerode.models.zoo import LayerConfig
from nerode.network import Layer as ExactLayer, Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a layer reads, as columns of its input.

    Attributes:
        columns: the column of each place that the embedding fills.
        seen: what the recurrence reads: its reads, then its units.
    """

    columns: dict[int, int]
    seen: list[Form]

    def set_rows(self, weight: torch.Tensor, bias: torch.Tensor, forms: Sequence[Form]) -> None:
        """Sets rows of a weight and a bias."""
        for row, form in enumerate(forms):
            for place, c in form.terms.items():
                weight[row, self.columns[place]] = to_float(c)
            bias[row] = to_float(form.constant)


class CellCarrier(ABC):
    """How one nonlinear architecture carries a network of one layer.

    Args:
        architecture: its name in the zoo.
    """

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture

    @abstractmethod
    def settings(self, layer: ExactLayer) -> dict[str, Any]:
        """Returns the settings of the layer."""

    @abstractmethod
    def fill(self, module: SequenceLayer, layer: ExactLayer, sources: Sources) -> None:
        """Sets the weights of the layer; all are zero before."""


def assemble_cell(network: Network, carrier: CellCarrier, dtype: torch.dtype) -> Model:
    """Returns the model of a network with one layer, its weights set.

    Raises:
        NotCompilable: if the network has more layers, or its decoder reads more than the state.
    """
    plan = plan_stream(network, carrier.architecture)
    block = _only_block(plan, carrier.architecture)
    layer = block.layer
    assert layer is not None
    filled = [place for place in range(block.states[0]) if place != ONE]
    settings = carrier.settings(layer)
    # Of the blocks of a gated cell, h comes first and is all that is shown.
    shown = {place: i for i, place in enumerate(block.states[: settings["hidden"]])}
    head = make_head(plan, shown, carrier.architecture, block.units)
    config = ModelConfig(
        layers=(LayerConfig(name=carrier.architecture, settings=settings),),
        surroundings=Surroundings(),
        outputs=head.outputs,
        letters=len(network.alphabet),
        width=len(filled),
        head="relu" if head.hidden else "linear",
        head_width=len(head.hidden),
    )
    model = build_model(config, seed=0).to(torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        assert isinstance(model.embedding, nn.Embedding)
        model.embedding.weight.copy_(embedding_table(plan)[:, filled])
        sources = Sources(columns={place: i for i, place in enumerate(filled)}, seen=block.seen)
        carrier.fill(model.layers[0], layer, sources)
        head.fill(model.head)
    return finish(model, dtype)


def _only_block(plan: Plan, architecture: str) -> BlockPlan:
    if len(plan.blocks) != 1:
        raise NotCompilable(
            architecture, [f"the network has {len(plan.blocks)} blocks; this architecture carries one layer"]
        )
    return plan.blocks[0]
