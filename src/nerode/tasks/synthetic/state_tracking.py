"""State tracking: the product so far of elements of a finite group or monoid."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool
from torch import Tensor

from nerode.core import InputError, Reference
from nerode.languages import Alphabet, Moore, MooreQuestion
from nerode.languages.groups import FiniteMonoid, finite_monoid
from nerode.tasks.task import Batch, Integers, Memory, Task, TaskKind, require_range, walk

Letters = Literal["elements", "generators", "swaps", "swaps-and-3-cycles"]

_FAR = (64, 128, 256, 512)
"""Lengths of the memory paper beyond five times that of training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTrackingSettings:
    """Settings of state tracking.

    Attributes:
        monoid: name of the group or monoid, like "Z60", "A4xZ5" or "T3".
        letters: what is read: all elements, the generators, or the permutations of a symmetric group that
            move at most two points ("swaps") or three ("swaps-and-3-cycles"), the identity among them.
        tokens: letters for an element; all but the first are a blank, and the answer is due at the last.
        shortest: shortest length of training but for the pairs, in letters.
        longest: longest length of training, in letters.
        pairs: share of the steps of training that are on words of two elements, none of which is ever
            tested; 0 if these words are like all others.
    """

    monoid: str = "A5"
    letters: Letters = "elements"
    tokens: int = 1
    shortest: int = 8
    longest: int = 8
    pairs: float = 0.1

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest)
        if not 0 <= self.pairs < 1:
            raise InputError(f"pairs is {self.pairs}; a share is 0 or more and below 1")
        if self.tokens < 1:
            raise InputError(f"tokens is {self.tokens}; an element has 1 letter or more")
        if self.longest < self.tokens:
            raise InputError(
                f"longest is {self.longest}; an element alone has {self.tokens} letters, give as many or more"
            )


class StateTracking(Task):
    """Words over a monoid; each position is labelled with the product so far, the first factor first.

    References: [Merrill2024]
    """

    name = "state-tracking"
    memory = Memory.STATEFUL

    def __init__(self, settings: StateTrackingSettings) -> None:
        self.settings = settings
        self.alphabet, self.elements, self._table = _action(settings.monoid, settings.letters)
        if len(self.alphabet) < 2:
            raise InputError(
                f"{settings.monoid} has one of the {settings.letters} only, so one word of each length; "
                "read it by elements"
            )
        self.letters = len(self.alphabet) + (settings.tokens > 1)
        self.outputs = len(self.elements)
        pair = 2 * settings.tokens
        self.training_lengths = (
            min(settings.shortest, pair) if settings.pairs else settings.shortest,
            max(settings.longest, pair) if settings.pairs else settings.longest,
        )
        near = [k * settings.longest for k in range(1, 6)]
        far = [n for n in _FAR if n > near[-1]]
        self.test_lengths = tuple(n - n % settings.tokens for n in (*near, *far))

    def question(self) -> MooreQuestion:
        """Returns the question for the product of all letters, one letter per element."""
        if self.settings.tokens > 1:
            raise InputError(
                f"{self.name} with blanks between the elements is not the answer of an automaton that reads "
                "letters; take tokens = 1"
            )
        rows = self._table.tolist()
        machine = Moore.explore(
            Alphabet(self.alphabet), 0, lambda element, letter: rows[element][letter], str
        )
        classes = tuple(map(str, range(self.outputs)))
        return MooreQuestion(f"the word problem of {self.settings.monoid}", machine, classes)

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns uniform words."""
        tokens = self.settings.tokens
        if length % tokens or length < 1:
            raise InputError(
                f"{self.name} has no word of length {length}; with {tokens} letters for an element, "
                f"lengths are multiples of {tokens}"
            )
        words = rng.integers(0, len(self.alphabet), (count, length // tokens))
        products = walk(self._table, words)
        return Batch(
            inputs=torch.from_numpy(_spread(words, tokens, blank=len(self.alphabet))),
            targets=torch.from_numpy(np.repeat(products, tokens, axis=1)),
            mask=(torch.arange(length) % tokens == tokens - 1).repeat(count, 1),
        )

    def trains_on(self, length: int) -> bool:
        """Returns whether it is a length of training or that of the pairs."""
        settings = self.settings
        if settings.pairs and length == 2 * settings.tokens:
            return True
        return length % settings.tokens == 0 and settings.shortest <= length <= settings.longest

    def choose_length(self, lengths: Sequence[int], rng: np.random.Generator) -> int:
        """Returns the length of the pairs in their share of the steps, and otherwise another one."""
        pair = 2 * self.settings.tokens
        others = [length for length in lengths if length != pair]
        if not self.settings.pairs or not others or pair not in lengths:
            return super().choose_length(lengths, rng)
        return pair if rng.random() < self.settings.pairs else super().choose_length(others, rng)

    def always_trained(self, batch: Batch) -> Bool[Tensor, " batch"]:
        """Returns true for all pairs.

        Implements: [Merrill2024]
        """
        is_pair = self.settings.pairs > 0 and batch.inputs.shape[1] == 2 * self.settings.tokens
        return torch.full((len(batch),), is_pair)


def _spread(words: Integers, tokens: int, *, blank: int) -> Integers:
    """Returns the words with blanks after each letter, `tokens` for one."""
    if tokens == 1:
        return words
    spread = np.full((*words.shape, tokens), blank, dtype=np.int64)
    spread[..., 0] = words
    return spread.reshape(len(words), -1)


@functools.lru_cache(maxsize=32)
def _action(name: str, letters: Letters) -> tuple[tuple[str, ...], tuple[str, ...], npt.NDArray[np.int32]]:
    """The names of the letters and of the elements, and each element times each letter."""
    monoid = finite_monoid(name)
    chosen = _chosen(monoid, letters)
    names = monoid.element_names
    return tuple(names[a] for a in chosen), names, monoid.times(chosen)


def _chosen(monoid: FiniteMonoid, letters: Letters) -> tuple[int, ...]:
    if letters == "elements":
        return tuple(range(monoid.order))
    if letters == "generators":
        return monoid.generators
    if not (monoid.name[0] == "S" and monoid.name[1:].isdigit()):
        raise InputError(
            f"{monoid.name} has no {letters}; they belong to the symmetric groups S2, S3, …, "
            "all others are read by elements or by generators"
        )
    most = 2 if letters == "swaps" else 3
    return tuple(x for x, value in enumerate(monoid.values) if _moved(value) <= most)


def _moved(images: object) -> int:
    """The number of points that a permutation moves."""
    assert isinstance(images, tuple)
    return sum(image != point for point, image in enumerate(images))


_NAMED = ("Z2", "Z3", "Z60", "S3", "S4", "S5", "A4", "A5", "A4xZ5", "D4", "Q8", "U2", "T3")


KIND = TaskKind(
    name="state-tracking",
    title="the product so far of elements of a finite group or monoid",
    settings=StateTrackingSettings,
    build=StateTracking,
    reference=Reference("Merrill2024"),
    presets={
        **{name.lower(): {"monoid": name} for name in _NAMED},
        **{
            f"{name.lower()}-generators": {
                "monoid": name,
                "letters": "generators",
                "shortest": 12,
                "longest": 20,
            }
            for name in _NAMED
            if not name.startswith("Z")
        },
        "s5-swaps": {"monoid": "S5", "letters": "swaps", "shortest": 32, "longest": 32},
        "s5-swaps-and-3-cycles": {
            "monoid": "S5",
            "letters": "swaps-and-3-cycles",
            "shortest": 32,
            "longest": 32,
        },
        "s5-four-tokens": {"monoid": "S5", "tokens": 4, "shortest": 64, "longest": 64},
        "s5-32": {"monoid": "S5", "shortest": 32, "longest": 32},
    },
)
