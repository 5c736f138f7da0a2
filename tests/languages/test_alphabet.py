"""Alphabets and words."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.languages.alphabet import Alphabet, with_powers

LETTERS = Alphabet(("a", "b", "c"))
WORDS = Alphabet(("push", "pop", "x"))


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        (("a", ""), "empty"),
        (("a b",), "white space"),
        (("a\t",), "white space"),
        (("$",), "end of a word"),
        (("a", "b", "a"), "'a' occurs twice"),
        (("\x00",), "cannot be printed"),
        (("a\x1b[31m",), "cannot be printed"),
        (("\udcff",), "cannot be printed"),
    ],
)
def test_symbols_that_no_alphabet_may_have(symbols: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Alphabet(symbols)


def test_letters_of_any_script_are_symbols() -> None:
    assert list(Alphabet(("ä", "→", "漢", "𝟙", "->"))) == ["ä", "→", "漢", "𝟙", "->"]


def test_sorted_without_repetitions() -> None:
    assert Alphabet.of("banana").symbols == ("a", "b", "n")


def test_words_are_written_without_spaces_only_if_all_symbols_are_single_characters() -> None:
    assert LETTERS.decode((0, 1, 1)) == "abb"
    assert WORDS.decode((0, 2, 1)) == "push x pop"
    assert LETTERS.decode(()) == WORDS.decode(()) == "ε"


@pytest.mark.parametrize("alphabet", [LETTERS, WORDS])
@given(word=st.lists(st.integers(0, 2), max_size=6).map(tuple))
def test_reading_what_was_written_gives_the_word(alphabet: Alphabet, word: tuple[int, ...]) -> None:
    assert alphabet.encode(alphabet.decode(word)) == word
    assert alphabet.encode([alphabet.symbols[a] for a in word]) == word
    assert alphabet.encode(word) == word


def test_words_with_spaces_between_letters_are_read() -> None:
    assert LETTERS.encode(" a b  c ") == (0, 1, 2)
    assert LETTERS.encode("ε") == LETTERS.encode("") == ()


@pytest.mark.parametrize("word", ["abx", ["a", "x"], (0, 3), (-1,)])
def test_symbols_outside_the_alphabet_are_refused(word: object) -> None:
    with pytest.raises(InputError):
        LETTERS.encode(word)  # type: ignore[arg-type]


def test_an_unknown_symbol_is_named_with_the_alphabet() -> None:
    with pytest.raises(InputError, match=r"'x' is not in the alphabet \{a, b, c\}"):
        LETTERS.index("x")


def test_runs_of_a_letter_are_written_as_powers() -> None:
    assert with_powers(()) == "the empty word"
    assert with_powers(("a", "a", "a", *"b" * 4)) == "a a a b^4"
    whole = tuple("ab" * 12)
    assert with_powers(whole) == " ".join(whole)
    assert with_powers(("a", *whole)) == "a a b a b a b a b a b a … (25 letters) … a b a b a b a b a b a b"
