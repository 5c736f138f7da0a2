"""The JSON form of an exact n-gram model.

    {"format": "nerode-ngram", "version": 1, "order": 3, "pads": 0, "vocabulary": ["a", "b"],
     "unseen": null, "contexts": [[["a", "b"], {"a": "1/3", "$": "2/3"}]]}

Probabilities are text, so that they stay exact; `$` is the end of the sentence and `<s>` a start mark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from nerode.core import FormatError, InputError, read_json, write_atomically
from nerode.languages.alphabet import END, Alphabet
from nerode.languages.ngrams.exact import parse_probability
from nerode.languages.ngrams.model import Distribution, NgramModel
from nerode.languages.ngrams.next_word import BOS, BOS_NAME, Context

FORMAT = "nerode-ngram"
VERSION = 1
MAX_BYTES = 2**30
"""Largest file that is read."""
_KEYS = {"format", "version", "order", "pads", "vocabulary", "unseen", "contexts"}


def model_to_json(model: NgramModel) -> dict[str, Any]:
    """Returns a model as JSON values."""
    names = (*model.vocabulary.symbols, END, BOS_NAME)

    def row(distribution: Distribution) -> dict[str, str]:
        return {names[word]: str(p) for word, p in distribution}

    return {
        "format": FORMAT,
        "version": VERSION,
        "order": model.order,
        "pads": model.pads,
        "vocabulary": list(model.vocabulary),
        "unseen": None if model.unseen is None else row(model.unseen),
        "contexts": [
            [[names[word] for word in context], row(following)] for context, following in model.rows
        ],
    }


def model_from_json(data: object, *, path: Path | str = "<json>") -> NgramModel:
    """Returns the model that `model_to_json` wrote.

    Raises:
        FormatError: if the values are not such a model; the message names the context.
    """
    try:
        return _build(_object(data))
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(str(error), path=path) from None


def read_model(path: Path | str) -> NgramModel:
    """Returns the model of a JSON file."""
    data = read_json(Path(path), max_bytes=MAX_BYTES)
    return model_from_json(data, path=path)


def write_model(model: NgramModel, path: Path | str) -> None:
    """Writes a model as a JSON file, one context a line."""
    data = model_to_json(model)
    contexts = data.pop("contexts")
    head = json.dumps(data, ensure_ascii=False)[:-1]
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in contexts)
    write_atomically(Path(path), f'{head}, "contexts": [\n  {lines}\n]}}\n')


def _object(data: object) -> Mapping[str, Any]:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f'this is not an n-gram model: "format" must be {FORMAT!r}')
    if data.get("version") != VERSION:
        raise InputError(
            f"version {data.get('version')!r} of the format is not known; this nerode reads {VERSION}"
        )
    if data.keys() != _KEYS:
        odd = ", ".join(sorted(map(str, data.keys() ^ _KEYS)))
        raise InputError(f"these keys are missing or unknown: {odd}")
    return data


def _build(data: Mapping[str, Any]) -> NgramModel:
    for key in ("order", "pads"):
        if type(data[key]) is not int:
            raise InputError(f'"{key}" must be a whole number')
    words = data["vocabulary"]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError('"vocabulary" must be a list of words')
    vocabulary = Alphabet(tuple(words))
    numbers = {word: i for i, word in enumerate(words)} | {END: len(words), BOS_NAME: BOS}
    if not isinstance(data["contexts"], list):
        raise InputError('"contexts" must be a list of [context, distribution]')
    table: dict[Context, dict[int, Fraction]] = {}
    for number, row in enumerate(data["contexts"], start=1):
        if not (isinstance(row, list) and len(row) == 2 and isinstance(row[0], list)):
            raise InputError(f"entry {number} of the contexts is not [context, distribution]")
        context = tuple(_number(word, numbers, f"entry {number}") for word in row[0])
        if context in table:
            raise InputError(f"the context {' '.join(row[0])!r} is given twice")
        table[context] = _distribution(row[1], numbers, f"entry {number}")
    unseen = None if data["unseen"] is None else _distribution(data["unseen"], numbers, '"unseen"')
    return NgramModel.from_table(
        order=data["order"], vocabulary=vocabulary, table=table, pads=data["pads"], unseen=unseen
    )


def _distribution(data: object, numbers: Mapping[str, int], where: str) -> dict[int, Fraction]:
    if not isinstance(data, dict) or not all(isinstance(p, str) for p in data.values()):
        raise InputError(
            f'{where}: a distribution is an object {{word: "1/2", …}} with probabilities as text'
        )
    return {_number(word, numbers, where): parse_probability(p) for word, p in data.items()}


def _number(word: object, numbers: Mapping[str, int], where: str) -> int:
    if not isinstance(word, str) or word not in numbers:
        raise InputError(f"{where}: the word {word!r} is not in the vocabulary")
    return numbers[word]
