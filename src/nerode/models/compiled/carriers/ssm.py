"""The state space model of the n-gram paper.

A network whose readout is relu(h + b), one unit a state, and whose decoder is linear in the units is the
paper's model as it stands: embedding, h = A h + B x, y = C relu(h + b). Other networks with fixed matrices
are carried on a residual stream, layer after layer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from nerode.core import NotCompilable, to_float
from nerode.models.architectures.ssm import Ssm
from nerode.models.base import SequenceLayer, Surroundings
from nerode.models.compiled.carriers.assembly import Carrier, assemble, finish
from nerode.models.compiled.carriers.cells import numbers
from nerode.models.compiled.carriers.forms import ONE, compose
from nerode.models.compiled.carriers.heads import make_head
from nerode.models.compiled.carriers.ids4 import set_matrix
from nerode.models.compiled.carriers.plan import BlockPlan, Plan, embedding_table, plan_stream
from nerode.models.model import Model, ModelConfig, build_model
from nerode.models.zoo import LayerConfig
from nerode.network import Fixed, Layer as ExactLayer, Network

_MOST_PLACES = 1 << 26


class SsmCarrier(Carrier):
    """Carries layers with a fixed matrix on a residual stream."""

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of states; the readout is linear, units follow in the feed-forward part."""
        return {"states": max(1, len(block.states)), "readout": "linear", "learned_start": True}

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, Ssm)
        if block.layer is None:
            return
        record = fixed_matrix(block.layer, self.architecture)
        assert layer.C is not None
        assert layer.start is not None
        set_matrix(layer.A, record.matrix)
        for i, form in enumerate(compose(record.write, block.seen)):
            layer.B[i] = form.row(layer.inputs).to(layer.B)
        for i, place in enumerate(block.states):
            layer.C[place, i] = 1
        layer.start.copy_(numbers(block.layer.start))


def carry_ssm(network: Network, architecture: str, dtype: torch.dtype) -> Model:
    """Returns the paper's model where the network has its form, otherwise a stack on a residual stream."""
    plan = plan_stream(network, architecture)
    if len(plan.blocks) == 1 and _has_form_of_paper(plan):
        return _as_in_paper(plan, architecture, dtype)
    return assemble(plan, SsmCarrier(architecture), dtype)


def fixed_matrix(layer: ExactLayer, architecture: str) -> Fixed:
    """Returns the recurrence of a layer, or raises NotCompilable unless its matrix is fixed and real."""
    record = layer.recurrence
    if not isinstance(record, Fixed) or layer.complex_state:
        raise NotCompilable(
            architecture, [f"layer {layer.name} is not a real recurrence with a fixed matrix"]
        )
    if layer.width**2 > _MOST_PLACES:
        raise NotCompilable(
            architecture,
            [f"a dense matrix of {layer.width:,} states is too large; load_model keeps it sparse"],
        )
    return record


def _has_form_of_paper(plan: Plan) -> bool:
    block = plan.blocks[0]
    units = dict(block.units)
    read = [next(iter(form.terms)) if len(form.terms) == 1 else ONE for form in units.values()]
    one_each = len(set(read)) == len(read) and set(read) <= set(block.states)
    plain = one_each and all(c == 1 for form in units.values() for c in form.terms.values())
    # The decoder reads units and nothing else, without a hidden layer of its own and without a bias.
    decoded = all(set(form.terms) <= set(units) and form.constant == 0 for form in plan.reads)
    return plain and decoded and plan.network.decoder.kind == "logits"


def _as_in_paper(plan: Plan, architecture: str, dtype: torch.dtype) -> Model:
    block = plan.blocks[0]
    assert block.layer is not None
    record = fixed_matrix(block.layer, architecture)
    filled = [place for place in range(block.states[0]) if place != ONE]
    head = make_head(plan, {place: i for i, (place, _) in enumerate(block.units)}, architecture)
    settings = {"states": block.layer.width, "outputs": head.outputs, "learned_start": True}
    config = ModelConfig(
        layers=(LayerConfig(name=architecture, settings=settings),),
        surroundings=Surroundings(),
        outputs=head.outputs,
        letters=len(plan.network.alphabet),
        width=len(filled),
        head="none",
    )
    model = build_model(config, seed=0).to(torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        assert isinstance(model.embedding, nn.Embedding)
        model.embedding.weight.copy_(embedding_table(plan)[:, filled])
        layer = model.layers[0]
        assert isinstance(layer, Ssm)
        assert layer.C is not None
        assert layer.bias is not None
        assert layer.start is not None
        set_matrix(layer.A, record.matrix)
        for i, form in enumerate(compose(record.write, block.seen)):
            layer.B[i] = form.row(plan.width)[filled]
        for unit, (_, form) in enumerate(block.units):
            state = block.states.index(next(iter(form.terms)))
            layer.bias[state] = to_float(form.constant)
            layer.C[:, state] = head.last[:, unit]
        layer.start.copy_(numbers(block.layer.start))
    return finish(model, dtype)
