"""The shortest word that a network answers incorrectly, and training that goes on with such words.

A pair of a state of the network and a configuration of the target is followed once. As long as states count
as the same only when they are so bit for bit, nothing is missed: a word that is found is a shortest one, and
if none is left to follow, the network is correct on every word. Where that becomes too much, states are
rounded to a grid, which goes deeper but may pass by a failure.

Many states are stepped at once, and sums in a batch may be rounded otherwise than for one word alone. So a
word counts as failing only if it fails alone, and that none fails at any length is said only after all states
were stepped one at a time.

Each round searches a failing word, adds it to the ones before, and makes some updates on batches of the task
together with words that begin with the failing ones. Where the search names none, the network is settled: a
word that refutes it begins another round, until it is proved or the rounds or the time are used up. The
answers of the task are the only teacher.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.extraction.question import NetworkQuestion, question_of
from nerode.analysis.settle.failing_words import WrongAnswer, first_failure
from nerode.analysis.settle.settling import settle
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, InputError, started, stream, to_mapping
from nerode.languages import END, NOTHING, OUTSIDE, UNASKED, Word
from nerode.proofs.floats import Runner, Walk, decoder, grid_marks, make_runner, state_values
from nerode.records import OptimiserSpec, Settlement
from nerode.tasks import Batch, Task
from nerode.training import make_optimiser, run


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Limits of a search.

    Attributes:
        states: pairs that the search without rounding finds.
        grids: sizes of the cells for further searches, in standard deviations of a coordinate, one search
            each; none for no rounding.
        rounded_states: pairs that each of these finds.
    """

    states: int = 20_000
    grids: tuple[float, ...] = (0.1, 0.02)
    rounded_states: int = 20_000

    def __post_init__(self) -> None:
        if self.states < 1 or self.rounded_states < 1 or any(not grid > 0 for grid in self.grids):
            raise InputError(f"{self} cannot be used; numbers of states are 1 or more, grids above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingWord:
    """A word that a network answers incorrectly at its end.

    Attributes:
        word: its letters.
        expected: what should be answered.
        got: what the network answers.
        shortest: whether no shorter word failed when all of them were looked at, many at once.
    """

    word: tuple[str, ...]
    expected: str
    got: str
    shortest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureSearch:
    """The outcome of a search.

    Attributes:
        failing: the word; None if none was found.
        right_up_to: every word of at most this length was answered correctly, bit for bit, many at once.
        always_right: whether the states are finitely many and all were looked at, one at a time, so that
            every word is answered correctly, alone and step by step in the floats of this machine.
        states: pairs of states that were found, in all searches.
        why_ended: what stopped the search without a word; "" otherwise.
    """

    failing: FailingWord | None
    right_up_to: int
    always_right: bool
    states: int
    why_ended: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return to_mapping(self)


def find_failing_word(
    subject: LoadedNetwork, *, settings: SearchSettings | None = None, budget: Budget | None = None
) -> FailureSearch:
    """Returns a shortest word that a network answers incorrectly, or the length up to which there is none.

    Args:
        subject: the network; its task has the correct answers.
        settings: how far to search.
        budget: limits the time; when it is up, what is known is returned.

    Raises:
        InputError: if the task is not that of an automaton, or the state of the network grows.
    """
    if subject.task is None:
        raise InputError(f"{subject.name} has no task, so nothing says what is correct")
    question = question_of(subject.task)
    machine = Machine(subject.model, question)
    return search_failures(machine, question, settings or SearchSettings(), started(budget))


def search_failures(
    machine: Machine, question: NetworkQuestion, settings: SearchSettings, budget: Budget
) -> FailureSearch:
    """Returns what the search without rounding finds, or else the first of those with rounding."""
    runner = make_runner(machine.model, question.target, decode=decoder(question.reading))  # type: ignore[arg-type]
    exact = _walk(runner, question, budget, most=settings.states)
    found = _fails_alone(machine, question, exact)
    if exact.end == "closed" or (exact.end == "wrong" and found is None):
        exact = _walk(runner, question, budget, most=settings.states, batch=1)
        found = _fails_alone(machine, question, exact)
    length = max(0, exact.length)
    if found is not None or exact.end == "closed":
        failing = None if found is None else _failing(question, found, shortest=True)
        return FailureSearch(
            failing=failing, right_up_to=length, always_right=found is None, states=len(exact)
        )
    seen, spread = len(exact), state_values(exact.rows, exact.layout).std(axis=0)
    for grid in settings.grids:
        marks = grid_marks(grid, np.where(spread > 0, spread, 1.0), exact.layout)
        walk = _walk(runner, question, budget, most=settings.rounded_states, marks=marks)
        seen += len(walk)
        found = _fails_alone(machine, question, walk)
        if found is not None:
            failing = _failing(question, found, shortest=len(found.word) == length + 1)
            return FailureSearch(failing=failing, right_up_to=length, always_right=False, states=seen)
    full = f"more than {settings.states:,} states"
    why = "the time was up" if exact.end is None else full if exact.end == "full" else exact.reason
    return FailureSearch(failing=None, right_up_to=length, always_right=False, states=seen, why_ended=why)


def _walk(runner: Runner, question: NetworkQuestion, budget: Budget, **limits: Any) -> Walk:
    """The states of a network on the words that its task asks about."""
    walk = Walk(runner, question.target.weaker() or question.target, **limits)
    walk.run(budget)
    return walk


def _fails_alone(machine: Machine, question: NetworkQuestion, walk: Walk) -> WrongAnswer | None:
    """The word that refutes a network in a walk, if it does so alone."""
    if walk.refutation is None:
        return None
    return first_failure(machine, question, question.alphabet.encode(walk.refutation.word))


def _failing(question: NetworkQuestion, found: WrongAnswer, *, shortest: bool) -> FailingWord:
    symbols = question.alphabet.symbols
    word = tuple(symbols[letter] for letter in found.word)
    return FailingWord(word=word, expected=found.expected, got=found.got, shortest=shortest)


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
        end: how the repaired network is settled.
    """

    rounds: tuple[RepairRound, ...]
    last: FailureSearch
    end: Settlement

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
        budget: limits the time; each search may take half of what is left.

    Raises:
        InputError: if the task is not that of an automaton, or the state of the network grows.
        BudgetExceeded: if the time is up in the middle of training.
    """
    settings, budget = settings or RepairSettings(), started(budget)
    task = subject.task
    if task is None:
        raise InputError(f"{subject.name} has no task, so nothing says what is correct")
    question = question_of(task)
    mended = replace(subject, model=copy.deepcopy(subject.model))
    optimiser = make_optimiser(mended.model, OptimiserSpec(name="adam", rate=settings.rate, decay=0.0))
    words: list[Word] = []
    rounds: list[RepairRound] = []
    search, end = _failure(mended, settings.search, budget)
    while search.failing is not None and len(rounds) < settings.rounds:
        numbers = {symbol: number for number, symbol in enumerate(question.alphabet.symbols)}
        words.append(tuple(numbers[symbol] for symbol in search.failing.word))
        mended.model.train()
        loss = 0.0
        for step in range(settings.steps):
            budget.check_time(rounds=len(rounds), steps=step)
            rng = stream(settings.seed, "repair", len(rounds), step)
            loss = _update(mended.model, optimiser, task, question, words, settings.batch, rng)
        mended.model.eval()
        rounds.append(RepairRound(search=search, loss=loss))
        search, end = _failure(mended, settings.search, budget)
    end = end or settle(mended, budget=budget.part()).settlement
    return RepairRecord(rounds=tuple(rounds), last=search, end=end), mended.model


def _failure(
    subject: LoadedNetwork, settings: SearchSettings, budget: Budget
) -> tuple[FailureSearch, Settlement | None]:
    """A failing word of the search, or else of what settles the network, and then how that is settled."""
    search = find_failing_word(subject, settings=settings, budget=budget.part())
    if search.failing is not None:
        return search, None
    end = settle(subject, budget=budget.part()).settlement
    if end.word is not None:
        failing = FailingWord(word=end.word, expected=end.expected, got=end.got, shortest=end.shortest)
        search = replace(search, failing=failing, always_right=False)
    return search, end


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
            after, open_letters = question.continuations(place)
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
            else:
                row.append(question.class_of(place) if asked[-1] else 0)
        targets.append(row)
        mask.append(asked)
    return Batch(inputs=torch.tensor(words), targets=torch.tensor(targets), mask=torch.tensor(mask))
