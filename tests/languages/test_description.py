"""Languages as JSON: nothing is lost, nothing is believed, and one language has one hash."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from nerode.core import InputError, stream
from nerode.languages.alphabet import Alphabet
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.brackets import Dyck
from nerode.languages.counters import CounterLanguage
from nerode.languages.description import (
    definition_hash,
    describe_language,
    language_from_description,
    language_hash,
)
from nerode.languages.dfa import Dfa
from nerode.languages.language import Language, RegularLanguage
from nerode.languages.ngrams import NgramLanguage
from nerode.languages.operations import is_equivalent
from tests.strategies import dfas

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


def test_named_languages_read_from_a_file_can_be_sampled_and_others_say_that_they_cannot() -> None:
    rng = stream(0, "description")
    language = find_language("shuffle-2")
    assert language.accepts(through_json(language).sample(10, rng))
    with pytest.raises(InputError, match="does not say how to sample"):
        through_json(renamed(language)).sample(10, rng)


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
