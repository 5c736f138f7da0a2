"""Files of other libraries: config.json, safetensors in one file or several, tokens. Never a pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from nerode.core import FormatError, InputError, read_bytes
from nerode.models.kernels.arguments import dtype_name
from nerode.records import TokenLetters

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
TOKENIZER = "tokenizer.json"

_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
_MAX_JSON = 1 << 27
_FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryFiles:
    """The files of a model of another library, as read.

    Attributes:
        path: the folder or file.
        config: the library's config; empty for a state dict alone.
        weights: the tensors by name.
        tokens: the numbers of tokens by name; empty without a tokenizer.
    """

    path: Path
    config: Mapping[str, Any]
    weights: Mapping[str, Tensor]
    tokens: Mapping[str, int] = field(default_factory=dict)


def longest_input(config: Mapping[str, Any]) -> int | None:
    """Returns the largest number of tokens that a library's config allows; None if it names none."""
    names = ("max_position_embeddings", "n_positions", "context_length")
    limits = (config.get(name) for name in names)
    return min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=None)


def read_library_files(path: Path) -> LibraryFiles:
    """Returns the files of a model of another library.

    Args:
        path: a folder with config.json and model.safetensors, or a safetensors file alone.

    Raises:
        FormatError: if a file is missing, damaged, a pickle, or holds numbers that are not floats.
    """
    if path.suffix.lower() in _PICKLES:
        raise _pickled(path)
    if path.is_file():
        return LibraryFiles(path=path, config={}, weights=_read_weights(path))
    if not path.is_dir():
        fault = "is neither a folder nor a file" if path.exists() else "there is no such folder or file"
        raise FormatError(fault, path=path)
    config = _read_json(path / CONFIG) if (path / CONFIG).exists() else {}
    return LibraryFiles(path=path, config=config, weights=_read_folder(path), tokens=_read_tokens(path))


def _read_folder(path: Path) -> dict[str, Tensor]:
    if (path / INDEX).exists():
        where = _read_json(path / INDEX).get("weight_map")
        if not isinstance(where, dict) or not all(
            isinstance(n, str) and Path(n).name == n for n in where.values()
        ):
            raise FormatError("does not say which file holds which weight", path=path / INDEX)
        found: dict[str, Tensor] = {}
        for name in sorted(set(where.values())):
            found |= _read_weights(path / name)
        return found
    files = [path / WEIGHTS] if (path / WEIGHTS).exists() else sorted(path.glob("*.safetensors"))
    if len(files) == 1:
        return _read_weights(files[0])
    pickles = sorted(p for p in path.iterdir() if p.suffix.lower() in _PICKLES)
    if pickles and not files:
        raise _pickled(pickles[0])
    found_files = f"{len(files)} safetensors files and no {INDEX}" if files else "no safetensors file"
    raise FormatError(f"holds {found_files}; save the model as {WEIGHTS}", path=path)


def _pickled(path: Path) -> FormatError:
    return FormatError(
        "is a pickle, which can run any code when it is read; nerode does not read it. Where you trust it, "
        'convert it: python -c "import torch, safetensors.torch as s; '
        f"s.save_file(torch.load('{path.name}', weights_only=True), '{WEIGHTS}')\"",
        path=path,
    )


def read_state(path: Path) -> dict[str, Tensor]:
    """Returns the tensors of a safetensors file, whatever their types.

    Raises:
        FormatError: if it is missing, a pickle, or no such file.
    """
    if path.suffix.lower() in _PICKLES:
        raise _pickled(path)
    if not path.is_file():
        raise FormatError("is not a file" if path.exists() else "is missing", path=path)
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise FormatError(f"is not a safetensors file: {error}", path=path) from None


def _read_weights(path: Path) -> dict[str, Tensor]:
    tensors = read_state(path)
    for name, tensor in tensors.items():
        if tensor.dtype not in _FLOATS:
            kind = dtype_name(tensor.dtype)
            allowed = ", ".join(dtype_name(d) for d in _FLOATS)
            raise FormatError(
                f"the weight {name} is {kind}; weights of {allowed} are read: save the model unquantised",
                path=path,
            )
    if not tensors:
        raise FormatError("holds no weights", path=path)
    return tensors


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_bytes(path, max_bytes=_MAX_JSON))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=path) from None
    if not isinstance(data, dict):
        raise FormatError("is not a JSON object", path=path)
    return data


def _read_tokens(path: Path) -> dict[str, int]:
    """The tokens of tokenizer.json, of its model and those added to it."""
    if not (path / TOKENIZER).exists():
        return {}
    data = _read_json(path / TOKENIZER)
    model = data.get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    found: dict[str, int] = {}
    if isinstance(vocab, dict):
        found = {name: number for name, number in vocab.items() if isinstance(number, int)}
    elif isinstance(vocab, list):
        found = {row[0]: i for i, row in enumerate(vocab) if isinstance(row, list) and row}
    for row in data.get("added_tokens") or []:
        if isinstance(row, dict) and isinstance(row.get("id"), int) and isinstance(row.get("content"), str):
            found[row["content"]] = row["id"]
    return found


def choose_letters(
    text: str | None,
    *,
    begin: str | None,
    end: str | None,
    files: LibraryFiles,
    vocabulary: int,
    alphabet: tuple[str, ...] | None = None,
) -> TokenLetters:
    """Returns the letters that the user names, or the whole vocabulary.

    Args:
        text: "a=12,b=15", or "a,b" for tokens that the tokenizer knows; None for all tokens.
        begin: the beginning token, by name or number; None for that of the config, "none" for none.
        end: the same for the end.
        files: the files of the model.
        vocabulary: number of tokens.
        alphabet: the letters of the language, whose order is taken; None to take the order of the text.

    Raises:
        InputError: if a letter has no token, or two have the same.
    """
    if text is None:
        by_number = {number: name for name, number in files.tokens.items()}
        names = tuple(by_number.get(i, str(i)) for i in range(vocabulary))
        names = names if len(set(names)) == vocabulary else tuple(map(str, range(vocabulary)))
        if begin or end:
            raise InputError("--begin and --end need --letters, the tokens that are letters")
        if alphabet is not None and len(alphabet) != vocabulary:
            raise InputError(
                f"the language has {len(alphabet)} letters, the model {vocabulary:,} tokens; name the token "
                "of each letter with --letters"
            )
        names = names if alphabet is None else alphabet
        return TokenLetters(alphabet=names, tokens=tuple(range(vocabulary)))
    pairs = [_pair(part.strip(), files, vocabulary) for part in text.split(",")]
    if alphabet is not None:
        if sorted(name for name, _ in pairs) != sorted(alphabet):
            raise InputError(f"the letters {text!r} are not those of the language: {' '.join(alphabet)}")
        pairs.sort(key=lambda pair: alphabet.index(pair[0]))
    names, tokens = tuple(name for name, _ in pairs), tuple(token for _, token in pairs)
    if len(set(names)) < len(names) or len(set(tokens)) < len(tokens):
        raise InputError(f"the letters {text!r} name a letter or a token twice")
    marks = [
        _mark(given, default, files, vocabulary)
        for given, default in ((begin, "bos_token_id"), (end, "eos_token_id"))
    ]
    if set(marks) & set(tokens):
        raise InputError(f"token {next(m for m in marks if m in tokens)} is both a letter and a mark")
    return TokenLetters(alphabet=names, tokens=tokens, begin=marks[0], end=marks[1])


def _pair(part: str, files: LibraryFiles, vocabulary: int) -> tuple[str, int]:
    name, sign, number = part.partition("=")
    if not name:
        raise InputError(f"{part!r} names no letter; write the letters like a=12,b=15")
    return name, _token(number if sign else name, files, vocabulary, as_name=not sign)


def _mark(given: str | None, default: str, files: LibraryFiles, vocabulary: int) -> int | None:
    if given == "none":
        return None
    if given is not None:
        return _token(given, files, vocabulary, as_name=not given.isdecimal())
    number = files.config.get(default)
    return number if isinstance(number, int) and files.tokens and 0 <= number < vocabulary else None


def _token(text: str, files: LibraryFiles, vocabulary: int, *, as_name: bool) -> int:
    if as_name or not text.isdecimal():
        if text not in files.tokens:
            where = f"{TOKENIZER} has no token {text!r}" if files.tokens else f"there is no {TOKENIZER}"
            raise InputError(f"{where}; give the number of the token, as in {text or 'a'}=12")
        return files.tokens[text]
    number = int(text)
    if number >= vocabulary:
        raise InputError(f"token {number} is not one of the vocabulary of {vocabulary:,}")
    return number
