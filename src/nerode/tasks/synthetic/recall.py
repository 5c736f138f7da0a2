"""Associative recall: pairs of keys and values; then a key, whose value is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from nerode.core import InputError, Reference
from nerode.tasks.task import Batch, Labels, Memory, Task, TaskKind, require_range


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

    def __init__(self, settings: RecallSettings) -> None:
        self.settings = settings
        self.letters = settings.keys + settings.values
        self.outputs = settings.values
        self.training_lengths = (
            settings.shortest + (settings.shortest + 1) % 2,
            settings.longest - (settings.longest + 1) % 2,
        )

    def trains_on(self, length: int) -> bool:
        """Returns whether it is an odd length of the range."""
        low, high = self.training_lengths
        return length % 2 == 1 and low <= length <= high

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
        return Batch(
            inputs=torch.from_numpy(inputs),
            targets=torch.from_numpy(np.repeat(values, 2, axis=1)[:, :-1].copy()),
            mask=torch.from_numpy(mask),
        )


def _read_before(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """The mask of keys that are not the first of their kind in their row."""
    order = keys.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(keys, order, axis=1)
    again = np.zeros(keys.shape, dtype=np.bool_)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return again


KIND = TaskKind(
    name="associative-recall",
    title="pairs of keys and values; then a key, whose value is asked for",
    settings=RecallSettings,
    build=AssociativeRecall,
    reference=Reference("Fu2023"),
    test_lengths=(41, 81, 161, 321),
    presets={"associative-recall-all": {"labels": "all"}},
)
