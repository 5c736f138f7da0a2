from __future__ import annotations

from hypothesis import given

from nerode.languages import Dfa, RegularLanguage
from nerode.study.words import count_by_length, first_words
from tests.report.specimens import SPECIMENS, contains
from tests.strategies import all_words, dfas


def language(dfa: Dfa) -> RegularLanguage:
    return RegularLanguage(name="L", automaton=dfa, convention="")


@given(dfas(max_states=5, max_letters=2))
def test_words_are_counted_by_length(dfa: Dfa) -> None:
    counts = count_by_length(language(dfa), up_to=6)
    words = list(all_words(dfa.num_letters, 6))
    assert [c.length for c in counts] == list(range(7))
    for c in counts:
        of_length = [w for w in words if len(w) == c.length]
        assert c.of == len(of_length)
        assert c.words == sum(dfa.accepts(w) for w in of_length)
        assert c.share * c.of == c.words


@given(dfas(max_states=5, max_letters=2))
def test_first_words_come_in_order_and_none_is_missed(dfa: Dfa) -> None:
    words = list(all_words(dfa.num_letters, 6))
    for accepted in (True, False):
        found = first_words(language(dfa), accepted=accepted, number=8)
        expected = [w for w in words if dfa.accepts(w) == accepted][:8]
        # Words longer than six letters may follow when there are few short ones.
        assert found[: len(expected)] == expected


def test_rare_words_are_found_by_the_states() -> None:
    symbols = [f"x{i}" for i in range(40)]
    dfa = Dfa.build(symbols, lambda q, c: min(q + 1, 9), start=0, accept=[9])
    assert first_words(language(dfa), accepted=True) == [(0,) * 9]
    pattern = "abaababaabaababaababa"
    words = first_words(language(contains(pattern, "ab")), accepted=True)
    assert words == [tuple("ab".index(c) for c in pattern)]


def test_the_empty_language_has_no_words() -> None:
    assert first_words(language(SPECIMENS["no word"]), accepted=True) == []
    assert first_words(language(SPECIMENS["every word"]), accepted=False) == []


def test_counting_stops_when_there_are_too_many_configurations() -> None:
    symbols = [f"x{i}" for i in range(150)]
    dfa = Dfa.build(symbols, lambda s, c: (c, s[0] == c), start=("", True), accept=lambda s: s[1])
    # 150 states with 150 letters each are more than the page is willing to follow.
    counts = count_by_length(language(dfa))
    assert [c.words for c in counts] == [1]
