"""Hypotheses about the automaton of a network: tested by words, and learned by queries, by L*.

The test by words tries systematic ones, then random ones. Learning may also look at the network's states
beside those of the hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.analysis.extraction.oracle import ExtractedMachine, Floats, Machine, States, joined
from nerode.core import Budget, InputError, started
from nerode.languages import NOTHING, Moore, Word

_MOST_STATES = 64
"""States up to which all are reached, left by all short words, and told apart."""

_MOST_SYSTEMATIC = 20_000
"""Words up to which the systematic test is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HypothesisTest:
    """Settings of the test of a hypothesis by words.

    Attributes:
        words: random words.
        longest: their length at most.
        extra_states: how many more states than the hypothesis a network may have such that the systematic
            part surely finds a difference.
    """

    words: int = 400
    longest: int = 100
    extra_states: int = 1

    def __post_init__(self) -> None:
        for name, least in (("words", 1), ("longest", 1), ("extra_states", 0)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it has to be {least} or more")


def find_failures(
    machine: Machine, hypothesis: Moore, probe: HypothesisTest, rng: np.random.Generator, *, most: int = 32
) -> list[Word]:
    """Returns words that the network answers differently from a hypothesis, none if all tests agree.

    Each is cut where the first difference is; shorter ones come first. The systematic test reaches every
    state of the hypothesis, goes on by every word of a few letters, and then tries all words that tell its
    states apart; random words follow from every state.

    Implements: [Chow1978]
    """
    failures: dict[Word, None] = {}
    for drawn in (systematic_words(hypothesis, probe), random_words(hypothesis, probe, rng)):
        words = list(dict.fromkeys(word[: machine.longest] for word in drawn))
        for word, outputs in zip(words, machine.traces(words), strict=True):
            place = first_difference(outputs, hypothesis.trace(word))
            if place is not None:
                failures[word[:place]] = None
        if failures:
            break
    return sorted(failures, key=len)[:most]


def first_difference(left: tuple[str, ...], right: tuple[str, ...]) -> int | None:
    """Returns the first place where two traces differ, None if they are equal."""
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=True)) if a != b), None)


def systematic_words(hypothesis: Moore, probe: HypothesisTest) -> Iterator[Word]:
    """Yields access words, each followed by all short words and by what tells states apart.

    For a large hypothesis, only access words followed by one letter.
    """
    access = [word for word in hypothesis.access_words if word is not None]
    letters = range(len(hypothesis.alphabet))
    small = len(access) <= _MOST_STATES
    suffixes = telling_words(hypothesis) if small else [()]
    middles: list[Word] = [(a,) for a in letters]
    for _ in range(probe.extra_states):
        longer = [(*word, a) for word in middles for a in letters]
        if not small or len(access) * len(longer) * len(suffixes) > _MOST_SYSTEMATIC:
            break
        middles = longer
    words = (u + m + w for u in access for m in middles for w in suffixes)
    yield from list(dict.fromkeys(words))[:_MOST_SYSTEMATIC]


def telling_words(hypothesis: Moore) -> list[Word]:
    """Returns words such that two states that answer them all alike answer every word alike."""
    chosen: list[Word] = [()]
    while True:
        seen: dict[tuple[str, ...], int] = {}
        clash = None
        for state in range(hypothesis.num_states):
            other = seen.setdefault(_signature(hypothesis, state, chosen), state)
            if other != state:
                clash = hypothesis.distinguish(other, state)
            if clash is not None:
                break
        if clash is None:
            return chosen
        chosen.append(clash)


def random_words(hypothesis: Moore, probe: HypothesisTest, rng: np.random.Generator) -> list[Word]:
    """Returns random words of random lengths that seldom enter a state which no letter leaves."""
    found = []
    letters = len(hypothesis.alphabet)
    for _ in range(probe.words):
        state, word = hypothesis.start, []
        for _ in range(int(rng.integers(1, probe.longest + 1))):
            inside = [a for a in range(letters) if hypothesis.rows[state][a] not in hypothesis.sinks]
            choices = inside if inside and rng.random() < 0.98 else list(range(letters))
            letter = choices[int(rng.integers(len(choices)))]
            word.append(letter)
            state = hypothesis.rows[state][letter]
        found.append(tuple(word))
    return found


def _signature(hypothesis: Moore, state: int, words: list[Word]) -> tuple[str, ...]:
    found = []
    for word in words:
        here = state
        for letter in word:
            here = hypothesis.rows[here][letter]
        found.append(hypothesis.outputs[here])
    return tuple(found)


MOST_STATES = 200
"""States of a hypothesis from which on learning ends: more are a sign that there is no automaton."""


def extract_by_queries(
    machine: Machine,
    *,
    white_box: bool = False,
    probe: HypothesisTest | None = None,
    seed: int = 0,
    budget: Budget | None = None,
) -> ExtractedMachine:
    """Returns the automaton that queries to a network lead to.

    Args:
        machine: the network.
        white_box: whether hypotheses are tested by looking at the states of the network, beside their own;
            otherwise by words alone.
        probe: the words of the test.
        seed: of the random words.
        budget: limits the states of a hypothesis and the time.

    Raises:
        InputError: if states are to be looked at and cannot be.
    """
    budget = started(budget)
    learner = QueryLearner(
        machine,
        _state_search(machine) if white_box else word_search(machine, probe, seed=seed),
        states=min(MOST_STATES, budget.states),
        budget=budget,
    )
    found, failing = learner.learn()
    return ExtractedMachine(machine=found.minimise(), rounds=learner.rounds, consistent=failing is None)


def word_search(
    machine: Machine, probe: HypothesisTest | None = None, *, seed: int = 0
) -> Callable[[Moore], Word | None]:
    """Returns the test of hypotheses by words: the first word that fails, None if none does."""
    probe, rng = probe or HypothesisTest(), np.random.default_rng(seed)

    def find(hypothesis: Moore) -> Word | None:
        failures = find_failures(machine, hypothesis, probe, rng, most=1)
        return failures[0] if failures else None

    return find


def _state_search(machine: Machine) -> Callable[[Moore], Word | None]:
    """The test of hypotheses by the states of the network, which have to be there."""
    machine.initial()
    return lambda hypothesis: find_counterexample(machine, hypothesis, ProductSettings())


_Row = tuple[str | None, ...]


class QueryLearner:
    """L* with the counterexamples cut in two, on a table of answers.

    The table has access words, each with the answers after some suffixes; a hypothesis has a state per row. A
    word on which it fails is cut where the network's own answers part from those of the hypothesis, which
    gives one more suffix. Words that are too long to be read have no answer: a row then is like another if
    the answers that both have are equal, and the hypothesis speaks of words that can be read.

    Args:
        machine: the network.
        find: a word on which a hypothesis fails; None if none is found.
        states: states of a hypothesis at most; more are a sign that there is none.
        budget: limits the time.

    Implements: [Angluin1987], [RivestSchapire1993]
    """

    def __init__(
        self, machine: Machine, find: Callable[[Moore], Word | None], *, states: int, budget: Budget
    ) -> None:
        self._machine, self._find, self._states, self._budget = machine, find, states, budget
        self._letters = range(len(machine.alphabet))
        self._suffixes: list[Word] = [()]
        self._access: list[Word] = [()]
        self.full = False
        self.rounds = 0
        self.failed: list[tuple[Moore, Word]] = []

    def hypothesis(self) -> Moore:
        """Returns the smallest machine that agrees with the table, which is closed first."""
        rows: dict[_Row, int] = {}
        self._ask([*self._access, *((*word, a) for word in self._access for a in self._letters)])
        for number, word in sorted(enumerate(self._access), key=lambda pair: len(pair[1])):
            rows.setdefault(self._row(word), number)
        place = 0
        while place < len(self._access):
            for letter in self._letters:
                word = (*self._access[place], letter)
                if self._like(word, rows) is None and self._row(word)[0] is not None:
                    if len(rows) >= self._states:
                        self.full = True
                        break
                    rows[self._row(word)] = len(self._access)
                    self._access.append(word)
                    self._ask([(*word, a) for a in self._letters])
            place += 1
        table = [
            [
                number if like is None else like
                for a in self._letters
                for like in [self._like((*word, a), rows)]
            ]
            for number, word in enumerate(self._access)
        ]
        outputs = tuple(self._answer(word) for word in self._access)
        self.rounds += 1
        return Moore(
            alphabet=self._machine.alphabet,
            transitions=np.array(table, dtype=np.int32),
            start=0,
            outputs=outputs,
        )

    def learn(self) -> tuple[Moore, Word | None]:
        """Returns the last hypothesis, and a word on which it fails if it was not refined any more."""
        while True:
            hypothesis = self.hypothesis()
            word = self._find(hypothesis)
            if word is not None:
                self.failed.append((hypothesis, word))
            if word is None or self.full or not self._budget.left() or not self.refine(hypothesis, word):
                return hypothesis, word

    def refine(self, hypothesis: Moore, word: Word) -> bool:
        """Adds the suffix of a failing word that tells two rows apart; whether there is one."""
        place = first_difference(self._machine.traces([word])[0], hypothesis.trace(word))
        if place is None:
            return False
        word = word[:place]
        # The model's answer at the end, when the first i letters are exchanged for the access word.
        wanted = self._machine.traces([word])[0][-1]
        low, high = 0, len(word)
        while high - low > 1:
            middle = (low + high) // 2
            state = hypothesis.start
            for letter in word[:middle]:
                state = hypothesis.rows[state][letter]
            changed = (*self._access[state], *word[middle:])
            if self._machine.reads(changed) and self._answer(changed) == wanted:
                low = middle
            else:
                high = middle
        suffix = word[high:]
        if suffix in self._suffixes:
            return False
        self._suffixes.append(suffix)
        return True

    def _ask(self, words: list[Word]) -> None:
        """Asks for many words at once; the machine remembers them."""
        asked = [(*word, *suffix) for word in words for suffix in self._suffixes]
        self._machine.traces(list(filter(self._machine.reads, asked)))

    def _row(self, word: Word) -> _Row:
        asked = [(*word, *suffix) for suffix in self._suffixes]
        if self._machine.longest is None:
            return tuple(trace[-1] for trace in self._machine.traces(asked))
        return tuple(map(self._machine.known, asked))

    def _like(self, word: Word, rows: Mapping[_Row, int]) -> int | None:
        """The access word that answers as a word does, not longer where some words cannot be read."""
        row = self._row(word)
        if self._machine.longest is None:
            return rows.get(row)
        like = [
            number
            for known, number in rows.items()
            if len(self._access[number]) <= len(word)
            and (row[0] is not None or known[0] != NOTHING)
            and all(a == b or a is None or b is None for a, b in zip(row, known, strict=True))
        ]
        return min(like, key=lambda number: len(self._access[number]), default=None)

    def _answer(self, word: Word) -> str:
        return self._machine.known(word) or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductSettings:
    """Settings of the search in the product of network and hypothesis.

    Attributes:
        radii: distances below which two states count as near, in standard deviations of a coordinate, one
            search each; smaller ones look at more states.
        states: states that one search looks at.
        suspicions: pairs of near states, which the hypothesis takes for different ones, that are tried for
            each pair of its states.
    """

    radii: tuple[float, ...] = (0.5, 0.2, 0.1)
    states: int = 1_000
    suspicions: int = 2

    def __post_init__(self) -> None:
        if not self.radii or min(self.radii) <= 0 or self.states < 1 or self.suspicions < 0:
            raise InputError(
                f"{self} cannot be used; radii are above 0, at least one state is looked at, and the number "
                "of suspicions is 0 or more"
            )


def find_counterexample(machine: Machine, hypothesis: Moore, settings: ProductSettings) -> Word | None:
    """Returns a word that the network answers differently from a hypothesis, or None if none is found.

    Pairs of a state of the hypothesis and a state of the network are searched breadth first; a pair is not
    followed if the same state of the hypothesis was met with a near state of the network. Where near states
    of the network stand for different states of the hypothesis, a word that tells these apart is tried.
    What is returned was run on the network; None is no proof.

    Implements: [Weiss2018Extraction]
    """
    for radius in settings.radii:
        found = _Search(machine, hypothesis, settings, radius).run()
        if found is not None:
            return found
    return None


class _Search:
    def __init__(self, machine: Machine, hypothesis: Moore, settings: ProductSettings, radius: float) -> None:
        self._machine, self._hypothesis = machine, hypothesis
        self._settings, self._radius = settings, radius
        self._known = machine.initial().values.repeat(settings.states + 1, axis=0)
        self._scale = np.ones(self._known.shape[1])
        self._places: list[int] = []
        self._words: list[Word] = []
        self._tried: dict[tuple[int, int], int] = {}

    def run(self) -> Word | None:
        level, places = self._machine.initial(), [self._hypothesis.start]
        words: list[Word] = [()]
        if level.outputs[0] != self._hypothesis.outputs[places[0]]:
            return ()
        self._keep(level, words, places)
        while len(level) and len(self._words) < self._settings.states:
            after = joined(self._machine.successors(level))
            letters = range(len(self._machine.alphabet))
            words = [(*word, letter) for letter in letters for word in words]
            places = [self._hypothesis.rows[place][letter] for letter in letters for place in places]
            for output, word, place in zip(after.outputs, words, places, strict=True):
                if output != self._hypothesis.outputs[place]:
                    return word
            level, words, places, found = self._sift(after, words, places)
            if found is not None:
                return found
        return None

    def _sift(
        self, states: States, words: list[Word], places: list[int]
    ) -> tuple[States, list[Word], list[int], Word | None]:
        """The states to go on from, and a counterexample if a suspicion is confirmed."""
        kept: list[int] = []
        spread = self._known[: len(self._places)].std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        for i in np.flatnonzero(states.alive).tolist():
            distances = self._distances(states.values[i])
            here = np.array(self._places) == places[i]
            found = self._suspect(words[i], places[i], distances, here)
            if found is not None:
                return states, words, places, found
            if not (distances[here] < self._radius).any():
                kept.append(i)
                self._keep(states.rows([i]), [words[i]], [places[i]])
            if len(self._words) >= self._settings.states:
                break
        return states.rows(kept), [words[i] for i in kept], [places[i] for i in kept], None

    def _suspect(self, word: Word, place: int, distances: Floats, here: npt.NDArray[np.bool_]) -> Word | None:
        """A counterexample by the nearest state that the hypothesis takes for another one, if it is near."""
        others = np.flatnonzero(~here & (distances < self._radius))
        if not len(others):
            return None
        nearest = int(others[distances[others].argmin()])
        pair = (min(place, self._places[nearest]), max(place, self._places[nearest]))
        if self._tried.get(pair, 0) >= self._settings.suspicions:
            return None
        self._tried[pair] = self._tried.get(pair, 0) + 1
        suffix = self._hypothesis.distinguish(*pair)
        if suffix is None:
            return None
        tested = [word + suffix, self._words[nearest] + suffix]
        for candidate, outputs in zip(tested, self._machine.traces(tested), strict=True):
            differs = first_difference(outputs, self._hypothesis.trace(candidate))
            if differs is not None:
                return candidate[:differs]
        return None

    def _distances(self, values: Floats) -> Floats:
        """Distances to the states looked at: root mean squares of differences in standard deviations."""
        known = self._known[: len(self._places)]
        distances: Floats = np.sqrt((((known - values) / self._scale) ** 2).mean(axis=1))
        return distances

    def _keep(self, states: States, words: list[Word], places: list[int]) -> None:
        self._known[len(self._places) : len(self._places) + len(states)] = states.values
        self._words.extend(words)
        self._places.extend(places)
