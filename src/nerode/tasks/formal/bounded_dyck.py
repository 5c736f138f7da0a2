"""Bounded Dyck languages as language models, and how often models close the correct bracket."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from nerode.core import InputError, Reference
from nerode.languages.sampling import even_half
from nerode.tasks.formal.source import Bools, last_open, with_kinds
from nerode.tasks.task import Axis, Batch, Memory, Task, TaskKind, require_range

CERTAIN = 0.8
"""Share of the probability of all closing brackets that the correct one has to have, as in the paper."""

_AXIS = "depth"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedDyckSettings:
    """Settings of bounded Dyck languages.

    Attributes:
        kinds: kinds of brackets.
        depth: most brackets open at a time.
        shortest: shortest length of training; the odd ones are left out.
        longest: longest length of training.
    """

    kinds: int = 8
    depth: int = 10
    shortest: int = 2
    longest: int = 700

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest, least=2)
        if self.kinds < 1 or self.depth < 1:
            raise InputError(f"{self.kinds} kinds and depth {self.depth} make no brackets; give 1 or more")


class BoundedDyck(Task):
    """Balanced words of bounded depth; the next letter is predicted, and closing brackets count.

    Where another bracket may be opened and one may be closed, both are as likely, and all kinds are; words
    have this distribution given their length. The letters 2i and 2i+1 open and close kind i; one more output
    is the end. The loss is that of the next letter at every position. The positions that count are those
    with an open bracket: correct is a model that gives the bracket which closes it more than 0.8 of what it
    gives to all closing brackets. Targets have the next letter first, then the kind that is open last, -1 for
    none.

    References: [Hewitt2020], [Sarrof2024]
    """

    name = "bounded-dyck"
    memory = Memory.STATEFUL
    length_parity = 0

    def __init__(self, settings: BoundedDyckSettings) -> None:
        self.settings = settings
        kinds = range(1, settings.kinds + 1)
        self.alphabet = tuple(text for i in kinds for text in (f"({i}", f"{i})"))
        self.letters = 2 * settings.kinds
        self.outputs = self.letters + 1
        self.training_lengths = (settings.shortest, settings.longest)
        deeper = settings.depth + settings.depth // 2
        self.axes = (
            Axis(
                name=_AXIS, trained=(settings.depth,), values=tuple(dict.fromkeys((settings.depth, deeper)))
            ),
        )
        even = settings.longest - settings.longest % 2
        self.test_lengths = (even, 2 * even)

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns random words."""
        return self.compose(length, self.settings.depth, count, rng)

    def draw_at(self, axis: str, value: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns words with a given depth, twice as long as the longest of training: none is trained on."""
        if axis != _AXIS:
            raise self.unknown_axis(axis)
        if value < 1:
            raise InputError(f"no word has depth {value}; give 1 or more")
        return self.compose(self.test_lengths[-1], value, count, rng)

    def compose(self, length: int, depth: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns words of at most a depth, whatever their split."""
        if length < 2:
            raise InputError(f"{self.name} has no sequence of length {length}; lengths are even, from 2 on")
        words = with_kinds(random_paths(length, depth, count, rng), self.settings.kinds, rng)
        targets = np.empty((*words.shape, 2), dtype=np.int64)
        targets[:, :-1, 0] = words[:, 1:]
        targets[:, -1, 0] = self.outputs - 1
        targets[..., 1] = last_open(words)
        return Batch.of(words, targets, targets[..., 1] >= 0)

    @property
    def chance(self) -> float:
        """A guess never is certain, but for one kind of brackets."""
        return 0.0

    def loss(self, scores: Float[Tensor, "batch time outputs"], batch: Batch) -> Tensor:
        """Returns the mean loss of the next letters, at all positions."""
        return functional.cross_entropy(scores.flatten(0, 1), batch.targets[..., 0].flatten())

    def correct(
        self, scores: Float[Tensor, "batch time outputs"], batch: Batch
    ) -> Bool[Tensor, "batch time"]:
        """Returns where the model is certain enough which bracket to close."""
        shares = scores[..., 1:-1:2].softmax(-1)
        due = batch.targets[..., 1:].clamp(min=0)
        return (shares.gather(-1, due)[..., 0] > CERTAIN) | ~batch.mask


def random_paths(length: int, depth: int, count: int, rng: np.random.Generator) -> Bools:
    """Returns random balanced paths (True opens) of a length: fair steps where both are possible.

    The steps are those of a fair walk between 0 and `depth`, conditioned on being at 0 after `length` steps.
    """
    even_half(length)
    up = _chances(length, depth)
    draws = rng.random((length, count))
    opens = np.empty((length, count), dtype=np.bool_)
    here = np.zeros(count, dtype=np.int64)
    for t in range(length):
        np.less(draws[t], up[length - t].take(here), out=opens[t])
        here += np.where(opens[t], 1, -1)
    return np.ascontiguousarray(opens.T)


@functools.lru_cache(maxsize=64)
def _chances(length: int, depth: int) -> npt.NDArray[np.float64]:
    """By the number of steps to come and the height, the chance to go up."""
    step = np.full(depth + 1, 0.5)
    step[0] = 1.0
    # How likely it is to end at 0, by the height, up to a factor for each number of steps.
    ends = np.zeros(depth + 2)
    ends[0] = 1.0
    chances = np.zeros((length + 1, depth + 1))
    for to_come in range(1, length + 1):
        rising = step * ends[1:]
        rising[depth] = 0.0
        falling = np.zeros(depth + 1)
        falling[1:] = (1 - step[1:]) * ends[:depth]
        falling[depth] = ends[depth - 1]
        total = rising + falling
        chances[to_come] = rising / np.where(total > 0, total, 1)
        ends[:-1] = total / total.max()
    return chances


KIND = TaskKind(
    name="bounded-dyck",
    title="the next letter of balanced words of bounded depth; the correct closing bracket counts",
    settings=BoundedDyckSettings,
    build=BoundedDyck,
    reference=Reference("Hewitt2020"),
    test_lengths=(700, 1400),
    presets={"bounded-dyck-small": {"kinds": 2, "depth": 3, "longest": 50}},
)
