"""Counter machines and their languages against definitions written out here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from nerode.core import InputError, stream
from nerode.languages.alphabet import Alphabet
from nerode.languages.counters import (
    START,
    CounterLanguage,
    CounterMachine,
    CounterRule,
    boolean_expressions,
    counting_blocks,
    majority,
)
from nerode.languages.sampling.counters import first_return
from tests.languages.brute_force import assert_language_is, members_of_length

ARITY = {"~": 1, "+": 2, ">": 3, "*": 4, "^": 5}


def is_expression(word: Sequence[str]) -> bool:
    """Reads from the right with a stack of finished expressions: no counter from the left."""
    finished = 0
    for symbol in reversed(word):
        if symbol in ARITY:
            if finished < ARITY[symbol]:
                return False
            finished -= ARITY[symbol]
        finished += 1
    return finished == 1


def is_blocks(word: Sequence[str], letters: str) -> bool:
    n = len(word) // len(letters)
    return n >= 1 and "".join(word) == "".join(letter * n for letter in letters)


def assert_uniform(language: CounterLanguage, length: int, *, draws: int = 4000) -> None:
    rng = stream(0, "test", language.name, length)
    members = members_of_length(language, length)
    counts = Counter(language.sample(length, rng) for _ in range(draws))
    assert set(counts) <= members
    observed = [counts[word] for word in sorted(members)]
    assert stats.chisquare(observed).pvalue > 1e-4


@pytest.mark.parametrize(("arity", "longest", "prefixes"), [(2, 7, 2), (3, 7, 1), (5, 6, 0)])
def test_boolean_expressions(arity: int, longest: int, prefixes: int) -> None:
    language = boolean_expressions(arity)
    assert language.alphabet.symbols == (*"~+>*^"[:arity], "0", "1")
    # After n symbols at most 1 + (arity - 1)·n operands are missing.
    assert longest >= (prefixes + 1) + 1 + (arity - 1) * (prefixes + 1)
    assert_language_is(language, is_expression, longest=longest, prefixes=prefixes)


def test_boolean_expressions_after_long_prefixes() -> None:
    language = boolean_expressions(5)
    legal = language.legal_along("^0*1+00~")
    assert [step.end for step in legal] == [False] * 9
    assert all(step.symbols == set(range(7)) for step in legal)
    done = language.legal_along("+0~1")[-1]
    assert done.end
    assert not done.symbols
    assert not language.legal_along("+0~10")[-1].end
    assert language.accepts("^00000")
    assert not language.accepts("^0000")


@pytest.mark.parametrize("letters", [2, 3, 4])
def test_blocks(letters: int) -> None:
    language = counting_blocks(letters)
    symbols = "abcd"[:letters]
    longest = {2: 10, 3: 9, 4: 8}[letters]
    # aⁿ asks for letters·n symbols, so prefixes of that many over letters can be compared.
    prefixes = longest // letters - 1
    assert_language_is(language, lambda w: is_blocks(w, symbols), longest=longest, prefixes=prefixes)
    assert language.name == {2: "anbn", 3: "anbncn", 4: "anbncndn"}[letters]


@pytest.mark.parametrize("letters", [2, 3, 4])
def test_blocks_step_by_step(letters: int) -> None:
    language = counting_blocks(letters)
    symbols = "abcd"[:letters]
    word = "".join(symbol * 5 for symbol in symbols)
    names = [legal.names(language.alphabet) for legal in language.legal_along(word)]
    expected = [["a"]] + [["a", "b"]] * 5
    for i in range(1, letters):
        following = [symbols[i + 1]] if i + 1 < letters else ["$"]
        expected += [[symbols[i]]] * 4 + [following]
    assert names == expected


def test_majority() -> None:
    assert_language_is(majority(), lambda w: w.count("1") > w.count("0"), longest=9, prefixes=3)


def test_counters_count_far() -> None:
    n = 5_000
    assert counting_blocks(3).accepts("a" * n + "b" * n + "c" * n)
    assert not counting_blocks(3).accepts("a" * n + "b" * n + "c" * (n - 1))
    assert boolean_expressions(2).accepts("+" * n + "0" * (n + 1))


def test_a_dead_configuration_stays_dead() -> None:
    language = counting_blocks(2)
    dead = language.advance(language.initial(), 1)
    assert dead is None
    assert language.advance(dead, 0) is None
    assert language.legal(dead).symbols == frozenset()
    assert not language.legal(dead).end


def test_the_machine_is_small_and_exposed() -> None:
    machine = counting_blocks(3).machine
    assert machine.num_counters == 2
    assert machine.reads_last
    assert machine.start == (0, 0)
    assert machine.increments == ((1, 0), (-1, 1), (0, -1))
    boolean = boolean_expressions(3).machine
    assert boolean.start == (1,)
    assert boolean.increments == ((0,), (1,), (2,), (-1,), (-1,))
    assert not boolean.reads_last
    # A machine that does not look at the last letter does not keep it.
    language = boolean_expressions(3)
    assert language.advance(language.initial(), 0) == language.initial() == (START, (1,))


def test_counter_languages_say_what_they_are() -> None:
    language = counting_blocks(4)
    assert (language.kind, language.regular, language.num_states()) == ("counter", False, None)
    assert (language.family, language.parameters) == ("counting-blocks", {"letters": 4})
    assert boolean_expressions(5).family == "boolean-expression"
    assert boolean_expressions(5).parameters == {"arity": 5}
    with pytest.raises(InputError, match="anbncndn is not regular"):
        language.dfa()
    assert counting_blocks(2) == counting_blocks(2)
    assert len({counting_blocks(2), counting_blocks(2), counting_blocks(3)}) == 2


@pytest.mark.parametrize(("arity", "length"), [(2, 5), (2, 6), (3, 5), (5, 4)])
def test_expressions_are_sampled_uniformly(arity: int, length: int) -> None:
    assert_uniform(boolean_expressions(arity), length)


@pytest.mark.parametrize("length", [3, 5, 6])
def test_majority_is_sampled_uniformly(length: int) -> None:
    assert_uniform(majority(), length)


@pytest.mark.parametrize("arity", [2, 3, 5])
@pytest.mark.parametrize("length", [1, 2, 3, 50, 3000, 20_000])
def test_expressions_of_every_length_are_found(arity: int, length: int) -> None:
    language = boolean_expressions(arity)
    word = language.sample(length, stream(1, "expressions", arity, length))
    assert len(word) == length
    assert language.accepts(word)


def test_first_return_is_the_only_rotation_that_works() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        steps = rng.permutation(np.array([2, 1, 1, 0, 0, -1, -1, -1, -1, -1]))
        good = [i for i in range(10) if np.all(np.cumsum(np.roll(steps, -i))[:-1] >= 0)]
        assert good == [first_return(steps) % 10]


def test_blocks_have_one_word_of_each_length() -> None:
    rng = stream(2)
    language = counting_blocks(3)
    assert language.alphabet.decode(language.sample(9, rng)) == "aaabbbccc"


@pytest.mark.parametrize(
    ("language", "length", "message"),
    [
        (counting_blocks(3), 0, "the nearest 3"),
        (counting_blocks(3), 2, "the nearest 3"),
        (counting_blocks(3), 7, "the nearest 6 and 9"),
        (counting_blocks(2), -4, "the nearest 2"),
        (boolean_expressions(3), 0, "the shortest has length 1"),
        (majority(), 0, "the shortest has length 1"),
    ],
)
def test_impossible_lengths_name_the_nearest(language: CounterLanguage, length: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        language.sample(length, stream(0))


@pytest.mark.parametrize("language", [counting_blocks(2), boolean_expressions(2), majority()])
def test_depth_is_for_brackets(language: CounterLanguage) -> None:
    with pytest.raises(InputError, match="no bracket depth"):
        language.sample(4, stream(0), max_depth=2)


@pytest.mark.parametrize("make", [lambda: boolean_expressions(1), lambda: boolean_expressions(6)])
def test_arities_out_of_range_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(InputError, match="give an arity from 2 to 5"):
        make()


@pytest.mark.parametrize("letters", [1, 27])
def test_numbers_of_blocks_out_of_range_are_refused(letters: int) -> None:
    with pytest.raises(InputError, match="give 2 to 26 letters"):
        counting_blocks(letters)


def machine(**changes: object) -> CounterMachine:
    right: dict[str, object] = {
        "alphabet": Alphabet(("a", "b")),
        "start": (0,),
        "increments": ((1,), (-1,)),
        "rules": (CounterRule(zero=frozenset({0}), symbols=frozenset({0}), end=True),),
    }
    return CounterMachine(**(right | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"increments": ((1,),)}, "increments for 1 letters"),
        ({"increments": ((1,), (1, 0))}, "'b' has 2 increments"),
        ({"increments": ((1,), (0.5,))}, "counters hold integers"),
        ({"start": ("0",)}, "counters hold integers"),
        ({"rules": (CounterRule(symbols=frozenset({2})),)}, "a letter outside"),
        ({"rules": (CounterRule(after=frozenset({7})),)}, "a letter outside"),
        ({"rules": (CounterRule(zero=frozenset({1})),)}, "a counter outside"),
        ({"rules": (CounterRule(positive=frozenset({1})),)}, "a counter outside"),
    ],
)
def test_a_machine_that_does_not_fit_is_refused(changes: dict[str, object], message: str) -> None:
    assert machine().num_counters == 1
    with pytest.raises(InputError, match=message):
        machine(**changes)


def test_rules_add_up() -> None:
    both = machine(
        rules=(
            CounterRule(symbols=frozenset({0})),
            CounterRule(positive=frozenset({0}), symbols=frozenset({1})),
            CounterRule(after=frozenset({START}), end=True),
        )
    )
    assert both.allowed(START, (0,)) == ({0}, True)
    assert both.allowed(0, (1,)) == ({0, 1}, False)
    assert both.allowed(0, (-1,)) == ({0}, False)
    assert math.prod(both.add((3,), 1)) == 2
