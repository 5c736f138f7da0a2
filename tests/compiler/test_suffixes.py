import numpy as np
import pytest
from hypothesis import given

from nerode.compiler import suffixes
from nerode.compiler.assembly import legal_sets
from nerode.compiler.suffixes import Question, settling_length, suffix_table
from nerode.core import BudgetExceeded
from nerode.languages import minimise
from nerode.languages.bestiary import find_language
from tests.strategies import all_words, dfas


def legality(dfa):
    legal = legal_sets(dfa)
    everywhere = np.ones(dfa.num_states, dtype=np.bool_)
    return Question(asked=everywhere, value=lambda before, after: legal[after])


@pytest.mark.parametrize(
    ("name", "length"), [("last-letter", 1), ("last-but-3", 4), ("last-but-8", 9), ("set-reset", None)]
)
def test_the_length_of_a_window(name, length):
    dfa = find_language(name).dfa()
    assert settling_length(dfa, legality(dfa)) == length


def test_a_constant_answer_needs_no_letter():
    dfa = find_language("last-letter").dfa()
    question = Question(asked=np.ones(dfa.num_states, dtype=np.bool_), value=lambda before, after: "same")
    assert settling_length(dfa, question) == 0
    table = suffix_table(dfa, question)
    assert table is not None
    assert table.otherwise == "same"
    assert table.rows == ()


def test_a_question_that_is_never_asked_has_no_table():
    dfa = find_language("last-letter").dfa()
    question = Question(asked=np.zeros(dfa.num_states, dtype=np.bool_), value=lambda before, after: after)
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
    monkeypatch.setattr(suffixes, "MOST_SUFFIXES", 50)
    dfa = find_language("last-but-8").dfa()
    with pytest.raises(BudgetExceeded, match="50 suffixes"):
        suffix_table(dfa, legality(dfa))
