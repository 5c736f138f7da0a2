"""A folder that another library loads: config.json, model.safetensors, and a tokenizer of the letters.

What is written is compared with the language by the library itself where that is installed, before the folder
appears. Nothing is ever pickled.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from nerode.core import InputError, whole_folder, write_atomically
from nerode.languages import Alphabet, Language
from nerode.models.exports.weights import (
    BEGIN,
    END,
    FIRST,
    SPECIAL,
    Config,
    Weights,
    fla_mamba,
    mamba_ssm,
    mamba_ssm_2,
    transformers_mamba,
    transformers_mamba_2,
    transformers_recurrent_gemma,
)
from nerode.models.folder import dtype_of
from nerode.models.model import Model
from nerode.records import ModelClaim, claims_to_json

Writer = Callable[[Model], tuple[Weights, Config]]

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


def tokenizer(alphabet: Alphabet) -> dict[str, dict[str, Any]]:
    """Returns the files of a tokenizer: one token per letter, the beginning put before each text.

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
        "post_processor": {
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
    from transformers import AutoModelForCausalLM

    with _quiet():
        model: Any = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()
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
    scores: Tensor = model(torch.cat([begin, words + FIRST], dim=1), use_cache=False).logits
    legal = scores > 0
    return torch.cat([legal[..., FIRST:], legal[..., END : END + 1]], dim=-1)


def _words(language: Language) -> Iterator[Tensor]:
    letters = range(len(language.alphabet))
    longest = next(n for n in range(_SHORT, -1, -1) if len(letters) ** n <= 1000)
    yield torch.tensor(list(itertools.product(letters, repeat=longest))).reshape(-1, longest).long()
    random = np.random.default_rng(0)
    yield torch.from_numpy(random.integers(0, len(letters), (_WORDS, _LENGTH)))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps progress bars and advice of the library from the terminal."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()
