"""The automaton of a task with the task's answers: what exact gates are trained on, and what is proved.

    language-prediction    outputs are bits: the symbols that may follow, and the end       predict
    language-recognition   two classes, the second for words of the language                recognise
    parity                 two classes, the second for an odd number of ones                recognise
    dfa-states             a class for each state of the minimal automaton                  predict
    state-tracking         a class for each element; words that give the identity           predict

"Predict" and "recognise" speak of all words over the alphabet, so that a dead state counts as any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.kernel import PREDICT, RECOGNISE
from nerode.languages import Dfa, Language, Legal
from nerode.languages.bestiary import find_language
from nerode.languages.groups import finite_monoid
from nerode.tasks.formal.dfa_states import DfaStates
from nerode.tasks.formal.recognition import Prediction, Recognition
from nerode.tasks.synthetic.regular import Parity
from nerode.tasks.synthetic.state_tracking import StateTracking
from nerode.tasks.task import Batch, Task, walk

Integers = npt.NDArray[np.int64]

MOST_STATES = 200
"""States of an automaton whose words are drawn."""

SUPPORTED = "language-prediction, language-recognition, parity, dfa-states, state-tracking"

_RARE, _ON_THE_WAY = 1 / 8, 3 / 4
"""A state that fewer random words reach is rare; the share of the letters of a tour that lead on."""


@dataclass(frozen=True, kw_only=True)
class TaskAutomaton:
    """The automaton of a task, and the answer in each of its states.

    Attributes:
        language: of the task.
        dfa: its minimal automaton.
        legal: for each state what may follow.
        classes: for each state its class; None if the answers are bits.
        answers: for each class what it says about the language; None if the answers are bits.
        task: PREDICT or RECOGNISE, which a proof is about.
    """

    language: Language
    dfa: Dfa
    legal: tuple[Legal, ...]
    classes: Integers | None = None
    answers: tuple[Legal, ...] | None = None
    task: str = PREDICT

    def __post_init__(self) -> None:
        if (self.classes is None) != (self.answers is None):
            raise InputError("an automaton has classes without answers, or answers without classes")
        if self.answers is None or self.classes is None:
            return
        for state, number in enumerate(self.classes):
            said, wanted = self.answers[number], self.legal[state]
            if said.end != wanted.end or (self.task == PREDICT and said != wanted):
                raise InputError(f"class {number} does not say what may follow state {state}")

    @property
    def merges_classes(self) -> bool:
        """Whether two classes have one answer about the language, whose proof would mix them up."""
        return self.answers is not None and len(set(self.answers)) < len(self.answers)

    @property
    def bits(self) -> npt.NDArray[np.bool_]:
        """For each state, which letters may follow, and whether the word may end."""
        found = np.zeros((len(self.legal), len(self.language.alphabet) + 1), dtype=np.bool_)
        for state, legal in enumerate(self.legal):
            found[state, sorted(legal.symbols)] = True
            found[state, -1] = legal.end
        return found

    @property
    def dead(self) -> npt.NDArray[np.bool_]:
        """The states that no word of the language passes."""
        return np.logical_not(self.bits.any(axis=1))

    def states(self, words: Integers) -> Integers:
        """Returns the states after each letter of words (words, time)."""
        return walk(self.dfa.transitions, words, start=self.dfa.start)

    def batch(self, words: Integers) -> Batch:
        """Returns words (words, time) with the answer at every position."""
        answers = self.bits if self.classes is None else self.classes
        return Batch.of(words, answers[self.states(words)], np.ones(words.shape, dtype=np.bool_))


def automaton_of(task: Task) -> TaskAutomaton:
    """Returns the automaton of a task.

    Raises:
        InputError: if the task is not about a language with a small automaton.
    """
    match task:
        case Prediction():
            return _automaton(task.language)
        case Recognition():
            return _recognition(task.language, accepted=1)
        case Parity():
            return _recognition(find_language("parity"), accepted=0)
        case DfaStates():
            found = _automaton(task.language)
            return replace(found, classes=np.arange(len(found.legal)), answers=found.legal)
        case StateTracking():
            return _word_problem(task)
        case _:
            raise InputError(
                f"there is nothing to prove about {task.name}: it is not about a language at every position; "
                f"--certify knows {SUPPORTED}"
            )


def _automaton(language: Language) -> TaskAutomaton:
    states = language.num_states()
    if not language.regular or (states is not None and states > MOST_STATES):
        raise InputError(
            f"{language.name} has no automaton of at most {MOST_STATES} states, whose words could be drawn"
        )
    dfa = language.dfa()
    return TaskAutomaton(language=language, dfa=dfa, legal=_legal(language, dfa))


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


def _recognition(language: Language, *, accepted: int) -> TaskAutomaton:
    found = _automaton(language)
    ends = np.array([legal.end for legal in found.legal])
    classes = np.where(ends, accepted, 1 - accepted).astype(np.int64)
    answers = tuple(Legal(frozenset(), number == accepted) for number in (0, 1))
    return replace(found, classes=classes, answers=answers, task=RECOGNISE)


def _word_problem(task: StateTracking) -> TaskAutomaton:
    settings = task.settings
    if settings.tokens != 1 or settings.letters != "elements":
        raise InputError("the word problem is proved for words over all elements, one letter for each")
    found = _automaton(find_language(settings.monoid.lower()))
    if tuple(found.language.alphabet) != task.alphabet:
        raise InputError(f"the word problem of {settings.monoid} has other letters than the task")
    count = len(task.elements)
    products = finite_monoid(settings.monoid).times(tuple(range(count)))
    identity = next(e for e in range(count) if products[e].tolist() == list(range(count)))
    answers = tuple(Legal(frozenset(range(count)), element == identity) for element in range(count))
    return replace(found, classes=_elements(products, found.dfa, identity), answers=answers)


def _elements(products: npt.NDArray[np.int32], dfa: Dfa, identity: int) -> Integers:
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


class AutomatonWalks:
    """Random words of an automaton; letters that leave the language have a small weight, or none.

    Where few random words reach some state, half of the words are tours: most of their letters are the next
    ones on the way to a state that is drawn anew whenever it is reached. A word of eight letters, say, is in
    one of nine random words of forty, and what never comes is not learned.

    Args:
        automaton: of the task.
        stray: the weight of letters that leave the language.
        longest: length of the words that count for that.
        tours: whether half of the words are tours also where no state is rare.
    """

    def __init__(self, automaton: TaskAutomaton, *, stray: float, longest: int, tours: bool = False) -> None:
        moves = np.asarray(automaton.dfa.transitions, dtype=np.int64)
        dead = automaton.dead
        weights = np.where(dead[moves] & ~dead[:, None], stray, 1.0)
        total = weights.sum(axis=1, keepdims=True)
        weights = np.where(total > 0, weights, 1.0)
        shares = weights / weights.sum(axis=1, keepdims=True)
        self._moves, self._start = moves, automaton.dfa.start
        self._odds = np.cumsum(shares, axis=1)[:, :-1]
        sights = np.flatnonzero(~dead & (np.arange(len(moves)) != self._start))
        seen = [_share_that_reaches(int(state), self._start, moves, shares, longest) for state in sights]
        self._sights = sights if min(seen, default=1.0) < _RARE else sights[:0]
        if tours:
            self._sights = np.flatnonzero(~dead)
        self._ways = _ways(moves) if len(self._sights) else np.zeros((0, 0), dtype=np.int64)

    def draw(
        self,
        rng: np.random.Generator,
        count: int,
        length: int,
        beginnings: Sequence[tuple[int, ...]] = (),
    ) -> Integers:
        """Returns words (count, length); the first ones begin with given words."""
        words = np.empty((count, length), dtype=np.int64)
        states = np.full(count, self._start, dtype=np.int64)
        tours = count // 2 if len(self._sights) else 0
        towards = rng.choice(self._sights, tours) if tours else self._sights
        for place in range(length):
            drawn = rng.random((count, 1))
            words[:, place] = (drawn > self._odds[states]).sum(axis=1)
            if tours:
                at = states[-tours:]
                towards = np.where(at == towards, rng.choice(self._sights, tours), towards)
                way = self._ways[at, towards]
                follows = (way >= 0) & (rng.random(tours) < _ON_THE_WAY)
                words[-tours:, place] = np.where(follows, way, words[-tours:, place])
            for row, beginning in enumerate(beginnings[:count]):
                if place < len(beginning):
                    words[row, place] = beginning[place]
            states = self._moves[states, words[:, place]]
        return words


def _share_that_reaches(
    state: int, start: int, moves: Integers, shares: npt.NDArray[np.float64], length: int
) -> float:
    """The probability that a random word of a length visits a state."""
    chain = np.zeros((len(moves), len(moves)))
    np.add.at(chain, (np.arange(len(moves))[:, None], moves), shares)
    chain[state] = np.eye(len(moves))[state]
    return float(np.linalg.matrix_power(chain, length)[start, state])


def _ways(moves: Integers) -> Integers:
    """The first letter of a shortest word from one state to another; -1 if there is none, or they are one."""
    ways = np.full((len(moves), len(moves)), -1, dtype=np.int64)
    for target in range(len(moves)):
        near = {target}
        while found := {
            state: letter
            for state in range(len(moves))
            for letter in range(moves.shape[1])
            if state not in near and int(moves[state, letter]) in near
        }:
            for state, letter in found.items():
                ways[state, target] = letter
            near |= found.keys()
    return ways
