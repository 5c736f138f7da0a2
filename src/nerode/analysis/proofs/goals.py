"""The goal of training for a proof: the language, its automaton, and the meaning of a network's outputs.

    language-prediction    outputs are bits: the symbols that may follow, and the end       predict
    language-recognition   two classes, the second for words of the language                recognise
    parity                 two classes, the second for an odd number of ones                recognise
    dfa-states             a class for each state of the minimal automaton                  predict
    state-tracking         a class for each element; words that give the identity           predict

"Predict" and "recognise" speak of all words over the alphabet, so that a dead state counts as any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.languages import Dfa, Language, Legal
from nerode.languages.bestiary import find_language
from nerode.languages.groups import finite_monoid
from nerode.proofs import PREDICT, RECOGNISE
from nerode.tasks import DfaStates, Parity, Prediction, Recognition, StateTracking, Task

MOST_STATES = 200
"""States of an automaton for which boxes are trained."""

SUPPORTED = "language-prediction, language-recognition, parity, dfa-states, state-tracking"


@dataclass(frozen=True, kw_only=True)
class Goal:
    """The goal of a proof.

    Attributes:
        language: what the network should do.
        task: PREDICT or RECOGNISE, for all words over the alphabet.
        dfa: its minimal automaton.
        legal: for each state what may follow.
        classes: for each state the class that the network should name; None if its outputs are bits.
        answers: for each class what it says; None if the outputs are bits.
    """

    language: Language
    task: str
    dfa: Dfa
    legal: tuple[Legal, ...]
    classes: npt.NDArray[np.int64] | None = None
    answers: tuple[Legal, ...] | None = None

    def __post_init__(self) -> None:
        if (self.classes is None) != (self.answers is None):
            raise InputError("a goal has classes without answers, or answers without classes")
        if self.answers is None or self.classes is None:
            return
        for state, number in enumerate(self.classes):
            said, wanted = self.answers[number], self.legal[state]
            if said.end != wanted.end or (self.task == PREDICT and said != wanted):
                raise InputError(f"class {number} does not say what may follow state {state}")

    @property
    def bits(self) -> npt.NDArray[np.bool_]:
        """For each state, which letters may follow, and whether the word may end."""
        found = np.zeros((len(self.legal), len(self.language.alphabet) + 1), dtype=np.bool_)
        for state, legal in enumerate(self.legal):
            found[state, sorted(legal.symbols)] = True
            found[state, -1] = legal.end
        return found

    @property
    def merges_classes(self) -> bool:
        """Whether two classes have one answer about the language."""
        return self.answers is not None and len(set(self.answers)) < len(self.answers)

    @property
    def dead(self) -> npt.NDArray[np.bool_]:
        """The states that no word of the language passes."""
        return np.logical_not(self.bits.any(axis=1))


def require_distinct(goal: Goal) -> None:
    """Raises InputError if two classes have one answer about the language.

    A proof about the language would not see that a network mixes them up.
    """
    if goal.merges_classes:
        raise InputError(
            f"several classes of {goal.language.name} have the same answer about the language, so that boxes "
            "would not tell them apart; classes are proved by listing float states"
        )


def goal_of(task: Task) -> Goal:
    """Returns what there is to prove about a network that was trained on a task.

    Raises:
        InputError: if the task is not about a language with a small automaton.
    """
    match task:
        case Prediction():
            return _goal(task.language, PREDICT)
        case Recognition():
            return _recognition(task.language, accepted=1)
        case Parity():
            return _recognition(find_language("parity"), accepted=0)
        case DfaStates():
            goal = _goal(task.language, PREDICT)
            return _with_classes(goal, np.arange(len(goal.legal)), goal.legal)
        case StateTracking():
            return _word_problem(task)
        case _:
            raise InputError(
                f"there is nothing to prove about {task.name}: it is not about a language at every position; "
                f"--certify knows {SUPPORTED}"
            )


def _goal(language: Language, task: str) -> Goal:
    states = language.num_states()
    if not language.regular or (states is not None and states > MOST_STATES):
        raise InputError(
            f"{language.name} has no automaton of at most {MOST_STATES} states; boxes need one for each state"
        )
    dfa = language.dfa()
    return Goal(language=language, task=task, dfa=dfa, legal=_legal(language, dfa))


def _legal(language: Language, dfa: Dfa) -> tuple[Legal, ...]:
    """The letters that may follow each state of the automaton."""
    reached = {dfa.start: language.initial()}
    queue = [dfa.start]
    for state in queue:
        for letter, target in enumerate(dfa.transitions[state].tolist()):
            if target not in reached:
                reached[target] = language.advance(reached[state], letter)
                queue.append(target)
    return tuple(language.legal(reached[state]) for state in range(dfa.num_states))


def _with_classes(goal: Goal, classes: npt.NDArray[np.int64], answers: tuple[Legal, ...]) -> Goal:
    return Goal(
        language=goal.language,
        task=goal.task,
        dfa=goal.dfa,
        legal=goal.legal,
        classes=classes.astype(np.int64),
        answers=answers,
    )


def _recognition(language: Language, *, accepted: int) -> Goal:
    goal = _goal(language, RECOGNISE)
    ends = np.array([legal.end for legal in goal.legal])
    answers = tuple(Legal(frozenset(), number == accepted) for number in (0, 1))
    return _with_classes(goal, np.where(ends, accepted, 1 - accepted), answers)


def _word_problem(task: StateTracking) -> Goal:
    settings = task.settings
    if settings.tokens != 1 or settings.letters != "elements":
        raise InputError("the word problem is proved for words over all elements, one letter for each")
    goal = _goal(find_language(settings.monoid.lower()), PREDICT)
    if tuple(goal.language.alphabet) != task.alphabet:
        raise InputError(f"the word problem of {settings.monoid} has other letters than the task")
    count = len(task.elements)
    products = finite_monoid(settings.monoid).times(tuple(range(count)))
    identity = next(e for e in range(count) if products[e].tolist() == list(range(count)))
    answers = tuple(Legal(frozenset(range(count)), element == identity) for element in range(count))
    return _with_classes(goal, _elements(products, goal.dfa, identity), answers)


def _elements(products: npt.NDArray[np.int32], dfa: Dfa, identity: int) -> npt.NDArray[np.int64]:
    """The element of each state of the automaton.

    Raises:
        InputError: if a state stands for several elements.
    """
    found = np.full(dfa.num_states, -1, dtype=np.int64)
    found[dfa.start] = identity
    queue = [dfa.start]
    for state in queue:
        for letter, target in enumerate(dfa.transitions[state].tolist()):
            element = int(products[found[state], letter])
            if found[target] < 0:
                found[target] = element
                queue.append(target)
            elif found[target] != element:
                raise InputError("a state of the word problem stands for two elements; this is no group")
    return found
