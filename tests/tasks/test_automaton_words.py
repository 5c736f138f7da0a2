"""Words of a task's automaton: the answers are those of the task, and rare states are visited."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from nerode.core import InputError, stream
from nerode.kernel import PREDICT, RECOGNISE
from nerode.languages import Legal
from nerode.languages.bestiary import find_language
from nerode.records import TaskConfig
from nerode.tasks import AutomatonWalks, automaton_of, build_task


def contains(word):
    settings = {"language": f"contains-{word}"}
    return automaton_of(build_task(TaskConfig(name="language-prediction", settings=settings)))


@pytest.mark.parametrize(
    "name", ["parity", "predict-tomita-3", "recognise-tomita-3", "s3", "states-tomita-4"]
)
def test_the_answers_are_those_of_the_task(name):
    task = build_task(TaskConfig(name=name))
    length = task.usual_length(12)
    drawn = task.sample(length, 16, stream(0, "test"))
    made = automaton_of(task).batch(drawn.inputs.numpy())
    assert made.mask.all()
    assert drawn.mask.any()
    assert torch.equal(made.targets[drawn.mask].long(), drawn.targets[drawn.mask].long())


def test_words_pass_the_states_of_the_automaton():
    automaton = automaton_of(build_task(TaskConfig(name="predict-tomita-2")))
    words = AutomatonWalks(automaton, stray=0.1, longest=10).draw(np.random.default_rng(0), 200, 10)
    states, language = automaton.states(words), find_language("tomita-2")
    for word, passed in zip(words[:20].tolist(), states[:20].tolist(), strict=True):
        place = language.initial()
        for letter, state in zip(word, passed, strict=True):
            place = language.advance(place, letter)
            assert language.legal(place) == automaton.legal[state]
    assert 0.2 < automaton.dead[states[:, -1]].mean() < 0.95
    valid = AutomatonWalks(automaton, stray=0.0, longest=10).draw(np.random.default_rng(0), 200, 10)
    assert not automaton.dead[automaton.states(valid)].any()


def share_of_found(automaton, rng, **settings):
    """The share of words of 40 letters that reach the state without a way back."""
    words = AutomatonWalks(automaton, stray=0.0, **settings).draw(rng, 512, 40)
    (end,) = [state for state, row in enumerate(automaton.dfa.transitions) if set(row) == {state}]
    return (automaton.states(words) == end).any(1).mean()


def test_half_of_the_words_are_tours_where_random_ones_rarely_reach_a_state():
    rng = np.random.default_rng(0)
    assert share_of_found(contains("abbabaab"), rng, longest=1000) < 1 / 5
    assert share_of_found(contains("abbabaab"), rng, longest=40) > 1 / 3


def test_words_stay_as_they_were_where_random_ones_reach_every_state():
    automaton = contains("abba")
    plain, longer = (
        AutomatonWalks(automaton, stray=0.05, longest=longest).draw(np.random.default_rng(1), 64, 40)
        for longest in (40, 10_000)
    )
    assert (plain == longer).all()


def test_the_first_words_begin_with_given_ones():
    words = AutomatonWalks(contains("abba"), stray=0.0, longest=9).draw(
        np.random.default_rng(0), 4, 6, [(0, 1, 1), (1, 1, 1, 1, 1, 1, 1, 1)]
    )
    assert words[0, :3].tolist() == [0, 1, 1]
    assert words[1].tolist() == [1] * 6


def test_a_task_without_an_automaton_is_refused():
    with pytest.raises(InputError, match="nothing to prove about"):
        automaton_of(build_task(TaskConfig(name="copying")))
    with pytest.raises(InputError, match="no automaton of at most"):
        automaton_of(build_task(TaskConfig(name="predict-anbn")))
    for name in ("flip-flop", "s5-four-tokens"):
        with pytest.raises(InputError):
            automaton_of(build_task(TaskConfig(name=name)))


@pytest.mark.parametrize(
    ("name", "asked", "merged"),
    [
        ("parity", RECOGNISE, False),
        ("recognise-tomita-3", RECOGNISE, False),
        ("states-tomita-3", PREDICT, True),
        ("s3", PREDICT, True),
        ("predict-tomita-3", PREDICT, False),
    ],
)
def test_classes_say_what_is_asked_of_the_language(name, asked, merged):
    automaton = automaton_of(build_task(TaskConfig(name=name)))
    assert (automaton.task, automaton.merges_classes) == (asked, merged)
    assert (automaton.answers is None) == (name == "predict-tomita-3")


def test_a_class_that_says_something_else_is_refused():
    automaton = automaton_of(build_task(TaskConfig(name="recognise-tomita-3")))
    others = tuple(Legal(frozenset(), not answer.end) for answer in automaton.answers)
    with pytest.raises(InputError, match="does not say"):
        replace(automaton, answers=others)
    with pytest.raises(InputError, match="classes without answers"):
        replace(automaton, answers=None)
