"""Every row of the bestiary: definitions written out here, facts from elsewhere, names and errors."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, strategies as st

from nerode.core import Budget, stream
from nerode.languages.bestiary import BESTIARY, find_language, lookup_language, suite
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from tests.languages.bestiary.facts import FACTS
from tests.languages.bestiary.transition_monoid import (
    is_aperiodic,
    monoid_elements,
)
from tests.languages.brute_force import assert_language_is


def runs(word: str) -> list[str]:
    return [match[0] for match in re.finditer(r"0+|1+", word)]


def tomita_3(word: str) -> bool:
    parts = runs(word)
    return not any(x[0] == "1" and len(x) % 2 and len(y) % 2 for x, y in itertools.pairwise(parts))


def flip_flop(word: str) -> bool:
    if len(word) % 2:
        return False
    stored = None
    for instruction, bit in zip(word[::2], word[1::2], strict=True):
        if instruction not in "wri" or bit not in "01":
            return False
        if stored is None and instruction != "w":
            return False
        if instruction == "r" and bit != stored:
            return False
        if instruction == "w":
            stored = bit
    return True


def undo_flip_flop(word: str, writes: int) -> bool:
    """Read with a stack of the bits in force."""
    stack: list[str] = []
    for instruction, bit in itertools.zip_longest(word[::2], word[1::2], fillvalue=""):
        if instruction not in set("wriu") or bit not in set("01"):
            return False
        if instruction == "w":
            stack.append(bit)
            if len(stack) > writes:
                return False
        elif not stack or (instruction == "r" and bit != stack[-1]):
            return False
        elif instruction == "u":
            stack.pop()
    return True


def has_form(word: str) -> bool:
    return re.fullmatch(r"[0-4]([-+*][0-4])*", word) is not None


def value(word: str) -> int:
    """With precedence, by Python's own arithmetic on signed terms."""
    total = 0
    for sign, term in re.findall(r"([-+]?)([0-4](?:\*[0-4])*)", word):
        product = 1
        for digit in term.split("*"):
            product *= int(digit)
        total += -product if sign == "-" else product
    return total % 5


def simple_equation(word: str) -> bool:
    left, equals, right = word.partition("=")
    if not equals or not has_form(left) or right not in tuple("01234"):
        return False
    result = int(left[0])
    for operator, digit in zip(left[1::2], left[2::2], strict=True):
        result = {"+": result + int(digit), "-": result - int(digit), "*": result * int(digit)}[operator]
    return result % 5 == int(right)


def place(word: str) -> int:
    return (word.count(">") - word.count("<")) % 5


def bursts(word: str, n: int) -> bool:
    return not word.startswith("1") and all(len(run) == n for run in runs(word) if run[0] == "1")


def is_subsequence(pattern: str, word: str) -> bool:
    letters = iter(word)
    return all(letter in letters for letter in pattern)


# Name: definition, length of the words listed, length of the prefixes compared.
DEFINITIONS: dict[str, tuple[Callable[[str], bool], int, int]] = {
    "tomita-1": (lambda w: "0" not in w, 8, 6),
    "tomita-2": (lambda w: w == "10" * (len(w) // 2), 9, 6),
    "tomita-3": (tomita_3, 11, 8),
    "tomita-4": (lambda w: "000" not in w, 10, 8),
    "tomita-5": (lambda w: w.count("0") % 2 == 0 == w.count("1") % 2, 9, 6),
    "tomita-6": (lambda w: (w.count("0") - w.count("1")) % 3 == 0, 9, 6),
    "tomita-7": (lambda w: len(runs(w)) <= (3 if w.startswith("1") else 4), 10, 8),
    "aabbccddee": (lambda w: re.fullmatch("a+b+c+d+e+", w) is not None, 6, 1),
    "ab-star-d-bc-star": (lambda w: re.fullmatch("[ab]*d[bc]*", w) is not None, 6, 4),
    "012-star-02-star": (lambda w: w.rstrip("2").endswith("0"), 7, 5),
    "parity": (lambda w: w.count("1") % 2 == 0, 8, 6),
    "odd-parity": (lambda w: w.count("1") % 2 == 1, 8, 6),
    "aa-star": (lambda w: len(w) % 2 == 0, 12, 10),
    "aaaa-star": (lambda w: len(w) % 4 == 0, 16, 11),
    "abab-star": (lambda w: w == "abab" * (len(w) // 4), 12, 7),
    "ab-star": (lambda w: w == "ab" * (len(w) // 2), 10, 7),
    "aab-star": (lambda w: w == "aab" * (len(w) // 3), 11, 7),
    "aabb-star": (lambda w: w == "aabb" * (len(w) // 4), 12, 7),
    "repeat-01": (lambda w: w == "01" * (len(w) // 2), 10, 7),
    "flip-flop": (flip_flop, 7, 5),
    "even-pairs": (lambda w: (w.count("01") + w.count("10")) % 2 == 0, 9, 6),
    "first": (lambda w: w.startswith("1"), 8, 6),
    "cycle-navigation": (lambda w: place(w) == 0, 9, 6),
    "cycle-navigation-announced": (
        lambda w: re.fullmatch("[<=>]*[0-4]", w) is not None and place(w) == int(w[-1]),
        5,
        3,
    ),
    "modular-arithmetic": (lambda w: has_form(w) and value(w) == 0, 5, 2),
    "modular-arithmetic-simple": (simple_equation, 5, 1),
    "contains-abaab": (lambda w: "abaab" in w, 12, 6),
    "last-letter": (lambda w: w.endswith("a"), 8, 6),
    "set-reset": (lambda w: w.rstrip("h").endswith("1"), 7, 5),
    "last-but-8": (lambda w: w[-9:-8] == "a", 12, 2),
    "offset-counting-10": (lambda w: bursts(w, 10), 15, 3),
    # The languages that have no row of their own.
    "contains-aab": (lambda w: "aab" in w, 9, 5),
    "contains-a": (lambda w: "a" in w, 5, 3),
    "subsequence-abc": (lambda w: is_subsequence("abc", w), 8, 4),
    "subsequence-aab": (lambda w: is_subsequence("aab", w), 9, 5),
    "last-but-0": (lambda w: w[-1:] == "a", 7, 5),
    "last-but-2": (lambda w: w[-3:-2] == "a", 9, 5),
    "undo-flip-flop-1": (lambda w: undo_flip_flop(w, 1), 6, 3),
    "undo-flip-flop-2": (lambda w: undo_flip_flop(w, 2), 6, 3),
    "offset-counting-1": (lambda w: bursts(w, 1), 10, 7),
    "offset-counting-3": (lambda w: bursts(w, 3), 12, 8),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_language_is_what_its_definition_says(name: str) -> None:
    belongs, longest, prefixes = DEFINITIONS[name]

    def predicate(word: Sequence[str]) -> bool:
        return belongs("".join(word))

    assert_language_is(find_language(name), predicate, longest=longest, prefixes=prefixes)


@given(st.lists(st.sampled_from("01234"), min_size=1, max_size=30), st.data())
def test_long_expressions_are_evaluated(digits: list[str], data: st.DataObject) -> None:
    operators = [data.draw(st.sampled_from("+-*")) for _ in digits[1:]]
    word = digits[0] + "".join(op + digit for op, digit in zip(operators, digits[1:], strict=True))
    assert find_language("modular-arithmetic").accepts(word) == (value(word) == 0)
    language = find_language("modular-arithmetic-simple")
    accepted = [digit for digit in "01234" if language.accepts(f"{word}={digit}")]
    assert accepted == [digit for digit in "01234" if simple_equation(f"{word}={digit}")]
    assert len(accepted) == 1


def test_published_examples_of_modular_arithmetic() -> None:
    # The examples of the task's authors: 1 + 2 * 3 = 2, 1 - 1 - 1 = 4, 0 * 1 + 4 * 3 - 2 = 0 (mod 5).
    language = find_language("modular-arithmetic")
    assert language.accepts("0*1+4*3-2")
    for word, result in [("1+2*3", 2), ("1-1-1", 4)]:
        assert not language.accepts(word)
        assert language.accepts(f"{word}-{result}")


def test_long_patterns_are_found() -> None:
    pattern = "abaababaabaababaababaa"
    language = find_language("contains-fibonacci-22")
    rng = stream(0, "fibonacci")
    for _ in range(200):
        # Pieces of the pattern in a row, so that matches begin, fail and overlap.
        cuts = rng.integers(0, 23, size=6)
        word = "".join(pattern[:cut] for cut in cuts)
        assert language.accepts(word) == (pattern in word)
    assert language.accepts("ab" + pattern[:17] + pattern + "b")
    assert not language.accepts(pattern[:-1])
    assert find_language("subsequence-abcdefgh").accepts("aabbacdefhgh")
    assert not find_language("subsequence-abcdefgh").accepts("abcdefhg")


@pytest.mark.parametrize("name", BESTIARY)
def test_row_is_complete_and_builds(name: str) -> None:
    row = BESTIARY[name]
    language = row.language(Budget(seconds=10))
    assert row.convention
    assert language.convention == row.convention
    assert row.breaks
    assert str(row.source)
    assert not row.breaks.endswith(".")
    assert language.regular == FACTS[name].regular.value
    assert lookup_language(name.upper()) is not None


def test_the_27_languages_split_11_7_9() -> None:
    rows = suite("bhattamishra-27")
    assert len(rows) == 27
    split = Counter[str]()
    for row in rows:
        language = row.language()
        if not language.regular:
            split["not regular"] += 1
        else:
            star_free = is_aperiodic(monoid_elements(language.dfa()))
            split["star-free" if star_free else "not star-free"] += 1
    assert split == {"star-free": 11, "not star-free": 7, "not regular": 9}


def test_conventions_of_flip_flop_and_their_sizes() -> None:
    """The bestiary's convention gives 9 states; two looser ones that are met in the literature give 10."""

    def states(before_first_write: str, *, free_reads: bool = False, must_end_in_read: bool = False) -> int:
        def step(q: tuple[str, str, str], a: str) -> tuple[str, str, str] | None:
            instruction, stored, previous = q
            if not instruction:
                return (a, stored, a) if a in ("wri" if stored else before_first_write) else None
            if a not in "01" or (instruction == "r" and a != stored and (stored or not free_reads)):
                return None
            return "", a if instruction == "w" else stored, previous

        def accept(q: tuple[str, str, str]) -> bool:
            return not q[0] and (q[2] == "r" or not must_end_in_read)

        return minimise(Dfa.build("wri01", step, start=("", "", ""), accept=accept)).num_states

    assert states("w") == find_language("flip-flop").num_states() == 9
    assert states("wi") == 10
    assert states("wri", free_reads=True) == 10
    assert states("w", must_end_in_read=True) == 11
