"""Networks beside the machine of their task: flip-flops, even pairs, cycles, signals."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.extraction.question import OUTSIDE, UNASKED
from nerode.analysis.settle import settle
from nerode.analysis.settle.failing_words import (
    failing_examination,
    failing_long_word,
    first_failure,
)
from nerode.analysis.settle.framed import FramedNetwork, asked_network, closing_of, signals
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, InputError, stream
from nerode.proofs.floats import certify_module, recheck_module
from nerode.records import TaskConfig
from nerode.tasks import build_task


class Table(nn.Module):
    """A finite machine as a module: a one-hot state; `leak` shrinks it at each step."""

    def __init__(self, moves: Tensor, scores: Tensor, *, features: bool = False, leak: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(scores.float())
        self.moves, self.features, self.leak = moves, features, leak

    def initial_state(self, batch: int) -> dict[str, Tensor]:
        start = torch.zeros(batch, len(self.moves))
        start[:, 0] = 1.0
        return {"h": start}

    def step(self, x: Tensor, state: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        letters = x[:, 0].long() if self.features else x
        rows = torch.arange(len(letters))
        before = state["h"]
        place = self.moves[before.argmax(-1), letters]
        after = torch.zeros_like(before)
        after[rows, place] = before.amax(-1) * self.leak
        # A state that has faded below 1/8 is read as nothing.
        return (after * (after > 0.125)) @ self.weight, {"h": after}

    def forward(self, x: Tensor, state: dict[str, Tensor] | None = None) -> tuple[Tensor, dict[str, Tensor]]:
        state = self.initial_state(len(x)) if state is None else state
        scores = []
        for time in range(x.shape[1]):
            said, state = self.step(x[:, time], state)
            scores.append(said)
        return torch.stack(scores, dim=1), state


def perfect(name: str, *, leak: float = 1.0, settings: dict[str, object] | None = None) -> LoadedNetwork:
    """A module that is correct on a task, for ever if nothing leaks."""
    task = build_task(TaskConfig(name=name, settings=settings or {}))
    counting = name == "counting"
    machine = signals(task) if counting else asked_network(nn.Linear(1, 1), task)[1].target.machine
    classes = [0 if text in (OUTSIDE, UNASKED) else int(text) for text in machine.outputs]
    if counting:
        scores = torch.tensor([[2.0 * number - 1] for number in classes])
    else:
        scores = torch.nn.functional.one_hot(torch.tensor(classes), task.outputs).float()
        scores[:, 0] += 0.5 * (torch.tensor(classes) != 0)
    moves = torch.tensor(machine.transitions.astype(int))
    model = Table(moves, scores, features=counting, leak=leak)
    return LoadedNetwork(name=name, model=model, task=task, language=None)


@pytest.mark.parametrize("name", ["flip-flop", "even-pairs", "cycle-navigation", "parity-last"])
def test_a_correct_network_is_proved_and_its_proof_replayed(name):
    subject = perfect(name)
    ended = settle(subject, budget=Budget(seconds=30))
    assert ended.settlement.status == "proved", ended.settlement.reason
    closing = closing_of(subject.model, subject.task)
    args = {"decode": closing.decode, "budget": Budget(seconds=30)}
    assert recheck_module(closing.module, closing.language, ended.certificate, **args) is None


def test_a_network_that_counts_signals_is_proved_for_every_time_off():
    ended = settle(perfect("counting"), budget=Budget(seconds=30))
    assert (ended.settlement.status, ended.settlement.method) == ("proved", "closure")


@pytest.mark.parametrize("name", ["flip-flop", "even-pairs", "cycle-navigation"])
def test_a_leak_is_refuted_by_a_word_that_fails_alone(name):
    subject = perfect(name, leak=1 - 2**-10)
    end = settle(subject, budget=Budget(seconds=30)).settlement
    assert end.status == "refuted"
    network, question = asked_network(subject.model, subject.task)
    word = question.alphabet.encode(end.word)
    found = first_failure(Machine(network, question), question, word)
    assert found is not None
    assert (found.expected, found.got) == (end.expected, end.got)


def test_a_planted_wrong_answer_is_never_proved():
    subject = perfect("flip-flop")
    with torch.no_grad():
        worst = int(subject.model.weight.argmax(0)[1])
        subject.model.weight[worst] = torch.tensor([1.0, 0.0])
    closing = closing_of(subject.model, subject.task)
    found = certify_module(closing.module, closing.language, task=closing.task, decode=closing.decode)
    assert found.length != "all"


def test_a_framed_network_tells_wrong_weights_apart():
    one, other = perfect("even-pairs"), perfect("even-pairs")
    ended = settle(one, budget=Budget(seconds=30))
    with torch.no_grad():
        other.model.weight.mul_(2)
    closing = closing_of(other.model, other.task)
    assert recheck_module(closing.module, closing.language, ended.certificate, decode=closing.decode)


def test_the_machine_of_signals_agrees_with_the_masks_and_targets_of_the_task():
    task = build_task(TaskConfig(name="counting"))
    machine = signals(task)
    batch = task.sample(200, 20, stream(0, "test"))
    for row in range(20):
        place = machine.start
        for bit, target, asked in zip(
            batch.inputs[row, :, 0].int().tolist(),
            batch.targets[row, :, 0].int().tolist(),
            batch.mask[row].tolist(),
            strict=True,
        ):
            place = machine.rows[place][bit]
            assert machine.outputs[place] == (str(target) if asked else UNASKED)


def test_signals_that_the_task_does_not_have_are_outside():
    machine = signals(build_task(TaskConfig(name="counting")))
    for word in ("1", "0" * 19 + "1", "0" * 20 + "1" * 11, "0" * 20 + "1" * 9 + "0"):
        place = machine.start
        for letter in word:
            place = machine.rows[place][int(letter)]
        assert machine.outputs[place] == OUTSIDE


def test_long_words_find_a_leak_that_short_ones_do_not_show():
    subject = perfect("flip-flop", leak=1 - 2**-11)
    network, question = asked_network(subject.model, subject.task)
    machine = Machine(network, question)
    budget = Budget(seconds=60).start()
    assert failing_long_word(machine, question, length=1_024, words=4, budget=budget) is None
    found = failing_long_word(machine, question, length=8_192, words=4, budget=budget)
    assert found is not None
    assert len(found.word) > 2_000
    assert found.expected != found.got


def test_a_test_of_phase_alignment_that_fails_is_shown_bit_by_bit():
    subject = perfect("counting")
    failed = failing_examination(subject.model, subject.task)
    assert failed is not None
    assert failed.test == "the test double-isi"
    assert failed.expected == ("1" * 9 + "0") * 2
    assert failed.got != failed.expected
    assert len(failed.got) == 20


def test_a_task_without_a_machine_has_no_closure():
    task = build_task(TaskConfig(name="copying"))
    with pytest.raises(InputError, match="nothing to prove about copying"):
        closing_of(nn.Linear(1, 1), task)


def test_what_may_follow_is_nothing_after_a_wrong_answer():
    subject = perfect("even-pairs")
    machine = asked_network(subject.model, subject.task)[1].target.machine
    framed = FramedNetwork(subject.model, machine)
    said, after = framed.step(torch.tensor([0]), framed.initial_state(1))
    assert said.all()
    with torch.no_grad():
        subject.model.weight.mul_(-1)
    said, _ = framed.step(torch.tensor([1]), after)
    assert not said.any()
