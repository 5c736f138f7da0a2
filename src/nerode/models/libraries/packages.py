"""Models of torch, mambapy and xlstm.

State dicts of torch's RNN, GRU and LSTM are read alone or between an embedding and a linear head. The
settings of mambapy and xlstm stand in config.json beside model.safetensors. Neither package writes such
folders by itself; `dataclasses.asdict(model.config)` gives the settings of both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.base import Surroundings
from nerode.models.libraries.library_model import LibraryFormat, LibraryModel, Scorer, Settings, Shapes
from nerode.models.libraries.places import (
    MAMBA,
    MAMBA_BIASES,
    MLSTM_BLOCK,
    SLSTM_BLOCK,
    SLSTM_CELL,
    Place,
    inside,
    renamed,
    torch_cell,
)
from nerode.models.model import ModelConfig
from nerode.models.zoo import LayerConfig


def read_mambapy(settings: Settings, shapes: Shapes) -> LibraryModel:
    """Returns what a mambapy.lm.LM around a Mamba is here."""
    settings.require("inner_layernorms", False)
    settings.require("mup", False)
    width, layers = settings.whole("d_model"), settings.whole("n_layers")
    auto = math.ceil(width / 16)
    bias, with_bias = settings.flag("bias", default=False), settings.flag("conv_bias", default=True)
    layer = LayerConfig(
        name="mamba",
        settings={
            "channels": settings.whole("expand_factor", default=2) * width,
            "states": settings.whole("d_state", default=16),
            "rank": auto if settings.get("dt_rank") == "auto" else settings.whole("dt_rank", default=auto),
            "convolution": settings.whole("d_conv", default=4),
            "convolution_bias": with_bias,
            "bias": bias,
        },
    )
    here = [p for p in (*MAMBA, *(MAMBA_BIASES if bias else ())) if with_bias or p.ours != "convolution.bias"]
    letters = shapes.get("embedding.weight", (0,))[0] or settings.whole("vocab_size")
    places = [
        *renamed({"embedding.weight": "embedding.weight", "norm_f.weight": "final_norm.weight"}),
        Place(theirs="lm_head.weight", ours="head.weight"),
    ]
    for i in range(layers):
        places.append(Place(theirs=f"mamba.layers.{i}.norm.weight", ours=f"blocks.{i}.norm.weight"))
        places += inside(here, f"mamba.layers.{i}.mixer.", f"blocks.{i}.layer.")
    config = ModelConfig(
        layers=(layer,) * layers,
        outputs=letters,
        letters=letters,
        width=width,
        surroundings=Surroundings(norm="rms", residual=True),
        final_norm="rms",
        norm_epsilon=settings.number("rms_norm_eps", default=1e-5),
        head_bias=False,
    )
    return LibraryModel(config=config, places=tuple(places))


def load_mambapy(
    folder: Path, config: Mapping[str, Any], weights: Mapping[str, Tensor]
) -> tuple[nn.Module, Scorer]:
    """Returns the package's model and its scores."""
    # mambapy.lm needs mamba-ssm and its GPU, so what is around the layers is put together here.
    from mambapy.mamba import Mamba, MambaConfig, RMSNorm

    known = {name: value for name, value in config.items() if name in MambaConfig.__dataclass_fields__}
    settings = MambaConfig(**known)
    letters, width = weights["embedding.weight"].shape
    model: Any = nn.Module()
    model.embedding, model.mamba = nn.Embedding(letters, width), Mamba(settings)
    model.norm_f = RMSNorm(width, settings.rms_norm_eps, settings.mup)
    model.lm_head = nn.Linear(width, letters, bias=False)
    model.load_state_dict({name: value.double() for name, value in weights.items()})
    return model.eval(), lambda x: model.lm_head(model.norm_f(model.mamba(model.embedding(x))))


def read_xlstm(settings: Settings, shapes: Shapes) -> LibraryModel:
    """Returns what an xlstm.xLSTMLMModel is here."""
    settings.require("bias", False)
    settings.require("add_post_blocks_norm", True)
    width, layers = settings.whole("embedding_dim"), settings.whole("num_blocks")
    letters = settings.whole("vocab_size")
    named = settings.get("slstm_at") or []
    places_of_slstm = set(range(layers)) if named == "all" or not settings.get("mlstm_block") else set(named)
    stack = "xlstm_block_stack."
    head = "lm_head.weight" if "lm_head.weight" in shapes else "token_embedding.weight"
    places = [
        Place(theirs="token_embedding.weight", ours="embedding.weight"),
        Place(theirs=f"{stack}post_blocks_norm.weight", ours="final_norm.weight", shift=-1.0),
        Place(theirs=head, ours="head.weight"),
    ]
    configs, arounds = [], []
    for i in range(layers):
        theirs, ours = f"{stack}blocks.{i}.", f"blocks.{i}."
        part = settings.table("slstm_block" if i in places_of_slstm else "mlstm_block")
        slstm = i in places_of_slstm
        layer, map_of_layer = (
            _slstm(part.table("slstm"))
            if slstm
            else _mlstm(part.table("mlstm"), layers, shapes.get(f"{theirs}xlstm.proj_up.weight", (4, 1)))
        )
        configs.append(layer)
        arounds.append(_around(part, shapes.get(f"{theirs}ffn.proj_down.weight")))
        places.append(Place(theirs=f"{theirs}xlstm_norm.weight", ours=f"{ours}norm.weight", shift=-1.0))
        places += inside(map_of_layer, f"{theirs}xlstm.", f"{ours}layer.")
        if arounds[-1].feed_forward != "none":
            places += inside(_FEED_FORWARD, theirs, ours)
    config = ModelConfig(
        layers=tuple(configs),
        outputs=letters,
        letters=letters,
        width=width,
        surroundings=tuple(arounds),
        final_norm="layer",
        head_bias=False,
    )
    return LibraryModel(config=config, places=tuple(places))


_FEED_FORWARD = (
    Place(theirs="ffn_norm.weight", ours="second_norm.weight", shift=-1.0),
    Place(theirs="ffn.proj_up.weight", ours="feed_forward.gate.weight", part=(0, 2)),
    Place(theirs="ffn.proj_up.weight", ours="feed_forward.up.weight", part=(1, 2)),
    Place(theirs="ffn.proj_down.weight", ours="feed_forward.down.weight"),
)


def _mlstm(settings: Settings, layers: int, up: tuple[int, ...]) -> tuple[LayerConfig, tuple[Place, ...]]:
    settings.require("bias", False)
    made = {
        "heads": settings.whole("num_heads", default=4),
        "window": settings.whole("conv1d_kernel_size", default=4),
        "projection_block": settings.whole("qkv_proj_blocksize", default=4),
        # The package rounds the width inside a block up.
        "expansion": up[0] / (2 * up[1]),
        "num_blocks": layers,
    }
    return LayerConfig(name="mlstm", settings=made), MLSTM_BLOCK


def _slstm(settings: Settings) -> tuple[LayerConfig, tuple[Place, ...]]:
    convolution = int(settings.number("conv1d_kernel_size", default=4))
    made = {
        "heads": settings.whole("num_heads", default=4),
        "headwise": True,
        "convolution": convolution,
        "group_norm": True,
    }
    return LayerConfig(name="slstm", settings=made), SLSTM_BLOCK if convolution else SLSTM_CELL


def _around(settings: Settings, down: tuple[int, ...] | None) -> Surroundings:
    forward = settings.table("feedforward")
    if settings.get("feedforward") is None or down is None:
        return Surroundings(norm="layer", residual=True)
    forward.require("bias", False)
    forward.require("act_fn", "gelu")
    return Surroundings(norm="layer", residual=True, feed_forward="geglu", expansion=down[1] / down[0])


def load_xlstm(
    folder: Path, config: Mapping[str, Any], weights: Mapping[str, Tensor]
) -> tuple[nn.Module, Scorer]:
    """Returns the package's model and its scores step by step; an sLSTM runs in plain torch."""
    from xlstm import (
        FeedForwardConfig,
        mLSTMBlockConfig,
        mLSTMLayerConfig,
        sLSTMBlockConfig,
        sLSTMLayerConfig,
        xLSTMLMModel,
        xLSTMLMModelConfig,
    )

    def make(kind: Any, data: Mapping[str, Any], **parts: Any) -> Any:
        known = kind.__dataclass_fields__
        plain = {name: v for name, v in data.items() if name in known and not name.startswith("_")}
        return kind(**{**plain, **parts})

    blocks: dict[str, Any] = {"mlstm_block": None, "slstm_block": None}
    if config.get("mlstm_block"):
        part = config["mlstm_block"]
        blocks["mlstm_block"] = mLSTMBlockConfig(mlstm=make(mLSTMLayerConfig, part["mlstm"]))
    if config.get("slstm_block"):
        part = config["slstm_block"]
        forward = None if part.get("feedforward") is None else make(FeedForwardConfig, part["feedforward"])
        cell = make(sLSTMLayerConfig, part["slstm"], backend="vanilla", dtype="float32")
        blocks["slstm_block"] = sLSTMBlockConfig(slstm=cell, feedforward=forward)
    model: Any = xLSTMLMModel(make(xLSTMLMModelConfig, config, **blocks))
    model.load_state_dict({name: value.double() for name, value in weights.items()}, strict=False)

    def score(letters: Tensor) -> Tensor:
        # Its parallel form adds the epsilon of mLSTM at another scale than its steps do.
        state, rows = None, []
        for position in range(letters.shape[1]):
            row, state = model.step(letters[:, position : position + 1], state=state)
            rows.append(row)
        return torch.cat(rows, dim=1)

    return model.eval(), score


FORMATS = (
    LibraryFormat(
        name="mambapy",
        library="mambapy",
        architecture="mamba",
        describes=lambda config: {"d_model", "n_layers", "expand_factor"} <= config.keys(),
        read=read_mambapy,
        load=load_mambapy,
    ),
    LibraryFormat(
        name="xlstm",
        library="xlstm",
        architecture="mlstm",
        describes=lambda config: (
            {"embedding_dim", "num_blocks", "vocab_size"} <= config.keys()
            and "model_type" not in config
            and ("mlstm_block" in config or "slstm_block" in config)
        ),
        read=read_xlstm,
        load=load_xlstm,
    ),
)


Activation = Literal["tanh", "relu"]

_CELL = re.compile(r"(.*?)weight_ih_l(\d+)(_reverse)?$")
_GATES = {1: "elman", 3: "gru", 4: "lstm"}


def holds_cells(names: Mapping[str, Any]) -> bool:
    """Returns whether the weights are those of one of torch's cells, perhaps with others around it."""
    return any(_CELL.match(name) for name in names)


def read_cells(shapes: Shapes, *, activation: Activation = "tanh") -> LibraryModel:
    """Returns what a module with one RNN, GRU or LSTM of torch is here.

    Args:
        shapes: of all weights. Beside the cell there may be one matrix before it, the embedding, and one
            matrix with or without a bias after it, the head.
        activation: of an RNN, which its weights do not tell.

    Raises:
        InputError: if there are several cells, or the cell reads both ways or projects its state.
    """
    prefixes = sorted({found[1] for name in shapes if (found := _CELL.match(name))})
    if len(prefixes) != 1:
        raise InputError(f"the file holds {len(prefixes)} cells ({', '.join(prefixes)}); it has to hold one")
    prefix = prefixes[0]
    for word, what in (("_reverse", "reads both ways"), ("weight_hr_", "projects its state")):
        if any(word in name for name in shapes):
            raise InputError(f"the cell {what}; the zoo has none that does")
    depth = sum(f"{prefix}weight_ih_l{i}" in shapes for i in range(len(shapes)))
    rows, inputs = _matrix(shapes, f"{prefix}weight_ih_l0")
    hidden = _matrix(shapes, f"{prefix}weight_hh_l0")[1]
    if rows % hidden or rows // hidden not in _GATES:
        raise InputError(
            f"{prefix}weight_ih_l0 has {rows} rows for {hidden} units; an RNN has one, a GRU three and an "
            "LSTM four times as many"
        )
    cell, bias = _GATES[rows // hidden], f"{prefix}bias_ih_l0" in shapes
    layer = LayerConfig(
        name=f"elman-{activation}" if cell == "elman" else cell,
        settings={"hidden": hidden, "recurrent_bias": bias},
    )
    embedding, head, head_bias = _found_around(shapes, prefix, inputs, hidden)
    places = [
        place
        for i in range(depth)
        for place in inside(torch_cell(i, bias=bias), prefix, f"blocks.{i}.layer.")
    ]
    if embedding:
        places.append(Place(theirs=embedding, ours="embedding.weight"))
    if head:
        places.append(Place(theirs=head, ours="head.weight"))
    if head_bias:
        places.append(Place(theirs=head_bias, ours="head.bias"))
    config = ModelConfig(
        layers=(layer,) * depth,
        letters=shapes[embedding][0] if embedding else inputs,
        width=inputs if embedding else None,
        outputs=shapes[head][0] if head else hidden,
        head="linear" if head else "none",
        head_bias=bool(head_bias),
    )
    return LibraryModel(config=config, places=tuple(places))


def _found_around(shapes: Shapes, prefix: str, inputs: int, hidden: int) -> tuple[str, str, str]:
    """The names of the embedding, the head and its bias; empty where there is none."""
    others = [name for name in shapes if not re.match(rf"{re.escape(prefix)}(weight|bias)_[ih]h_l\d+$", name)]
    matrices = [name for name in others if len(shapes[name]) == 2]
    biases = [name for name in others if len(shapes[name]) == 1]
    heads = [name for name in matrices if name.replace("weight", "bias") in biases]
    embeddings = [name for name in matrices if name not in heads and "embed" in name.lower()]
    heads = heads or [name for name in matrices if name not in embeddings]
    left = set(others) - set(heads) - set(embeddings) - {name.replace("weight", "bias") for name in heads}
    if left or len(heads) > 1 or len(embeddings) > 1:
        raise InputError(
            f"beside the cell the file holds {', '.join(sorted(others))}; one embedding before it and one "
            "linear head after it are read"
        )
    head, embedding = (names[0] if names else "" for names in (heads, embeddings))
    for name, axis in ((embedding, inputs), (head, hidden)):
        if name and shapes[name][1] != axis:
            raise InputError(f"{name} has the shape {shapes[name]}; beside this cell it needs {axis} columns")
    return embedding, head, biases[0] if head and biases else ""


def _matrix(shapes: Shapes, name: str) -> tuple[int, int]:
    shape = shapes.get(name)
    if shape is None:
        raise InputError(f"the weight {name} is missing")
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"the weight {name} has the shape {shape}; it has to be a matrix")
    return shape[0], shape[1]


def load_cells(model: LibraryModel, weights: Mapping[str, Tensor]) -> tuple[nn.Module, Scorer]:
    """Returns torch's own cell with these weights, between the same embedding and head."""
    config, first = model.config, model.config.layers[0]
    places = {place.ours: place.theirs for place in model.places}
    prefix = places["blocks.0.layer.read.weight"].removesuffix("weight_ih_l0")
    kinds = {"gru": nn.GRU, "lstm": nn.LSTM}
    options: dict[str, Any] = {
        "num_layers": len(config.layers),
        "bias": first.settings["recurrent_bias"],
        "batch_first": True,
    }
    if first.name not in kinds:
        options["nonlinearity"] = first.name.removeprefix("elman-")
    letters = config.letters or 1
    cell = kinds.get(first.name, nn.RNN)(config.width or letters, first.settings["hidden"], **options)
    cell.load_state_dict(
        {
            n.removeprefix(prefix): v.double()
            for n, v in weights.items()
            if n.startswith((f"{prefix}weight_", f"{prefix}bias_"))
        }
    )

    def score(x: Tensor) -> Tensor:
        table = places.get("embedding.weight")
        stream = nn.functional.one_hot(x, letters).double() if table is None else weights[table].double()[x]
        y: Tensor = cell(stream)[0]
        if "head.weight" not in places:
            return y
        bias = places.get("head.bias")
        return nn.functional.linear(
            y, weights[places["head.weight"]].double(), None if bias is None else weights[bias].double()
        )

    return cell.eval(), torch.no_grad()(score)
