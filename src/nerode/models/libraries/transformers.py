"""Whole models of transformers, as `save_pretrained` writes them: five architectures of the zoo."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.base import Surroundings
from nerode.models.libraries.library_model import LibraryFormat, LibraryModel, Scorer, Settings, Shapes
from nerode.models.libraries.places import (
    LOCAL_ATTENTION,
    MAMBA,
    MAMBA_2,
    MAMBA_BIASES,
    MLSTM_LARGE,
    RWKV_4,
    RWKV_CHANNEL_MIX,
    Place,
    griffin,
    inside,
    renamed,
)
from nerode.models.model import ModelConfig
from nerode.models.zoo import LayerConfig


def read_mamba(settings: Settings, shapes: Shapes) -> LibraryModel:
    """Returns what a MambaForCausalLM is here."""
    width, auto = settings.whole("hidden_size"), math.ceil(settings.whole("hidden_size") / 16)
    rank = (
        auto if settings.get("time_step_rank") == "auto" else settings.whole("time_step_rank", default=auto)
    )
    inner = settings.whole("expand", default=2) * width
    sizes = {"channels": settings.whole("intermediate_size", default=inner), "rank": rank}
    return _mamba(
        settings, shapes, "mamba", MAMBA, {**sizes, "states": settings.whole("state_size", default=16)}
    )


def read_mamba_2(settings: Settings, shapes: Shapes) -> LibraryModel:
    """Returns what a Mamba2ForCausalLM is here."""
    settings.require("rms_norm", True)
    settings.require(
        "n_groups",
        1,
        why="with more groups the library's norm runs over all channels, the authors' over those of a group "
        "(`nerode audit transformers-mamba-2-groups`), so there can only be",
    )
    limits = settings.get("time_step_limit")
    if limits is not None and (len(limits) != 2 or limits[0] or limits[1] not in _INFINITIES):
        raise InputError(f"time_step_limit is {limits!r}; the layer of the zoo does not limit its steps")
    size = settings.whole("head_dim", default=64)
    sizes = {"channels": settings.whole("num_heads", default=128) * size, "head_size": size}
    return _mamba(
        settings, shapes, "mamba-2", MAMBA_2, {**sizes, "states": settings.whole("state_size", default=128)}
    )


_INFINITIES = (math.inf, "Infinity", {"__float__": "Infinity"})


def _mamba(
    settings: Settings, shapes: Shapes, name: str, places: tuple[Place, ...], sizes: dict[str, Any]
) -> LibraryModel:
    settings.require("hidden_act", "silu", "swish")
    layers, bias = settings.whole("num_hidden_layers"), settings.flag("use_bias", default=False)
    with_bias = settings.flag("use_conv_bias", default=True)
    here = (*places, *(MAMBA_BIASES if bias else ()))
    if not with_bias:
        here = tuple(place for place in here if place.ours != "convolution.bias")
    layer = LayerConfig(
        name=name,
        settings={
            **sizes,
            "convolution": settings.whole("conv_kernel", default=4),
            "convolution_bias": with_bias,
            "bias": bias,
        },
    )
    return LibraryModel(
        config=_config(
            settings, (layer,) * layers, Surroundings(norm="rms", residual=True), "layer_norm_epsilon"
        ),
        places=(
            *_frame("backbone.embeddings", "backbone.norm_f", "lm_head", shapes),
            *(
                place
                for i in range(layers)
                for place in (
                    Place(theirs=f"backbone.layers.{i}.norm.weight", ours=f"blocks.{i}.norm.weight"),
                    *inside(here, f"backbone.layers.{i}.mixer.", f"blocks.{i}.layer."),
                )
            ),
        ),
    )


def read_rwkv(settings: Settings, shapes: Shapes) -> LibraryModel:
    """Returns what an RwkvForCausalLM is here: a block of time mixing and one of channel mixing by turns."""
    width, layers = settings.whole("hidden_size"), settings.whole("num_hidden_layers")
    mixing = LayerConfig(
        name="rwkv-4", settings={"width": settings.whole("attention_hidden_size", default=width)}
    )
    hidden = settings.whole("intermediate_size", default=4 * width)
    channel = LayerConfig(name="rwkv-channel-mix", settings={"expansion": hidden / width})
    config = _config(
        settings,
        (mixing, channel) * layers,
        Surroundings(norm="layer", residual=True),
        "layer_norm_epsilon",
        embedding_norm="layer",
    )
    places = [
        *_frame("rwkv.embeddings", "rwkv.ln_out", "head", shapes),
        Place(theirs="rwkv.ln_out.bias", ours="final_norm.bias"),
        *inside(_NORM, "rwkv.blocks.0.pre_ln.", "embedding_norm."),
    ]
    for i in range(layers):
        for number, norm, part, layer in (
            (2 * i, "ln1", "attention", RWKV_4),
            (2 * i + 1, "ln2", "feed_forward", RWKV_CHANNEL_MIX),
        ):
            places += inside(_NORM, f"rwkv.blocks.{i}.{norm}.", f"blocks.{number}.norm.")
            places += inside(layer, f"rwkv.blocks.{i}.{part}.", f"blocks.{number}.layer.")
    return LibraryModel(config=config, places=tuple(places))


_NORM = renamed({"weight": "weight", "bias": "bias"})


def read_recurrent_gemma(settings: Settings, shapes: Shapes) -> LibraryModel:
    """Returns what a RecurrentGemmaForCausalLM is here."""
    settings.require("hidden_activation", "gelu_pytorch_tanh")
    settings.require("attention_bias", False)
    settings.require("num_key_value_heads", 1)
    width, layers = settings.whole("hidden_size"), settings.whole("num_hidden_layers")
    heads = settings.whole("num_attention_heads")
    settings.require("head_dim", width // heads)
    rotary = settings.table("rope_parameters")
    rotary.require("rope_theta", 10_000.0)
    rotary.require("rope_type", "default")
    share = rotary.number(
        "partial_rotary_factor", default=settings.number("partial_rotary_factor", default=0.5)
    )
    kinds = settings.texts("block_types", default=["recurrent", "recurrent", "attention"])
    kinds = [kinds[i % len(kinds)] for i in range(layers)]
    recurrent = LayerConfig(
        name="griffin",
        settings={
            "channels": settings.whole("lru_width", default=width),
            "blocks": heads,
            "convolution": settings.whole("conv1d_width", default=4),
            "open_start": True,
        },
    )
    window = settings.whole("attention_window_size", "sliding_window", default=2048)
    attention = LayerConfig(
        name="local-attention", settings={"heads": heads, "window": window, "rotary": share}
    )
    hidden = settings.whole("intermediate_size", default=3 * width) // 2
    around = Surroundings(norm="rms", residual=True, feed_forward="geglu-tanh", expansion=hidden / width)
    config = _config(
        settings,
        tuple(recurrent if kind == "recurrent" else attention for kind in kinds),
        around,
        "rms_norm_eps",
        epsilon=1e-6,
    )
    # The library keeps this factor in bfloat16.
    factor = float(torch.tensor(width**0.5, dtype=torch.bfloat16))
    places = [
        *_frame("model.embed_tokens", "model.final_norm", "lm_head", shapes, scale=1 / factor, shift=-1.0)
    ]
    for i, kind in enumerate(kinds):
        theirs, ours = f"model.layers.{i}.", f"blocks.{i}."
        places += inside(_GEMMA_SURROUNDINGS, theirs, ours)
        layer = griffin(heads) if kind == "recurrent" else LOCAL_ATTENTION
        places += inside(layer, f"{theirs}temporal_block.", f"{ours}layer.")
    return LibraryModel(
        config=config, places=tuple(places), cap=settings.number("logits_soft_cap", default=30.0)
    )


_GEMMA_SURROUNDINGS = (
    Place(theirs="temporal_pre_norm.weight", ours="norm.weight", shift=-1.0),
    Place(theirs="channel_pre_norm.weight", ours="second_norm.weight", shift=-1.0),
    *renamed(
        {
            f"mlp_block.{name}_proj.{kind}": f"feed_forward.{name}.{kind}"
            for name in ("gate", "up", "down")
            for kind in ("weight", "bias")
        }
    ),
)


def read_xlstm(settings: Settings, shapes: Shapes) -> LibraryModel:
    """Returns what an xLSTMForCausalLM is here."""
    settings.require("weight_mode", "single")
    settings.require("use_bias", False)
    settings.require("add_out_norm", True)
    width = settings.whole("hidden_size", "embedding_dim")
    layers, heads = settings.whole("num_hidden_layers", "num_blocks"), settings.whole("num_heads", default=8)
    layer = LayerConfig(
        name="mlstm",
        settings={
            "form": "large",
            "heads": heads,
            "keys": int(width * settings.number("qk_dim_factor", default=0.5)),
            "values": int(width * settings.number("v_dim_factor", default=1.0)),
            "gate_cap": settings.number("gate_soft_cap", default=15.0),
            "epsilon": settings.number("eps", default=1e-6),
            "norm_epsilon": settings.number("norm_eps", default=1e-6),
        },
    )
    up = shapes.get("backbone.blocks.0.ffn.proj_up.weight", (width,))[0]
    around = Surroundings(norm="rms", residual=True, feed_forward="swiglu", expansion=up / width)
    places = [*_frame("backbone.embeddings", "backbone.out_norm", "lm_head", shapes)]
    for i in range(layers):
        theirs, ours = f"backbone.blocks.{i}.", f"blocks.{i}."
        places += inside(_XLSTM_SURROUNDINGS, theirs, ours)
        places += inside(MLSTM_LARGE, f"{theirs}mlstm_layer.", f"{ours}layer.")
    return LibraryModel(
        config=_config(settings, (layer,) * layers, around, "norm_eps", epsilon=1e-6),
        places=tuple(places),
        cap=settings.number("output_logit_soft_cap", default=30.0),
    )


_XLSTM_SURROUNDINGS = renamed(
    {
        "norm_mlstm.weight": "norm.weight",
        "norm_ffn.weight": "second_norm.weight",
        "ffn.proj_up_gate.weight": "feed_forward.gate.weight",
        "ffn.proj_up.weight": "feed_forward.up.weight",
        "ffn.proj_down.weight": "feed_forward.down.weight",
    }
)


def _config(
    settings: Settings,
    layers: tuple[LayerConfig, ...],
    around: Surroundings,
    epsilon_name: str,
    *,
    epsilon: float = 1e-5,
    embedding_norm: Any = "none",
) -> ModelConfig:
    letters = settings.whole("vocab_size")
    return ModelConfig(
        layers=layers,
        outputs=letters,
        letters=letters,
        width=settings.whole("hidden_size", "embedding_dim"),
        surroundings=around,
        final_norm=around.norm,
        embedding_norm=embedding_norm,
        norm_epsilon=settings.number(epsilon_name, default=epsilon),
        head_bias=False,
    )


def _frame(
    embedding: str, norm: str, head: str, shapes: Shapes, *, scale: float = 1.0, shift: float = 0.0
) -> tuple[Place, ...]:
    """The places of embedding, last norm and head, which may be the embedding."""
    own = f"{head}.weight" in shapes
    return (
        Place(theirs=f"{embedding}.weight", ours="embedding.weight", scale=scale),
        Place(theirs=f"{norm}.weight", ours="final_norm.weight", shift=shift),
        Place(theirs=f"{head if own else embedding}.weight", ours="head.weight"),
    )


def load(folder: Path, config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> tuple[nn.Module, Scorer]:
    """Returns the library's model of a folder, in float64, and its scores."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    model: Any = AutoModelForCausalLM.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False, dtype=torch.float64
    ).eval()

    def score(letters: Tensor) -> Tensor:
        scores: Tensor = model(letters, use_cache=False).logits
        return scores

    return model, score


def _is(kind: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda config: config.get("model_type") == kind


FORMATS = tuple(
    LibraryFormat(
        name=f"transformers-{name}",
        library="transformers",
        architecture=architecture,
        describes=_is(kind),
        read=read,
        load=load,
    )
    for name, kind, architecture, read in (
        ("mamba", "mamba", "mamba", read_mamba),
        ("mamba-2", "mamba2", "mamba-2", read_mamba_2),
        ("rwkv", "rwkv", "rwkv-4", read_rwkv),
        ("recurrent-gemma", "recurrent_gemma", "griffin", read_recurrent_gemma),
        ("xlstm", "xlstm", "mlstm", read_xlstm),
    )
)
