"""What a user types, and the language that is meant."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from nerode.core import Budget, BudgetExceeded, FormatError, InputError, PatternError, UnknownName, stream
from nerode.languages.alphabet import Alphabet
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.brackets import Dyck
from nerode.languages.counters import CounterLanguage
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from nerode.languages.formats import FORMATS, write_automaton
from nerode.languages.language import Language, RegularLanguage
from nerode.languages.ngrams import NgramLanguage
from nerode.languages.ngrams.files import write_model
from nerode.languages.ngrams.templates import seed_ngram_language
from nerode.languages.operations import is_equivalent
from nerode.languages.resolve import (
    definition_hash,
    describe_language,
    language_from_description,
    language_hash,
    resolve_language,
)
from tests.strategies import dfas

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
    with pytest.raises(UnknownName, match="`nerode list languages` lists the names"):
        resolve_language("foo-bar")


@pytest.mark.parametrize("text", ["lst", "m1", "ab", "abcdefgh"])
def test_a_bare_word_that_is_no_name_is_no_pattern(text: str) -> None:
    with pytest.raises(UnknownName, match=r"--regex \(in Python regex=True\) reads it as a pattern"):
        resolve_language(text)
    assert resolve_language(text, regex=True).accepts(text)
    assert resolve_language(text, alphabet=sorted(set(text))).accepts(text)


@pytest.mark.parametrize("text", ["(ab)*", "a", "(ab)", "(aa)*", "[ab]&~(a*)", "a{2,5}", "1*"])
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
    with pytest.raises(InputError, match="leave the alphabet out"):
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
    with pytest.raises(InputError, match="leave the alphabet out"):
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


def test_a_folder_means_the_language_in_it_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ab", "net", "parity"):
        (tmp_path / name).mkdir()
    (tmp_path / "net" / "language.json").write_text(
        json.dumps(describe_language(resolve_language("tomita-3")))
    )
    assert resolve_language("net").name == resolve_language("net/").name == "tomita-3"
    with pytest.raises(InputError, match="the folder 'ab' is no language"):
        resolve_language("ab")
    assert resolve_language("parity").name == "parity"
    assert resolve_language("/").accepts("/")
    assert resolve_language(".", alphabet="ab").accepts("a")


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
    long = "(ab)" * 2_500
    assert resolve_language(long).accepts("ab" * 2_500)
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


FORMS = ["parity", "flip-flop", "dyck-2-3", "dyck-2", "anbn", "majority", "ngram-seed"]


def through_json(language: Language) -> Language:
    return language_from_description(json.loads(json.dumps(describe_language(language))))


def renamed(language: Language, name: str = "other") -> Language:
    assert isinstance(language, RegularLanguage | CounterLanguage | Dyck | NgramLanguage)
    return replace(language, name=name, convention="in other words")


def assert_same_behaviour(left: Language, right: Language) -> None:
    assert left.alphabet == right.alphabet
    rng = stream(0, "description", left.name)
    for _ in range(20):
        word = []
        configuration = left.initial()
        for _ in range(12):
            # Mostly legal letters, so that the words do not all die at once.
            legal = sorted(left.legal(configuration).symbols)
            letters = legal if legal and rng.random() < 0.9 else range(len(left.alphabet))
            word.append(int(rng.choice(letters)))
            configuration = left.advance(configuration, word[-1])
        assert left.legal_along(word) == right.legal_along(word)


@pytest.mark.parametrize("name", BESTIARY)
def test_every_named_language_comes_back_whole(name: str) -> None:
    language = find_language(name)
    again = through_json(language)
    assert describe_language(again) == describe_language(language)
    assert type(again) is type(language)
    assert (again.name, again.kind, again.family) == (language.name, language.kind, language.family)
    assert again.parameters == language.parameters
    assert_same_behaviour(language, again)
    assert language_hash(again) == language_hash(language)


@pytest.mark.parametrize("name", FORMS)
def test_languages_of_one_s_own_come_back_too(name: str) -> None:
    language = renamed(find_language(name))
    again = through_json(language)
    assert (again.name, again.convention) == ("other", "in other words")
    assert describe_language(again)["definition"] == describe_language(language)["definition"]
    assert_same_behaviour(language, again)


@given(dfas(max_states=6, max_letters=3))
def test_random_automata_come_back(dfa: Dfa) -> None:
    language = RegularLanguage(name="random", automaton=dfa, convention="a random automaton")
    again = through_json(language)
    assert again == language


@pytest.mark.parametrize("rename", [False, True], ids=["named", "renamed"])
def test_counter_languages_read_from_a_file_draw_all_their_words(rename: bool) -> None:
    rng = stream(0, "description")
    language = find_language("shuffle-2")
    read = through_json(renamed(language) if rename else language)
    words = {word for word in itertools.product(range(4), repeat=4) if language.accepts(word)}
    assert len(words) == 10
    assert {read.sample(4, rng) for _ in range(400)} == words
    with pytest.raises(InputError, match="no word of length 3"):
        read.sample(3, rng)


def test_a_file_is_not_believed_about_its_family() -> None:
    forged = describe_language(find_language("parity")) | {"family": "flip-flop"}
    assert language_from_description(forged).family == "regular"
    forged = describe_language(find_language("parity")) | {"name": "flip-flop", "family": "flip-flop"}
    assert language_from_description(forged).family == "regular"
    forged = describe_language(find_language("majority")) | {"name": "dyck-1", "family": "dyck-1"}
    assert language_from_description(forged).family == "counter"
    forged = describe_language(find_language("dyck-2-3"))
    forged |= {"name": "mine", "parameters": {"k": 1, "depth": 99}}
    assert language_from_description(forged).parameters == {"k": 2, "depth": 3}


@pytest.mark.parametrize("name", FORMS)
def test_the_hash_does_not_depend_on_name_and_convention(name: str) -> None:
    language = find_language(name)
    assert language_hash(renamed(language)) == language_hash(language)


def test_the_hash_is_the_sha_256_of_the_canonical_text() -> None:
    # Written by hand: even number of 1s, keys sorted, no spaces.
    text = '{"accepting":[0],"alphabet":["0","1"],"form":"dfa","start":0,"transitions":[[0,1],[1,0]]}'
    assert language_hash(find_language("parity")) == hashlib.sha256(text.encode()).hexdigest()
    text = '{"depth":null,"form":"brackets","pairs":[["(",")"],["[","]"]]}'
    assert language_hash(find_language("dyck-2")) == hashlib.sha256(text.encode()).hexdigest()


@given(dfas(max_states=4, max_letters=2), dfas(max_states=4, max_letters=2))
def test_languages_have_one_hash_exactly_if_they_are_equal(left: Dfa, right: Dfa) -> None:
    same = left.alphabet == right.alphabet and is_equivalent(left, right)
    hashes = [language_hash(RegularLanguage(name="x", automaton=dfa, convention="")) for dfa in (left, right)]
    assert (hashes[0] == hashes[1]) == same


def test_the_order_of_the_letters_belongs_to_the_language() -> None:
    first = RegularLanguage(
        name="x", convention="", automaton=Dfa.build("ab", {0: {"a": 0}}, start=0, accept=[0])
    )
    second = RegularLanguage(
        name="x", convention="", automaton=Dfa.build("ba", {0: {"a": 0}}, start=0, accept=[0])
    )
    assert first.alphabet == Alphabet(("a", "b"))
    assert language_hash(first) != language_hash(second)


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values that are no lists or objects, and of all lists and objects themselves."""
    yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from leaves(value, (*path, i))


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    data = copy.deepcopy(data)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


@pytest.mark.parametrize("name", ["tomita-3", "anbn", "dyck-2-3"])
def test_the_hash_changes_with_any_entry(name: str) -> None:
    definition = describe_language(find_language(name))["definition"]
    expected = definition_hash(definition)
    places = list(leaves(definition))
    assert len(places) > 8
    for path in places:
        value: Any = definition
        for key in path:
            value = value[key]
        other = value + 1 if type(value) is int else "something else"
        assert definition_hash(changed(definition, path, other)) != expected, path


@pytest.mark.parametrize("name", ["parity", "dyck-2", "anbn"])
def test_odd_values_are_refused_or_read_but_never_crash(name: str) -> None:
    description = describe_language(find_language(name))
    odd: list[Any] = [None, "x", -1, 10**30, 1.5, [], {}, [None], [[1]], {"a": 1}]
    refused = 0
    for path in leaves(description):
        for value in odd:
            try:
                language = language_from_description(changed(description, path, value))
            except InputError:
                refused += 1
            else:
                assert describe_language(language)["definition"]
                language.legal(language.initial())
    assert refused > 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "nerode-dfa"}, "'nerode-dfa' version 1, not 'nerode-language' version 1"),
        ({"version": 2}, "version 2"),
        ({"name": 5}, "texts"),
        ({"convention": None}, "texts"),
        ({"definition": {"form": "grammar"}}, "unknown form 'grammar'.*allowed are dfa, counters"),
        ({"definition": {}}, "not a language: KeyError"),
        ({"definition": None}, "not a language: TypeError"),
    ],
)
def test_errors_say_what_is_wrong(change: dict[str, Any], message: str) -> None:
    description = describe_language(find_language("tomita-3")) | change
    with pytest.raises(InputError, match=message):
        language_from_description(description)


@pytest.mark.parametrize("data", [None, 5, "text", [], {}])
def test_what_is_no_object_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match="not a language"):
        language_from_description(data)


def test_accepting_states_are_states() -> None:
    description = describe_language(find_language("parity"))
    for accepting in ([2], [-1], ["0"]):
        description["definition"]["accepting"] = accepting
        with pytest.raises(InputError):
            language_from_description(description)
