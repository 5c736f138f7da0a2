"""Automata of trained networks: right ones, and planted wrong ones with their distinguishing words."""

from __future__ import annotations

import copy

import pytest
import torch

import nerode as nr
from nerode.analysis.extraction.extraction import extract
from nerode.analysis.extraction.learning import HypothesisTest
from nerode.analysis.extraction.oracle import Machine, subject_about
from nerode.analysis.subject import LoadedNetwork, subject_of_task, to_subject, trained_network
from nerode.core import InputError
from nerode.languages import answer_text
from nerode.languages.operations import distinguishing_word
from nerode.training import make_spec, train

from .trained import trained

METHODS = [("cluster", False), ("lstar", False), ("lstar", True)]
SHORT = HypothesisTest(words=100, longest=30)


@pytest.mark.parametrize(("method", "black_box"), METHODS)
def test_a_trained_network_gives_its_automaton(method: str, black_box: bool) -> None:
    subject = trained("predict-tomita-2")
    found = extract(subject, method=method, black_box=black_box, probe=SHORT, held_out=SHORT)  # type: ignore[arg-type]
    assert found.equal
    assert found.consistent
    assert found.acceptor() == nr.language("tomita-2").dfa()
    assert found.queries.words > 0


def test_trained_on_another_language_it_gives_the_shortest_word_between_them() -> None:
    subject = trained("predict-tomita-2")
    found = extract(subject, target=nr.language("tomita-1"), probe=SHORT, held_out=SHORT)
    word = found.difference and found.difference.word
    # (10)* allows 1 only at the start, 1* does so everywhere: after 1 they expect different letters.
    assert word == ("1",)
    assert found.difference is not None
    assert (found.difference.expected, found.difference.got) == (("1", "$"), ("0",))
    assert distinguishing_word(nr.language("tomita-1").dfa(), found.acceptor()) is not None


def test_a_changed_network_gives_a_word_on_which_it_really_fails() -> None:
    subject = trained("predict-tomita-2")
    broken = copy.deepcopy(subject.zoo_model)
    broken.head.bias.data[-1] += 1000.0  # the word may now always end
    found = extract(
        LoadedNetwork(name="broken", model=broken, task=subject.task, language=subject.language), probe=SHORT
    )
    assert found.difference is not None
    assert subject.task is not None
    machine = Machine(subject_of_task(broken, subject.task))
    letters = nr.language("tomita-2").alphabet.encode(found.difference.word)
    assert machine.traces([letters])[0][-1] == answer_text(found.difference.got)
    assert "$" in found.difference.got
    assert "$" not in found.difference.expected


def test_words_by_steps_and_by_sequences_are_answered_alike() -> None:
    subject = trained("predict-tomita-2")
    assert subject.task is not None
    stepped, whole = Machine(to_subject(subject)), Machine(to_subject(subject))
    whole.sees_states = False
    words = [(), (1,), (0,), (1, 0, 1), (1, 1, 0), (1, 0) * 8, (1, 0, 0, 1)]
    assert stepped.traces(words) == whole.traces(words)
    assert stepped.queries == whole.queries
    assert stepped.queries.words == len(words)
    stepped.traces(words)
    assert stepped.queries == whole.queries
    with pytest.raises(InputError, match="black-box"):
        whole.initial()


def test_a_network_of_other_letters_is_refused() -> None:
    subject = trained("predict-tomita-2")
    with pytest.raises(InputError, match="letters"):
        Machine(subject_about("net", subject.model, nr.language("flip-flop")))
    with pytest.raises(InputError, match="scores"):
        Machine(subject_about("net", subject.model, nr.language("tomita-2"), "acceptance"))
    with pytest.raises(InputError, match="--target"):
        extract(LoadedNetwork(name="net", model=subject.model))
    with pytest.raises(InputError, match="over these"):
        extract(subject, target=nr.language("flip-flop"), probe=SHORT, held_out=SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("layers", ["lstm", "elman-tanh"])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 7])
def test_tomita_languages_from_trained_networks(number: int, layers: str) -> None:
    subject = trained(f"predict-tomita-{number}", layers, steps=2000)
    assert subject.record is not None
    assert subject.record.stopped == "threshold"
    for method, black_box in METHODS:
        found = extract(subject, method=method, black_box=black_box, probe=SHORT, held_out=SHORT)  # type: ignore[arg-type]
        assert found.equal, found.method


@pytest.mark.slow
@pytest.mark.parametrize("number", [5, 6])
def test_counting_languages_from_trained_lstms(number: int) -> None:
    # Trained up to length 20 only, that for Tomita 5 is wrong on 0¹⁵101, which the search by states finds.
    subject = trained(f"predict-tomita-{number}", "lstm", seed=1, steps=2000, longest=50)
    assert subject.record is not None
    assert subject.record.stopped == "threshold"
    for method, black_box in METHODS:
        found = extract(subject, method=method, black_box=black_box, probe=SHORT, held_out=SHORT)  # type: ignore[arg-type]
        assert found.equal, found.method


def test_a_network_that_reads_a_signal_is_asked_about_off_and_on() -> None:
    settings = {"on": 3, "off": [4, 6], "length": 40}
    spec = make_spec(
        {
            "task": {"name": "counting", "settings": settings},
            "model": {"layers": "elman-tanh", "width": 4, "settings": {"hidden": 6}},
            "run": {"steps": 3, "batch": 8, "evaluate_every": 3, "validation": 16, "test_sequences": 8},
        }
    )
    subject = trained_network(train(spec))
    found = extract(subject, probe=SHORT, held_out=SHORT)
    assert found.machine.alphabet.symbols == ("0", "1")
    machine = Machine(to_subject(subject))
    signal = [0] * 5 + [1] * 3 + [0] * 5
    (outputs,) = machine.traces([tuple(signal)])
    scores, _ = subject.model(torch.tensor(signal, dtype=torch.float32).reshape(1, -1, 1))
    asked = [place for place, output in enumerate(outputs[1:]) if output in ("0", "1")]
    assert len(asked) > 5
    assert [int(outputs[1 + place]) for place in asked] == [int(scores[0, place, 0] > 0) for place in asked]
