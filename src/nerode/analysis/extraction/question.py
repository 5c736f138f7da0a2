"""Questions to a network: how its scores are read, and the correct answers, for every task with letters.

Outputs are texts, the same for networks, machines and targets:

    acceptance   "in" or "out"
    prediction   the symbols that may follow, in the order of the alphabet, then "$" for the end: "0 1 $"
    class        the number of the class

A network that predicts is read as the language that it describes: a letter that it forbids ends a word for
good. Words that a task never asks about have the output "outside"; positions that do not count, "unasked".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from nerode.analysis.extraction.moore import Moore
from nerode.core import BudgetExceeded, InputError
from nerode.languages import END, Alphabet, Language, Legal
from nerode.languages.groups import finite_monoid
from nerode.tasks import (
    ALPHABET as FLIP_FLOP_ALPHABET,
    READ,
    WRITE,
    ZERO,
    CycleNavigation,
    DfaStates,
    DfaStatesSettings,
    EvenPairs,
    FlipFlop,
    Parity,
    Prediction,
    Recognition,
    StateTracking,
    Task,
)

Kind = Literal["acceptance", "prediction", "class"]

IN, OUT = "in", "out"
NOTHING = "∅"
"""Neither a letter nor the end may follow: the output of a word that nothing continues."""

OUTSIDE = "outside"
UNASKED = "unasked"


class Target(ABC):
    """The correct answers, by configurations that letters lead through; there may be infinitely many.

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
class NetworkQuestion:
    """The question that a network answers.

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

    def continuations(self, place: Any) -> tuple[list[Hashable], list[int]]:
        """Returns the places after each letter, and the letters after which something is still asked."""
        after = [self.target.advance(place, letter) for letter in range(len(self.alphabet))]
        open_letters = [
            letter for letter, then in enumerate(after) if self.target.answer(then) not in (OUTSIDE, NOTHING)
        ]
        return after, open_letters

    @property
    def num_scores(self) -> int | None:
        """The number of scores that a network must give; None if that is not known."""
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


def language_question(language: Language, kind: Kind) -> NetworkQuestion:
    """Returns the question about the members of a language, or about what may follow its prefixes."""
    target = LanguageTarget(language, kind)
    return NetworkQuestion(
        kind=kind, alphabet=language.alphabet, target=target, empty=target.answer(target.initial())
    )


def class_question(name: str, machine: Moore) -> NetworkQuestion:
    """Returns the question about the classes that a machine gives."""
    target = MooreTarget(name, machine)
    partial = OUTSIDE in machine.outputs or UNASKED in machine.outputs
    return NetworkQuestion(
        kind="class",
        alphabet=machine.alphabet,
        target=target,
        empty=machine.outputs[machine.start],
        frame=machine if partial else None,
    )


def finite_target(question: NetworkQuestion, *, most: int) -> Moore | None:
    """Returns the machine of the correct answers, None if it has more states than so many."""
    target = question.target
    seen: set[Hashable] = {target.initial()}

    def advance(configuration: Any, letter: int) -> Hashable:
        after = target.advance(configuration, letter)
        seen.add(after)
        if len(seen) > most:
            raise BudgetExceeded("states", most)
        return after

    try:
        return Moore.explore(question.alphabet, target.initial(), advance, target.answer)
    except BudgetExceeded:
        return None


def check_scores(question: NetworkQuestion, scores: int) -> None:
    """Raises InputError unless a network with this many scores can be asked."""
    wanted = question.num_scores
    if wanted is not None and scores != wanted:
        raise InputError(
            f"the network gives {scores} scores; for {question.kind} over "
            f"{len(question.alphabet)} letters it has to give {wanted}; name the language it was trained on"
        )


def question_of(task: Task) -> NetworkQuestion:
    """Returns what a task asks a network.

    Raises:
        InputError: if the answers of the task are not those of a machine that reads letters.
    """
    for kind, make in QUESTIONS.items():
        if isinstance(task, kind):
            return make(task)
    known = ", ".join(sorted(kind.name for kind in QUESTIONS))
    raise InputError(
        f"the task {task.name!r} does not ask for the answers of an automaton; extraction knows {known}"
    )


def _prediction(task: Prediction) -> NetworkQuestion:
    return language_question(task.language, "prediction")


def _recognition(task: Recognition) -> NetworkQuestion:
    return language_question(task.language, "acceptance")


def _parity(task: Parity) -> NetworkQuestion:
    machine = Moore.explore(Alphabet(("0", "1")), 0, lambda bit, letter: (bit + letter) % 2, str)
    return class_question("parity", machine)


def _even_pairs(task: EvenPairs) -> NetworkQuestion:
    def advance(state: tuple[int, int] | None, letter: int) -> tuple[int, int]:
        return (letter if state is None else state[0], letter)

    machine = Moore.explore(
        Alphabet(("a", "b")), None, advance, lambda s: UNASKED if s is None else str(int(s[0] == s[1]))
    )
    return class_question("even-pairs", machine)


def _cycle(task: CycleNavigation) -> NetworkQuestion:
    places, moves = task.settings.places, (0, 1, -1)
    machine = Moore.explore(
        Alphabet(("0", "1", "2")), 0, lambda place, letter: (place + moves[letter]) % places, str
    )
    return class_question(f"cycle-navigation of {places} places", machine)


def _state_tracking(task: StateTracking) -> NetworkQuestion:
    if task.settings.tokens > 1:
        raise InputError("state tracking with blanks between the elements is not extracted; take tokens = 1")
    monoid = finite_monoid(task.settings.monoid)
    table = monoid.times(tuple(map(task.elements.index, task.alphabet))).tolist()
    machine = Moore.explore(Alphabet(task.alphabet), 0, lambda element, letter: table[element][letter], str)
    return class_question(f"the word problem of {task.settings.monoid}", machine)


def _dfa_states(task: DfaStates) -> NetworkQuestion:
    dfa = task.source.dfa
    settings = task.settings
    assert isinstance(settings, DfaStatesSettings)
    anywhere = settings.words == "any"
    rows, live = dfa.transitions.tolist(), dfa.live.tolist()

    def answer(state: int) -> str:
        return str(state) if anywhere or live[state] else OUTSIDE

    machine = Moore.explore(dfa.alphabet, dfa.start, lambda state, letter: rows[state][letter], answer)
    return class_question(f"the states of {task.language.name}", machine)


def _flip_flop(task: FlipFlop) -> NetworkQuestion:
    """After w, r or i comes a bit; the bit after r is the one kept, and it is asked there only."""
    bits = {ZERO: 0, ZERO + 1: 1}

    def advance(state: tuple[int | None, int | None] | None, letter: int) -> Any:
        if state is None:
            return None
        kept, instruction = state
        if instruction is None:
            return None if letter in bits or (kept is None and letter != WRITE) else (kept, letter)
        if letter not in bits or (instruction == READ and bits[letter] != kept):
            return None
        return (bits[letter] if instruction == WRITE else kept, None)

    def answer(state: tuple[int | None, int | None] | None) -> str:
        if state is None:
            return OUTSIDE
        return str(state[0]) if state[1] == READ else UNASKED

    machine = Moore.explore(Alphabet(FLIP_FLOP_ALPHABET), (None, None), advance, answer)
    return class_question("flip-flop", machine)


QUESTIONS: dict[type[Task], Callable[[Any], NetworkQuestion]] = {
    Prediction: _prediction,
    Recognition: _recognition,
    DfaStates: _dfa_states,
    Parity: _parity,
    EvenPairs: _even_pairs,
    CycleNavigation: _cycle,
    StateTracking: _state_tracking,
    FlipFlop: _flip_flop,
}
"""By the class of the task."""
