from __future__ import annotations

import pytest

from nerode.languages import Alphabet
from nerode.report.automaton.diagram import letters_label, shorten
from nerode.report.picture import text_width

TEN = Alphabet(tuple("0123456789"))


@pytest.mark.parametrize(
    ("letters", "text"),
    [
        ([3], "3"),
        ([1, 0], "0, 1"),
        (range(10), "Σ"),
        ([0, 1, 2, 3, 4, 5, 6, 7, 9], "all but 8"),
        (range(2, 10), "all but 0, 1"),
        ([0, 2, 4, 6, 8], "0, 2, 4, 6, 8"),
        (range(7), "0, 1, 2, 3, … +3"),
    ],
)
def test_sets_of_letters_are_written_shortly(letters: list[int], text: str) -> None:
    assert letters_label(TEN, letters) == text


def test_small_alphabets_are_always_listed() -> None:
    assert letters_label(Alphabet(("a", "b", "c")), [0, 1, 2]) == "a, b, c"


def test_sigma_as_a_letter_is_not_the_alphabet() -> None:
    alphabet = Alphabet(("a", "b", "c", "Σ"))
    assert letters_label(alphabet, range(4)) == "all"
    assert letters_label(alphabet, [3]) == "Σ"


def test_one_long_symbol_is_cut() -> None:
    label = letters_label(Alphabet(("x" * 100, "y")), [0])
    assert len(label) == 14
    assert label.endswith("…")


def test_cut_labels_say_how_many_letters_are_missing() -> None:
    alphabet = Alphabet(tuple(f"symbol-{i}" for i in range(9)))
    assert letters_label(alphabet, range(5)) == "symbol-0, … +4"


def test_width_grows_with_the_text() -> None:
    assert text_width("") == 0
    assert text_width("ab") < text_width("abc") < text_width("abc漢")


def test_shorten_keeps_short_texts() -> None:
    assert shorten("abc", 3) == "abc"
    assert shorten("abcd", 3) == "ab…"
