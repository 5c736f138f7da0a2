"""The shortest word that a network answers incorrectly.

A pair of a state of the network and a configuration of the target is followed once. As long as states count
as the same only when they are so bit for bit, nothing is missed: a word that is found is a shortest one, and
if none is left to follow, the network is correct on every word. Where that becomes too much, states are
rounded to a grid, which goes deeper but may pass by a failure.

Many states are stepped at once, and sums in a batch may be rounded otherwise than for one word alone. So a
word counts as failing only if it fails alone, and that none fails at any length is said only after all states
were stepped one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.extraction.question import NetworkQuestion, question_of
from nerode.analysis.settle.failing_words import first_failure
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, InputError, started, to_mapping
from nerode.proofs import Refutation
from nerode.proofs.floats import Runner, Walk, decoder, grid_marks, make_runner, state_values


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
class FailureSearch:
    """The outcome of a search.

    Attributes:
        failing: the word; None if none was found.
        shortest: whether no shorter word failed when all of them were looked at, many at once.
        right_up_to: every word of at most this length was answered correctly, bit for bit, many at once.
        always_right: whether the states are finitely many and all were looked at, one at a time, so that
            every word is answered correctly, alone and step by step in the floats of this machine.
        states: pairs of states that were found, in all searches.
        why_ended: what stopped the search without a word; "" otherwise.
    """

    failing: Refutation | None
    shortest: bool
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
        proved = found is None
        return FailureSearch(
            failing=found, shortest=not proved, right_up_to=length, always_right=proved, states=len(exact)
        )
    seen, spread = len(exact), state_values(exact.rows, exact.layout).std(axis=0)
    for grid in settings.grids:
        marks = grid_marks(grid, np.where(spread > 0, spread, 1.0), exact.layout)
        walk = _walk(runner, question, budget, most=settings.rounded_states, marks=marks)
        seen += len(walk)
        found = _fails_alone(machine, question, walk)
        if found is not None:
            shortest = len(found.word) == length + 1
            return FailureSearch(
                failing=found, shortest=shortest, right_up_to=length, always_right=False, states=seen
            )
    full = f"more than {settings.states:,} states"
    why = "the time was up" if exact.end is None else full if exact.end == "full" else exact.reason
    return FailureSearch(
        failing=None, shortest=False, right_up_to=length, always_right=False, states=seen, why_ended=why
    )


def _walk(runner: Runner, question: NetworkQuestion, budget: Budget, **limits: Any) -> Walk:
    """The states of a network on the words that its task asks about."""
    walk = Walk(runner, question.target.weaker() or question.target, **limits)
    walk.run(budget)
    return walk


def _fails_alone(machine: Machine, question: NetworkQuestion, walk: Walk) -> Refutation | None:
    """The word that refutes a network in a walk, if it does so alone."""
    if walk.refutation is None:
        return None
    return first_failure(machine, question, question.alphabet.encode(walk.refutation.word))
