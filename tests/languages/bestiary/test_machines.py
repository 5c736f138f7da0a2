"""Names of languages: families with numbers, unknown names, and names of what is too large."""

from __future__ import annotations

import pytest

from nerode.core import Budget, BudgetExceeded, InputError, UnknownName
from nerode.languages.bestiary import BESTIARY, find_language, lookup_language, suite
from nerode.languages.bestiary.machines import PATTERNS, NamePattern
from nerode.languages.language import Language


@pytest.mark.parametrize(
    ("name", "states", "family"),
    [
        ("dyck-3-4", 122, "bounded-dyck"),
        ("DYCK-2", None, "dyck"),
        ("dyck-1", None, "dyck-1"),
        ("dyck-1-7", 9, "bounded-dyck"),
        ("d-100", 102, "bounded-dyck"),
        ("shuffle-3", None, "shuffle-dyck"),
        ("boolean-4", None, "boolean-expression"),
        ("offset-counting-30", 32, "offset-counting"),
        ("last-but-3", 16, "regular"),
        ("contains-abc", 4, "regular"),
        ("subsequence-ab", 3, "regular"),
        ("S3", 6, "group-word-problem"),
        ("a4XZ5", 60, "group-word-problem"),
        ("D5", 10, "group-word-problem"),
        ("S4:Generators", 24, "group-word-problem"),
        ("flip-flop-monoid", 2, "monoid-word-problem"),
        ("T4:generators", 4, "monoid-word-problem"),
    ],
)
def test_names_with_numbers_are_read(name: str, states: int | None, family: str) -> None:
    language = find_language(f"  {name} ")
    assert language.num_states() == states
    assert language.family == family
    again = lookup_language(language.name)
    assert again is not None
    assert again.name == language.name


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.example)
def test_example_of_each_pattern_is_read_by_it(pattern: NamePattern) -> None:
    example = pattern.example
    language = pattern.read(example.lower(), None)
    assert isinstance(language, Language)
    assert pattern.meaning
    assert find_language(example).name == language.name


def test_rows_and_patterns_agree_where_both_apply() -> None:
    compared = 0
    for name, row in BESTIARY.items():
        for pattern in PATTERNS:
            made = pattern.read(name, None)
            if made is None:
                continue
            compared += 1
            language = row.language()
            assert (made.name, made.alphabet, made.regular) == (
                language.name,
                language.alphabet,
                language.regular,
            )
            if language.regular and (language.num_states() or 0) < 600:
                assert made.dfa() == language.dfa()
    assert compared > 25


def test_unknown_names_get_the_nearest() -> None:
    assert lookup_language("no such language") is None
    assert lookup_language("(aa)*") is None
    assert lookup_language("") is None
    with pytest.raises(UnknownName) as unknown:
        find_language("tomita-8")
    assert "tomita-7" in unknown.value.nearest
    with pytest.raises(UnknownName, match="unknown language"):
        find_language("no such language")
    with pytest.raises(UnknownName, match="unknown suite"):
        suite("no-such-suite")


@pytest.mark.parametrize(
    "name",
    [
        "dyck-0",
        "dyck-2-0",
        "shuffle-5000",
        "boolean-1",
        "boolean-99",
        "offset-counting-0",
        "Z1",
        "T3xZ2",
        "d-0",
    ],
)
def test_numbers_out_of_range_are_errors_not_unknown_names(name: str) -> None:
    with pytest.raises(InputError) as refused:
        lookup_language(name)
    assert not isinstance(refused.value, UnknownName)


@pytest.mark.parametrize(
    "name", ["last-but-40", "last-but-999999999", "offset-counting-999999", "S9", "Z30000"]
)
def test_names_of_large_automata_are_refused(name: str) -> None:
    with pytest.raises(BudgetExceeded) as refused:
        lookup_language(name)
    assert refused.value.resource in ("states", "elements")
    assert refused.value.known_so_far


def test_budget_reaches_the_builders() -> None:
    with pytest.raises(BudgetExceeded):
        find_language("S4", Budget(states=10))
    with pytest.raises(BudgetExceeded):
        find_language("offset-counting-30", Budget(states=10))
