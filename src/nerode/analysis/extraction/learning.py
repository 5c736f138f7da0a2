"""Hypotheses about the automaton of a network: tested by words, and learned by queries, with AALpy as engine.

The test by words tries systematic ones, then random ones. Learning may also look at the network's states
beside those of the hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nerode.analysis.extraction.oracle import ExtractedMachine, Floats, Machine, States, joined
from nerode.core import Budget, InputError, load_extra, started
from nerode.languages import Moore, Word

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
    for words in (list(systematic_words(hypothesis, probe)), random_words(hypothesis, probe, rng)):
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


Algorithm = Literal["lstar", "kv"]

MOST_STATES = 200
"""States of a hypothesis from which on learning ends: more are a sign that there is no automaton."""


def extract_by_queries(
    machine: Machine,
    *,
    algorithm: Algorithm = "lstar",
    white_box: bool = False,
    probe: HypothesisTest | None = None,
    seed: int = 0,
    budget: Budget | None = None,
) -> ExtractedMachine:
    """Returns the automaton that queries to a network lead to.

    Args:
        machine: the network.
        algorithm: L* with an observation table, or that of Kearns and Vazirani with a tree.
        white_box: whether hypotheses are tested by looking at the states of the network, beside their own;
            otherwise by words alone.
        probe: the words of the test.
        seed: of the random words.
        budget: limits the states of a hypothesis and the time.

    Raises:
        InputError: if AALpy is not installed, or states are to be looked at and cannot be.

    Implements: [Angluin1987], [KearnsVazirani1994]
    """
    aalpy = load_aalpy()
    if white_box:
        machine.initial()
    asked = _asked(aalpy, machine)
    test = _test(
        aalpy,
        machine,
        asked,
        white_box=white_box,
        probe=probe or HypothesisTest(),
        rng=np.random.default_rng(seed),
        budget=started(budget),
    )
    run = aalpy.run_Lstar if algorithm == "lstar" else aalpy.run_KV
    letters = list(range(len(machine.alphabet)))
    # The machine remembers all words itself, so that AALpy need not.
    learned = run(letters, asked, test, automaton_type="moore", cache_and_non_det_check=False, print_level=0)
    return ExtractedMachine(
        machine=to_moore(machine, learned).minimise(), rounds=test.rounds, consistent=not test.ended
    )


def load_aalpy() -> ModuleType:
    """Returns AALpy, or raises InputError with how to install it."""
    return load_extra("aalpy", hint="or take --method cluster")


def to_moore(machine: Machine, learned: Any) -> Moore:
    """Returns a Moore machine of AALpy as one of ours."""
    number = {id(state): i for i, state in enumerate(learned.states)}
    letters = range(len(machine.alphabet))
    return Moore(
        alphabet=machine.alphabet,
        transitions=np.array(
            [[number[id(state.transitions[a])] for a in letters] for state in learned.states], dtype=np.int32
        ),
        start=number[id(learned.initial_state)],
        outputs=tuple(state.output for state in learned.states),
    )


def _asked(aalpy: ModuleType, machine: Machine) -> Any:
    """The network as the system that AALpy asks."""

    class Asked(aalpy.SUL):  # type: ignore[misc, name-defined]
        """Whole words are asked at once; single steps are not needed."""

        def query(self, word: tuple[int, ...]) -> list[str]:
            outputs = machine.traces([tuple(word)])[0]
            return list(outputs[1:]) if word else list(outputs)

        def pre(self) -> None:
            self.word: Word = ()

        def post(self) -> None:
            self.word = ()

        def step(self, letter: int | None) -> str:
            if letter is not None:
                self.word = (*self.word, letter)
            return machine.traces([self.word])[0][-1]

    return Asked()


def _test(
    aalpy: ModuleType,
    machine: Machine,
    asked: Any,
    *,
    white_box: bool,
    probe: HypothesisTest,
    rng: np.random.Generator,
    budget: Budget,
) -> Any:
    """The equivalence oracle."""

    class Test(aalpy.Oracle):  # type: ignore[misc, name-defined]
        """Looks for a word on which a hypothesis fails; says there is none when the budget has ended."""

        rounds = 0
        ended = False

        def find_cex(self, hypothesis: Any) -> tuple[int, ...] | None:
            self.rounds += 1
            ours = to_moore(machine, hypothesis)
            found = self._find(ours)
            large = ours.num_states > min(MOST_STATES, budget.states)
            if found is not None and (large or budget.elapsed() > budget.seconds):
                self.ended = True
                return None
            return found

        def _find(self, ours: Moore) -> Word | None:
            if white_box:
                return find_counterexample(machine, ours, ProductSettings())
            failures = find_failures(machine, ours, probe, rng, most=1)
            return failures[0] if failures else None

    return Test(list(range(len(machine.alphabet))), asked)


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
