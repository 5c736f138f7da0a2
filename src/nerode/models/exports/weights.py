"""The weights and settings of a whole model under the names of other libraries, for a vocabulary of tokens.

Tokens are the beginning, the end, and then the letters. The end is embedded as the beginning is, so that what
follows an end is a new word, and padding with it is harmless. The beginning never follows: its score is that
of an illegal letter, read from the place that always holds the unit. Convolutions have four taps.

The maps of names are those of `nerode.models.libraries`. What mamba-ssm (`models/mixer_seq_simple.py`,
`modules/mamba_simple.py`, `modules/mamba2.py`) and fla (`models/mamba`) call their weights was read in their
sources.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.libraries import library_weights
from nerode.models.model import Model
from nerode.models.whole.stream import ALWAYS, LOGIT
from nerode.models.zoo import LayerConfig

BEGIN, END, FIRST = 0, 1, 2
"""Tokens: the beginning, the end, and the first letter."""

TAPS = 4
"""Positions that the published convolutions see."""

CHUNK = 16
"""Positions that Mamba-2 computes at once; the scores do not depend on it."""

WINDOW = 2048
"""Positions that the published attention of RecurrentGemma sees."""

Weights = dict[str, Tensor]
Config = dict[str, Any]

SPECIAL: Config = {"bos_token_id": BEGIN, "eos_token_id": END, "pad_token_id": END}


def transformers_mamba(model: Model) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `transformers.MambaForCausalLM`."""
    tokens = token_model(model)
    config = {
        "architectures": ["MambaForCausalLM"],
        "model_type": "mamba",
        "time_step_rank": tokens.config.layers[0].resolve()[1].rank,
        **_mixers(tokens),
    }
    return library_weights(tokens, config), config


def transformers_mamba_2(model: Model) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `transformers.Mamba2ForCausalLM`.

    Heads have one channel, and the library keeps a number per head and pair of positions in a chunk, so that
    chunks are short.
    """
    tokens = token_model(model)
    config = {
        "architectures": ["Mamba2ForCausalLM"],
        "model_type": "mamba2",
        "num_heads": 2 * (tokens.config.width or 0),
        "head_dim": 1,
        "n_groups": 1,
        "chunk_size": CHUNK,
        "rms_norm": True,
        **_mixers(tokens),
    }
    return library_weights(tokens, config), config


def _mixers(tokens: Model) -> Config:
    """The settings that both Mambas have."""
    return {
        "vocab_size": tokens.config.letters,
        "hidden_size": tokens.config.width,
        "num_hidden_layers": len(tokens.config.layers),
        "state_size": tokens.config.layers[0].resolve()[1].states,
        "expand": 2,
        "conv_kernel": TAPS,
        "use_bias": False,
        "use_conv_bias": True,
        "hidden_act": "silu",
        "layer_norm_epsilon": tokens.config.norm_epsilon,
        "residual_in_fp32": True,
        "tie_word_embeddings": False,
        **SPECIAL,
    }


def fla_mamba(model: Model) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `fla.models.MambaForCausalLM`: the same names."""
    weights, config = transformers_mamba(model)
    config = {**config, "norm_eps": config["layer_norm_epsilon"], "fuse_cross_entropy": False}
    del config["layer_norm_epsilon"]
    return weights, config


def mamba_ssm(model: Model) -> tuple[Weights, Config]:
    """Returns the weights of `mamba_ssm.models.mixer_seq_simple.MambaLMHeadModel`, and its settings."""
    weights, config = transformers_mamba(model)
    return _authors(weights, config, {"dt_rank": config["time_step_rank"]})


def mamba_ssm_2(model: Model) -> tuple[Weights, Config]:
    """Returns the same for Mamba-2, which mamba-ssm builds from the same class."""
    weights, config = transformers_mamba_2(model)
    own = {"layer": "Mamba2", "headdim": config["head_dim"], "ngroups": 1, "chunk_size": CHUNK}
    return _authors(weights, config, own)


def _authors(weights: Weights, config: Config, own: Config) -> tuple[Weights, Config]:
    """The names of mamba-ssm, and its settings with those that a layer has of its own."""
    weights = {name.replace("backbone.embeddings.", "backbone.embedding."): w for name, w in weights.items()}
    return weights, {
        "d_model": config["hidden_size"],
        "d_intermediate": 0,
        "n_layer": config["num_hidden_layers"],
        "vocab_size": config["vocab_size"],
        "ssm_cfg": {"d_state": config["state_size"], "d_conv": TAPS, "expand": 2, **own},
        "rms_norm": True,
        "residual_in_fp32": True,
        "fused_add_norm": False,
        "pad_vocab_size_multiple": 1,
        "tie_embeddings": False,
    }


def transformers_recurrent_gemma(model: Model) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `transformers.RecurrentGemmaForCausalLM`.

    The library multiplies the embedding by the root of the width and caps scores at ±30. Its `generate` asks
    a layer of attention for the length that was read. So the last block is one, whose weights are all 0.
    """
    recurrent = token_model(model)
    kinds = ["recurrent"] * len(recurrent.config.layers) + ["attention"]
    tokens = _with_attention(recurrent)
    width = tokens.config.width
    hidden = tokens.state_dict()["blocks.0.feed_forward.up.weight"].shape[0]
    config = {
        "architectures": ["RecurrentGemmaForCausalLM"],
        "model_type": "recurrent_gemma",
        "vocab_size": tokens.config.letters,
        "hidden_size": width,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": len(kinds),
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "lru_width": tokens.config.layers[0].resolve()[1].channels,
        "conv1d_width": TAPS,
        "block_types": kinds,
        "attention_window_size": WINDOW,
        "logits_soft_cap": 30.0,
        "rms_norm_eps": tokens.config.norm_epsilon,
        "hidden_activation": "gelu_pytorch_tanh",
        "tie_word_embeddings": False,
        **SPECIAL,
    }
    return library_weights(tokens, config), config


@torch.no_grad()
def token_model(model: Model) -> Model:
    """Returns the same model over tokens: the beginning, the end and the letters, with four taps.

    Raises:
        InputError: if it is not a whole model as published.
    """
    config = model.config
    if not config.beginning or config.final_norm != "rms" or config.head != "linear" or config.head_bias:
        names = ", ".join(dict.fromkeys(layer.name for layer in config.layers))
        raise InputError(
            f"the model of {names} is not a whole model as published, which is what other libraries load; "
            "compile it with --surroundings published"
        )
    assert config.letters is not None
    vocabulary = config.letters + FIRST
    layers = tuple(replace(x, settings={**x.settings, "convolution": TAPS}) for x in config.layers)
    found = Model(replace(config, layers=layers, letters=vocabulary, outputs=vocabulary, beginning=False))
    weights = {
        name: _taps(value) if name.endswith("convolution.weight") else value
        for name, value in model.state_dict().items()
    }
    table, rows = weights["embedding.weight"], weights["head.weight"]
    begin, never = table[config.letters :], torch.zeros_like(rows[:1])
    never[0, ALWAYS] = -LOGIT
    weights["embedding.weight"] = torch.cat([begin, begin, table[: config.letters]])
    weights["head.weight"] = torch.cat([never, rows[config.letters :], rows[: config.letters]])
    found.to(table.dtype).load_state_dict(weights)
    return found


@torch.no_grad()
def _with_attention(model: Model) -> Model:
    """The same model with a block of local attention at the end that adds exactly 0."""
    layer = LayerConfig(name="local-attention", settings={"heads": 1, "window": WINDOW})
    found = Model(replace(model.config, layers=(*model.config.layers, layer)))
    found.to(next(model.parameters()).dtype)
    for name, value in found.state_dict().items():
        value.fill_(1.0 if "norm" in name else 0.0)
    found.load_state_dict(model.state_dict(), strict=False)
    return found


def _taps(weight: Tensor) -> Tensor:
    """The taps of a convolution (channels, four), the oldest first; those that were not there are 0."""
    return torch.cat([weight.new_zeros(len(weight), TAPS - weight.shape[1]), weight], dim=1)
