"""Learned linear recurrences with one matrix per letter, and their average over the group.

    H_t = M(x_t) H_{t-1},  H_0 = S,  scores = C vec(H_t) + c

The product so far of letters x₁ … x_t has its first factor on the left, so a network that is right at every
length has M(gh) = M(h) M(g) on the part of the state that its readout sees.

    M(g) ← the orthogonal matrix nearest to the mean over h of M(hg) M(h)ᵀ

Where the table is close to a representation, each round squares the distance; where it is not, the rounds end
anywhere, and the defect says so.
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
from nerode.core import Budget, InputError, started
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


MAX_ROUNDS = 60
STILL = 1e-14
"""Largest change of an entry from which on a table has converged."""

EXACT = 1e-9
"""A block with a larger defect after averaging is no representation."""

NEAR = 1.0
"""A block with a larger mean defect before averaging had not learned a representation.

Averaging may still turn it into one, but the readout was not trained with that: it is junk all the same.
"""


@dataclass(frozen=True, kw_only=True)
class BlockDefect:
    """The distance of one block from a representation, before and after averaging.

    Distances are Frobenius norms.

    Attributes:
        block: its number.
        before: mean over all pairs of ‖M(gh) - M(h) M(g)‖.
        before_max: the largest of these.
        after: the mean after averaging.
        after_max: the largest after averaging.
        moved: the largest distance that the matrix of an element moved.
        is_junk: whether it was not near a representation, or did not become one.
    """

    block: int
    before: float
    before_max: float
    after: float
    after_max: float
    moved: float
    is_junk: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Averaged:
    """A table of matrices after averaging.

    Attributes:
        table: M, (elements, blocks, n, n), orthogonal matrices.
        rounds: how often it was averaged.
        defects: of each block.
    """

    table: Floats
    rounds: int
    defects: tuple[BlockDefect, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """The blocks that are not junk."""
        return tuple(row.block for row in self.defects if not row.is_junk)


def average(learned: LearnedTable, *, budget: Budget | None = None) -> Averaged:
    """Returns the table of all elements, averaged until it stays.

    Raises:
        BudgetExceeded: if it takes too long.
    """
    budget = started(budget)
    lettered = learned.lettered
    first = complete_table(learned)
    before = block_defects(first, lettered, budget)
    table, rounds = nearest_orthogonal(first), 0
    while rounds < MAX_ROUNDS:
        after = _average_once(table, lettered, budget)
        change = float(np.abs(after - table).max())
        table, rounds = after, rounds + 1
        if change < STILL:
            break
    found = block_defects(table, lettered, budget)
    moved = np.linalg.norm(table - first, axis=(-1, -2)).max(axis=0)
    defects = tuple(
        BlockDefect(
            block=block,
            before=before[block][0],
            before_max=before[block][1],
            after=found[block][0],
            after_max=found[block][1],
            moved=float(moved[block]),
            is_junk=before[block][0] > NEAR or found[block][1] > EXACT,
        )
        for block in range(learned.blocks)
    )
    return Averaged(table=table, rounds=rounds, defects=defects)


def complete_table(learned: LearnedTable) -> Floats:
    """Returns a matrix for each element: that of its letter, or else the product along a shortest word."""
    lettered = learned.lettered
    table = np.empty((lettered.order, *learned.matrices.shape[1:]))
    table[lettered.group.identity] = np.eye(learned.size)
    for before, number in lettered.routes:
        after = lettered.products[before, lettered.letters[number]]
        table[after] = learned.matrices[number] @ table[before]
    for number, element in enumerate(lettered.letters):
        table[element] = learned.matrices[number]
    return table


def block_defects(table: Floats, lettered: LetteredGroup, budget: Budget) -> list[tuple[float, float]]:
    """Returns for each block the mean and the largest of ‖M(gh) - M(h) M(g)‖ over all pairs."""
    total = np.zeros(table.shape[1])
    largest = np.zeros(table.shape[1])
    for h in range(lettered.order):
        budget.check_time(elements=h)
        wrong = np.linalg.norm(table[lettered.products[:, h]] - table[h] @ table, axis=(-1, -2))
        total += wrong.sum(axis=0)
        largest = np.maximum(largest, wrong.max(axis=0))
    return [(float(t) / lettered.order**2, float(m)) for t, m in zip(total, largest, strict=True)]


def nearest_orthogonal(table: Floats) -> Floats:
    """Returns the orthogonal factor of the polar decomposition of each matrix."""
    left, _, right = np.linalg.svd(table)
    return np.asarray(left @ right)


def _average_once(table: Floats, lettered: LetteredGroup, budget: Budget) -> Floats:
    total = np.zeros_like(table)
    for h in range(lettered.order):
        budget.check_time(elements=h)
        total += table[lettered.products[h]] @ table[h].swapaxes(-1, -2)
    return nearest_orthogonal(total)
