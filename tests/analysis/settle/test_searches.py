"""Words that are found as short as they can be, alone and not only in batches, and far away."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

import nerode as nr
from nerode.analysis.extraction.oracle import read_texts
from nerode.analysis.settle import SettleSettings, settle_task
from nerode.analysis.subject import LoadedNetwork, to_subject
from nerode.core import Budget
from nerode.models import Model
from nerode.models.architectures import Orthogonal
from nerode.proofs.floats import Walk, WordReader, coarse_walks, finished, make_architecture
from nerode.records import Settlement, TaskConfig
from nerode.tasks import build_task
from tests.analysis.polish.planted import planted, turns


def subject_of(task: str, model: torch.nn.Module, **settings: object) -> LoadedNetwork:
    return LoadedNetwork(
        name=task, model=model.eval(), task=build_task(TaskConfig(name=task, settings=settings))
    )


def brute_force(subject: LoadedNetwork, longest: int) -> tuple[int, ...] | None:
    """The first shortest word on which the network and the task differ, by all words."""
    asked = to_subject(subject)
    question = asked.asked
    for length in range(1, longest + 1):
        for word in itertools.product(range(len(question.alphabet)), repeat=length):
            place = question.initial()
            for letter in word:
                place = question.advance(place, letter)
            scores = subject.model(torch.tensor([word]))[0][0, -1:]
            if read_texts(asked, scores)[0] != question.answer(place):
                return word
    return None


def settled(subject: LoadedNetwork, seconds: float = 60.0) -> Settlement:
    few = SettleSettings(tests=16, longest=64, holds=0, searched=0)
    return settle_task(subject, settings=few, budget=Budget(seconds=seconds)).settlement


@pytest.mark.parametrize("seed", range(4))
def test_the_word_is_as_short_as_the_shortest_of_all_words(seed: int) -> None:
    model = nr.build_model(nr.model_config("lstm", letters=2, outputs=2, width=4), seed=seed)
    subject = subject_of("parity", model)
    expected = brute_force(subject, 8)
    found = settled(subject)
    assert expected is not None
    assert found.word is not None
    assert found.shortest
    assert len(found.word) == len(expected)
    assert found.length == len(expected) - 1


def test_a_network_with_finitely_many_states_that_is_right_is_proved() -> None:
    found = settled(
        subject_of("predict-parity", make_architecture(nr.language("parity"), "lstm", seconds=0).model)
    )
    assert (found.status, found.method) == ("proved", "closure")


def test_one_weight_changed_gives_a_word() -> None:
    model = make_architecture(nr.language("parity"), "lstm", seconds=0).model
    with torch.no_grad():
        dict(model.named_parameters())["blocks.0.layer.recurrent"].neg_()
    assert settled(subject_of("predict-parity", model)).status == "refuted"


class ByBatch(Model):
    """A model whose answers are turned around in batches of some sizes, as if all sums were rounded away."""

    wrong = frozenset({1})

    def step(self, x, state):
        scores, state = super().step(x, state)
        return (-scores if (len(x) == 1) is (1 in self.wrong) else scores), state


class WrongInBatches(ByBatch):
    wrong = frozenset()


def test_what_is_right_in_batches_alone_is_not_called_right() -> None:
    subject = subject_of("predict-parity", make_architecture(nr.language("parity"), "lstm", seconds=0).model)
    subject.model.__class__ = ByBatch
    found = settled(subject)
    assert found.word is not None
    assert len(found.word) == 1


def test_a_word_that_fails_in_batches_only_is_none() -> None:
    subject = subject_of("predict-parity", make_architecture(nr.language("parity"), "lstm", seconds=0).model)
    subject.model.__class__ = WrongInBatches
    assert settled(subject).status == "proved"


def turning(angles: tuple[float, float]) -> LoadedNetwork:
    """A network that counts ones modulo 2 by half turns of the plane; each letter turns a little too far."""
    subject = planted("Z2", [turns(2, 1)], sharpness=1.0)
    layer = subject.zoo_model.layers[0]
    assert isinstance(layer, Orthogonal)
    rotations = [[[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]] for a in angles]
    with torch.no_grad():
        layer.W.weight.copy_(torch.tensor(rotations).reshape(2, 4).T)
    return subject


def test_a_failure_far_away_is_found_by_coarse_walks() -> None:
    """A quarter of a turn too far is wrong: 32 letters of 0.05 each, and no fewer."""
    reader, budget = WordReader(to_subject(turning((0.01, math.pi + 0.05)))), Budget(seconds=60)
    walk = Walk(reader.runner, reader.question, most=520)
    assert walk.run(budget) == "full"
    assert 8 <= walk.length < 32
    found = finished(coarse_walks(reader, walk, budget=budget))
    assert found is not None
    assert 32 <= len(found.word) <= 36


def test_time_that_is_up_ends_the_search_with_what_is_known() -> None:
    found = settled(turning((0.01, math.pi + 0.05)), seconds=1e-9)
    assert found.status == "unsettled"
