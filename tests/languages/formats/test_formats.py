from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nerode.core import Budget, BudgetExceeded, FormatError, InputError
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from nerode.languages.formats import (
    FORMATS,
    format_of,
    read_automaton,
    read_language,
    write_automaton,
)
from nerode.languages.formats.json_form import dfa_to_json
from tests.languages.formats import parse

DATA = Path(__file__).parent / "data"
SUFFIXES = [suffix for row in FORMATS.values() for suffix in row.suffixes]


def parity(symbols: str = "ba", num_states: int = 2) -> Dfa:
    return Dfa.build(symbols, lambda q, s: (q + (s == "b")) % num_states, start=0, accept=[1])


def test_no_suffix_belongs_to_two_formats() -> None:
    assert len(SUFFIXES) == len(set(SUFFIXES))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_end_of_the_name_decides(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"Some.Name{suffix.upper()}"
    files = write_automaton(parity(), path)
    assert path in files
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert read_automaton(path) == parity()
    language = read_language(str(path))
    assert language.name == "Some.Name"
    assert language.convention == f"words accepted by the automaton in {path.name}"
    assert language.automaton == minimise(parity())


def test_the_symbol_table_lies_beside_an_att_file(tmp_path: Path) -> None:
    files = write_automaton(parity(), tmp_path / "x.fst.txt")
    assert [path.name for path in files] == ["x.fst.txt", "x.syms"]
    assert files[1].read_text() == "<eps>\t0\nb\t1\na\t2\n"
    files[1].unlink()
    assert read_automaton(files[0]).alphabet.symbols == ("a", "b")


@pytest.mark.parametrize("name", ["x.txt", "x", "x.arpa", "json", "x.att.bak"])
def test_other_ends_are_refused_with_the_list(tmp_path: Path, name: str) -> None:
    for action in (read_automaton, read_language, format_of, lambda path: write_automaton(parity(), path)):
        with pytest.raises(InputError, match=r"\.att, \.fst\.txt, \.dot, \.gv, \.jff, \.json"):
            action(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_files_name_the_path(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(FormatError, match=f"x{suffix}: there is no such file"):
        read_automaton(tmp_path / f"x{suffix}")


def test_symbols_belong_to_att_files() -> None:
    with pytest.raises(InputError, match="no symbol table"):
        read_automaton(DATA / "aalpy.dot", symbols=DATA / "five-letters.txt")
    with pytest.raises(FormatError, match=r"none\.syms: there is no such file"):
        read_automaton(DATA / "no-aa-no-first-c.att", symbols=DATA / "none.syms")


def test_an_alphabet_may_be_given_once_for_every_format(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        path = tmp_path / f"x{suffix}"
        write_automaton(parity(), path)
        dfa = read_automaton(path, alphabet=iter("abc"))
        assert dfa.alphabet.symbols == ("a", "b", "c")
        assert dfa.accepts("ab")
        assert not dfa.accepts("abc")
        with pytest.raises(InputError, match="twice"):
            read_automaton(path, alphabet="aab")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("symbol", ["\ufffe", "a\uffff", "a" * 201])
def test_symbols_that_files_cannot_carry_are_refused_before_anything_is_written(
    tmp_path: Path, suffix: str, symbol: str
) -> None:
    dfa = Dfa.build([symbol], lambda q, s: q, start=0, accept=[0])
    with pytest.raises(InputError, match="cannot be written"):
        write_automaton(dfa, tmp_path / f"x{suffix}")
    assert not list(tmp_path.iterdir())


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
    dfa = parse("json", json.dumps(GOOD), path=FILE, alphabet=("c", "b", "a"))
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
        parse("json", json.dumps({**GOOD, **change}), path=FILE)


@pytest.mark.parametrize("key", list(GOOD))
def test_every_key_is_needed(key: str) -> None:
    rest = {name: value for name, value in GOOD.items() if name != key}
    with pytest.raises(FormatError, match=key):
        parse("json", json.dumps(rest), path=FILE)


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
        parse("json", text, path=FILE)
    assert caught.value.line == line


def test_states_count_against_the_budget() -> None:
    with pytest.raises(BudgetExceeded, match="states"):
        parse("json", json.dumps(GOOD), path=FILE, budget=Budget(states=1))
