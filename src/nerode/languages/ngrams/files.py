"""Files of exact n-gram models, `.rules` and `.json`, and the language of any n-gram file.

A rule per line, `w1 w2 w3 -> w4 : 1/7`. The end of the sentence is written `$`, a start mark in a context
`<s>`. The probabilities of one context are exact and sum to 1, or are left out for all its rules, which makes
them equally likely. Blank lines and lines that begin with `#` are skipped. A `*` in a context is any word: a
skip-gram rule. Where several contexts fit, that with the fewest `*` counts, then that with later words.

The JSON form has probabilities as text, so that they stay exact:

    {"format": "nerode-ngram", "version": 1, "order": 3, "pads": 0, "vocabulary": ["a", "b"],
     "unseen": null, "contexts": [[["a", "b"], {"a": "1/3", "$": "2/3"}]]}
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from nerode.core import FormatError, InputError, charge, read_json, read_text, write_atomically
from nerode.languages.alphabet import END, Alphabet
from nerode.languages.ngrams.arpa import read_arpa
from nerode.languages.ngrams.backoff import BackoffModel, find_impossible
from nerode.languages.ngrams.language import NgramLanguage, ngram_language
from nerode.languages.ngrams.model import Distribution, NgramModel
from nerode.languages.ngrams.next_word import BOS, BOS_NAME, Context

# The bounds on digits keep a hostile "1e999999999" from filling the memory.
_FRACTION = re.compile(r"([0-9]{1,4000})/([0-9]{1,4000})")
_DECIMAL = re.compile(r"([0-9]{1,4000}(\.[0-9]{0,4000})?|\.[0-9]{1,4000})([eE][+-]?[0-9]{1,3})?")


def parse_probability(text: str) -> Fraction:
    """Returns the exact value of "1/3", "0.25", "1" or "5e-3".

    Raises:
        InputError: if the text has another form, or the value is outside 0 … 1.
    """
    fraction = _FRACTION.fullmatch(text)
    if fraction and int(fraction[2]) != 0:
        value = Fraction(int(fraction[1]), int(fraction[2]))
    elif _DECIMAL.fullmatch(text):
        value = Fraction(text)
    else:
        shown = text if len(text) <= 40 else text[:37] + "…"
        raise InputError(f"{shown!r} is not a probability; write a fraction (1/3) or a decimal (0.25)")
    if value > 1:
        raise InputError(f"the probability {text[:40]} is above 1")
    return value


_FORM = "Write: w1 w2 w3 -> w4 : 1/7"

ANY_WORD = "*"
"""Any word of the vocabulary, in a context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a file: after `context` comes `word`, with a probability or without."""

    line: int
    context: tuple[str, ...]
    word: str
    probability: Fraction | None


def read_rules(path: Path | str) -> NgramModel:
    """Returns the model of a file of rules."""
    return parse_rules(read_text(Path(path)), path=path)


def parse_rules(text: str, *, path: Path | str = "<rules>") -> NgramModel:
    """Returns the model of rules, one per line.

    Raises:
        FormatError: with the line: a rule of another form, contexts of different lengths, a rule given
            twice, a misplaced start mark, probabilities of a context that do not sum to 1.
    """
    rules = list(_parse_lines(text.split("\n"), path))
    if not rules:
        raise FormatError("there is no rule", path=path, hint=_FORM)
    length = len(rules[0].context)
    by_context: dict[tuple[str, ...], list[Rule]] = {}
    for rule in rules:
        if len(rule.context) != length:
            raise FormatError(
                f"the rule has {len(rule.context)} words before the arrow, but the first rule has {length}",
                path=path,
                line=rule.line,
                hint="All contexts of a model have the same number of words",
            )
        by_context.setdefault(rule.context, []).append(rule)
    vocabulary = _vocabulary(rules, path)
    numbers = {BOS_NAME: BOS, END: len(vocabulary)} | {word: i for i, word in enumerate(vocabulary)}
    table: dict[Context, dict[int, Fraction]] = {}
    for context in sorted(by_context, key=_openness):
        shares = {numbers[word]: p for word, p in _probabilities(by_context[context], path).items()}
        for words in itertools.product(*(vocabulary if w == ANY_WORD else (w,) for w in context)):
            charge()
            table.setdefault(tuple(numbers[word] for word in words), shares)
    pads = max(context.count(BOS_NAME) for context in by_context)
    return NgramModel.from_table(order=length + 1, vocabulary=vocabulary, table=table, pads=pads)


def _openness(context: tuple[str, ...]) -> tuple[int, list[bool]]:
    """Orders contexts with more named words first, then those whose named words come later."""
    return context.count(ANY_WORD), [word == ANY_WORD for word in reversed(context)]


def _parse_lines(lines: Iterable[str], path: Path | str) -> Iterable[Rule]:
    for number, line in enumerate(lines, start=1):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        probability: Fraction | None = None
        if len(parts) >= 4 and parts[-4] == "->" and parts[-2] == ":":
            try:
                probability = parse_probability(parts[-1])
            except InputError as error:
                raise FormatError(str(error), path=path, line=number) from None
            parts = parts[:-2]
        if len(parts) < 2 or parts[-2] != "->":
            raise FormatError("this is not a rule", path=path, line=number, hint=_FORM)
        context, word = tuple(parts[:-2]), parts[-1]
        _check_marks(context, word, path, number)
        yield Rule(line=number, context=context, word=word, probability=probability)


def _check_marks(context: tuple[str, ...], word: str, path: Path | str, line: int) -> None:
    if END in context:
        raise FormatError(f"nothing follows the end {END!r}", path=path, line=line)
    if word == ANY_WORD:
        raise FormatError(
            f"{ANY_WORD!r} stands for any word, so it stands only in a context", path=path, line=line
        )
    if word == BOS_NAME or BOS_NAME in context[context.count(BOS_NAME) :]:
        raise FormatError(
            f"a start mark {BOS_NAME} stands only at the beginning of a context", path=path, line=line
        )


def _vocabulary(rules: list[Rule], path: Path | str) -> Alphabet:
    words = {word for rule in rules for word in (*rule.context, rule.word)} - {BOS_NAME, END, ANY_WORD}
    try:
        return Alphabet.of(words)
    except InputError as error:
        raise FormatError(str(error), path=path) from None


def _probabilities(group: list[Rule], path: Path | str) -> dict[str, Fraction]:
    """Returns the distribution that the rules of one context give."""
    context = " ".join(group[0].context) or "the empty context"
    found: dict[str, Fraction] = {}
    for rule in group:
        if (rule.probability is None) != (group[0].probability is None):
            raise FormatError(
                f"some rules of {context!r} have a probability and some have none",
                path=path,
                line=rule.line,
                hint="Give all of them one, or none of them to make them equally likely",
            )
        if rule.word in found:
            raise FormatError(
                f"the rule {context!r} -> {rule.word!r} is given twice", path=path, line=rule.line
            )
        found[rule.word] = Fraction(1, len(group)) if rule.probability is None else rule.probability
    total = sum(found.values())
    if total != 1:
        raise FormatError(
            f"the probabilities after {context!r} sum to {total}, not to 1",
            path=path,
            line=group[-1].line,
            hint="Write fractions (1/3, not 0.333) so that they sum exactly",
        )
    return found


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
    """Writes a model as a JSON file, one context per line."""
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


def read_ngram_language(path: Path | str, *, require_unknown: bool = False) -> NgramLanguage:
    """Returns the language of the model in a file: `.arpa`, `.json` (nerode-ngram) or `.rules`.

    A model that does not say how sentences begin may begin with any of its contexts.

    Args:
        path: the file.
        require_unknown: whether an ARPA file without <unk> is refused.

    Raises:
        FormatError: with the path, and the line where there is one, for a file that is not as its format has
            it, or an ARPA file whose back-off weights give a word a probability above 1.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".arpa":
        model = read_arpa(path, require_unknown=require_unknown)
        _refuse_impossible(model, path)
        return NgramLanguage(
            name=path.stem,
            model=model,
            convention="the sentences of positive probability under a back-off model",
        )
    if ending == ".json":
        return ngram_language(read_model(path), name=path.stem)
    if ending == ".rules":
        return ngram_language(read_rules(path), name=path.stem)
    raise InputError(f"{path}: {ending or 'no ending'} is no n-gram file; give .arpa, .json or .rules")


def _refuse_impossible(model: BackoffModel, path: Path) -> None:
    found = find_impossible(model)
    if found is not None:
        context, word, probability = found
        raise FormatError(
            f"the back-off weight of {model.show(context)!r} gives {model.show([word])!r} a probability of "
            f"{probability:.4g}, above 1",
            path=path,
            hint="Back-off weights spread what the n-grams of a context leave over; recompute them",
        )
