"""The question that each task asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nerode.analysis.extraction.moore import Moore
from nerode.analysis.extraction.question import (
    OUTSIDE,
    UNASKED,
    Question,
    class_question,
    language_question,
)
from nerode.core import InputError
from nerode.languages import Alphabet
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


def question_of(task: Task) -> Question:
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


def _prediction(task: Prediction) -> Question:
    return language_question(task.language, "prediction")


def _recognition(task: Recognition) -> Question:
    return language_question(task.language, "acceptance")


def _parity(task: Parity) -> Question:
    machine = Moore.explore(Alphabet(("0", "1")), 0, lambda bit, letter: (bit + letter) % 2, str)
    return class_question("parity", machine)


def _even_pairs(task: EvenPairs) -> Question:
    def advance(state: tuple[int, int] | None, letter: int) -> tuple[int, int]:
        return (letter if state is None else state[0], letter)

    machine = Moore.explore(
        Alphabet(("a", "b")), None, advance, lambda s: UNASKED if s is None else str(int(s[0] == s[1]))
    )
    return class_question("even-pairs", machine)


def _cycle(task: CycleNavigation) -> Question:
    places, moves = task.settings.places, (0, 1, -1)
    machine = Moore.explore(
        Alphabet(("0", "1", "2")), 0, lambda place, letter: (place + moves[letter]) % places, str
    )
    return class_question(f"cycle-navigation of {places} places", machine)


def _state_tracking(task: StateTracking) -> Question:
    if task.settings.tokens > 1:
        raise InputError("state tracking with blanks between the elements is not extracted; take tokens = 1")
    monoid = finite_monoid(task.settings.monoid)
    table = monoid.times(tuple(map(task.elements.index, task.alphabet))).tolist()
    machine = Moore.explore(Alphabet(task.alphabet), 0, lambda element, letter: table[element][letter], str)
    return class_question(f"the word problem of {task.settings.monoid}", machine)


def _dfa_states(task: DfaStates) -> Question:
    dfa = task.source.dfa
    settings = task.settings
    assert isinstance(settings, DfaStatesSettings)
    anywhere = settings.words == "any"
    rows, live = dfa.transitions.tolist(), dfa.live.tolist()

    def answer(state: int) -> str:
        return str(state) if anywhere or live[state] else OUTSIDE

    machine = Moore.explore(dfa.alphabet, dfa.start, lambda state, letter: rows[state][letter], answer)
    return class_question(f"the states of {task.language.name}", machine)


def _flip_flop(task: FlipFlop) -> Question:
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


QUESTIONS: dict[type[Task], Callable[[Any], Question]] = {
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
