from __future__ import annotations

import itertools
import math

import pytest
import torch

import nerode as nr
from nerode.analysis.extraction.question import question_of
from nerode.analysis.settle.word_search import SearchSettings, find_failing_word
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, InputError
from nerode.models import Model
from nerode.models.architectures import Orthogonal
from nerode.proofs.floats import load_architecture
from nerode.records import TaskConfig
from nerode.tasks import build_task
from tests.analysis.polish.planted import planted, turns


def subject_of(task: str, model: torch.nn.Module, **settings: object) -> LoadedNetwork:
    return LoadedNetwork(
        name=task, model=model.eval(), task=build_task(TaskConfig(name=task, settings=settings))
    )


def brute_force(subject: LoadedNetwork, longest: int) -> tuple[int, ...] | None:
    """The first shortest word on which the network and the task differ, by all words."""
    question = question_of(subject.task)
    for length in range(1, longest + 1):
        for word in itertools.product(range(len(question.alphabet)), repeat=length):
            place = question.target.initial()
            for letter in word:
                place = question.target.advance(place, letter)
            scores = subject.model(torch.tensor([word]))[0][0, -1:]
            if question.read(scores)[0] != question.target.answer(place):
                return word
    return None


@pytest.mark.parametrize("seed", range(4))
def test_the_word_is_as_short_as_the_shortest_of_all_words(seed: int) -> None:
    model = nr.build_model(nr.model_config("lstm", letters=2, outputs=2, width=4), seed=seed)
    subject = subject_of("parity", model)
    expected = brute_force(subject, 8)
    found = find_failing_word(subject)
    assert expected is not None
    assert found.failing is not None
    assert found.shortest
    assert len(found.failing.word) == len(expected)
    assert found.right_up_to == len(expected) - 1


def test_a_network_with_finitely_many_states_that_is_right_is_always_right() -> None:
    model = load_architecture(nr.language("parity"), "lstm", seconds=0)
    subject = subject_of("predict-parity", model)
    found = find_failing_word(subject)
    assert found.failing is None
    assert found.always_right
    assert found.why_ended == ""


def test_one_weight_changed_gives_a_word() -> None:
    model = load_architecture(nr.language("parity"), "lstm", seconds=0)
    with torch.no_grad():
        dict(model.named_parameters())["blocks.0.layer.recurrent"].neg_()
    found = find_failing_word(subject_of("predict-parity", model))
    assert found.failing is not None
    assert not found.always_right


class ByBatch(Model):
    """A model whose answers are turned around in batches of some sizes, as if all sums were rounded away."""

    wrong = frozenset({1})

    def step(self, x, state):
        scores, state = super().step(x, state)
        return (-scores if (len(x) == 1) is (1 in self.wrong) else scores), state


class WrongInBatches(ByBatch):
    wrong = frozenset()


def test_what_is_right_in_batches_alone_is_not_called_right() -> None:
    model = load_architecture(nr.language("parity"), "lstm", seconds=0)
    model.__class__ = ByBatch
    found = find_failing_word(subject_of("predict-parity", model))
    assert not found.always_right
    assert found.failing is not None
    assert len(found.failing.word) == 1


def test_a_word_that_fails_in_batches_only_is_none() -> None:
    model = load_architecture(nr.language("parity"), "lstm", seconds=0)
    model.__class__ = WrongInBatches
    found = find_failing_word(subject_of("predict-parity", model))
    assert found.failing is None
    assert found.always_right


def turning(angles: tuple[float, float]) -> LoadedNetwork:
    """A network that counts ones modulo 2 by half turns of the plane; each letter turns a little too far."""
    subject = planted("Z2", [turns(2, 1)], sharpness=1.0)
    layer = subject.zoo_model.layers[0]
    assert isinstance(layer, Orthogonal)
    rotations = [[[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]] for a in angles]
    with torch.no_grad():
        layer.W.weight.copy_(torch.tensor(rotations).reshape(2, 4).T)
    return subject


def test_a_failure_far_away_is_found_with_rounding() -> None:
    """A quarter of a turn too far is wrong: 32 letters of 0.05 each, and no fewer."""
    subject = turning((0.01, math.pi + 0.05))
    settings = SearchSettings(states=520, grids=(0.02,), rounded_states=20_000)
    found = find_failing_word(subject, settings=settings)
    assert found.failing is not None
    assert 32 <= len(found.failing.word) <= 36
    assert not found.shortest
    assert 8 <= found.right_up_to < 32
    without = find_failing_word(subject, settings=SearchSettings(states=520, grids=()))
    assert without.failing is None
    assert not without.always_right
    assert without.why_ended == "more than 520 states"


def test_time_that_is_up_ends_the_search_with_what_is_known() -> None:
    found = find_failing_word(turning((0.01, math.pi + 0.05)), budget=Budget(seconds=1e-9))
    assert found.failing is None
    assert found.why_ended == "the time was up"


def test_what_cannot_be_used_is_refused() -> None:
    model = nr.build_model(nr.model_config("lstm", letters=2, outputs=2, width=4), seed=0)
    with pytest.raises(InputError, match="has no task"):
        find_failing_word(LoadedNetwork(name="x", model=model))
    with pytest.raises(InputError, match="grids above 0"):
        SearchSettings(grids=(0.0,))
