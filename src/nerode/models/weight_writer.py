"""The plan of a compiled network on a residual stream, and the interface that writes it into an architecture.

Each number of a compiled network has a place of its own on the stream. Everything affine is a form over the
places. A block of the model adds the states of one layer of the network and then, by its feed-forward part,
ReLU units that read them. `nerode.models.lower` makes the plan; the file of an architecture writes the
weights. Neither the records here nor the writers know the compiler or its networks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from nerode.core import DTYPES, Exact, NotCompilable, to_float

ONE = 0
"""The place of the stream that always holds 1."""

SparseRow = tuple[tuple[int, Exact], ...]
"""The entries of a row of a matrix that are not zero, each with its column."""


@dataclass(frozen=True, slots=True)
class PlaceForm:
    """constant + Σ coefficient · (number at a place), with exact coefficients."""

    terms: Mapping[int, Exact] = field(default_factory=dict)
    constant: Exact = 0

    @property
    def is_constant(self) -> bool:
        """Whether nothing is read."""
        return not self.terms

    def scaled(self, factor: Exact) -> PlaceForm:
        """Returns the form times a number."""
        if factor == 0:
            return PlaceForm()
        return PlaceForm({place: c * factor for place, c in self.terms.items()}, self.constant * factor)

    def mapped(self, function: Callable[[Exact], Exact]) -> PlaceForm:
        """Returns the form with a function applied to all its numbers."""
        terms = {place: function(c) for place, c in self.terms.items()}
        return PlaceForm({p: c for p, c in terms.items() if c != 0}, function(self.constant))

    def plus(self, other: PlaceForm) -> PlaceForm:
        """Returns the sum of two forms."""
        terms = dict(self.terms)
        for place, c in other.terms.items():
            terms[place] = terms.get(place, 0) + c
        return PlaceForm({p: c for p, c in terms.items() if c != 0}, self.constant + other.constant)

    def row(self, width: int) -> Tensor:
        """Returns the coefficients by place, in float64; the constant is that of the place `ONE`."""
        row = torch.zeros(width, dtype=torch.float64)
        for place, c in self.terms.items():
            row[place] = to_float(c)
        row[ONE] += to_float(self.constant)
        return row


def at(place: int) -> PlaceForm:
    """Returns the form that reads one place."""
    return PlaceForm({place: 1})


def combine(parts: Iterable[tuple[PlaceForm, Exact]], constant: Exact = 0) -> PlaceForm:
    """Returns the constant and the sum of forms times numbers."""
    total = PlaceForm({}, constant)
    for form, factor in parts:
        total = total.plus(form.scaled(factor))
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedPlan:
    """h ← gate ∘ h + write.

    Attributes:
        gates: the gate of each coordinate.
        writes: what is added to each.
        steps: the coefficients of what each gate reads; none for a gate that never changes.
        updates: the pairs (gate, write) that each coordinate was seen to meet.
        kind: as the network calls it.
    """

    gates: Sequence[PlaceForm]
    writes: Sequence[PlaceForm]
    steps: Sequence[Sequence[Exact]]
    updates: Sequence[set[tuple[Exact, Exact]]]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPlan:
    """h ← A h + write with one sparse matrix A."""

    matrix: Sequence[SparseRow]
    writes: Sequence[PlaceForm]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPlan:
    """h ← A h + b with a sparse matrix A and a vector b for each letter."""

    matrices: Sequence[Sequence[SparseRow]]
    writes: Sequence[Sequence[Exact]]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationPlan:
    """h ← P D h + b for each letter; column j of P has its one in row images[letter][j]."""

    images: Sequence[Sequence[int]]
    diagonals: Sequence[Sequence[Exact]]
    writes: Sequence[Sequence[Exact]]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionPlan:
    """h ← (product of factors I - beta v vᵀ / (vᵀ v), the first one first) h + b for each choice.

    Attributes:
        chosen: for each choice, the form that is 1 where it is made and 0 elsewhere.
        factors: for each choice, the pairs (beta, v).
        writes: for each choice, b.
        kind: as the network calls it.
    """

    chosen: Sequence[PlaceForm]
    factors: Sequence[Sequence[tuple[Exact, Sequence[Exact]]]]
    writes: Sequence[Sequence[Exact]]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellGate:
    """The sum that a gate of a cell squashes: forms over the inputs, and a matrix of the state (n, n)."""

    inputs: Sequence[PlaceForm]
    recurrent: Tensor

    @property
    def is_constant(self) -> bool:
        """Whether neither inputs nor state are read."""
        return all(form.is_constant for form in self.inputs) and not bool(self.recurrent.any())


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPlan:
    """A nonlinear cell.

    Attributes:
        cell: "elman", "lstm", "gru" or "slstm".
        gates: in the order of the network.
        activation: of an Elman cell.
        cap: the largest share of h that a GRU cell keeps.
        kind: as the network calls it.
    """

    cell: str
    gates: Sequence[CellGate]
    activation: str = "tanh"
    cap: Exact = 1
    kind: str


MovePlan = GatedPlan | FixedPlan | MatrixPlan | PermutationPlan | ReflectionPlan | CellPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPlan:
    """A layer of a network, its maps as forms over the stream.

    Attributes:
        name: for errors.
        width: number of coordinates of its state.
        start: the state before the first letter.
        complex_state: whether coordinates are complex.
        move: how the state moves.
    """

    name: str
    width: int
    start: Sequence[Exact]
    complex_state: bool
    move: MovePlan


@dataclass(slots=True)
class BlockPlan:
    """One block of a model.

    Attributes:
        layer: the layer of the network that it carries; None for an idle block and for one that remembers.
        states: the places of its states, or of what it remembers.
        late: what it remembers: it shows at each letter what these were one letter before, at first 0.
        units: place and form of each ReLU unit that the feed-forward part computes.
        letters: for each letter, the place that is 1 there and 0 elsewhere.
        sources: where asked for, what each of `states` has written into it: places of its own, with factors.
        columns: where the layer does not read the stream but the letter alone, the feature of each place.
    """

    layer: LayerPlan | None = None
    states: list[int] = field(default_factory=list)
    late: list[PlaceForm] = field(default_factory=list)
    units: list[tuple[int, PlaceForm]] = field(default_factory=list)
    letters: list[int] = field(default_factory=list)
    sources: list[list[tuple[int, complex]]] = field(default_factory=list)
    columns: dict[int, int] = field(default_factory=dict)


class WeightWriter(ABC):
    """Writes planned blocks into the layers of one architecture.

    Args:
        architecture: its name in the zoo, for errors.
    """

    dtypes: tuple[str, ...] = tuple(DTYPES)
    """The types whose range its constants fit."""

    delays = False
    """Whether it has a convolution, which can show what stood on the stream one letter before."""

    sources = False
    """Whether its channels read one place each, so that what a layer writes has to stand on the stream."""

    alone = False
    """Whether it carries a single layer, which reads the embedding and is read by the head."""

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture

    @abstractmethod
    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the settings of the layer of a block on a stream of so many places."""

    @abstractmethod
    def fill(self, layer: Any, block: BlockPlan) -> None:
        """Sets the weights of the layer of a block; all are zero before."""

    def layer_of(self, block: BlockPlan) -> LayerPlan:
        """Returns the layer that a block carries, which is not idle."""
        assert block.layer is not None
        return block.layer

    def cell_of(self, block: BlockPlan, cell: str) -> CellPlan:
        """Returns the cells of a layer, or raises NotCompilable if they are others or have a cap."""
        layer = self.layer_of(block)
        if not isinstance(layer.move, CellPlan) or layer.move.cell != cell:
            raise NotCompilable(self.architecture, [f"layer {layer.name} is not made of {cell} cells"])
        if layer.move.cap != 1:
            raise NotCompilable(self.architecture, [f"layer {layer.name} has a cap on its update gate"])
        return layer.move

    def reads_out(self, block: BlockPlan, reads: Sequence[PlaceForm]) -> bool:
        """Returns whether the layer of the only block computes the scores itself, of forms in its units."""
        return False

    def readout_settings(self, block: BlockPlan, outputs: int) -> dict[str, Any]:
        """Returns the settings of a layer that computes the scores itself."""
        raise NotImplementedError

    def fill_readout(self, layer: Any, block: BlockPlan, scores: Tensor) -> None:
        """Sets the weights of a layer that computes the scores (outputs, units) of its units itself."""
        raise NotImplementedError


def set_rows(linear: nn.Linear, forms: Sequence[PlaceForm], *, first: int = 0) -> None:
    """Sets rows of a linear map; constants are read from the stream, so that no bias is needed."""
    if forms:
        rows = torch.stack([form.row(linear.in_features) for form in forms])
        linear.weight[first : first + len(forms)] = rows.to(linear.weight)


def set_affine(weight: Tensor, bias: Tensor, forms: Sequence[PlaceForm], columns: Mapping[int, int]) -> None:
    """Sets rows of a weight and a bias over features that hold some of the places."""
    for row, form in enumerate(forms):
        for place, c in form.terms.items():
            weight[row, columns[place]] = to_float(c)
        bias[row] = to_float(form.constant)


def set_matrix(target: Tensor, rows: Sequence[SparseRow]) -> None:
    """Writes sparse rows into a matrix."""
    for i, row in enumerate(rows):
        for j, c in row:
            target[i, j] = to_float(c)


def as_tensor(values: Iterable[Exact]) -> Tensor:
    """Returns exact numbers in float64."""
    return torch.tensor([to_float(v) for v in values], dtype=torch.float64)
