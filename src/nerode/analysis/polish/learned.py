"""Learned linear recurrences with one matrix per letter: the table of matrices and the readout.

    H_t = M(x_t) H_{t-1},  H_0 = S,  scores = C vec(H_t) + c

The product so far of letters x₁ … x_t has its first factor on the left, so a network that is right at every
length has M(gh) = M(h) M(g) on the part of the state that its readout sees.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from nerode.analysis.subject import LoadedNetwork
from nerode.core import InputError
from nerode.languages.groups import FiniteMonoid, finite_monoid
from nerode.models import Model, Surroundings
from nerode.models.architectures import Orthogonal
from nerode.tasks import StateTracking

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAX_ORDER = 2_000
"""Largest group whose multiplication table is made."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LetteredGroup:
    """A finite group and the elements that are read.

    Attributes:
        group: the group.
        letters: the element that each letter stands for.
    """

    group: FiniteMonoid
    letters: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.group.is_group:
            raise InputError(f"{self.group.name} is not a group; only representations of groups are polished")
        if self.group.order > MAX_ORDER:
            raise InputError(
                f"{self.group.name} has {self.group.order:,} elements; groups of at most {MAX_ORDER:,} are "
                "polished"
            )

    @property
    def order(self) -> int:
        """Number of elements."""
        return self.group.order

    @cached_property
    def products(self) -> Integers:
        """The product of each element (row) with each (column)."""
        return self.group.times(tuple(range(self.order))).astype(np.int64)

    @cached_property
    def inverses(self) -> Integers:
        """The inverse of each element."""
        return np.asarray(np.argmax(self.products == self.group.identity, axis=1))

    @cached_property
    def routes(self) -> tuple[tuple[int, int], ...]:
        """For each element but the identity, shortest words first: the element before it, and the letter.

        Raises:
            InputError: if some element is a product of no letters.
        """
        found: list[tuple[int, int]] = []
        seen = [self.group.identity]
        known = {self.group.identity}
        for element in seen:
            for number, letter in enumerate(self.letters):
                after = int(self.products[element, letter])
                if after not in known:
                    known.add(after)
                    seen.append(after)
                    found.append((element, number))
        if len(seen) < self.order:
            raise InputError(
                f"the letters make {len(seen)} of the {self.order} elements of {self.group.name}"
            )
        return tuple(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedTable:
    """A linear recurrence with one matrix per letter, in float64.

    Attributes:
        lettered: the group, and what each letter is.
        matrices: M, (letters, blocks, n, n).
        start: S, (blocks, n, m).
        weight: C, (elements, blocks, n, m).
        bias: c, (elements,).
        dtype: the type of the weights of the model.
    """

    lettered: LetteredGroup
    matrices: Floats
    start: Floats
    weight: Floats
    bias: Floats
    dtype: torch.dtype

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return int(self.matrices.shape[1])

    @property
    def size(self) -> int:
        """Rows of a block."""
        return int(self.matrices.shape[2])

    def scores(self, table: Floats) -> Floats:
        """Returns the scores (elements, outputs) when the state after each element is `table` times S."""
        states = table @ self.start[None]
        return np.asarray(np.einsum("gbij,obij->go", states, self.weight) + self.bias)


def read_learned(subject: LoadedNetwork) -> LearnedTable:
    """Returns the matrices and the readout of a network that was trained to track a group.

    Raises:
        InputError: if it is not one layer of orthogonal blocks with an affine readout, or was trained on
            something else than a group.
    """
    lettered = lettered_group(subject)
    model = subject.zoo_model
    layer = _only_layer(model, subject.name)
    wide = copy.deepcopy(model).double()
    wide_layer = wide.layers[0]
    assert isinstance(wide_layer, Orthogonal)
    with torch.no_grad():
        letters = torch.arange(len(lettered.letters))[:, None]
        # In its own type first: these are the matrices that the trained network works with.
        matrices = layer.matrices(model.inputs_of(0, letters))[:, 0].double()
        weight, bias = _readout(wide, wide_layer)
        start = wide_layer.first_state()
    shape = (len(bias), layer.settings.blocks, layer.settings.size, layer.columns)
    return LearnedTable(
        lettered=lettered,
        matrices=matrices.numpy(),
        start=start.detach().numpy(),
        weight=weight.numpy().reshape(shape),
        bias=bias.numpy(),
        dtype=next(model.parameters()).dtype,
    )


def lettered_group(subject: LoadedNetwork) -> LetteredGroup:
    """Returns the group that a network was trained to track, or raises InputError."""
    task = subject.task
    if not isinstance(task, StateTracking):
        given = "an unknown task" if task is None else task.name
        raise InputError(f"{subject.name} was trained on {given}; only state tracking of groups is polished")
    if task.settings.tokens > 1:
        raise InputError(f"{subject.name} reads {task.settings.tokens} letters for an element; 1 is needed")
    group = finite_monoid(task.settings.monoid)
    return LetteredGroup(group=group, letters=tuple(group.element(name) for name in task.alphabet))


def _only_layer(model: Model, name: str) -> Orthogonal:
    config = model.config
    layers = model.layers
    if len(layers) != 1 or not isinstance(layers[0], Orthogonal) or layers[0].B is not None:
        raise InputError(
            f"{name} is not one layer of orthogonal blocks without a write; only such models have one matrix "
            "a letter and nothing else (train one with --arch orthogonal)"
        )
    plain = config.around(0) == Surroundings() and config.final_norm == "none" and config.positions == "none"
    if not plain or config.head == "relu" or config.letters is None:
        raise InputError(
            f"{name} reads its state through a norm or another layer; the readout has to be affine"
        )
    return layers[0]


def _readout(model: Model, layer: Orthogonal) -> tuple[torch.Tensor, torch.Tensor]:
    """C and c, with the head multiplied in."""
    weight, bias = layer.C.weight.detach(), layer.C.bias.detach()
    head = model.head
    if not isinstance(head, nn.Linear):
        return weight, bias
    moved = head.weight.detach() @ bias
    return head.weight.detach() @ weight, moved if head.bias is None else moved + head.bias.detach()
