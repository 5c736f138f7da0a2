"""What a network is asked, how its scores are read, and what it should answer: for every task with letters.

Outputs are texts, the same for networks, machines and targets:

    acceptance   "in" or "out"
    prediction   the symbols that may follow, in the order of the alphabet, then "$" for the end: "0 1 $"
    class        the number of the class

A network that predicts is read as the language that it describes: a letter that it forbids ends a word for
good. Words that a task never asks about have the output "outside"; positions that do not count, "unasked".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from nerode.analysis.extraction.moore import Moore
from nerode.core import InputError
from nerode.languages import END, Alphabet, Language, Legal

Kind = Literal["acceptance", "prediction", "class"]

IN, OUT = "in", "out"
NOTHING = "∅"
"""Neither a letter nor the end may follow: the output of a word that nothing continues."""

OUTSIDE = "outside"
UNASKED = "unasked"


class Target(ABC):
    """What should be answered, by configurations that letters lead through; there may be infinitely many.

    Attributes:
        name: for reports.
    """

    name: str

    @abstractmethod
    def initial(self) -> Hashable:
        """Returns the configuration of the empty word."""

    @abstractmethod
    def advance(self, configuration: Any, letter: int) -> Hashable:
        """Returns the configuration after one more letter."""

    @abstractmethod
    def answer(self, configuration: Any) -> str:
        """Returns the output."""


class LanguageTarget(Target):
    """A language: its members, or what may follow its prefixes."""

    def __init__(self, language: Language, kind: Kind) -> None:
        self.name = language.name
        self._language, self._predicts = language, kind == "prediction"

    def initial(self) -> Hashable:
        """Returns the configuration of the empty word."""
        return self._language.initial()

    def advance(self, configuration: Any, letter: int) -> Hashable:
        """Returns the configuration after one more letter."""
        return self._language.advance(configuration, letter)

    def answer(self, configuration: Any) -> str:
        """Returns what may follow, or whether the word is in the language."""
        legal = self._language.legal(configuration)
        return legal_text(legal, self._language.alphabet) if self._predicts else (IN if legal.end else OUT)


class MooreTarget(Target):
    """A finite machine."""

    def __init__(self, name: str, machine: Moore) -> None:
        self.name, self.machine = name, machine

    def initial(self) -> int:
        """Returns the start."""
        return self.machine.start

    def advance(self, configuration: int, letter: int) -> int:
        """Returns the next state."""
        return self.machine.rows[configuration][letter]

    def answer(self, configuration: int) -> str:
        """Returns the output of a state."""
        return self.machine.outputs[configuration]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a network is asked.

    Attributes:
        kind: how its scores are read.
        alphabet: its letters.
        target: what it should answer.
        empty: the output for the empty word, about which a trained network cannot be asked: that of the
            language it was trained on.
        frame: where the target is asked about some words or positions only: its machine, whose "outside"
            and "unasked" hold for the network too.
    """

    kind: Kind
    alphabet: Alphabet
    target: Target
    empty: str
    frame: Moore | None = None

    def read(self, scores: Tensor) -> list[str]:
        """Returns the outputs that scores (batch, outputs) stand for."""
        if self.kind == "prediction":
            return [bits_text(row, self.alphabet) for row in (scores > 0).tolist()]
        best = scores.argmax(-1).tolist()
        if self.kind == "acceptance":
            return [IN if number == 1 else OUT for number in best]
        return [str(number) for number in best]

    def forbids(self, output: str, letter: int) -> bool:
        """Returns whether the network's own output says that a letter may not follow."""
        return self.kind == "prediction" and self.alphabet.symbols[letter] not in output.split(" ")

    @property
    def num_scores(self) -> int | None:
        """How many scores a network must give; None if that is not known."""
        return {"prediction": len(self.alphabet) + 1, "acceptance": 2}.get(self.kind)


def is_member(output: str, kind: Kind) -> bool:
    """Returns whether the word with this last output is in the language; for kinds other than classes."""
    return END in output.split(" ") if kind == "prediction" else output == IN


def bits_text(bits: list[bool], alphabet: Alphabet) -> str:
    """Returns the names of what may follow."""
    names = (*alphabet.symbols, END)
    return " ".join(name for name, bit in zip(names, bits, strict=True) if bit) or NOTHING


def legal_text(legal: Legal, alphabet: Alphabet) -> str:
    """Returns the names of what may follow."""
    return " ".join(legal.names(alphabet)) or NOTHING


def language_question(language: Language, kind: Kind) -> Question:
    """Returns the question about the members of a language, or about what may follow its prefixes."""
    target = LanguageTarget(language, kind)
    return Question(
        kind=kind, alphabet=language.alphabet, target=target, empty=target.answer(target.initial())
    )


def class_question(name: str, machine: Moore) -> Question:
    """Returns the question about the classes that a machine gives."""
    target = MooreTarget(name, machine)
    partial = OUTSIDE in machine.outputs or UNASKED in machine.outputs
    return Question(
        kind="class",
        alphabet=machine.alphabet,
        target=target,
        empty=machine.outputs[machine.start],
        frame=machine if partial else None,
    )


def check_scores(question: Question, scores: int) -> None:
    """Raises InputError unless a network with this many scores can be asked."""
    wanted = question.num_scores
    if wanted is not None and scores != wanted:
        raise InputError(
            f"the network gives {scores} scores; for {question.kind} over "
            f"{len(question.alphabet)} letters it has to give {wanted}; name the language it was trained on"
        )
