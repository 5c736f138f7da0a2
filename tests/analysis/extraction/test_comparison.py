from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import nerode as nr
from nerode.analysis.extraction.comparison import acceptor, find_difference, theory_of
from nerode.analysis.extraction.oracle import question_about
from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import OUTSIDE, UNASKED, Alphabet, LanguageQuestion, Moore, MooreQuestion
from nerode.languages.operations import distinguishing_word

AB = Alphabet(("a", "b"))


def machine_of(name: str, kind: str = "acceptance") -> Moore:
    target = question_about(nr.language(name), kind)  # type: ignore[arg-type]
    alphabet = nr.language(name).alphabet
    return Moore.explore(alphabet, target.initial(), target.advance, target.answer).minimise()


NAMES = st.sampled_from([f"tomita-{i}" for i in range(1, 8)])


@given(NAMES, NAMES)
def test_differences_are_those_of_the_automata(left: str, right: str) -> None:
    found = find_difference(machine_of(left), LanguageQuestion(nr.language(right), "end"))
    one, two = nr.language(left), nr.language(right)
    word = distinguishing_word(one.dfa(), two.dfa())
    if word is None:
        assert found is None
        return
    assert found is not None
    assert one.alphabet.encode(found.word) == word
    assert (found.expected == ("in",)) == two.accepts(word)
    assert (found.got == ("in",)) == one.accepts(word)


def test_no_finite_machine_is_a_language_that_is_not_regular() -> None:
    two_deep = machine_of("dyck-1-2", "prediction")
    dyck = nr.language("dyck-1")
    assert two_deep.alphabet == dyck.alphabet
    found = find_difference(two_deep, LanguageQuestion(dyck))
    assert found is not None
    assert found.word == ("(", "(")
    assert (found.expected, found.got) == (("(", ")"), (")",))


def test_what_is_not_asked_is_not_compared() -> None:
    def frame(last: str) -> Moore:
        return Moore(
            alphabet=AB, transitions=np.array([[1, 2], [1, 2], [2, 2]]), start=0, outputs=("0", "1", last)
        )

    for partial in (OUTSIDE, UNASKED):
        assert find_difference(frame("7"), MooreQuestion("partial", frame(partial))) is None
    found = find_difference(frame("7"), MooreQuestion("whole", frame("8")))
    assert found is not None
    assert (found.word, found.expected, found.got) == (("b",), ("8",), ("7",))


def test_a_search_ends_with_the_budget() -> None:
    with pytest.raises(BudgetExceeded):
        find_difference(
            machine_of("tomita-3"), LanguageQuestion(nr.language("tomita-3"), "end"), Budget(images=2)
        )


def test_theory_warns_of_what_an_architecture_cannot_hold() -> None:
    found = theory_of(machine_of("parity"), "acceptance", ("mamba",))
    assert found.status == "no"
    assert found.groups == ("Z2",)
    assert "Z2" in found.warning
    assert "mamba" in found.warning
    assert theory_of(machine_of("parity"), "acceptance", ("mamba-signed",)).warning == ""
    mixed = theory_of(machine_of("parity"), "acceptance", ("mamba", "lstm"))
    assert mixed.status is None
    assert "several kinds" in mixed.reason


def test_classes_have_the_algebra_of_their_machine() -> None:
    three = Moore.explore(AB, 0, lambda q, letter: (q + letter) % 3, str)
    assert acceptor(three, "class").num_states == 3
    assert theory_of(three, "class", ()).groups == ("Z3",)
    silent = Moore(alphabet=AB, transitions=np.zeros((1, 2), int), start=0, outputs=(UNASKED,))
    with pytest.raises(InputError, match="never answers"):
        acceptor(silent, "class")
