from __future__ import annotations

from pathlib import Path

import pytest

from nerode.core import Budget, BudgetExceeded, FormatError, InputError
from nerode.languages.dfa import Dfa
from nerode.languages.formats import read_automaton
from nerode.languages.formats.att import dfa_to_att, table_from_text
from tests.languages.formats import parse

DATA = Path(__file__).parent / "data"
FILE = Path("x.att")


def read(text: str, symbols: str | None = None, **options: object) -> Dfa:
    table = None if symbols is None else table_from_text(symbols, path=Path("x.syms"))
    return parse("att", text, path=FILE, table=table, **options)  # type: ignore[arg-type]


def test_an_acceptor_of_the_mlregtest_kind() -> None:
    dfa = read_automaton(DATA / "no-aa-no-first-c.att")
    assert dfa.alphabet.symbols == ("a", "b", "c", "d")
    assert dfa.num_states == 3
    assert dfa.start == 0
    for word, expected in [("", True), ("abacd", True), ("aa", False), ("baab", False), ("c", False)]:
        assert dfa.accepts(word) is expected, word


def test_a_symbol_table_of_another_name_gives_letters_that_the_file_does_not_use() -> None:
    dfa = read_automaton(DATA / "no-aa-no-first-c.att", symbols=DATA / "five-letters.txt")
    assert dfa.alphabet.symbols == ("a", "b", "c", "d", "e")
    assert dfa.accepts("abd")
    assert not dfa.accepts("abe")


def test_numbers_are_looked_up_in_the_table_beside_the_file() -> None:
    dfa = read_automaton(DATA / "by-number.fst.txt")
    assert dfa.alphabet.symbols == ("low", "high")
    accepted = [word for word in ("", "low", "high", "low low", "low high") if dfa.accepts(word)]
    assert accepted == ["low"]


def test_a_complete_automaton_gets_no_sink_and_keeps_its_numbers() -> None:
    dfa = read("1 0 a\n1 1 b\n0 0 a\n0 1 b\n0\n")
    assert dfa.transitions.tolist() == [[0, 1], [0, 1]]
    assert (dfa.start, dfa.accepting.tolist()) == (1, [True, False])


def test_states_are_ordered_by_number_and_gaps_close() -> None:
    dfa = read("700 5 a\n5 700 a\n5\n")
    assert dfa.transitions.tolist() == [[1], [0]]
    assert (dfa.start, dfa.accepting.tolist()) == (1, [True, False])


def test_a_missing_transition_leads_to_one_rejecting_sink() -> None:
    dfa = read("0 1 a\n1 0 b\n0\n")
    assert dfa.transitions.tolist() == [[1, 2], [2, 0], [2, 2]]
    assert dfa.accepting.tolist() == [True, False, False]


@pytest.mark.parametrize(
    "text", ["0 1 a\n0 0 a\n0 0 b\n1\n", "0 0 a a\n0 0 b b\n0 2 <eps> <eps>\n2 1 a a\n1\n"]
)
def test_choices_and_empty_moves_are_determinised(text: str) -> None:
    dfa = read(text)
    for word in ("", "a", "b", "ab", "ba", "aa", "bba", "abab"):
        assert dfa.accepts(word) is word.endswith("a"), word


def test_without_a_table_zero_is_a_letter_and_with_one_it_is_a_number() -> None:
    assert read("0 1 0 0\n1\n").alphabet.symbols == ("0",)
    dfa = read("0 1 0\n1 2 5\n2\n", symbols="empty 0\nx 5\n")
    assert dfa.alphabet.symbols == ("x",)
    assert dfa.accepts("x")


def test_the_name_of_row_zero_is_the_empty_word() -> None:
    dfa = read("0 1 nothing\n1 2 x\n2\n", symbols="nothing 0\nx 5\n")
    assert dfa.alphabet.symbols == ("x",)
    assert dfa.accepts("x")


def test_symbols_that_look_like_numbers_are_symbols_first() -> None:
    dfa = read("0 1 2\n1 1 1\n1\n", symbols="<eps> 0\n2 1\n1 2\n")
    assert dfa.alphabet.symbols == ("2", "1")
    assert dfa.accepts(["2", "1"])
    assert not dfa.accepts(["1", "2"])


def test_zero_weights_are_nothing_and_infinite_ones_remove() -> None:
    dfa = read("0 1 a a 0\n0 0 b b 0.0\n0 1 c c Infinity\n1 Infinity\n0 0\n")
    assert dfa.alphabet.symbols == ("a", "b", "c")
    assert dfa.accepts("bb")
    assert not dfa.accepts("a")
    assert not dfa.accepts("c")


def test_a_fourth_field_may_be_a_weight() -> None:
    assert read("0 1 a 0\n1\n") == read("0 1 a\n1\n")


def test_the_start_may_be_a_line_of_its_own() -> None:
    dfa = read("3\n5 5 a\n")
    assert dfa.accepts("")
    assert not dfa.accepts("a")
    assert not read("0 Infinity\n").accepts("")


def test_windows_line_ends_blank_lines_and_spaces() -> None:
    assert read("0  1\ta \r\n\r\n1\r\n") == read("0 1 a\n1\n")


def test_an_alphabet_may_be_given() -> None:
    dfa = read("0 0 a\n0\n", alphabet=("b", "a"))
    assert dfa.alphabet.symbols == ("b", "a")
    assert dfa.transitions.tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("0 1 a b\n1\n", 1, "reads 'a' and writes 'b'"),
        ("0 1 a a\n1 1 a <eps>\n1\n", 2, "transducer"),
        ("0 1 a a\n1 1 a b 0\n1\n", 2, "transducer"),
        ("0 1 a a 0.5\n1\n", 1, "'0.5' is neither 0 nor Infinity"),
        ("0 1 a 0.5\n1\n", 1, "'0.5' is neither 0 nor Infinity"),
        ("0 1 a\n1 2.5\n", 2, "rmweight"),
        ("0 1 a\n1 -Infinity\n", 2, "'-Infinity'"),
        ("0 1 a\n1 nan\n", 2, "'nan'"),
        ("0 1 a\n1 BadNumber\n", 2, "'BadNumber'"),
        ("0 1 a\n1 1_0\n", 2, "'1_0'"),
        ("0 1 1 0\n1\n", 1, "may be an output label or a weight"),
        ("0 1 a\n0 1 b\n0 1 a\n", 3, "repeats that of line 1"),
        ("0 1 <eps>\n0 1 <EPS>\n", 2, "repeats that of line 1"),
        ("0 1 a\n1\n1\n", 3, "was on line 2 already"),
        ("0 1 a\n1\n\n1 Infinity\n", 4, "was on line 2 already"),
        ("0 1 a\nq1\n", 2, "'q1' is not a state"),
        ("-1 0 a\n", 1, "'-1' is not a state"),
        ("0 1 a\n" + "9" * 5000 + "\n", 2, "is not a state"),
        ("0 ١ a\n", 1, "is not a state"),
        ("0 1 a a 0 0\n", 1, "6 fields"),
        ("0 1 $\n", 1, "'$' cannot be a symbol"),
        ("0 1 a\n0 1 b\u00a0c\n", 2, "white space"),
        ("0 1 a\n0 1 b\x07c\n", 2, "cannot carry"),
    ],
)
def test_errors_say_where_and_why(text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(text)
    assert caught.value.line == line
    assert message in str(caught.value)


def test_a_label_outside_the_table_is_named_with_its_line() -> None:
    with pytest.raises(FormatError, match=r"line 2: the label 'z' is not in the symbol table"):
        read("0 1 a\n1 1 z\n", symbols="<eps> 0\na 1\n")


def test_a_letter_outside_the_given_alphabet_is_named_with_its_line() -> None:
    with pytest.raises(FormatError, match=r"line 2: the letter 'b' is not in the alphabet \{a\}"):
        read("0 1 a\n1 1 b\n", alphabet=("a",))


def test_states_and_table_count_against_the_budget() -> None:
    with pytest.raises(BudgetExceeded, match="states"):
        read("0 1 a\n1 2 a\n2 3 a\n", budget=Budget(states=3))
    with pytest.raises(BudgetExceeded, match="bytes"):
        read("0 1 a\n1 2 b\n2 3 c\n", budget=Budget(bytes=32))
    subsets = "0 0 a\n0 0 b\n0 1 a\n1 2 a\n1 2 b\n2 3 a\n2 3 b\n3 4 a\n3 4 b\n4\n"
    assert read(subsets, budget=Budget(states=16)).num_states == 16
    with pytest.raises(BudgetExceeded, match="states"):
        read(subsets, budget=Budget(states=15))


def test_the_text_puts_the_start_first_and_has_equal_labels() -> None:
    dfa = Dfa.build("ab", lambda q, s: (q + (s == "b")) % 2, start=0, accept=[1])
    assert dfa_to_att(dfa) == "0\t0\ta\ta\n0\t1\tb\tb\n1\t1\ta\ta\n1\t0\tb\tb\n1\n"


def test_a_symbol_called_like_the_empty_word_is_refused() -> None:
    dfa = Dfa.build(["<EPS>"], lambda q, s: q, start=0, accept=[0])
    with pytest.raises(InputError, match="stands for the empty word"):
        dfa_to_att(dfa)
