import numpy as np
import pytest
from hypothesis import given

from nerode.compiler import automaton_parts
from nerode.compiler.automaton_parts import (
    Flags,
    WindowQuestion,
    one_part,
    partitions,
    settling_length,
    suffix_table,
)
from nerode.compiler.network_builder import legal_sets
from nerode.core import BudgetExceeded
from nerode.languages import minimise
from nerode.languages.bestiary import find_language
from tests.strategies import all_words, dfas, words


@pytest.mark.parametrize(
    ("name", "kind", "length", "flags"),
    [
        ("last-but-3", "definite", 4, 0),
        ("tomita-4", "strictly local", 3, 1),
        ("ab-star", "strictly local", 2, 1),
        ("tomita-7", "partially ordered", 1, 4),
        ("contains-abaab", "settled by windows inside its components", 5, 1),
    ],
)
def test_the_first_partition_that_a_window_settles(name, kind, length, flags):
    parts = next(parts for parts in partitions(find_language(name).dfa()) if parts.window() is not None)
    assert parts.kind == kind
    assert parts.window() == length
    assert len(Flags(parts)) == flags


@pytest.mark.parametrize("name", ["set-reset", "d-2", "flip-flop"])
def test_no_window_settles_what_has_to_be_held(name):
    assert all(parts.window() is None for parts in partitions(find_language(name).dfa()))


@given(dfas(max_states=6, max_letters=2))
def test_no_word_returns_to_a_part(dfa):
    dfa = minimise(dfa)
    for parts in partitions(dfa):
        reachable = [set(targets) for targets in parts.following]
        for _ in parts.names:
            for part, found in enumerate(reachable):
                reachable[part] = found.union(*(reachable[other] for other in found))
        assert all(part not in found for part, found in enumerate(reachable))


@given(dfas(max_states=6, max_letters=2), words(find_language("ab-star").alphabet))
def test_flags_say_where_the_automaton_is(dfa, word):
    """The flags, computed from the path of the automaton, single out the part of its state."""
    dfa = minimise(dfa)
    word = [letter % dfa.num_letters for letter in word]
    for parts in partitions(dfa):
        path = [parts.of[q] for q in dfa.trace(word)]
        here = path[-1]
        reached = {parts.names[part] for part in path}
        left = {f"left {parts.names[part]}" for part in path if part != here}
        flags = Flags(parts)
        current = [
            part
            for part in range(len(parts.names))
            if all(_holds(form, reached | left) for form in flags.is_there(part))
        ]
        assert current == [here]


def _holds(form, true):
    return form.bias + sum(c for name, c in form.terms.items() if name in true) == 1


def test_one_part_needs_no_flags():
    parts = one_part(find_language("tomita-4").dfa())
    assert len(Flags(parts)) == 0
    assert Flags(parts).depth == 0
    assert parts.window() is None


def legality(dfa):
    legal = legal_sets(dfa)
    everywhere = np.ones(dfa.num_states, dtype=np.bool_)
    return WindowQuestion(asked=everywhere, value=lambda before, after: legal[after])


@pytest.mark.parametrize(
    ("name", "length"), [("last-letter", 1), ("last-but-3", 4), ("last-but-8", 9), ("set-reset", None)]
)
def test_the_length_of_a_window(name, length):
    dfa = find_language(name).dfa()
    assert settling_length(dfa, legality(dfa)) == length


def test_a_constant_answer_needs_no_letter():
    dfa = find_language("last-letter").dfa()
    question = WindowQuestion(
        asked=np.ones(dfa.num_states, dtype=np.bool_), value=lambda before, after: "same"
    )
    assert settling_length(dfa, question) == 0
    table = suffix_table(dfa, question)
    assert table is not None
    assert table.otherwise == "same"
    assert table.rows == ()


def test_a_question_that_is_never_asked_has_no_table():
    dfa = find_language("last-letter").dfa()
    question = WindowQuestion(
        asked=np.zeros(dfa.num_states, dtype=np.bool_), value=lambda before, after: after
    )
    assert suffix_table(dfa, question) is None


@given(dfas(max_states=4, max_letters=2))
def test_a_window_settles_the_question_on_all_words(dfa):
    dfa = minimise(dfa)
    question = legality(dfa)
    length = settling_length(dfa, question, longest=8)
    legal = legal_sets(dfa)
    if length is None:
        # Two words with the same last letters and different answers, at least up to a window of 4.
        answers = {}
        for word in all_words(dfa.num_letters, 7):
            if len(word) > 4:
                answers.setdefault(word[-3:], set()).add(legal[dfa.run(word)])
        assert any(len(found) > 1 for found in answers.values())
        return
    table = suffix_table(dfa, question)
    nothing = dfa.num_letters
    for word in all_words(dfa.num_letters, 7):
        if word:
            window = (*reversed(word), *(nothing for _ in range(10)))
            assert table.evaluate(window) == legal[dfa.run(word)]


def test_too_many_suffixes_are_refused(monkeypatch):
    monkeypatch.setattr(automaton_parts, "MOST_SUFFIXES", 50)
    dfa = find_language("last-but-8").dfa()
    with pytest.raises(BudgetExceeded, match="50 suffixes"):
        suffix_table(dfa, legality(dfa))
