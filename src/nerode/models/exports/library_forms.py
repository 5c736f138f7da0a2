"""Language models in the forms that other libraries load: names of weights, config.json, and a tokenizer.

Tokens are the beginning, the end, and then the letters. In a compiled model the end is embedded as the
beginning is, so that what follows an end is a new word, and padding with it is harmless.

The maps of names are those of `nerode.models.libraries`. What mamba-ssm (`models/mixer_seq_simple.py`,
`modules/mamba_simple.py`, `modules/mamba2.py`) and fla (`models/mamba`) call their weights was read in their
sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from nerode.languages import Alphabet
from nerode.models.libraries.importing import library_weights
from nerode.models.model import Model
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


def transformers_mamba(tokens: Model) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `transformers.MambaForCausalLM`."""
    config = {
        "architectures": ["MambaForCausalLM"],
        "model_type": "mamba",
        "time_step_rank": tokens.config.layers[0].resolve()[1].rank,
        **_mixers(tokens),
    }
    return library_weights(tokens, config), config


def transformers_mamba_2(tokens: Model) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `transformers.Mamba2ForCausalLM`.

    Heads have one channel, and the library keeps a number per head and pair of positions in a chunk, so that
    chunks are short.
    """
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
        "expand": (tokens.config.layers[0].resolve()[1].channels or 0) // (tokens.config.width or 1) or 2,
        "conv_kernel": TAPS,
        "use_bias": False,
        "use_conv_bias": True,
        "hidden_act": "silu",
        "layer_norm_epsilon": tokens.config.norm_epsilon,
        "residual_in_fp32": True,
        "tie_word_embeddings": False,
        **SPECIAL,
    }


def fla_mamba(tokens: Model) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `fla.models.MambaForCausalLM`: the same names."""
    weights, config = transformers_mamba(tokens)
    config = {**config, "norm_eps": config["layer_norm_epsilon"], "fuse_cross_entropy": False}
    del config["layer_norm_epsilon"]
    return weights, config


def mamba_ssm(tokens: Model) -> tuple[Weights, Config]:
    """Returns the weights of `mamba_ssm.models.mixer_seq_simple.MambaLMHeadModel`, and its settings."""
    weights, config = transformers_mamba(tokens)
    return _authors(weights, config, {"dt_rank": config["time_step_rank"]})


def mamba_ssm_2(tokens: Model) -> tuple[Weights, Config]:
    """Returns the same for Mamba-2, which mamba-ssm builds from the same class."""
    weights, config = transformers_mamba_2(tokens)
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


def transformers_recurrent_gemma(recurrent: Model) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `transformers.RecurrentGemmaForCausalLM`.

    The library multiplies the embedding by the root of the width and caps scores at ±30. Its `generate` asks
    a layer of attention for the length that was read. So the last block is one, whose weights are all 0.
    """
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
def _with_attention(model: Model) -> Model:
    """The same model with a block of local attention at the end that adds exactly 0."""
    layer = LayerConfig(name="local-attention", settings={"heads": 1, "window": WINDOW})
    # A model that was read from a folder lists its surroundings block by block.
    around = [model.config.around(number) for number in range(len(model.config.layers))]
    found = Model(
        replace(model.config, layers=(*model.config.layers, layer), surroundings=(*around, around[-1]))
    )
    found.to(next(model.parameters()).dtype)
    for name, value in found.state_dict().items():
        value.fill_(1.0 if "norm" in name else 0.0)
    found.load_state_dict(model.state_dict(), strict=False)
    return found


Writer = Callable[[Model], tuple[Weights, Config]]
"""From a model over tokens."""

EXPORT_FORMS: dict[str, dict[str, Writer]] = {
    "huggingface": {
        "mamba": transformers_mamba,
        "mamba-2": transformers_mamba_2,
        "griffin": transformers_recurrent_gemma,
    },
    "mamba-ssm": {"mamba": mamba_ssm, "mamba-2": mamba_ssm_2},
    "fla": {"mamba": fla_mamba},
}
"""For each library, the architectures whose language models it loads."""

NOTE_FILE = "nerode.json"
NOTE_FORMAT = "nerode-export"


def tokenizer(alphabet: Alphabet, *, begins: bool = True) -> dict[str, dict[str, Any]]:
    """Returns the files of a tokenizer: one token per letter, and the beginning before each text.

    Texts are letters one after the other where each letter is one character, and otherwise letters with
    spaces between them, as `nerode run` writes them.
    """
    symbols = alphabet.symbols
    begin, end = _mark("<s>", symbols), _mark("</s>", symbols)
    vocabulary = {begin: BEGIN, end: END, **{symbol: FIRST + i for i, symbol in enumerate(symbols)}}
    single = all(len(symbol) == 1 for symbol in symbols)
    split = {"type": "Split", "pattern": {"Regex": "\\S"}, "behavior": "Isolated", "invert": False}
    spaces = {"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "Removed", "invert": False}
    whole = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": number,
                "content": content,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for number, content in ((BEGIN, begin), (END, end))
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [spaces, split] if single else [spaces]},
        "post_processor": None
        if not begins
        else {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": begin, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {begin: {"id": begin, "ids": [BEGIN], "tokens": [begin]}},
        },
        "decoder": {"type": "Fuse"} if single else None,
        # Without a token for the unknown, another character is an error.
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": ""},
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": begin,
        "eos_token": end,
        "pad_token": end,
        "clean_up_tokenization_spaces": False,
        "padding_side": "left",
        "model_input_names": ["input_ids", "attention_mask"],
    }
    return {"tokenizer.json": whole, "tokenizer_config.json": settings}


def _mark(name: str, symbols: Sequence[str]) -> str:
    while name in symbols:
        name = f"<{name}>"
    return name
