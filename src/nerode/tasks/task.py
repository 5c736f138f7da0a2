"""The interface of tasks, the splits of their sequences, and the row of a task in the table.

A task draws sequences of one length; there is no padding. Whether a sequence is for training or for
testing is decided by its content alone (a hash of its inputs), so the splits are disjoint whatever is
drawn, in any order, by any seed. Lengths outside the range of training are for testing only.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from nerode.core import InputError, Reference, UnknownName
from nerode.languages import Question
from nerode.records import Reading

Answer = Callable[[Tensor, Any], tuple[Tensor, Any]]
"""What a model does: scores and the next state from inputs and a state, None for the first."""

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")

_SHARES = np.array([80, 90, 100], dtype=np.uint64)
"""Upper ends, in percent, of the share of hash values that each split has."""

_TRIES = 200
"""Rounds of drawing after which a split counts as empty at a length."""


class Memory(StrEnum):
    """The kind of memory that a task asks for (section 3 of the memory paper)."""

    STATEFUL = "stateful: every input may change what is kept"
    STABLE = "stable: what was seen must be kept unchanged"
    COUNTING = "counting: how long something has lasted must be known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Sequences of one length.

    Attributes:
        inputs: letters (batch, time) as int64, or features (batch, time, features).
        targets: a class for each position (batch, time), or bits (batch, time, outputs) as bool.
        mask: the positions that count (batch, time).
    """

    inputs: Tensor
    targets: Tensor
    mask: Bool[Tensor, "batch time"]

    def __len__(self) -> int:
        return len(self.inputs)

    @classmethod
    def of(cls, inputs: npt.NDArray[Any], targets: npt.NDArray[Any], mask: npt.NDArray[np.bool_]) -> Batch:
        """Returns the batch of arrays."""
        return cls(
            inputs=torch.from_numpy(inputs), targets=torch.from_numpy(targets), mask=torch.from_numpy(mask)
        )

    @classmethod
    def joined(cls, parts: Sequence[Batch]) -> Batch:
        """Returns the sequences of several batches, which have one length."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            inputs=torch.cat([part.inputs for part in parts]),
            targets=torch.cat([part.targets for part in parts]),
            mask=torch.cat([part.mask for part in parts]),
        )

    def cut(self, rows: slice, positions: slice) -> Batch:
        """Returns some positions of some of the sequences."""
        return Batch(
            inputs=self.inputs[rows, positions],
            targets=self.targets[rows, positions],
            mask=self.mask[rows, positions],
        )

    def rows(self, chosen: Sequence[int] | npt.NDArray[np.integer[Any]]) -> Batch:
        """Returns some of the sequences."""
        index = torch.as_tensor(chosen, dtype=torch.int64)
        return Batch(inputs=self.inputs[index], targets=self.targets[index], mask=self.mask[index])

    def counted(self, values: Tensor) -> Tensor:
        """Returns the values (batch, time, …) at the positions that count, one below the other."""
        # Without a search for the positions if all count, as they mostly do: that takes longer than the loss.
        return values.flatten(0, 1) if self.mask.all() else values[self.mask]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A quantity other than the length in which test sequences can go beyond those of training.

    Attributes:
        name: kebab-case.
        trained: its values in training.
        values: those to test.
    """

    name: str
    trained: tuple[int, ...]
    values: tuple[int, ...]


class Task(ABC):
    """A task that a model can be trained on.

    Attributes:
        name: kebab-case.
        memory: the kind of memory that it asks for.
        letters: size of the vocabulary of its inputs; None for features.
        features: number of features of its inputs; None for letters.
        outputs: number of scores at each position.
        training_lengths: the shortest and the longest length of training.
        length_parity: 0 if all lengths are even, 1 if all are odd, None if there are both.
        test_lengths: lengths to test with these settings; empty for those of the kind.
        axes: what else can be varied in tests.
    """

    name: str
    memory: Memory
    letters: int | None = None
    features: int | None = None
    outputs: int
    training_lengths: tuple[int, int]
    length_parity: int | None = None
    test_lengths: tuple[int, ...] = ()
    axes: tuple[Axis, ...] = ()
    targets_are_bits: bool = False
    """Whether each output is a bit of its own; otherwise the outputs are classes."""

    @abstractmethod
    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns `count` sequences of a length, as the task distributes them, whatever their split.

        Raises:
            InputError: if there is no sequence of this length.
        """

    def always_trained(self, batch: Batch) -> Bool[Tensor, " batch"]:
        """Returns which sequences belong to training whatever their hash; none, by default."""
        return torch.zeros(len(batch), dtype=torch.bool)

    def trains_on(self, length: int) -> bool:
        """Returns whether a length is trained on; by default, all there are from shortest to longest."""
        low, high = self.training_lengths
        return low <= length <= high and self.length_parity in (None, length % 2)

    def has(self, length: int) -> bool:
        """Returns whether there are sequences of a length, whatever their split."""
        try:
            self.sample(length, 1, np.random.default_rng(0))
        except InputError:
            return False
        return True

    def usual_length(self, at_most: int) -> int:
        """Returns the longest length of training up to a limit, or the shortest if all are longer."""
        low, high = self.training_lengths
        near = range(min(high, at_most), low - 1, -1)
        lengths: list[int] = [*near, *range(max(low, at_most + 1), high + 1)]
        return next(length for length in lengths if self.trains_on(length) and self.has(length))

    def choose_length(self, lengths: Sequence[int], rng: np.random.Generator) -> int:
        """Returns the length of a step of training, one of those given; all are as likely by default."""
        return lengths[int(rng.integers(len(lengths)))]

    def choose_lengths(self, lengths: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
        """Returns the lengths of the sequences of a fixed sample; each is chosen by itself by default."""
        return [self.choose_length(lengths, rng) for _ in range(count)]

    def draw(self, split: Split, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns `count` sequences of one split.

        Raises:
            InputError: if the length is not trained on, or the split has no sequence of this length.
        """
        if not self.trains_on(length):
            if split != "test":
                low, high = self.training_lengths
                which = "lengths" if all(map(self.trains_on, range(low, high + 1))) else "some lengths from"
                raise InputError(
                    f"{self.name} trains on {which} {low} to {high}; length {length} is for testing only"
                )
            return self.sample(length, count, rng)
        parts: list[Batch] = []
        found = 0
        for _ in range(1 if self.has_one_word(length) else _TRIES):
            # Enough that one round is nearly always enough for training.
            batch = self.sample(length, 16 + (count - found) * 4 // 3, rng)
            rows = np.flatnonzero(self._split_numbers(batch) == SPLITS.index(split))[: count - found]
            if len(rows):
                parts.append(batch.rows(rows))
                found += len(rows)
            if found == count:
                return Batch.joined(parts)
        raise InputError(
            f"{self.name} has hardly any sequence of length {length} in the {split} split "
            f"({found} found, {count} wanted); choose another length"
        )

    def has_one_word(self, length: int) -> bool:
        """Returns whether all sequences of a length are known to be equal, so that one round shows them."""
        return False

    def split_of(self, batch: Batch) -> list[Split]:
        """Returns the split of each sequence: from its inputs alone, the same on every machine."""
        return [SPLITS[number] for number in self._split_numbers(batch)]

    def _split_numbers(self, batch: Batch) -> npt.NDArray[np.intp]:
        values = content_hashes(batch.inputs) % np.uint64(100)
        numbers = np.searchsorted(_SHARES, values, side="right")
        numbers[self.always_trained(batch).numpy()] = SPLITS.index("train")
        return numbers

    def draw_at(self, axis: str, value: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns `count` test sequences at a value of one of the axes; none of them is ever trained on.

        Raises:
            UnknownName: if the task has no such axis.
            InputError: if there is no sequence at this value.
        """
        raise self.unknown_axis(axis)

    def unknown_axis(self, axis: str) -> UnknownName:
        """Returns the error for an axis that the task does not have."""
        return UnknownName(f"axis of {self.name}", axis, [a.name for a in self.axes])

    def examine(self, answer: Answer, rng: np.random.Generator) -> dict[str, Any]:
        """Returns what a trained model does in other tests than accuracy, as plain values for JSON.

        There are none by default.
        """
        return {}

    def question(self) -> Question:
        """Returns what the task asks after each letter of a word.

        Raises:
            InputError: if its answers are not those of a language or of a machine that reads letters.
        """
        raise InputError(f"the task {self.name!r} does not ask for the answers of an automaton")

    def reading(self) -> Reading:
        """Returns how the scores of a network are read as answers to the question.

        Raises:
            InputError: if there is no question.
        """
        return Reading.by_name(len(self.question().answers))

    @property
    def chance(self) -> float:
        """The accuracy of a uniform guess, above which scaled accuracy begins."""
        return 0.5**self.outputs if self.targets_are_bits else 1 / self.outputs

    def loss(self, scores: Float[Tensor, "batch time outputs"], batch: Batch) -> Tensor:
        """Returns the mean loss over the positions that count."""
        scores, targets = batch.counted(scores), batch.counted(batch.targets)
        if self.targets_are_bits:
            return functional.binary_cross_entropy_with_logits(scores, targets.to(scores.dtype))
        return functional.cross_entropy(scores, targets)

    def bits(self, scores: Tensor) -> Tensor:
        """Returns the truth values that scores stand for, where targets are bits."""
        return scores > 0

    def correct(
        self, scores: Float[Tensor, "batch time outputs"], batch: Batch
    ) -> Bool[Tensor, "batch time"]:
        """Returns which positions are answered correctly; positions that do not count are."""
        if self.targets_are_bits:
            answered = (self.bits(scores) == batch.targets).all(-1)
        else:
            answered = scores.argmax(-1) == batch.targets
        return answered | ~batch.mask


def content_hashes(inputs: Tensor) -> npt.NDArray[np.uint64]:
    """Returns 64 bits for each sequence, from its bytes alone: a random linear map, then mixed."""
    rows = inputs.contiguous().flatten(1).numpy()
    words = rows.view(np.uint64) if rows.itemsize == 8 else rows.astype(np.float64).view(np.uint64)
    # NumPy is silent about overflow in arrays. The product of (words + 1) and the weights, in one pass.
    weights = _weights(words.shape[1])
    mixed: npt.NDArray[np.uint64] = words @ weights + weights.sum(dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed


@functools.lru_cache(maxsize=64)
def _weights(places: int) -> npt.NDArray[np.uint64]:
    """Odd numbers that depend on the place only, so that a longer sequence uses more of the same."""
    drawn = np.random.Generator(np.random.PCG64(7)).integers(0, 2**64, places, dtype=np.uint64)
    weights: npt.NDArray[np.uint64] = drawn | np.uint64(1)
    weights.setflags(write=False)
    return weights


Labels = Literal["all", "last"]
"""An answer at each position where one is defined, or one at the end."""


def require_range(shortest: int, longest: int, *, least: int = 1) -> None:
    """Raises InputError unless the lengths of training are a range from `least` on."""
    if not least <= shortest <= longest:
        raise InputError(f"lengths from {shortest} to {longest} are not a range from {least} on")


def counted(labels: Labels, count: int, length: int) -> npt.NDArray[np.bool_]:
    """Returns the mask of all positions, or of the last."""
    mask = np.full((count, length), labels == "all", dtype=np.bool_)
    mask[:, -1] = True
    return mask


Integers = npt.NDArray[np.int64]


def walk(table: npt.NDArray[np.integer[Any]], words: Integers, *, start: int = 0) -> Integers:
    """Returns the state after each letter.

    Args:
        table: the next state, by state and letter.
        words: letters (words, time).
        start: the state before the first letter.
    """
    width = table.shape[1]
    # A state stands for the beginning of its row, so that one addition finds the entry.
    rows = table.astype(np.int64).ravel() * width
    letters = np.ascontiguousarray(words.T)
    states = np.empty_like(letters)
    here = np.full(len(words), start * width, dtype=np.int64)
    entry = np.empty_like(here)
    for letter, state in zip(letters, states, strict=True):
        np.add(here, letter, out=entry)
        rows.take(entry, out=state, mode="clip")
        here = state
    return np.ascontiguousarray((states // width).T)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKind:
    """A kind of task.

    Attributes:
        name: kebab-case.
        title: one line for listings.
        settings: the dataclass of its settings; all have defaults.
        build: makes the task from its settings.
        reference: where it was published.
        test_lengths: lengths at which the literature tests it.
        presets: other names of the task, with the settings that each fixes.
    """

    name: str
    title: str
    settings: type
    build: Callable[[Any], Task]
    reference: Reference
    test_lengths: tuple[int, ...] = ()
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
