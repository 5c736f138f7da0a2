"""Questions to networks with outputs as texts, for extraction and for the search for failing words.

A network that predicts is read as the language that it describes: a letter that it forbids ends a word for
good. Words that a task never asks about have the output "outside"; positions that do not count, "unasked".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn

from nerode.core import InputError
from nerode.languages import (
    END,
    IN,
    NO_ANSWER,
    OUTSIDE,
    UNASKED,
    Alphabet,
    Language,
    LanguageQuestion,
    Moore,
    MooreQuestion,
    Question,
)
from nerode.proofs.floats import SignalModule, decode
from nerode.records import Reading
from nerode.tasks import Task

Kind = Literal["acceptance", "prediction", "class"]


@dataclass(frozen=True, kw_only=True)
class NetworkQuestion:
    """The question that a network answers, and how its scores are read.

    Attributes:
        target: what it should answer.
        reading: the way from its scores to answers.
        said: the output for the empty word, where the network was asked; empty where it cannot be.
    """

    target: Question
    reading: Reading
    said: str = ""

    @property
    def kind(self) -> Kind:
        """The kind of its answers."""
        if isinstance(self.target, LanguageQuestion):
            return "prediction" if self.target.asks == "next" else "acceptance"
        return "class"

    @property
    def alphabet(self) -> Alphabet:
        """The letters."""
        return self.target.alphabet

    @property
    def empty(self) -> str:
        """The output for the empty word; of a network that cannot be asked about it, the correct one."""
        return self.said or self.target.answer(self.target.initial())

    @property
    def frame(self) -> Moore | None:
        """The machine of a target that is asked about some words or positions only; None for others.

        Its "outside" and "unasked" hold for the network too.
        """
        if not isinstance(self.target, MooreQuestion):
            return None
        machine = self.target.machine
        return machine if OUTSIDE in machine.outputs or UNASKED in machine.outputs else None

    def read(self, scores: Tensor) -> list[str]:
        """Returns the outputs that scores (batch, outputs) stand for."""
        bits, readable = decode(self.reading, scores)
        return [
            self.target.text(tuple(row)) if can else NO_ANSWER
            for row, can in zip(bits.tolist(), readable.tolist(), strict=True)
        ]

    def class_of(self, place: Any) -> int:
        """Returns the number of the class that is expected at a place, -1 where none is asked for."""
        if not any(self.target.asked(place)):
            return -1
        wanted, asked = self.target.expected(place), self.target.asked(place)
        for number, row in enumerate(self.reading.table):
            if all(a == b for a, b, counts in zip(row, wanted, asked, strict=True) if counts):
                return number
        raise InputError(f"no class of the network is the answer {self.target.text(wanted)!r}")

    def forbids(self, output: str, letter: int) -> bool:
        """Returns whether the network's own output says that a letter may not follow."""
        return self.kind == "prediction" and self.alphabet.symbols[letter] not in output.split(" ")

    @property
    def num_scores(self) -> int:
        """The number of scores that a network must give."""
        reading = self.reading
        return len(reading.columns or (reading.table if reading.kind == "largest" else self.target.answers))


def is_member(output: str, kind: Kind) -> bool:
    """Returns whether the word with this last output is in the language; for kinds other than classes."""
    return END in output.split(" ") if kind == "prediction" else output == IN


def language_question(language: Language, kind: Kind) -> NetworkQuestion:
    """Returns the question about the members of a language, or about what may follow its prefixes.

    Scores above 0 say what may follow; of two scores for membership the second is that of members.
    """
    if kind == "prediction":
        return NetworkQuestion(target=LanguageQuestion(language), reading=Reading(kind="above"))
    nothing = (False,) * len(language.alphabet)
    reading = Reading.of_classes([(*nothing, False), (*nothing, True)])
    return NetworkQuestion(target=LanguageQuestion(language, "end", "all"), reading=reading)


def check_scores(question: NetworkQuestion, scores: int) -> None:
    """Raises InputError unless a network with this many scores can be asked."""
    if question.reading.columns and scores > max(question.reading.columns):
        return
    if scores != question.num_scores:
        raise InputError(
            f"the network gives {scores} scores; for {question.kind} over {len(question.alphabet)} letters "
            f"it has to give {question.num_scores}; name the language it was trained on"
        )


def question_of(task: Task) -> NetworkQuestion:
    """Returns what a task asks a network.

    Raises:
        InputError: if the answers of the task are not those of a machine that reads letters.
    """
    return NetworkQuestion(target=task.question(), reading=task.reading())


def letter_network(model: nn.Module, task: Task) -> nn.Module:
    """Returns a network that reads the letters of a task's question; a feature is read as 0 or 1."""
    return model if task.features is None else SignalModule(model)
