"""A network as a machine that reads letters: states in batches, outputs as texts, every query counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nerode.analysis.extraction.question import NetworkQuestion, check_scores
from nerode.core import InputError, plural
from nerode.languages import NOTHING, OUTSIDE, UNASKED, Moore, Word
from nerode.models import Model, State, is_stateful
from nerode.models.network_module import CompiledModel

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """Counts of the queries to a network.

    Attributes:
        words: different words whose outputs were asked for.
        letters: letters that the network read for them.
        states: steps from one state of the network to the next, asked for by their state.
    """

    words: int = 0
    letters: int = 0
    states: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedMachine:
    """An automaton that was made from a network.

    Attributes:
        machine: the automaton, minimal.
        consistent: whether the last test found no difference; otherwise rounds, sizes or the budget ended.
        states: states of the network that were looked at and kept; 0 if only words were asked.
        rounds: hypotheses that were tested; 0 if all states of the network were listed.
    """

    machine: Moore
    consistent: bool
    states: int = 0
    rounds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """Several states of a machine.

    Attributes:
        values: the numbers of the network's state, one row each; the type of the network fits in float64.
        outputs: what is answered there.
        frames: the state of the frame of the question.
        alive: whether further letters are read; nothing changes in a state that is not alive.
    """

    values: Floats
    outputs: tuple[str, ...]
    frames: npt.NDArray[np.int64]
    alive: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.outputs)

    def rows(self, chosen: Sequence[int] | npt.NDArray[np.intp]) -> States:
        """Returns some of the states."""
        index = np.asarray(chosen, dtype=np.intp)
        return States(
            values=self.values[index],
            outputs=tuple(self.outputs[i] for i in index),
            frames=self.frames[index],
            alive=self.alive[index],
        )

    def marks(self) -> list[tuple[bytes, str, int]]:
        """Returns what tells states apart, bit for bit; states that are not alive differ in outputs only."""
        values = np.where(self.alive[:, None], self.values, 0.0)
        frames = np.where(self.alive, self.frames, 0).tolist()
        return [(row.tobytes(), o, f) for row, o, f in zip(values, self.outputs, frames, strict=True)]


def joined(parts: Sequence[States]) -> States:
    """Returns the states of several batches in one."""
    return States(
        values=np.concatenate([part.values for part in parts]),
        outputs=tuple(output for part in parts for output in part.outputs),
        frames=np.concatenate([part.frames for part in parts]),
        alive=np.concatenate([part.alive for part in parts]),
    )


class Machine:
    """A network that is asked a question.

    Args:
        model: a model of the zoo, a compiled network, or a module of the user's own that gives scores and a
            state for letters; by words only, unless it has `step` and `initial_state`.
        question: what its scores mean.
        longest: the largest number of letters of a word that may be read; None for any.
    """

    def __init__(self, model: nn.Module, question: NetworkQuestion, *, longest: int | None = None) -> None:
        self.question, self.longest = question, longest
        self.alphabet = question.alphabet
        self._model: Any = model
        self.sees_states = isinstance(model, CompiledModel) or is_stateful(model)
        self._known: dict[Word, tuple[str, ...]] = {}
        self._words = self._letters = self._states = 0
        if isinstance(model, Model):
            if model.config.letters != len(self.alphabet):
                raise InputError(
                    f"the network reads {model.config.letters} letters, the question is about "
                    f"{len(self.alphabet)} ({self.alphabet.describe()}); name the language it was trained on"
                )
            check_scores(question, model.config.outputs)
        self._layout = _layout(model.initial_state(1)) if self.sees_states else []  # type: ignore[operator]

    @property
    def model(self) -> nn.Module:
        """The network."""
        module: nn.Module = self._model
        return module

    @property
    def queries(self) -> Queries:
        """The queries so far."""
        return Queries(words=self._words, letters=self._letters, states=self._states)

    def initial(self) -> States:
        """Returns the state before the first letter.

        Raises:
            InputError: if the network has no state of a fixed size.
        """
        if not self.sees_states:
            raise InputError(
                "the state of this network cannot be looked at: it grows with the word, or the module has no "
                "`step` and `initial_state`; only words can be asked (`nerode analyse RUN --automaton "
                "--method lstar --black-box`)"
            )
        frame = self.question.frame
        return States(
            values=_flatten(self._model.initial_state(1), 1),
            outputs=(self.question.empty,),
            frames=np.array([0 if frame is None else frame.start]),
            alive=np.array([self.question.empty != NOTHING]),
        )

    def count_steps(self, steps: int) -> None:
        """Counts steps that were made by the network's own step function."""
        self._states += steps

    def step(self, states: States, letters: Sequence[int]) -> States:
        """Returns the states after one letter each."""
        self._states += len(states)
        return self._advance(states, letters)

    def successors(self, states: States) -> list[States]:
        """Returns for each letter the states after it."""
        return [self.step(states, [letter] * len(states)) for letter in range(len(self.alphabet))]

    def reads(self, word: Word) -> bool:
        """Returns whether a word is short enough to be read."""
        return self.longest is None or len(word) <= self.longest

    def known(self, word: Word) -> str | None:
        """Returns the output after a word; None where it is too long, and no letter of it is forbidden."""
        output = self.traces([word[: self.longest]])[0][-1]
        if self.longest is None or self.reads(word):
            return output
        return NOTHING if output == NOTHING or self.question.forbids(output, word[self.longest]) else None

    def traces(self, words: Sequence[Word]) -> list[tuple[str, ...]]:
        """Returns the outputs after each prefix of each word, that of the empty one first.

        A word that was asked before is not run again, and not counted again.
        """
        new = [word for word in dict.fromkeys(words) if word not in self._known]
        if new:
            if not all(map(self.reads, new)):
                raise InputError(f"only words up to {plural(self.longest or 0, 'letter')} may be read")
            self._words += len(new)
            self._letters += sum(map(len, new))
            found = self._by_steps(new) if self.sees_states else self._by_sequences(new)
            self._known.update(zip(new, found, strict=True))
        return [self._known[word] for word in words]

    def _by_steps(self, words: list[Word]) -> list[tuple[str, ...]]:
        longest_first = sorted(range(len(words)), key=lambda i: -len(words[i]))
        outputs: list[list[str]] = [[self.question.empty] for _ in words]
        states = self.initial().rows([0] * len(words))
        for place in range(max(map(len, words))):
            active = [i for i in longest_first if len(words[i]) > place]
            states = self._advance(states.rows(range(len(active))), [words[i][place] for i in active])
            for i, output in zip(active, states.outputs, strict=True):
                outputs[i].append(output)
        return [tuple(row) for row in outputs]

    def _by_sequences(self, words: list[Word]) -> list[tuple[str, ...]]:
        """By the form for whole sequences; what is read after the end of a word changes nothing before."""
        longest = max(map(len, words))
        if not longest:
            return [(self.question.empty,)] * len(words)
        letters = torch.tensor([[*word, *[0] * (longest - len(word))] for word in words])
        with torch.no_grad():
            scores, _ = self._model(letters, None)
        check_scores(self.question, scores.shape[2])
        read = [self.question.read(row) for row in scores]
        return [self._framed(word, outputs) for word, outputs in zip(words, read, strict=True)]

    def _framed(self, word: Word, read: list[str]) -> tuple[str, ...]:
        """The outputs along a word as the question sees them."""
        frame, outputs = self.question.frame, [self.question.empty]
        place = 0 if frame is None else frame.start
        for letter, output in zip(word, read, strict=False):
            place = 0 if frame is None else frame.rows[place][letter]
            outputs.append(self._output(outputs[-1], letter, place, output))
        return tuple(outputs)

    def _output(self, before: str, letter: int, place: int, output: str) -> str:
        frame = self.question.frame
        if before == OUTSIDE or (frame is not None and frame.outputs[place] == OUTSIDE):
            return OUTSIDE
        if before == NOTHING or self.question.forbids(before, letter):
            return NOTHING
        return UNASKED if frame is not None and frame.outputs[place] == UNASKED else output

    @torch.no_grad()
    def _advance(self, states: States, letters: Sequence[int]) -> States:
        frame = self.question.frame
        frames = states.frames
        if frame is not None:
            frames = frame.transitions[frames, np.asarray(letters)].astype(np.int64)
        reads = [
            i
            for i, (alive, before, letter, place) in enumerate(
                zip(states.alive.tolist(), states.outputs, letters, frames.tolist(), strict=True)
            )
            if alive and self._output(before, letter, place, "") not in (NOTHING, OUTSIDE)
        ]
        values, outputs = np.zeros_like(states.values), list(states.outputs)
        read: list[str] = []
        if reads:
            scores, after = self._model.step(
                torch.tensor([letters[i] for i in reads]), _unflatten(states.values[reads], self._layout)
            )
            values[reads] = _flatten(after, len(reads))
            read = self.question.read(self._legal(scores))
        answered = dict(zip(reads, read, strict=True))
        for i, (before, letter, place) in enumerate(
            zip(states.outputs, letters, frames.tolist(), strict=True)
        ):
            outputs[i] = self._output(before, letter, place, answered.get(i, before))
        alive = np.array([output not in (NOTHING, OUTSIDE) for output in outputs])
        return replace(states, values=values, outputs=tuple(outputs), frames=frames, alive=alive)

    def _legal(self, scores: Tensor) -> Tensor:
        """Scores whose signs say what may follow; a compiled network reads its own."""
        if not isinstance(self._model, CompiledModel):
            return scores
        bits = self._model.legal(scores)
        if self.question.kind == "acceptance":
            return torch.stack([~bits[:, -1], bits[:, -1]], dim=1).double()
        return bits.double() * 2 - 1


_Layout = list[tuple[str, torch.dtype, torch.Size]]


def _layout(state: State) -> _Layout:
    return [(name, state[name].dtype, state[name].shape[1:]) for name in sorted(state)]


def _flatten(state: State, count: int) -> Floats:
    parts = []
    # By name: a layer may give its state in another order than that of its first state.
    for _, value in sorted(state.items()):
        real = torch.view_as_real(value) if value.is_complex() else value
        parts.append(real.detach().reshape(count, -1).to(torch.float64))
    if not parts:
        return np.zeros((count, 0))
    return torch.cat(parts, dim=1).numpy()


def _unflatten(values: Floats, layout: _Layout) -> State:
    state, place = {}, 0
    rows = torch.from_numpy(values)
    for name, dtype, shape in layout:
        width = shape.numel() * (2 if dtype.is_complex else 1)
        part = rows[:, place : place + width]
        place += width
        if dtype.is_complex:
            state[name] = torch.view_as_complex(part.reshape(len(values), *shape, 2).contiguous()).to(dtype)
        else:
            state[name] = part.reshape(len(values), *shape).to(dtype)
    return state
