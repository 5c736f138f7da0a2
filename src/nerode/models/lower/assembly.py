"""A network as an ordinary model of the zoo: its plan on the stream, written layer by layer.

An ordinary model has an embedding, blocks of layers and ReLU feed-forward parts on a residual stream, and a
head. A nonlinear cell stands alone: letters, the layer, a head that reads its state; ReLU units of the
readout become hidden units of the head. Where the layer itself ends with such units, as the state space model
of the n-gram paper does, there is no head.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from nerode.core import InputError, NotCompilable
from nerode.models.base import LayerBlock, Surroundings
from nerode.models.config import ModelConfig
from nerode.models.kernels.arguments import dtype_name
from nerode.models.lower.heads import is_decoder, network_to_decoder
from nerode.models.lower.output_head import Head, make_head
from nerode.models.lower.stream import Plan, embedding_table, plan_stream, relu_surroundings
from nerode.models.model import Model, zero_model
from nerode.models.network_module.numbers import Converter
from nerode.models.weight_writer import ONE, BlockPlan, WeightWriter, set_rows
from nerode.models.zoo import LayerConfig, find_kind
from nerode.network import Network

HeadKind = Literal["linear", "relu", "none"]

_WIDEST = 600
"""Coordinates of a layer; the dense maps of a real architecture grow with their square."""


def writer_of(architecture: str) -> WeightWriter | None:
    """Returns what writes compiled weights into an architecture of the zoo, None if nothing does.

    Raises:
        UnknownName: if the zoo has no such architecture.
    """
    kind, name = find_kind(architecture), architecture.lower()
    if kind.writer is None or name not in (kind.name, *kind.written):
        return None
    return kind.writer(name)


def remembers(architecture: str) -> bool:
    """Returns whether an architecture can carry networks with the exclusive scan: by its convolution."""
    writer = writer_of(architecture)
    return writer is not None and writer.delays


def network_to_architecture(
    network: Network, architecture: str, *, dtype: torch.dtype = torch.float32
) -> Model:
    """Returns an ordinary model of the zoo that computes what the network computes.

    Its scores mean what those of `load_model` mean: above 1/2 is legal, or logits for a distribution.

    Args:
        network: compiled for this architecture; without the exclusive scan unless the architecture has a
            convolution, which then shows states one letter late.
        architecture: a name of the zoo.
        dtype: the type of its weights.

    Raises:
        UnknownName: if the zoo has no such architecture.
        NotCompilable: with the reason, if it cannot carry the network.
        InputError: for a type that is too narrow for the weights.
    """
    if is_decoder(network, architecture):
        return network_to_decoder(network, architecture, dtype=dtype)
    writer = writer_of(architecture)
    name = architecture.lower()
    if network.width > _WIDEST:
        raise NotCompilable(name, [f"{network.width} coordinates are too many for dense layers"])
    if writer is None:
        raise NotCompilable(name, ["nothing writes compiled weights into this architecture"])
    plan = plan_stream(network, name, sources=writer.sources, delays=writer.delays)
    if writer.alone:
        return _assemble_cell(plan, writer, dtype)
    logits = network.decoder.kind == "logits"
    if logits and len(plan.blocks) == 1 and writer.reads_out(plan.blocks[0], plan.reads):
        return _assemble_readout(plan, writer, dtype)
    return _assemble_stream(plan, writer, dtype)


def _assemble_stream(plan: Plan, writer: WeightWriter, dtype: torch.dtype) -> Model:
    """The model of a plan on a residual stream."""
    Converter(dtype)
    if dtype_name(dtype) not in writer.dtypes:
        raise InputError(
            f"{writer.architecture} keeps registers beyond the range of {dtype_name(dtype)}; use a wider type"
        )
    if not plan.blocks:
        # The letter alone decides; a model has a layer nevertheless, which adds nothing.
        plan.blocks.append(BlockPlan(letters=plan.letters))
    head = make_head(plan, {place: place for place in range(plan.width)}, writer.architecture)
    config = ModelConfig(
        layers=tuple(
            LayerConfig(name=writer.architecture, settings=writer.settings(block, plan.width))
            for block in plan.blocks
        ),
        surroundings=tuple(relu_surroundings(len(block.units), plan.width) for block in plan.blocks),
        outputs=head.outputs,
        letters=len(plan.network.alphabet),
        width=plan.width,
        head="relu" if head.hidden else "linear",
        head_width=len(head.hidden),
    )
    model = zero_model(config)
    with torch.no_grad():
        _embedding(model).copy_(embedding_table(plan))
        for module, block in zip(model.blocks, plan.blocks, strict=True):
            assert isinstance(module, LayerBlock)
            writer.fill(module.layer, block)
            _fill_units(module, block)
        head.fill(model.head)
    return _finish(model, dtype)


def _assemble_cell(plan: Plan, writer: WeightWriter, dtype: torch.dtype) -> Model:
    """The model of a network with one layer, whose state is all that the head reads."""
    if len(plan.blocks) != 1:
        raise NotCompilable(
            writer.architecture,
            [f"the network has {len(plan.blocks)} blocks; this architecture carries one layer"],
        )
    block, filled = plan.blocks[0], _filled(plan)
    settings = writer.settings(block, plan.width)
    # Of the blocks of a gated cell, h comes first and is all that is shown.
    shown = {place: i for i, place in enumerate(block.states[: settings["hidden"]])}
    head = make_head(plan, shown, writer.architecture, block.units)
    model = zero_model(_alone(plan, writer, settings, head, kind="relu" if head.hidden else "linear"))
    with torch.no_grad():
        _embedding(model).copy_(embedding_table(plan)[:, filled])
        writer.fill(model.layers[0], block)
        head.fill(model.head)
    return _finish(model, dtype)


def _assemble_readout(plan: Plan, writer: WeightWriter, dtype: torch.dtype) -> Model:
    """The model of a network with one layer, which computes the scores itself."""
    block, filled = plan.blocks[0], _filled(plan)
    columns = {place: i for i, (place, _) in enumerate(block.units)}
    head = make_head(plan, columns, writer.architecture)
    settings = writer.readout_settings(block, head.outputs)
    model = zero_model(_alone(plan, writer, settings, head, kind="none"))
    with torch.no_grad():
        _embedding(model).copy_(embedding_table(plan)[:, filled])
        writer.fill_readout(model.layers[0], block, head.last)
    return _finish(model, dtype)


def _filled(plan: Plan) -> list[int]:
    """The places that the embedding fills, which become the features of the only layer."""
    block = plan.blocks[0]
    filled = [place for place in range(block.states[0]) if place != ONE]
    block.columns = {place: i for i, place in enumerate(filled)}
    return filled


def _alone(
    plan: Plan, writer: WeightWriter, settings: dict[str, Any], head: Head, *, kind: HeadKind
) -> ModelConfig:
    return ModelConfig(
        layers=(LayerConfig(name=writer.architecture, settings=settings),),
        surroundings=Surroundings(),
        outputs=head.outputs,
        letters=len(plan.network.alphabet),
        width=len(plan.blocks[0].columns),
        head=kind,
        head_width=len(head.hidden) if kind == "relu" else 0,
    )


def _embedding(model: Model) -> Tensor:
    assert isinstance(model.embedding, nn.Embedding)
    return model.embedding.weight


def _finish(model: Model, dtype: torch.dtype) -> Model:
    """The model in a type, with frozen weights, all finite.

    Raises:
        InputError: if a weight is beyond the largest number of the type.
    """
    Converter(dtype)
    model = model.to(dtype).requires_grad_(False)
    for name, value in model.state_dict().items():
        if not torch.isfinite(value).all():
            raise InputError(f"the weight {name} is beyond the largest {dtype}; use a wider type")
    return model


def _fill_units(module: LayerBlock, block: BlockPlan) -> None:
    if module.feed_forward is None:
        return
    set_rows(module.feed_forward.up, [form for _, form in block.units])
    for number, (place, _) in enumerate(block.units):
        module.feed_forward.down.weight[place, number] = 1
