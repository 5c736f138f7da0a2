from __future__ import annotations

import time

import pytest
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA
from hypothesis import given

from nerode.core import Budget, BudgetExceeded, PatternError
from nerode.languages.alphabet import Alphabet
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from nerode.languages.regex import Expression, Regex, regex_to_dfa, regular_language
from tests.languages.automata_lib import to_automata_lib as as_automata_lib
from tests.languages.regex.oracles import matches, to_automata_lib
from tests.languages.regex.strategies import expressions, words

AB = Alphabet(("a", "b"))


@given(expressions("ab"))
def test_it_agrees_with_the_definition(expression: Expression) -> None:
    regex = Regex(expression=expression, alphabet=AB)
    dfa = regex_to_dfa(regex)
    assert minimise(dfa) == dfa
    for word in words("ab", 5):
        assert dfa.accepts(word) == matches(regex, word), word


@given(expressions("abc"))
def test_it_agrees_with_automata_lib(expression: Expression) -> None:
    dfa = regex_to_dfa(Regex(expression=expression, alphabet=Alphabet(("a", "b", "c"))))
    theirs = to_automata_lib(expression, "abc")
    assert as_automata_lib(dfa) == theirs
    assert dfa.num_states == len(theirs.to_complete().minify().states)


@pytest.mark.parametrize(
    "text",
    [
        "(aa)*",
        "(ab)*",
        "a*b+c?",
        "(a|b)*a(a|b){8}",
        "((a|b)(c|a)){2,5}b*",
        "(a(ab)*b)*",
        "(a|b)*abaab(a|b)*",
        "[abc]*c[^c]{3}",
        "(a*b*c*){3}",
        "((a|b)*a(a|b))&((a|b)*b(a|b){2})",
    ],
)
def test_it_agrees_with_automata_libs_own_parser(text: str) -> None:
    dfa = regex_to_dfa(text, "abc")
    assert as_automata_lib(dfa) == DFA.from_nfa(NFA.from_regex(text, input_symbols=set("abc")))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("~(~a|~b)", "a&b"),
        ("~(.*aa.*)", "(b|ab)*a?"),
        ("(~∅)a(~∅)", ".*a.*"),
        ("(~(a|b)){2}", "(~(b|a))(~[ab])"),
        ("~a*", "a*b.*"),
        ("(.*a & .*b)|ε", "()"),
        ("[^a]*", "b*"),
        ("(a?){2,4}", "a{0,4}"),
        ("~(a*)&~(b*)", ".*(ab|ba).*"),
    ],
)
def test_equal_languages_have_equal_automata(left: str, right: str) -> None:
    assert regex_to_dfa(left, "ab") == regex_to_dfa(right, "ab")


def nested_parentheses(depth: int) -> str:
    return "(a" * depth + "b)*" * depth


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("(aa)*", 2),
        ("(ab)*", 3),
        ("(a|b)*a(a|b){8}", 512),
        ("(a|b)*a(a|b){12}", 8192),
        (nested_parentheses(12), 14),
        (nested_parentheses(40), 42),
        ("∅a", 1),
        ("a{500}", 502),
    ],
)
def test_known_sizes(text: str, states: int) -> None:
    assert regex_to_dfa(text).num_states == states


def test_symbols_with_several_characters() -> None:
    dfa = regex_to_dfa("(<open><close>)*")
    assert dfa.alphabet == Alphabet(("close", "open"))
    assert dfa.accepts("open close open close")
    assert not dfa.accepts("open open")


def test_letters_that_behave_alike_are_copied_in_alphabet_order() -> None:
    dfa = regex_to_dfa("c.*", "zbcay")
    assert dfa.alphabet.symbols == tuple("zbcay")
    assert minimise(dfa) == dfa
    assert dfa.accepts("czy")
    assert not dfa.accepts("zc")


def test_a_language_says_which_words_it_has() -> None:
    language = regular_language("(aa)*")
    assert language.name == "(aa)*"
    assert language.convention == "words that match (aa)*"
    assert language.accepts("aa")
    assert not language.accepts("a")
    assert regular_language("a" * 100).convention.endswith("a…")
    assert regular_language("b", "ab", name="only-b").name == "only-b"
    with pytest.raises(PatternError):
        regular_language("a)")


def stopped(text: str, budget: Budget | None = None) -> tuple[BudgetExceeded, float]:
    started = time.process_time()
    with pytest.raises(BudgetExceeded) as caught:
        regex_to_dfa(text, budget=budget)
    return caught.value, time.process_time() - started


def test_a_too_large_automaton_stops_early_and_says_what_is_known() -> None:
    stop, seconds = stopped("(a|b)*a(a|b){24}")
    assert seconds < 5
    assert stop.resource == "states"
    assert stop.limit == 20_000
    known = stop.known_so_far
    assert isinstance(known["states_reached"], int)
    assert known["states_reached"] > 20_000
    # The minimal automaton has 2^25 states; that of (a|b){24}a(a|b)* has 25 + 1 and a dead one.
    assert isinstance(known["minimal_states_at_least"], int)
    assert 20_000 < known["minimal_states_at_least"] <= 2**25
    assert known["reversed_states"] == regex_to_dfa("(a|b){24}a(a|b)*").num_states == 27
    assert "reversed language (27 states)" in str(stop)


def test_an_automaton_that_is_only_large_on_the_way_is_found_through_its_reversal() -> None:
    # Each half alone makes the subset construction reach 2^12 states; together they match everything.
    text = "(a|b)*a(a|b){11}|(a|b)*b(a|b){11}|(a|b){0,11}"
    assert regex_to_dfa(text, budget=Budget(states=100)).num_states == 1


@pytest.mark.parametrize(
    ("text", "least"), [("ab" * 50_000, 100_002), ("(a{1000}){1000}b*", 1_000_001), ("a{,9999}{9}", 89_993)]
)
def test_long_words_are_known_to_be_too_many_states_before_anything_is_built(text: str, least: int) -> None:
    stop, seconds = stopped(text)
    assert stop.known_so_far == {"minimal_states_at_least": least}
    assert seconds < 5


def test_a_stop_inside_a_pattern_says_where() -> None:
    stop, seconds = stopped("b & (a|b)*a(a|b){24}")
    assert seconds < 5
    assert stop.known_so_far["part"] == ".*a.{24}"
    assert "minimal_states_at_least" not in stop.known_so_far
    assert isinstance(stop.known_so_far["part_states_reached"], int)
    stop, _ = stopped("b~((a|b)*a(a|b){24})b")
    assert stop.known_so_far["part"] == "~(.*a.{24})"


def test_memory_and_time_are_limited() -> None:
    stop, seconds = stopped("((a?b*){10000}){1000}")
    assert stop.resource == "bytes"
    assert stop.known_so_far == {"positions": 20_000_000}
    assert seconds < 5
    stop, seconds = stopped("((a?b*){1000}){10}", Budget(seconds=0.5))
    assert stop.resource == "seconds"
    assert seconds < 5


def test_a_large_position_automaton_uses_sets_of_numbers() -> None:
    # 13,000 positions: far beyond the table of bit sets.
    words_of_a_trie = "|".join(f"{i:013b}" for i in range(1000))
    dfa = regex_to_dfa(words_of_a_trie)
    listed = set(words_of_a_trie.split("|"))
    assert dfa.accepts(f"{999:013b}")
    assert not dfa.accepts(f"{1000:013b}")
    assert all(dfa.accepts(word) for word in list(listed)[:50])
    assert minimise(dfa) == dfa


def test_deep_nesting_compiles() -> None:
    depth = 10_000
    assert regex_to_dfa("(" * depth + "a" + ")" * depth) == regex_to_dfa("a")
    assert regex_to_dfa("(" * depth + "a" + "|b)*" * depth) == regex_to_dfa("(a|b)*")
    assert regex_to_dfa("~" * depth + "a") == regex_to_dfa("a")


def test_boolean_operators_stay_small_when_their_operands_are() -> None:
    # Words over eight letters that contain each of a … g and never h before a.
    text = "&".join(f".*{c}.*" for c in "abcdefg") + "&~(.*h.*a.*)"
    dfa: Dfa = regex_to_dfa(text, "abcdefgh")
    assert dfa.num_states == 3 * 2**6 + 1
    assert dfa.accepts("abcdefgh")
    assert not dfa.accepts("habcdefg")
