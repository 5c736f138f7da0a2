"""Regular tasks that read one letter per step: parity, even pairs and cycle navigation."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from nerode.core import InputError, Reference
from nerode.languages import UNASKED, Alphabet, LanguageQuestion, Moore, MooreQuestion
from nerode.languages.bestiary import find_language
from nerode.records import Reading
from nerode.tasks.formal.recognition import membership_reading
from nerode.tasks.task import Batch, Integers, Labels, Memory, Task, TaskKind, counted, require_range

TEST_LENGTHS = (40, 64, 128, 256)
"""From the longest length of training to the longest of the papers' tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularSettings:
    """Settings of a regular task.

    Attributes:
        shortest: shortest length of training.
        longest: longest length of training.
        labels: "all" for an answer at each position, "last" for one at the end.
    """

    shortest: int = 3
    longest: int = 40
    labels: Labels = "all"

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest)


class RegularTask(Task):
    """Uniform words, each position labelled with a state of an automaton."""

    memory = Memory.STATEFUL
    letters: int
    outputs = 2

    def __init__(self, settings: RegularSettings) -> None:
        self.settings = settings
        self.training_lengths = (settings.shortest, settings.longest)

    @abstractmethod
    def label(self, words: Integers) -> Integers:
        """Returns the label of each position (words, time)."""

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns uniform words."""
        words = rng.integers(0, self.letters, (count, length))
        return Batch.of(words, self.label(words), counted(self.settings.labels, count, length))


class Parity(RegularTask):
    """Bits, each position labelled with the parity of the ones so far: 1 if their number is odd.

    References: [Grazzi2025]
    """

    name = "parity"
    letters = 2

    def question(self) -> LanguageQuestion:
        """Returns the question for words with an even number of ones."""
        return LanguageQuestion(find_language("parity"), "end", "all")

    def reading(self) -> Reading:
        """Returns the reading by two classes, the first for an even number of ones."""
        return membership_reading(self.letters, accepted=0)

    def label(self, words: Integers) -> Integers:
        """Returns 1 where an odd number of ones has been read."""
        return words.cumsum(axis=1) % 2


class EvenPairs(RegularTask):
    """Words over a and b; 1 where the number of `ab` and `ba` read so far is even, which is 1 at the first.

    References: [Deletang2023]
    """

    name = "even-pairs"
    letters = 2

    def question(self) -> MooreQuestion:
        """Returns the question whether the first letter is back, from the first letter on."""

        def advance(state: tuple[int, int] | None, letter: int) -> tuple[int, int]:
            return (letter if state is None else state[0], letter)

        machine = Moore.explore(
            Alphabet(("a", "b")), None, advance, lambda s: UNASKED if s is None else str(int(s[0] == s[1]))
        )
        return MooreQuestion(self.name, machine)

    def label(self, words: Integers) -> Integers:
        """Returns 1 where the first letter is back: each of the two pairs changes the letter."""
        even: Integers = (words == words[:, :1]).astype(np.int64)
        return even


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleNavigationSettings(RegularSettings):
    """Settings of cycle navigation.

    Attributes:
        places: places on the cycle.
        shortest: shortest length of training.
        longest: longest length of training.
        labels: "all" for an answer at each position, "last" for one at the end.
    """

    places: int = 5

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest)
        if self.places < 2:
            raise InputError(f"places is {self.places}; a cycle has 2 or more")


class CycleNavigation(RegularTask):
    """Moves on a cycle (0 stays, 1 goes forward, 2 goes back) from place 0; the label is the place.

    References: [Deletang2023]
    """

    name = "cycle-navigation"
    letters = 3
    settings: CycleNavigationSettings

    def __init__(self, settings: CycleNavigationSettings) -> None:
        super().__init__(settings)
        self.outputs = settings.places

    def question(self) -> MooreQuestion:
        """Returns the question for the place."""
        places, moves = self.settings.places, (0, 1, -1)
        machine = Moore.explore(
            Alphabet(("0", "1", "2")), 0, lambda place, letter: (place + moves[letter]) % places, str
        )
        return MooreQuestion(f"{self.name} of {places} places", machine, tuple(map(str, range(places))))

    def label(self, words: Integers) -> Integers:
        """Returns the place after each move."""
        return np.array([0, 1, -1])[words].cumsum(axis=1) % self.outputs


PARITY = TaskKind(
    name="parity",
    title="parity of the ones read so far, at each position or at the end",
    settings=RegularSettings,
    build=Parity,
    reference=Reference("Grazzi2025"),
    test_lengths=(40, 64, 128, 256, 512, 1024),
    presets={"parity-last": {"labels": "last"}},
)

EVEN_PAIRS = TaskKind(
    name="even-pairs",
    title="is the number of `ab` and `ba` so far even?",
    settings=RegularSettings,
    build=EvenPairs,
    reference=Reference("Deletang2023"),
    test_lengths=TEST_LENGTHS,
    presets={"even-pairs-last": {"labels": "last"}},
)

CYCLE_NAVIGATION = TaskKind(
    name="cycle-navigation",
    title="the place on a cycle after moves forward and back",
    settings=CycleNavigationSettings,
    build=CycleNavigation,
    reference=Reference("Deletang2023"),
    test_lengths=TEST_LENGTHS,
    presets={"cycle-navigation-last": {"labels": "last"}},
)
