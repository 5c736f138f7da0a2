from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nerode.core import Budget, BudgetExceeded, FormatError
from nerode.languages.dfa import Dfa
from nerode.languages.formats.json_format import dfa_from_json, dfa_to_json
from nerode.languages.formats.table import read_automaton

DATA = Path(__file__).parent / "data"
FILE = Path("x.json")
GOOD: dict[str, Any] = {
    "format": "nerode-dfa",
    "version": 1,
    "alphabet": ["a", "b"],
    "start": 0,
    "accepting": [1],
    "transitions": [[0, 1], [1, 0]],
}


def test_a_file() -> None:
    dfa = read_automaton(DATA / "odd-b.json")
    assert dfa.alphabet.symbols == ("b", "a")
    for word, expected in [("", False), ("ab", True), ("bb", False), ("aba", True)]:
        assert dfa.accepts(word) is expected, word


def test_the_text_is_the_golden_file() -> None:
    dfa = Dfa.build("ba", lambda q, s: (q + (s == "b")) % 2, start=0, accept=[1])
    assert dfa_to_json(dfa) == (DATA / "odd-b.json").read_text()


def test_a_given_alphabet_reorders_and_adds() -> None:
    dfa = dfa_from_json(json.dumps(GOOD), path=FILE, alphabet=("c", "b", "a"))
    assert dfa.transitions.tolist() == [[2, 1, 0], [2, 0, 1], [2, 2, 2]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "no automaton of nerode"),
        ({"version": 2}, "the version is 2, and 1 is the one that is read"),
        ({"version": True}, "the version is true"),
        ({"version": 1.0}, r"the version is 1\.0"),
        ({"version": None}, "the version is null"),
        ({"alphabet": "ab"}, 'alphabet is "ab", not a list'),
        ({"alphabet": ["a", 1]}, r"alphabet\[1\] is 1, not a string"),
        ({"alphabet": ["a", "a"]}, r'alphabet\[1\] is "a" again'),
        ({"alphabet": ["a", "b c"]}, "'b c' cannot be a symbol: it has white space"),
        ({"alphabet": ["a", "$"]}, "end of a word"),
        ({"alphabet": ["a", ""]}, "it is empty"),
        ({"alphabet": ["a", "\ud800"]}, "half a character"),
        ({"start": 2}, "start is 2, outside the states 0…1"),
        ({"start": True}, "start is true, not a state"),
        ({"start": [0]}, "start is a list, not a state"),
        ({"accepting": 1}, "accepting is 1, not a list"),
        ({"accepting": [0, -1]}, r"accepting\[1\] is -1, outside"),
        ({"accepting": [[]]}, r"accepting\[0\] is a list, not a state"),
        ({"accepting": [1, 1]}, "accepting has a state twice"),
        ({"transitions": []}, "at least one state"),
        ({"transitions": {}}, "transitions is an object, not a list"),
        ({"transitions": [[0, 1], 3]}, r"transitions\[1\] is 3, not a list"),
        ({"transitions": [[0, 1], [1]]}, r"transitions\[1\] has 1 entries for 2 letters"),
        ({"transitions": [[0, 1], [1, 9]]}, r"transitions\[1\]\[1\] is 9, outside the states 0…1"),
        ({"transitions": [[0, 1], [1, None]]}, r"transitions\[1\]\[1\] is null, not a state"),
        ({"transitions": [[0, 1], [1, 0.0]]}, r"transitions\[1\]\[1\] is 0.0, not a state"),
        ({"acepting": [1]}, r"unknown key 'acepting'. Did you mean accepting\?"),
        ({"zzz": 1}, "The keys are format, version"),
    ],
)
def test_values_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        dfa_from_json(json.dumps({**GOOD, **change}), path=FILE)


@pytest.mark.parametrize("key", list(GOOD))
def test_every_key_is_needed(key: str) -> None:
    rest = {name: value for name, value in GOOD.items() if name != key}
    with pytest.raises(FormatError, match=key):
        dfa_from_json(json.dumps(rest), path=FILE)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"format":\n 1,}', 2, "this is not JSON"),
        ('{"start": 0, "start": 1}', 1, "'start' is there twice"),
        ('{"start": NaN}', 1, "NaN is no number"),
        ('{"start": ' + "9" * 5000 + "}", 1, "is too long"),
        ("[" * 200_000, 1, "nested too deeply"),
        ("[]", None, "no automaton of nerode"),
        ("{} {}", 1, "this is not JSON"),
    ],
)
def test_texts_that_are_no_documents(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        dfa_from_json(text, path=FILE)
    assert caught.value.line == line


def test_states_count_against_the_budget() -> None:
    with pytest.raises(BudgetExceeded, match="states"):
        dfa_from_json(json.dumps(GOOD), path=FILE, budget=Budget(states=1))
