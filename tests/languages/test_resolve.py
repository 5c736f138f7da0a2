"""What a user types, and the language that is meant."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nerode.core import Budget, BudgetExceeded, FormatError, InputError, PatternError, UnknownName
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.description import describe_language
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from nerode.languages.formats import FORMATS, write_automaton
from nerode.languages.language import Language
from nerode.languages.ngrams.files import write_model
from nerode.languages.ngrams.templates import seed_ngram_language
from nerode.languages.operations import is_equivalent
from nerode.languages.resolve import resolve_language

EVEN = Dfa.build("ab", lambda q, a: q ^ (a == "a"), start=False, accept=[False])
SUFFIXES = [suffix for row in FORMATS.values() for suffix in row.suffixes]

ARPA = """\\data\\
ngram 1=4
ngram 2=3

\\1-grams:
-99 <s> 0
-0.30103 a 0
-0.30103 </s>
-99 <unk>

\\2-grams:
0 <s> a
-0.30103 a a
-0.30103 a </s>

\\end\\
"""


@pytest.mark.parametrize("name", BESTIARY)
def test_every_name_is_a_language(name: str) -> None:
    expected = find_language(name)
    for written in (name, name.upper(), f" {name} "):
        found = resolve_language(written)
        assert found.name == expected.name
        assert found.alphabet == expected.alphabet


@pytest.mark.parametrize("name", ["A4xZ5", "S4:generators", "dyck-3-4", "contains-aab", "last-but-2"])
def test_names_by_pattern_are_languages(name: str) -> None:
    assert resolve_language(name).name == name


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("tomita-9", "tomita-7"),
        ("pariti", "parity"),
        ("flipflop", "flip-flop"),
        ("flip_flop", "flip-flop"),
        ("TOMITA_3", "tomita-3"),
        ("dyk-1", "dyck-1"),
        ("majorty", "majority"),
    ],
)
def test_a_misspelt_name_is_not_a_pattern_of_letters(text: str, nearest: str) -> None:
    with pytest.raises(UnknownName) as unknown:
        resolve_language(text)
    assert nearest in unknown.value.nearest
    assert "--regex" in str(unknown.value)
    assert resolve_language(text, regex=True).accepts(text)


def test_a_name_without_a_neighbour_says_where_the_names_are() -> None:
    with pytest.raises(UnknownName, match="`nerode languages` lists the names"):
        resolve_language("foo-bar")


@pytest.mark.parametrize("text", ["(ab)*", "a", "ab", "abcdefgh", "(aa)*", "[ab]&~(a*)", "a{2,5}", "1*"])
def test_other_texts_are_patterns(text: str) -> None:
    found = resolve_language(text)
    assert found.name == text
    assert found.dfa() == resolve_language(text, regex=True).dfa()


def test_a_name_can_be_forced_to_be_a_pattern() -> None:
    assert resolve_language("first").accepts("10")
    forced = resolve_language("first", regex=True)
    assert forced.accepts("first")
    assert not forced.accepts("firs")
    assert resolve_language("d-2", regex=True).accepts("d-2")


def test_formulas() -> None:
    found = resolve_language("H (b -> Y a)", ltl=True)
    assert found.accepts("aab")
    assert not found.accepts("b")
    assert not found.accepts("abb")
    with pytest.raises(PatternError):
        resolve_language("H (b -> Y", ltl=True)


def test_alphabets_of_patterns_and_formulas() -> None:
    assert resolve_language("a*", alphabet="ab").alphabet.symbols == ("a", "b")
    assert resolve_language("O a", alphabet="ba", ltl=True).alphabet.symbols == ("b", "a")
    assert resolve_language("<push>*", alphabet=["push", "pop"]).accepts("push push")
    with pytest.raises(InputError, match="occurs twice"):
        resolve_language("a*", alphabet="aa")
    with pytest.raises(InputError, match="b"):
        resolve_language("(ab)*", alphabet="ac")


def test_named_languages_have_their_own_alphabet() -> None:
    with pytest.raises(InputError, match="leave --alphabet out"):
        resolve_language("parity", alphabet="01")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("change", [str, str.upper], ids=["lower", "upper"])
def test_automata_are_read_from_files_of_every_format(
    tmp_path: Path, suffix: str, change: Callable[[str], str]
) -> None:
    path = tmp_path / f"even{change(suffix)}"
    write_automaton(EVEN, path)
    found = resolve_language(str(path))
    assert found.name == "even"
    assert is_equivalent(found.dfa(), EVEN)
    wider = resolve_language(str(path), alphabet="abc")
    assert wider.alphabet.symbols == ("a", "b", "c")
    assert not wider.accepts("c")


def test_n_gram_models_are_read_from_files(tmp_path: Path) -> None:
    seed = seed_ngram_language()
    write_model(seed.model, tmp_path / "seed.json")
    found = resolve_language(str(tmp_path / "seed.json"))
    assert found.kind == "n-gram"
    assert found.dfa() == seed.dfa()
    (tmp_path / "tiny.arpa").write_text(ARPA)
    assert resolve_language(str(tmp_path / "tiny.arpa")).accepts("a a a")
    (tmp_path / "tiny.rules").write_text("a -> b : 1\nb -> $ : 1\n")
    assert resolve_language(str(tmp_path / "tiny.rules")).kind == "n-gram"
    with pytest.raises(InputError, match="leave --alphabet out"):
        resolve_language(str(tmp_path / "tiny.arpa"), alphabet="ab")


def test_what_a_json_file_is_does_not_depend_on_the_order_of_its_keys(tmp_path: Path) -> None:
    seed = seed_ngram_language()
    write_model(seed.model, tmp_path / "seed.json")
    data = json.loads((tmp_path / "seed.json").read_text())
    turned = dict(reversed(data.items()))
    (tmp_path / "turned.json").write_text(json.dumps(turned))
    assert resolve_language(str(tmp_path / "turned.json")).kind == "n-gram"


@pytest.mark.parametrize("name", ["parity", "dyck-8-10", "anbn", "shuffle-2", "ngram-seed"])
@pytest.mark.parametrize("sort_keys", [True, False])
def test_descriptions_beside_networks_are_read(tmp_path: Path, name: str, sort_keys: bool) -> None:
    expected = find_language(name)
    path = tmp_path / "language.json"
    path.write_text(json.dumps(describe_language(expected), sort_keys=sort_keys))
    found = resolve_language(str(path))
    assert (found.name, found.kind, found.alphabet) == (expected.name, expected.kind, expected.alphabet)
    assert found.legal(found.initial()) == expected.legal(expected.initial())


def test_a_broken_description_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "language.json"
    path.write_text(json.dumps({"format": "nerode-language", "version": 1}))
    with pytest.raises(FormatError, match=r"language\.json: this is not a language"):
        resolve_language(str(path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.att", b"", "empty"),
        ("x.att", b"0 1 a\n1\n\xff\n", "line 3.*UTF-8"),
        ("x.json", b"{", "not JSON"),
        ("x.json", b"[" * 100_000, "nested"),
        ("x.json", b"[1]", "no automaton"),
        ("x.json", b'{"format": "nerode-ngram"}', "version None"),
        ("x.json", b'{"format": ["nerode-ngram"]}', "no automaton"),
        ("x.jff", b"\x00\x01", "x.jff"),
        ("x.arpa", b"nothing", "x.arpa"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        resolve_language(str(path))


def test_missing_files_are_not_patterns(tmp_path: Path) -> None:
    for name in ("missing.att", "missing.JSON", "missing.arpa", "missing.rules"):
        with pytest.raises(FormatError, match="no such file"):
            resolve_language(str(tmp_path / name))
    with pytest.raises(FormatError, match="no such file"):
        resolve_language("missing.att")


def test_a_folder_or_a_device_under_a_path_is_not_a_pattern(tmp_path: Path) -> None:
    for path in (str(tmp_path), f"{tmp_path}/", "/dev/null"):
        with pytest.raises(InputError, match=r"is no language: files end in .*\.arpa.*--regex"):
            resolve_language(path)
    (tmp_path / "folder.att").mkdir()
    with pytest.raises(FormatError, match="directory"):
        resolve_language(str(tmp_path / "folder.att"))


def test_a_word_that_happens_to_be_a_folder_is_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ab").mkdir()
    (tmp_path / "parity").write_text("a file without an ending")
    assert resolve_language("ab").accepts("ab")
    assert resolve_language("parity").name == "parity"
    assert resolve_language("/").accepts("/")


def test_a_file_with_another_ending_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("a")
    with pytest.raises(InputError, match=r"the file 'notes\.txt' is no language"):
        resolve_language("notes.txt")
    assert resolve_language("notes.txt", regex=True).accepts("notesxtxt")
    # The same text without the file: a wildcard between letters.
    assert resolve_language("nodes.txt").accepts("nodesxtxt")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that not even root can read")
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    os.symlink("/proc/self/mem", tmp_path / "mem.att")
    with pytest.raises(FormatError, match=r"mem\.att: the file cannot be read"):
        resolve_language(str(tmp_path / "mem.att"))


def test_a_link_in_a_circle_is_named(tmp_path: Path) -> None:
    os.symlink(tmp_path / "loop.att", tmp_path / "loop.att")
    with pytest.raises(FormatError, match="loop"):
        resolve_language(str(tmp_path / "loop.att"))


@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_nothing_is_no_language(text: str) -> None:
    with pytest.raises(PatternError, match="empty"):
        resolve_language(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\0b", "cannot be printed"),
        ("\x1b[31m", "column"),
        ("\udcff", "not UTF-8"),
        ("tomita-\udc80", "not UTF-8"),
        ("a" * 300 + ".att", "att: "),
        ("(" * 100_000, "column"),
    ],
)
def test_odd_texts_are_refused_in_a_few_words(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        resolve_language(text)
    assert len(str(refused.value)) < 1000


def test_long_texts_are_patterns_within_the_budget() -> None:
    long = "ab" * 5_000
    assert resolve_language(long).accepts(long)
    with pytest.raises(BudgetExceeded):
        resolve_language(long, budget=Budget(states=100))
    with pytest.raises(BudgetExceeded):
        resolve_language("last-but-30", budget=Budget(states=100))


def test_the_language_of_a_text_is_minimal() -> None:
    found: Language = resolve_language("(a|b)*a|a")
    assert found.dfa() == minimise(found.dfa())


def test_unknown_letters_of_a_group_are_no_pattern() -> None:
    with pytest.raises(UnknownName, match="There are generators"):
        resolve_language("S3:swaps")
    with pytest.raises(UnknownName, match="did you mean generators"):
        resolve_language("S3:generator")
    assert resolve_language("S3:swaps", regex=True).alphabet.symbols == ("3", ":", "S", "a", "p", "s", "w")
    assert resolve_language("a:b").regular
