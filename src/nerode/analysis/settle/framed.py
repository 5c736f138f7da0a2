"""Networks whose tasks are answered by a finite machine, as modules whose float states can be listed.

A closure compares what a module says may follow with a language. Flip-flops, even pairs, cycles and signals
have classes for answers, at some positions of some words only. `FramedNetwork` puts the network beside the
machine of its question: it says what the machine allows as long as the network answers correctly, and that
nothing may follow where it does not. It agrees with the language of the words that are asked about exactly
if the network never answers one of them incorrectly.

`SignalNetwork` reads the signals of counting as letters, 0 for off and 1 for on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nerode.analysis.extraction.moore import Moore
from nerode.analysis.extraction.question import (
    OUTSIDE,
    UNASKED,
    MooreTarget,
    NetworkQuestion,
    class_question,
    question_of,
)
from nerode.analysis.proofs.goals import ScoreReading
from nerode.core import InputError
from nerode.languages import Alphabet, Dfa, Language, RegularLanguage
from nerode.models import State
from nerode.proofs import VALID_PREFIXES
from nerode.tasks import Counting, Task

_FRAME = "frame"
_ANY = -1
"""The expected class where none is asked for."""


class SignalNetwork(nn.Module):
    """A network that reads one feature and gives one score, as one that reads 0 and 1 and names a class."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.inner = network
        self.grows = bool(getattr(network, "grows", False))

    def initial_state(self, batch: int) -> State:
        """Returns the state before the first position."""
        state: State = self.inner.initial_state(batch)  # type: ignore[operator]
        return state

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the scores of the classes 0 and 1 after one letter, and the state."""
        scores, after = self.inner.step(self._features(x), state)  # type: ignore[operator]
        return _classes(scores), after

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Returns the scores of the classes along sequences, and the last state."""
        scores, after = self.inner(self._features(x), state)
        return _classes(scores), after

    def _features(self, x: Tensor) -> Tensor:
        return x[..., None].to(next(self.inner.parameters()).dtype)


def _classes(scores: Tensor) -> Tensor:
    # A score of 0 means off, as it does in the task.
    return torch.cat([torch.zeros_like(scores), scores], dim=-1)


class FramedNetwork(nn.Module):
    """A network beside the machine of its question; both read the same letters.

    Args:
        network: gives a score for each class.
        machine: its outputs are the expected classes.
    """

    moves: Tensor
    expected: Tensor
    inside: Tensor

    def __init__(self, network: nn.Module, machine: Moore) -> None:
        super().__init__()
        self.inner, self._start = network, machine.start
        expected = [_ANY if text in (OUTSIDE, UNASKED) else int(text) for text in machine.outputs]
        alive = np.array([text != OUTSIDE for text in machine.outputs])
        follows = alive[machine.transitions] & alive[:, None]
        self.register_buffer("moves", torch.from_numpy(machine.transitions.astype(np.int64)))
        self.register_buffer("expected", torch.tensor(expected))
        self.register_buffer("inside", torch.from_numpy(np.concatenate([follows, alive[:, None]], axis=1)))

    def initial_state(self, batch: int) -> State:
        """Returns the state of the network and the place of the machine before the first letter."""
        state = self.inner.initial_state(batch)  # type: ignore[operator]
        return {**state, _FRAME: torch.full((batch, 1), self._start)}

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns what may follow, nothing after a wrong answer, and the state."""
        own = {name: value for name, value in state.items() if name != _FRAME}
        place = self.moves[state[_FRAME][:, 0], x]
        scores, after = self.inner.step(x, own)  # type: ignore[operator]
        wanted = self.expected[place]
        correct = (wanted == _ANY) | ((scores.argmax(-1) == wanted) & scores.isfinite().all(-1))
        return self.inside[place] & correct[:, None], {**after, _FRAME: place[:, None]}


@dataclass(frozen=True, kw_only=True)
class Closing:
    """A module, and the language that its float states are listed against.

    Attributes:
        module: what is stepped.
        language: what it should do.
        task: of the claim; None for all words if that holds, and else for the valid prefixes.
        decode: how its scores are read.
    """

    module: nn.Module
    language: Language
    task: str | None
    decode: Callable[[Tensor], Tensor]


def asked_network(model: nn.Module, task: Task) -> tuple[nn.Module, NetworkQuestion]:
    """Returns a network that reads letters, and what it is asked.

    Raises:
        InputError: if the answers of the task are not those of a machine that reads letters.
    """
    if isinstance(task, Counting):
        return SignalNetwork(model), class_question(task.name, signals(task))
    return model, question_of(task)


def closing_of(model: nn.Module, task: Task) -> Closing:
    """Returns what to list for a network that was trained on a task.

    Raises:
        InputError: if the task is neither about a language nor about a finite machine.
    """
    try:
        reading = ScoreReading.of(task)
    except InputError as no_language:
        try:
            network, question = asked_network(model, task)
        except InputError:
            raise no_language from None
        if not isinstance(question.target, MooreTarget):
            raise
        machine = question.target.machine
        return Closing(
            module=FramedNetwork(network, machine),
            language=words_asked(task.name, machine),
            task=VALID_PREFIXES,
            decode=_as_it_is,
        )
    return Closing(module=model, language=reading.language, task=reading.task, decode=reading.decode)


def _as_it_is(answers: Tensor) -> Tensor:
    return answers


def words_asked(name: str, machine: Moore) -> Language:
    """Returns the language of the words that a machine does not leave out."""
    return RegularLanguage(
        name=f"words of {name}",
        automaton=Dfa(
            alphabet=machine.alphabet,
            transitions=machine.transitions,
            start=machine.start,
            accepting=np.array([text != OUTSIDE for text in machine.outputs]),
        ),
        convention=f"the words that {name} asks about, with all their beginnings",
    )


def signals(task: Counting) -> Moore:
    """Returns the machine of a counting task: the next step, where what was read determines it.

    A signal is on for the time of training, and off for the shortest time of training or longer.
    """
    on, shortest = task.settings.on, task.settings.off[0]

    def advance(state: tuple[int, int] | None, letter: int) -> tuple[int, int] | None:
        if state is None:
            return None
        bit, count = state
        if letter == bit:
            longer = count + 1
            return (0, min(longer, shortest)) if bit == 0 else (1, longer) if longer <= on else None
        ends = count == (on if bit else shortest)
        return (letter, 1) if ends else None

    def answer(state: tuple[int, int] | None) -> str:
        if state is None:
            return OUTSIDE
        bit, count = state
        if bit:
            return str(int(count < on))
        return "0" if 0 < count < shortest else UNASKED

    return Moore.explore(Alphabet(("0", "1")), (0, 0), advance, answer)
