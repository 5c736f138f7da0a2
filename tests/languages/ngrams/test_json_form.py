from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from nerode.core import FormatError
from nerode.languages.ngrams import (
    model_from_json,
    model_to_json,
    parse_rules,
    read_model,
    seed_ngram_model,
    write_model,
)
from tests.languages.ngrams.counted import model_from_sentences


@pytest.mark.parametrize("pads", [0, 2, 3])
def test_seed_model_round_trip(tmp_path: Path, pads: int) -> None:
    model = seed_ngram_model(pads=pads)
    path = tmp_path / "seed.json"
    write_model(model, path)
    assert read_model(path) == model
    assert json.loads(path.read_text(encoding="utf-8")) == model_to_json(model)


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "é", "x y".replace(" ", "_")]), max_size=4), min_size=1, max_size=5
    ),
    st.integers(1, 3),
    st.booleans(),
)
def test_round_trip(sentences: list[list[str]], order: int, unseen: bool) -> None:
    model = model_from_sentences(sentences, order)
    if unseen:
        alike = Fraction(1, model.end + 1)
        model = replace(model, unseen=tuple((word, alike) for word in range(model.end + 1)))
    assert model_from_json(json.loads(json.dumps(model_to_json(model)))) == model


BASE = model_to_json(parse_rules("a b -> a : 1/2\na b -> $ : 1/2\nb a -> b"))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "nerode-dfa", "format"),
        ("version", 2, "version 2"),
        ("version", None, "version"),
        ("order", "3", "order"),
        ("order", True, "order"),
        ("order", 4, "order 4"),
        ("pads", 1.5, "pads"),
        ("pads", 3, "start marks"),
        ("vocabulary", "ab", "vocabulary"),
        ("vocabulary", ["a", 1], "vocabulary"),
        ("vocabulary", ["a", "a"], "twice"),
        ("vocabulary", ["a", "b", "$"], "end of a word"),
        ("contexts", {}, "contexts"),
        ("contexts", [["a", "b"]], "entry 1"),
        ("contexts", [[["a", "c"], {"$": "1"}]], "'c'"),
        ("contexts", [[["a", ["b"]], {"$": "1"}]], "entry 1"),
        ("contexts", [[["a", "$"], {"$": "1"}]], "outside"),
        ("contexts", [[["a", "b"], {"<s>": "1"}]], "outside"),
        ("contexts", [[["a", "b"], {"$": 1}]], "as text"),
        ("contexts", [[["a", "b"], {"$": "x"}]], "not a probability"),
        ("contexts", [[["a", "b"], {"$": "1/2"}]], "after 'a b' sum to 1/2"),
        ("contexts", [[["a", "b"], {"$": "1"}], [["a", "b"], {"$": "1"}]], "given twice"),
        ("unseen", {"a": "1/3"}, "unseen"),
        ("extra", 1, "extra"),
    ],
)
def test_each_error(key: str, value: Any, message: str) -> None:
    data = copy.deepcopy(BASE)
    model_from_json(data)
    data[key] = value
    with pytest.raises(FormatError, match=message):
        model_from_json(data)


def test_missing_keys_and_other_values() -> None:
    for key in BASE:
        with pytest.raises(FormatError, match=key):
            model_from_json({k: v for k, v in BASE.items() if k != key})
    for data in (None, [], "x", 3):
        with pytest.raises(FormatError, match="format"):
            model_from_json(data)


@pytest.mark.parametrize(
    "text", ["{", "[" * 100_000, '{"format": 1, "format": 1}', '{"a": ' + "9" * 5000 + "}", "\\", "NaN"]
)
def test_files_that_are_not_such_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError):
        read_model(path)


def test_a_word_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    text = json.dumps(BASE)
    assert '{"b": "1"}' in text
    path.write_text(text.replace('{"b": "1"}', '{"b": "1", "b": "1"}'), encoding="utf-8")
    with pytest.raises(FormatError, match="twice"):
        read_model(path)
