"""Whole models of transformers and xlstm: what each is here, and how its library loads it.

transformers writes its folders by `save_pretrained`. The settings of xlstm stand in config.json beside
model.safetensors; the package writes no such folders by itself, but `dataclasses.asdict(model.config)` gives
its settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nerode.core import FormatError, InputError
from nerode.models.base import Norm, Surroundings
from nerode.models.config import ModelConfig
from nerode.models.libraries.decoders import DECODERS, read_decoder
from nerode.models.libraries.library_model import (
    LibraryFormat,
    LibraryModel,
    Scorer,
    Settings,
    Shapes,
    silence_libraries,
)
from nerode.models.libraries.places import (
    LOCAL_ATTENTION,
    MAMBA,
    MAMBA_2,
    MAMBA_BIASES,
    MLSTM_BLOCK,
    MLSTM_LARGE,
    RWKV_4,
    RWKV_CHANNEL_MIX,
    SLSTM_BLOCK,
    SLSTM_CELL,
    Place,
    griffin,
    inside,
    renamed,
)
from nerode.models.zoo import LayerConfig


def read_mamba(settings: Settings, shapes: Shapes) -> LibraryModel:
    """Returns what a MambaForCausalLM is here, or a FalconMambaForCausalLM, which norms r, B and C."""
    width, auto = settings.whole("hidden_size"), math.ceil(settings.whole("hidden_size") / 16)
    rank = (
        auto if settings.get("time_step_rank") == "auto" else settings.whole("time_step_rank", default=auto)
    )
    inner = settings.whole("expand", default=2) * width
    sizes: dict[str, Any] = {"channels": settings.whole("intermediate_size", default=inner), "rank": rank}
    if settings.get("model_type") == "falcon_mamba":
        sizes["inner_norm"] = settings.number("mixer_rms_eps", default=1e-6)
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
        "(docs/peers.md), so there can only be",
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
    layers = settings.whole("num_hidden_layers")
    made = {
        **sizes,
        "convolution": settings.whole("conv_kernel", default=4),
        "convolution_bias": settings.flag("use_conv_bias", default=True),
        "bias": settings.flag("use_bias", default=False),
    }
    return LibraryModel(
        config=_config(
            settings,
            (LayerConfig(name=name, settings=made),) * layers,
            _MIXED,
            settings.number("layer_norm_epsilon", default=1e-5),
        ),
        places=(
            *_frame("backbone.embeddings", "backbone.norm_f", "lm_head", shapes),
            *_mixers(places, made, layers, "backbone.layers."),
        ),
    )


_MIXED = Surroundings(norm="rms", residual=True)


def _mixers(
    places: tuple[Place, ...], settings: dict[str, Any], layers: int, stack: str
) -> tuple[Place, ...]:
    """The places of the blocks of a Mamba, with the biases that it has."""
    here = (*places, *(MAMBA_BIASES if settings["bias"] else ()))
    if not settings["convolution_bias"]:
        here = tuple(place for place in here if place.ours != "convolution.bias")
    return tuple(
        place
        for i in range(layers)
        for place in (
            Place(theirs=f"{stack}{i}.norm.weight", ours=f"blocks.{i}.norm.weight"),
            *inside(here, f"{stack}{i}.mixer.", f"blocks.{i}.layer."),
        )
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
        settings.number("layer_norm_epsilon", default=1e-5),
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
        settings.number("rms_norm_eps", default=1e-6),
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


def read_xlstm_large(settings: Settings, shapes: Shapes) -> LibraryModel:
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
        config=_config(settings, (layer,) * layers, around, settings.number("norm_eps", default=1e-6)),
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
    epsilon: float,
    *,
    embedding_norm: Norm = "none",
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
        norm_epsilon=epsilon,
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


def load_causal(folder: Path, *, dtype: torch.dtype | str = torch.float32) -> nn.Module:
    """Returns the causal language model of a folder that transformers wrote; no code of the folder runs.

    Args:
        folder: with safetensors.
        dtype: of its weights; "auto" for that of the folder.

    Raises:
        FormatError: if a weight is missing, or has another shape than its config says. Transformers draws
            such a weight at random.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    with silence_libraries():
        model, found = AutoModelForCausalLM.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=dtype,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    if bars:
        logging.enable_progress_bar()
    drawn = sorted([*found["missing_keys"], *(key for key, *_ in found["mismatched_keys"])])
    if drawn:
        raise FormatError(
            f"the weight {drawn[0]} is missing, or its config gives it another shape", path=folder
        )
    module: nn.Module = model.eval()
    return module


def load_transformers(
    folder: Path, config: Mapping[str, Any], weights: Mapping[str, Tensor]
) -> tuple[nn.Module, Scorer]:
    """Returns the library's model of a folder, in float64, and its scores."""
    model: Any = load_causal(folder, dtype=torch.float64)

    def score(letters: Tensor) -> Tensor:
        scores: Tensor = model(letters, use_cache=False).logits
        return scores

    return model, score


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


def _is(kind: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda config: config.get("model_type") == kind


FORMATS: tuple[LibraryFormat, ...] = (
    *(
        LibraryFormat(
            name=f"transformers-{name}",
            library="transformers",
            architecture=architecture,
            describes=_is(kind),
            read=read,
            load=load_transformers,
        )
        for name, kind, architecture, read in (
            ("mamba", "mamba", "mamba", read_mamba),
            ("mamba-2", "mamba2", "mamba-2", read_mamba_2),
            ("rwkv", "rwkv", "rwkv-4", read_rwkv),
            ("recurrent-gemma", "recurrent_gemma", "griffin", read_recurrent_gemma),
            ("xlstm", "xlstm", "mlstm", read_xlstm_large),
            ("falcon-mamba", "falcon_mamba", "mamba", read_mamba),
        )
    ),
    LibraryFormat(
        name="transformers-decoder",
        library="transformers",
        architecture="transformer",
        describes=lambda config: config.get("model_type") in DECODERS,
        read=read_decoder,
        load=load_transformers,
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
"""The kinds of models that are read from a folder with a config."""
