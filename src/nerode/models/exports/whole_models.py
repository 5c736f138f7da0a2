"""Whole models in the forms that other libraries load: config.json, model.safetensors, and a tokenizer.

What is written is compared with the language by the library itself where that is installed, before the folder
appears. Nothing is ever pickled.

Tokens are the beginning, the end, and then the letters. The end is embedded as the beginning is, so that what
follows an end is a new word, and padding with it is harmless. The beginning never follows: its score is that
of an illegal letter, read from the place that always holds the unit. Convolutions have four taps.

The maps of names are those of `nerode.models.libraries`. What mamba-ssm (`models/mixer_seq_simple.py`,
`modules/mamba_simple.py`, `modules/mamba2.py`) and fla (`models/mamba`) call their weights was read in their
sources.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from nerode.core import InputError, whole_folder, write_atomically
from nerode.languages import Alphabet, Language
from nerode.models.folder import dtype_of
from nerode.models.libraries.formats import load_causal
from nerode.models.libraries.importing import library_weights
from nerode.models.libraries.library_model import silence_libraries
from nerode.models.lower.published import ALWAYS, LOGIT
from nerode.models.model import Model
from nerode.models.zoo import LayerConfig
from nerode.records import ModelClaim, claims_to_json

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


def transformers_mamba(model: Model, tokens: Model | None = None) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `transformers.MambaForCausalLM`."""
    tokens = tokens or token_model(model)
    config = {
        "architectures": ["MambaForCausalLM"],
        "model_type": "mamba",
        "time_step_rank": tokens.config.layers[0].resolve()[1].rank,
        **_mixers(tokens),
    }
    return library_weights(tokens, config), config


def transformers_mamba_2(model: Model, tokens: Model | None = None) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `transformers.Mamba2ForCausalLM`.

    Heads have one channel, and the library keeps a number per head and pair of positions in a chunk, so that
    chunks are short.
    """
    tokens = tokens or token_model(model)
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


def transformers_recurrent_gemma(model: Model, tokens: Model | None = None) -> tuple[Weights, Config]:
    """Returns the weights and the config.json of `transformers.RecurrentGemmaForCausalLM`.

    The library multiplies the embedding by the root of the width and caps scores at ±30. Its `generate` asks
    a layer of attention for the length that was read. So the last block is one, whose weights are all 0.
    """
    recurrent = tokens or token_model(model)
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


def _taps(weight: Tensor) -> Tensor:
    """The taps of a convolution (channels, four), the oldest first; those that were not there are 0."""
    return torch.cat([weight.new_zeros(len(weight), TAPS - weight.shape[1]), weight], dim=1)


Writer = Callable[..., tuple[Weights, Config]]
"""From a model, and the same over tokens where that is known."""

EXPORT_FORMS: dict[str, dict[str, Writer]] = {
    "huggingface": {
        "mamba": transformers_mamba,
        "mamba-2": transformers_mamba_2,
        "griffin": transformers_recurrent_gemma,
    },
    "mamba-ssm": {"mamba": mamba_ssm, "mamba-2": mamba_ssm_2},
    "fla": {"mamba": fla_mamba},
}
"""For each library, the architectures whose whole models it loads."""

NOTE_FILE = "nerode.json"
NOTE_FORMAT = "nerode-export"

_SHORT, _WORDS, _LENGTH = 4, 2, 200
"""Words that the library's own model is compared on: all up to a length, and some long ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """The outcome of an export.

    Attributes:
        parameters: numbers that were written.
        compared: on what words the library's own model agreed with the language; or why it was not asked.
    """

    parameters: int
    compared: str


def write_export(
    out: Path,
    model: Model,
    language: Language,
    *,
    to: str,
    claims: Sequence[ModelClaim] = (),
) -> ExportReport:
    """Writes a whole model as another library loads it.

    Args:
        out: the folder to write.
        model: of a compiled language, in published surroundings.
        language: what it does; its letters become tokens.
        to: a name of `EXPORT_FORMS`.
        claims: what is known of the model, which goes into nerode.json.

    Raises:
        InputError: if the library does not load such a model, or its own model disagrees with the language.
    """
    architecture = model.config.layers[0].name
    if architecture not in EXPORT_FORMS[to]:
        known = ", ".join(EXPORT_FORMS[to])
        raise InputError(f"{to} loads no model of {architecture} that nerode can write; it can for {known}")
    weights, config = EXPORT_FORMS[to][architecture](model)
    tensors = {name: value.detach().contiguous().clone() for name, value in weights.items()}
    note = {
        "format": NOTE_FORMAT,
        "version": 1,
        "language": language.name,
        "letters": list(language.alphabet.symbols),
        "tokens": {"begin": BEGIN, "end": END, "first letter": FIRST},
        "claims": claims_to_json(claims),
        "about": "The claims are about the module of nerode with these numbers, step by step. The weights "
        "are the same, but for taps of 0 in the convolutions, rows for the beginning and the end, and in "
        "RecurrentGemma a last block of attention whose weights are 0.",
    }
    files = {"config.json": {**config, "dtype": dtype_of(model)}, NOTE_FILE: note}
    if to != "mamba-ssm":
        files |= {"generation_config.json": {"do_sample": True, **SPECIAL}, **tokenizer(language.alphabet)}
    with whole_folder(out) as place:
        write_atomically(place / "model.safetensors", save(tensors, metadata={"format": "pt"}))
        for name, content in files.items():
            text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
            write_atomically(place / name, text)
        compared = _compare(place, language) if to == "huggingface" else "no word: this needs a GPU"
    return ExportReport(parameters=sum(t.numel() for t in tensors.values()), compared=compared)


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


def _compare(folder: Path, language: Language) -> str:
    """The words on which transformers' own model agrees with the language, in words.

    Raises:
        InputError: if it disagrees.
    """
    if importlib.util.find_spec("transformers") is None:
        return "no word: transformers is not installed"
    model = load_causal(folder, dtype="auto")
    with silence_libraries():
        checks = [(words, answers_of(model, words)) for words in _words(language)]
    for words, found in checks:
        for word, row in zip(words.tolist(), found, strict=True):
            expected = [
                [*(a in legal.symbols for a in range(len(language.alphabet))), legal.end]
                for legal in language.legal_along(word)
            ]
            if row.tolist() != expected:
                shown = language.alphabet.decode(word)
                raise InputError(
                    f"transformers' own model disagrees with the language on {shown!r}; nothing was written"
                )
    longest = checks[0][0].shape[1]
    return f"all words up to length {longest} and {_WORDS} of {_LENGTH} letters by transformers' own model"


@torch.no_grad()
def answers_of(model: Any, words: Tensor) -> Tensor:
    """Returns what a model of tokens says after each prefix (words, time + 1, letters + 1)."""
    begin = torch.full((len(words), 1), BEGIN)
    return as_answers(model(torch.cat([begin, words + FIRST], dim=1), use_cache=False).logits)


def as_answers(logits: Tensor) -> Tensor:
    """Returns which letters may follow, and last whether the word may end, by the signs of logits."""
    legal = logits > 0
    return torch.cat([legal[..., FIRST:], legal[..., END : END + 1]], dim=-1)


def _words(language: Language) -> Iterator[Tensor]:
    letters = range(len(language.alphabet))
    longest = next(n for n in range(_SHORT, -1, -1) if len(letters) ** n <= 1000)
    yield torch.tensor(list(itertools.product(letters, repeat=longest))).reshape(-1, longest).long()
    random = np.random.default_rng(0)
    yield torch.from_numpy(random.integers(0, len(letters), (_WORDS, _LENGTH)))
