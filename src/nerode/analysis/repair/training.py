"""Training that goes on with the words that a network gets wrong.

Each round searches a failing word, adds it to the ones before, and makes some updates on batches of the task
together with words that begin with the failing ones. The answers of the task are the only teacher.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from nerode.analysis.extraction.question import IN, NOTHING, OUTSIDE, UNASKED, NetworkQuestion, question_of
from nerode.analysis.repair.search import FailureSearch, SearchSettings, find_failing_word
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, InputError, stream, to_mapping
from nerode.languages import END, Word
from nerode.records import OptimiserSpec
from nerode.tasks import Batch, Task
from nerode.training import make_optimiser, run

_CONTINUATION = 8
"""Letters after a failing word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings:
    """Settings of a repair.

    Attributes:
        rounds: failing words to learn from, at most.
        steps: updates after each.
        rate: of Adam.
        batch: words of the task in an update, and as many that begin with failing words.
        seed: of the words.
        search: how far failing words are searched.
    """

    rounds: int = 10
    steps: int = 50
    rate: float = 1e-3
    batch: int = 32
    seed: int = 0
    search: SearchSettings = field(default_factory=SearchSettings)

    def __post_init__(self) -> None:
        if min(self.rounds, self.steps, self.batch) < 1 or not self.rate > 0:
            raise InputError(
                f"{self} cannot be used; rounds, steps and batch are 1 or more, the rate above 0"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRound:
    """One round.

    Attributes:
        search: what was wrong before it.
        loss: of the last update.
    """

    search: FailureSearch
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRecord:
    """The outcome of a repair.

    Attributes:
        rounds: in order.
        last: what the search finds afterwards.
    """

    rounds: tuple[RepairRound, ...]
    last: FailureSearch

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return to_mapping(self)


def repair(
    subject: LoadedNetwork, *, settings: RepairSettings | None = None, budget: Budget | None = None
) -> tuple[RepairRecord, nn.Module]:
    """Returns what was done, and the repaired model; that of the subject is not changed.

    Args:
        subject: a trained network.
        settings: how to go on.
        budget: limits the time of each search.

    Raises:
        InputError: if the task is not that of an automaton, or the state of the network grows.
    """
    settings = settings or RepairSettings()
    task = subject.task
    if task is None:
        raise InputError(f"{subject.name} has no task, so nothing says what is right")
    question = question_of(task)
    mended = replace(subject, model=copy.deepcopy(subject.model))
    optimiser = make_optimiser(mended.model, OptimiserSpec(name="adam", rate=settings.rate, decay=0.0))
    words: list[Word] = []
    rounds: list[RepairRound] = []
    search = find_failing_word(mended, settings=settings.search, budget=budget)
    while search.failing is not None and len(rounds) < settings.rounds:
        numbers = {symbol: number for number, symbol in enumerate(question.alphabet.symbols)}
        words.append(tuple(numbers[symbol] for symbol in search.failing.word))
        mended.model.train()
        loss = 0.0
        for step in range(settings.steps):
            rng = stream(settings.seed, "repair", len(rounds), step)
            loss = _update(mended.model, optimiser, task, question, words, settings.batch, rng)
        mended.model.eval()
        rounds.append(RepairRound(search=search, loss=loss))
        search = find_failing_word(mended, settings=settings.search, budget=budget)
    return RepairRecord(rounds=tuple(rounds), last=search), mended.model


def _update(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    task: Task,
    question: NetworkQuestion,
    words: Sequence[Word],
    count: int,
    rng: np.random.Generator,
) -> float:
    low, high = task.training_lengths
    lengths = [n for n in range(low, high + 1) if task.trains_on(n)]
    usual = task.sample(task.choose_length(lengths, rng), count, rng)
    hard = batch_of(question, continue_words(question, words, count, rng), bits=task.targets_are_bits)
    optimiser.zero_grad(set_to_none=True)
    loss = task.loss(run(model, usual.inputs)[0], usual) + task.loss(run(model, hard.inputs)[0], hard)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)
    optimiser.step()
    return float(loss.detach())


def continue_words(
    question: NetworkQuestion, words: Sequence[Word], count: int, rng: np.random.Generator
) -> list[Word]:
    """Returns words that begin with the given ones, all as long as the longest and some letters more.

    The letters are drawn from those after which the task still asks something; without such, from all.
    """
    target = question.target
    length = max(map(len, words)) + _CONTINUATION
    found = []
    for number in range(count):
        word = list(words[number % len(words)])
        place: Any = target.initial()
        for letter in word:
            place = target.advance(place, letter)
        while len(word) < length:
            after = [target.advance(place, letter) for letter in range(len(question.alphabet))]
            open_letters = [
                letter for letter, then in enumerate(after) if target.answer(then) not in (OUTSIDE, NOTHING)
            ]
            letter = int(rng.choice(open_letters or range(len(question.alphabet))))
            word.append(letter)
            place = after[letter]
        found.append(tuple(word))
    return found


def batch_of(question: NetworkQuestion, words: Sequence[Word], *, bits: bool) -> Batch:
    """Returns words of one length with the correct answers; positions not asked do not count."""
    targets: list[list[Any]] = []
    mask: list[list[bool]] = []
    names = [*question.alphabet.symbols, END]
    for word in words:
        place: Any = question.target.initial()
        row: list[Any] = []
        asked: list[bool] = []
        for letter in word:
            place = question.target.advance(place, letter)
            answer = question.target.answer(place)
            asked.append(answer not in (OUTSIDE, UNASKED, NOTHING))
            if bits:
                row.append([name in answer.split(" ") for name in names])
            elif question.kind == "acceptance":
                row.append(int(answer == IN))
            else:
                row.append(int(answer) if asked[-1] else 0)
        targets.append(row)
        mask.append(asked)
    return Batch(inputs=torch.tensor(words), targets=torch.tensor(targets), mask=torch.tensor(mask))
