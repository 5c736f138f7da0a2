"""Copying, denoising and associative recall: what was read has to be repeated.

A sequence has S pattern letters and T blanks, then the signal and S-1 blanks: T + 2S letters. The pattern is
due from the signal on. Either S or T is mixed in training; the length of a sequence then says which value it
has, so that longer sequences go beyond training in that direction. The other direction is an axis too.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.core import InputError, Reference
from nerode.tasks.task import Axis, Batch, Labels, Memory, Task, TaskKind, require_range

_MULTIPLES = (1, 2, 5, 10)
"""Tests, as multiples of the longest pattern or number of blanks of training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternSettings:
    """Settings of copying and denoising; only one of the two lists may have several numbers.

    Attributes:
        patterns: pattern lengths S of training.
        blanks: numbers T of blanks of training.
        symbols: number of symbols that patterns are made of.
    """

    patterns: tuple[int, ...] = (10,)
    blanks: tuple[int, ...] = (10, 20, 30, 40, 50)
    symbols: int = 8

    def __post_init__(self) -> None:
        for name, least in (("patterns", 1), ("blanks", 0)):
            numbers: tuple[int, ...] = getattr(self, name)
            if not numbers or list(numbers) != sorted(set(numbers)) or numbers[0] < least:
                raise InputError(f"{name} is {list(numbers)}; it has to be rising numbers from {least} on")
        if len(self.patterns) > 1 and len(self.blanks) > 1:
            raise InputError(
                f"patterns has {len(self.patterns)} numbers and blanks {len(self.blanks)}; "
                "mix one of them, so that the length of a sequence says which it has"
            )
        if self.symbols < 1:
            raise InputError(f"symbols is {self.symbols}; patterns are made of 1 or more")

    @property
    def mixes_patterns(self) -> bool:
        """Whether it is the pattern that is longer in longer sequences."""
        return len(self.patterns) > 1


class PatternTask(Task):
    """A pattern that has to be given back; the letters are its symbols, the blank and the signal."""

    memory = Memory.STABLE

    def __init__(self, settings: PatternSettings) -> None:
        self.settings = settings
        self.outputs = settings.symbols
        self.blank = settings.symbols
        self.signal = settings.symbols + 1
        self.letters = settings.symbols + 2
        trained = [t + 2 * s for s in settings.patterns for t in settings.blanks]
        self.training_lengths = (min(trained), max(trained))
        self._trained = frozenset(trained)
        self.axes = (
            _axis("blanks", settings.blanks),
            _axis("pattern", settings.patterns),
        )
        mixed = self.axes[settings.mixes_patterns]
        self.test_lengths = tuple(t + 2 * s for s, t in (self._sizes_at(mixed.name, v) for v in mixed.values))

    def trains_on(self, length: int) -> bool:
        """Returns whether a sequence of training has this length."""
        return length in self._trained

    def sizes(self, length: int) -> tuple[int, int]:
        """Returns S and T of the sequences of a length, or raises InputError."""
        settings = self.settings
        if settings.mixes_patterns:
            blanks = settings.blanks[0]
            pattern, rest = divmod(length - blanks, 2)
            if pattern >= 1 and not rest:
                return pattern, blanks
            allowed = f"{blanks} blanks and twice a pattern of 1 or more"
        else:
            pattern = settings.patterns[0]
            blanks = length - 2 * pattern
            if blanks >= 0:
                return pattern, blanks
            allowed = f"twice a pattern of {pattern} and 0 blanks or more"
        raise InputError(f"{self.name} has no sequence of length {length}; lengths are {allowed}")

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns sequences with uniform patterns."""
        return self.compose(*self.sizes(length), count, rng)

    def draw_at(self, axis: str, value: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns test sequences with another number of blanks, or another length of the pattern.

        The other quantity has its largest value of training.
        """
        pattern, blanks = self._sizes_at(axis, value)
        settings = self.settings
        if pattern in settings.patterns and blanks in settings.blanks:
            return self.draw("test", blanks + 2 * pattern, count, rng)
        # A pattern or a number of blanks that training has never seen is a sequence it has never seen.
        return self.compose(pattern, blanks, count, rng)

    def compose(self, pattern: int, blanks: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns sequences with a pattern length and a number of blanks, whatever their split."""
        if pattern < 1 or blanks < 0:
            raise InputError(
                f"a pattern of {pattern} and {blanks} blanks make no sequence; give 1 or more and 0 or more"
            )
        symbols = rng.integers(0, self.settings.symbols, (count, pattern))
        inputs = np.full((count, blanks + 2 * pattern), self.blank, dtype=np.int64)
        # Row by row, so that the order of the pattern is kept.
        inputs[:, : pattern + blanks][self._places(pattern, blanks, count, rng)] = symbols.ravel()
        inputs[:, pattern + blanks] = self.signal
        targets = np.zeros_like(inputs)
        targets[:, -pattern:] = symbols
        mask = np.zeros(inputs.shape, dtype=np.bool_)
        mask[:, -pattern:] = True
        return Batch.of(inputs, targets, mask)

    @abstractmethod
    def _places(
        self, pattern: int, blanks: int, count: int, rng: np.random.Generator
    ) -> npt.NDArray[np.bool_]:
        """The mask of the pattern among the letters before the signal, the same number in each row."""

    def _sizes_at(self, axis: str, value: int) -> tuple[int, int]:
        match axis:
            case "blanks":
                return self.settings.patterns[-1], value
            case "pattern":
                return value, self.settings.blanks[-1]
            case _:
                raise self.unknown_axis(axis)


def _axis(name: str, trained: tuple[int, ...]) -> Axis:
    return Axis(name=name, trained=trained, values=tuple(max(1, trained[-1]) * k for k in _MULTIPLES))


class Copying(PatternTask):
    """The pattern comes first, then all the blanks.

    References: [MemoryGeneralization]
    """

    name = "copying"

    def _places(
        self, pattern: int, blanks: int, count: int, rng: np.random.Generator
    ) -> npt.NDArray[np.bool_]:
        places = np.zeros((count, pattern + blanks), dtype=np.bool_)
        places[:, :pattern] = True
        return places


class Denoising(PatternTask):
    """The blanks are among the letters of the pattern, all placements being as likely.

    References: [MemoryGeneralization]
    """

    name = "denoising"

    def _places(
        self, pattern: int, blanks: int, count: int, rng: np.random.Generator
    ) -> npt.NDArray[np.bool_]:
        places = np.zeros((count, pattern + blanks), dtype=np.bool_)
        chosen = rng.random(places.shape).argpartition(pattern - 1, axis=1)[:, :pattern]
        np.put_along_axis(places, chosen, True, axis=1)
        return places


COPYING = TaskKind(
    name="copying",
    title="a pattern, blanks, a signal; then the pattern again",
    settings=PatternSettings,
    build=Copying,
    reference=Reference("MemoryGeneralization"),
    presets={
        "copying-patterns": {"patterns": (2, 4, 6, 8, 10), "blanks": (50,)},
        "copying-small": {"patterns": (5,), "blanks": (4, 8, 12, 16, 20), "symbols": 4},
        "copying-small-patterns": {"patterns": (1, 2, 3, 4, 5), "blanks": (20,), "symbols": 4},
    },
)

DENOISING = TaskKind(
    name="denoising",
    title="a pattern with blanks scattered in it, a signal; then the pattern alone",
    settings=PatternSettings,
    build=Denoising,
    reference=Reference("MemoryGeneralization"),
    presets={
        "denoising-patterns": {"patterns": (2, 4, 6, 8, 10), "blanks": (50,)},
        "denoising-small": {"patterns": (5,), "blanks": (4, 8, 12, 16, 20), "symbols": 4},
        "denoising-small-patterns": {"patterns": (1, 2, 3, 4, 5), "blanks": (20,), "symbols": 4},
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """Settings of associative recall.

    Attributes:
        keys: number of keys; their letters come first.
        values: number of values.
        shortest: shortest length of training.
        longest: longest length of training.
        labels: "all" for an answer at each key that was read before, "last" for one at the end.
    """

    keys: int = 10
    values: int = 10
    shortest: int = 5
    longest: int = 41
    labels: Labels = "last"

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest, least=3)
        for name in ("keys", "values"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it has to be 1 or more")
        if self.shortest == self.longest and self.longest % 2 == 0:
            raise InputError(f"the only length is {self.longest}; pairs and a key have odd lengths")


class AssociativeRecall(Task):
    """Each sequence has its own dictionary; a key that comes again has the same value again.

    References: [Fu2023]
    """

    name = "associative-recall"
    memory = Memory.STABLE
    length_parity = 1

    def __init__(self, settings: RecallSettings) -> None:
        self.settings = settings
        self.letters = settings.keys + settings.values
        self.outputs = settings.values
        self.training_lengths = (
            settings.shortest + (settings.shortest + 1) % 2,
            settings.longest - (settings.longest + 1) % 2,
        )

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns sequences with uniform dictionaries and keys; the last key is that of a random pair."""
        if length < 3 or length % 2 == 0:
            raise InputError(
                f"{self.name} has no sequence of length {length}; pairs and a key have odd lengths from 3 on"
            )
        settings = self.settings
        pairs = length // 2
        dictionary = rng.integers(0, settings.values, (count, settings.keys))
        keys = rng.integers(0, settings.keys, (count, pairs + 1))
        keys[:, -1] = keys[np.arange(count), rng.integers(0, pairs, count)]
        values = np.take_along_axis(dictionary, keys, axis=1)
        inputs = np.empty((count, length), dtype=np.int64)
        inputs[:, 0::2] = keys
        inputs[:, 1::2] = settings.keys + values[:, :-1]
        mask = np.zeros((count, length), dtype=np.bool_)
        mask[:, -1] = True
        if settings.labels == "all":
            mask[:, 0::2] = _read_before(keys)
        return Batch.of(inputs, np.repeat(values, 2, axis=1)[:, :-1].copy(), mask)


def _read_before(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """The mask of keys that are not the first of their kind in their row."""
    order = keys.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(keys, order, axis=1)
    again = np.zeros(keys.shape, dtype=np.bool_)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return again


RECALL = TaskKind(
    name="associative-recall",
    title="pairs of keys and values; then a key, whose value is asked for",
    settings=RecallSettings,
    build=AssociativeRecall,
    reference=Reference("Fu2023"),
    test_lengths=(41, 81, 161, 321),
    presets={"associative-recall-all": {"labels": "all"}},
)
