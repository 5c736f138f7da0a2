"""Questions: expected answers, what is asked, what is read; equal definitions ask the same."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.kernel import PREDICT, RECOGNISE, TRACK, VALID_PREFIXES
from nerode.languages import (
    OUTSIDE,
    UNASKED,
    Alphabet,
    LanguageQuestion,
    Moore,
    MooreQuestion,
    asked_of,
    resolve_language,
)

AB = Alphabet(("a", "b"))


@st.composite
def machines(draw):
    states = draw(st.integers(1, 5))
    numbers = st.integers(0, states - 1)
    table = draw(st.lists(st.tuples(numbers, numbers), min_size=states, max_size=states))
    texts = st.sampled_from(["0", "1", "2", OUTSIDE, UNASKED])
    outputs = tuple(draw(st.lists(texts, min_size=states, max_size=states)))
    return Moore(alphabet=AB, transitions=np.array(table), start=draw(numbers), outputs=outputs)


def asked_along(machine, word):
    """The classes that are asked for after each prefix, by the machine as it is; None where none is."""
    found, state, left = [], machine.start, False
    for letter in (None, *word):
        state = state if letter is None else machine.rows[state][letter]
        left = left or machine.outputs[state] == OUTSIDE
        found.append(None if left or machine.outputs[state] == UNASKED else machine.outputs[state])
    return found


@given(machine=machines(), word=st.lists(st.integers(0, 1), max_size=8))
def test_the_canonical_machine_asks_what_the_machine_asks(machine, word):
    question = MooreQuestion("drawn", machine, ("0", "1", "2"))
    at, found, read = question.initial(), [], True
    for letter in (None, *word):
        if letter is not None:
            read = read and letter in question.letters(at)
            at = question.advance(at, letter)
        bits = question.expected(at)
        asked = read and all(question.asked(at))
        found.append(question.answers[bits.index(True)] if asked else None)
    assert found == asked_along(machine, word)


@given(one=machines(), other=machines())
def test_definitions_are_equal_exactly_if_the_same_is_asked(one, other):
    left, right = (MooreQuestion("drawn", machine, ("0", "1", "2")) for machine in (one, other))
    words = [()]
    for word in words:
        if len(word) < 6:
            words += [(*word, 0), (*word, 1)]
    # Five states each are told apart by words of at most 25 letters; few need more than 6.
    same = all(asked_along(one, word) == asked_along(other, word) for word in words)
    if left.hash == right.hash:
        assert same
    elif same:
        assert left.machine.num_states + right.machine.num_states > 6


def test_tasks_of_the_kernel():
    language = resolve_language("(ab)*")
    strongest = LanguageQuestion(language)
    assert (strongest.task, strongest.weaker().task, strongest.weaker().weaker()) == (
        PREDICT,
        VALID_PREFIXES,
        None,
    )
    assert asked_of(language, RECOGNISE).task == RECOGNISE
    assert strongest.for_task(VALID_PREFIXES).letters(language.initial()) == [0]
    with pytest.raises(InputError, match="does not answer what is asked"):
        strongest.for_task(TRACK)
    with pytest.raises(InputError, match="does not answer what is asked"):
        LanguageQuestion(language, "next", "all").for_task(VALID_PREFIXES)
    with pytest.raises(InputError, match="membership"):
        LanguageQuestion(language, "end", "valid")


def test_membership_asks_about_the_end_alone():
    question = LanguageQuestion(resolve_language("(ab)*"), "end", "all")
    at = question.advance(question.initial(), 0)
    assert question.asked(at) == (False, False, True)
    assert (question.answer(question.initial()), question.answer(at)) == ("in", "out")
    found = question.refutation((0,), at, (True, True, True))
    assert (found.word, found.expected, found.got) == (("a",), (), ("$",))


def test_classes_that_are_not_named_are_refused():
    machine = Moore(alphabet=AB, transitions=np.zeros((1, 2), int), start=0, outputs=("7",))
    with pytest.raises(InputError, match="other classes"):
        MooreQuestion("drawn", machine, ("0", "1"))


def test_a_language_is_not_asked_for_classes():
    with pytest.raises(InputError, match="track"):
        LanguageQuestion.of_task(resolve_language("(ab)*"), TRACK)
