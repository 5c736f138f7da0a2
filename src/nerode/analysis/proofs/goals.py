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
from nerode.proofs import PREDICT, RECOGNISE
from nerode.tasks import DfaStates, Parity, Recognition, StateTracking, Task, automaton_of


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
    def merges_classes(self) -> bool:
        """Whether two classes have one answer about the language."""
        return self.answers is not None and len(set(self.answers)) < len(self.answers)


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
    found = automaton_of(task)
    answers: tuple[Legal, ...] | None = None
    wanted = PREDICT
    match task:
        case Recognition() | Parity():
            wanted = RECOGNISE
            accepted = 1 if isinstance(task, Recognition) else 0
            answers = tuple(Legal(frozenset(), number == accepted) for number in (0, 1))
        case DfaStates():
            answers = found.legal
        case StateTracking():
            assert found.classes is not None
            identity = int(found.classes[found.dfa.start])
            letters = frozenset(range(len(task.elements)))
            answers = tuple(Legal(letters, element == identity) for element in range(len(task.elements)))
    return Goal(
        language=found.language,
        task=wanted,
        dfa=found.dfa,
        legal=found.legal,
        classes=found.classes,
        answers=answers,
    )
