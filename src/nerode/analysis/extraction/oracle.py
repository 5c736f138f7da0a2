"""A network as a machine that reads letters: states in batches, outputs as texts, every query counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nerode.core import InputError, plural
from nerode.languages import (
    END,
    IN,
    NO_ANSWER,
    NOTHING,
    OUTSIDE,
    UNASKED,
    Language,
    LanguageQuestion,
    Moore,
    MooreQuestion,
    Question,
    Word,
    legal_bits,
)
from nerode.models import Model, is_stateful
from nerode.models.network_module import CompiledModel
from nerode.proofs.floats import decode, from_values, layout_of, to_values
from nerode.proofs.replay import Subject, make_subject
from nerode.records import Reading

Floats = npt.NDArray[np.float64]

Kind = Literal["acceptance", "prediction", "class"]
"""The kinds of answers.

A network that predicts is read as the language that it describes: a letter that it forbids ends a word for
good. Words that a task never asks about have the output "outside"; positions that do not count, "unasked".
"""


def kind_of(question: Question) -> Kind:
    """Returns the kind of the answers to a question."""
    if isinstance(question, LanguageQuestion):
        return "prediction" if question.asks == "next" else "acceptance"
    return "class"


def is_member(output: str, kind: Kind) -> bool:
    """Returns whether the word with this last output is in the language; for kinds other than classes."""
    return END in output.split(" ") if kind == "prediction" else output == IN


def question_about(language: Language, kind: Kind) -> LanguageQuestion:
    """Returns the question about the members of a language, or about what may follow its prefixes."""
    return LanguageQuestion(language) if kind == "prediction" else LanguageQuestion(language, "end", "all")


def subject_about(name: str, module: nn.Module, language: Language, kind: Kind = "prediction") -> Subject:
    """Returns a module with a question about a language; a compiled network reads its own scores.

    Of others, scores above 0 say what may follow; of two scores for membership the second is that of members.
    """
    question, reading = question_about(language, kind), Reading(kind="above")
    if kind == "acceptance":
        nothing = (False,) * len(language.alphabet)
        reading = Reading.of_classes([(*nothing, False), (*nothing, True)])
    own = None if isinstance(module, CompiledModel) else reading
    return make_subject(name, module=module, question=question, reading=own)


def read_texts(subject: Subject, scores: Tensor) -> list[str]:
    """Returns the outputs that scores (batch, scores) of a subject stand for, as its question writes them."""
    module, reading, question = subject.module, subject.reading, subject.asked
    if reading is not None:
        bits, readable = decode(reading, scores)
    else:
        assert isinstance(module, CompiledModel)
        bits, readable = module.legal(scores), scores.isfinite().all(-1)
    return [
        question.text(tuple(row)) if can else NO_ANSWER
        for row, can in zip(bits.tolist(), readable.tolist(), strict=True)
    ]


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
        subject: a model of the zoo, a compiled network, or a module of the user's own that gives scores and a
            state for letters; by words only, unless it has `step` and `initial_state`.

    Attributes:
        question: of the subject.
        alphabet: the letters.
        kind: of the answers.
        longest: the largest number of letters of a word that may be read; None for any.
        empty: the output for the empty word; of a network that cannot be asked about it, the correct one.
        sees_states: whether there is a state to look at.
    """

    def __init__(self, subject: Subject) -> None:
        model, self._subject, self.question = subject.module, subject, subject.asked
        assert model is not None
        self.longest, self.alphabet = subject.letters.longest, self.question.alphabet
        self.kind = kind_of(self.question)
        said = None if subject.empty is None else legal_bits(subject.empty, len(self.alphabet))
        self.empty = (
            self.question.text(said)
            if said is not None and self.kind != "class"
            else self.question.answer(self.question.initial())
        )
        self._frame = _frame(self.question)
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
            self._require_scores(model.config.outputs)
        self._layout = layout_of(model.initial_state(1)) if self.sees_states else ()  # type: ignore[operator]

    @property
    def model(self) -> nn.Module:
        """The network."""
        module: nn.Module = self._model
        return module

    def _require_scores(self, scores: int) -> None:
        """Raises InputError unless so many scores can be read."""
        reading = self._subject.reading or Reading(kind="above")
        if reading.columns and scores > max(reading.columns):
            return
        needed = len(
            reading.columns or (reading.table if reading.kind == "largest" else self.question.answers)
        )
        if scores != needed:
            raise InputError(
                f"the network gives {scores} scores; for {self.kind} over {len(self.alphabet)} letters "
                f"it has to give {needed}; name the language it was trained on"
            )

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
        return States(
            values=to_values(self._model.initial_state(1), 1),
            outputs=(self.empty,),
            frames=np.array([0 if self._frame is None else self._frame.start]),
            alive=np.array([self.empty != NOTHING]),
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
        return NOTHING if output == NOTHING or self._forbids(output, word[self.longest]) else None

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
        outputs: list[list[str]] = [[self.empty] for _ in words]
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
            return [(self.empty,)] * len(words)
        letters = torch.tensor([[*word, *[0] * (longest - len(word))] for word in words])
        with torch.no_grad():
            scores, _ = self._model(letters, None)
        self._require_scores(scores.shape[2])
        read = [read_texts(self._subject, row) for row in scores]
        return [self._framed(word, outputs) for word, outputs in zip(words, read, strict=True)]

    def _framed(self, word: Word, read: list[str]) -> tuple[str, ...]:
        """The outputs along a word as the question sees them."""
        frame, outputs = self._frame, [self.empty]
        place = 0 if frame is None else frame.start
        for letter, output in zip(word, read, strict=False):
            place = 0 if frame is None else frame.rows[place][letter]
            outputs.append(self._output(outputs[-1], letter, place, output))
        return tuple(outputs)

    def _output(self, before: str, letter: int, place: int, output: str) -> str:
        frame = self._frame
        if before == OUTSIDE or (frame is not None and frame.outputs[place] == OUTSIDE):
            return OUTSIDE
        if before == NOTHING or self._forbids(before, letter):
            return NOTHING
        return UNASKED if frame is not None and frame.outputs[place] == UNASKED else output

    def _forbids(self, output: str, letter: int) -> bool:
        """Whether the network's own output says that a letter may not follow."""
        return self.kind == "prediction" and self.alphabet.symbols[letter] not in output.split(" ")

    @torch.no_grad()
    def _advance(self, states: States, letters: Sequence[int]) -> States:
        frame, frames = self._frame, states.frames
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
                torch.tensor([letters[i] for i in reads]), from_values(states.values[reads], self._layout)
            )
            values[reads] = to_values(after, len(reads))
            read = read_texts(self._subject, scores)
        answered = dict(zip(reads, read, strict=True))
        for i, (before, letter, place) in enumerate(
            zip(states.outputs, letters, frames.tolist(), strict=True)
        ):
            outputs[i] = self._output(before, letter, place, answered.get(i, before))
        alive = np.array([output not in (NOTHING, OUTSIDE) for output in outputs])
        return replace(states, values=values, outputs=tuple(outputs), frames=frames, alive=alive)


def _frame(question: Question) -> Moore | None:
    """The machine of a question about some words or positions only; None for others.

    Its "outside" and "unasked" hold for the network too.
    """
    if not isinstance(question, MooreQuestion):
        return None
    machine = question.machine
    return machine if OUTSIDE in machine.outputs or UNASKED in machine.outputs else None
