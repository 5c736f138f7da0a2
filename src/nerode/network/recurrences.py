"""How a layer's state moves: one record for each shape of the transition.

All maps of a recurrence read the layer's `reads` followed by its ReLU units; recurrences that are indexed
by the letter read the letter itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from nerode.core import Exact, InputError, is_rational, to_complex
from nerode.network.affine import Affine, Row, constant_map

Vector = tuple[Exact, ...]


class Recurrence(ABC):
    """How the state of a layer moves at one letter."""

    __slots__ = ()

    kind: str

    @abstractmethod
    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the recurrence does not fit the layer."""

    @property
    def num_letters(self) -> int | None:
        """Number of letters with a transition of their own; None if the letter itself is not looked at."""
        return None

    @property
    @abstractmethod
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""

    @property
    def most_factors(self) -> int | None:
        """n_h: the largest number of Householder factors of one choice; None without factors."""
        return None

    def maps(self) -> tuple[Affine, ...]:
        """Returns the affine maps of what the layer reads."""
        return ()

    def with_maps(self, change: Callable[[Affine], Affine]) -> Self:
        """Returns the same recurrence with all of its maps changed."""
        return self

    def as_gated(self) -> Gated | None:
        """Returns the recurrence as gates, None unless every coordinate moves by itself."""
        return None

    def as_fixed(self) -> Fixed | None:
        """Returns the recurrence with its fixed matrix, None if it is not stored as one."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated(Recurrence):
    """h = gate ∘ h + write, gate and write affine in what the layer reads."""

    gate: Affine
    write: Affine
    kind: str = "diagonal"

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the maps do not fit the layer."""
        _check_map(self.gate, width, num_inputs, "gate")
        _check_map(self.write, width, num_inputs, "write")

    def maps(self) -> tuple[Affine, ...]:
        """Returns the gates and the write."""
        return self.gate, self.write

    def with_maps(self, change: Callable[[Affine], Affine]) -> Self:
        """Returns the recurrence with both maps changed."""
        return replace(self, gate=change(self.gate), write=change(self.write))

    def as_gated(self) -> Gated:
        """Returns the recurrence itself."""
        return self

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return self.gate.num_entries + self.write.num_entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(Recurrence):
    """h = A h + write with one fixed sparse matrix A."""

    matrix: tuple[Row, ...]
    write: Affine
    kind: str = "time-invariant"

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the matrix or the map does not fit the layer."""
        _check_matrix(self.matrix, width)
        _check_map(self.write, width, num_inputs, "write")

    def maps(self) -> tuple[Affine, ...]:
        """Returns the write."""
        return (self.write,)

    def with_maps(self, change: Callable[[Affine], Affine]) -> Self:
        """Returns the recurrence with another write."""
        return replace(self, write=change(self.write))

    def as_gated(self) -> Gated | None:
        """Returns constant gates if the matrix is diagonal."""
        if any(j != i for i, row in enumerate(self.matrix) for j, _ in row):
            return None
        gates = [row[0][1] if row else 0 for row in self.matrix]
        return Gated(gate=constant_map(self.write.num_inputs, gates), write=self.write)

    def as_fixed(self) -> Fixed:
        """Returns the recurrence itself."""
        return self

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return sum(map(len, self.matrix)) + self.write.num_entries


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterMatrices(Recurrence):
    """h = A(letter) h + b(letter) with one sparse matrix and one vector for each letter."""

    matrices: tuple[tuple[Row, ...], ...]
    writes: tuple[Vector, ...]
    kind: str = "letter-matrices"

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if a matrix or vector does not fit the layer."""
        for matrix in self.matrices:
            _check_matrix(matrix, width)
        _check_vectors(self.writes, len(self.matrices), width, "writes")

    @property
    def num_letters(self) -> int | None:
        """Number of letters with a transition."""
        return len(self.matrices)

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return sum(len(r) for m in self.matrices for r in m) + sum(
            1 for w in self.writes for e in w if e != 0
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A generalised Householder factor I - beta v vᵀ / (vᵀ v)."""

    beta: Exact
    vector: Vector

    def __post_init__(self) -> None:
        if not any(e != 0 for e in self.vector):
            raise InputError("a Householder factor needs a vector that is not zero")


@dataclass(frozen=True, slots=True, kw_only=True)
class Householder(Recurrence):
    """h = (product of the letter's factors, first factor first) h + b(letter).

    With a selector the factors and writes are not numbered by the letter but by the row of this map of what
    the layer reads that is 1; all other rows must be 0 there.
    """

    factors: tuple[tuple[Factor, ...], ...]
    writes: tuple[Vector, ...]
    selector: Affine | None = None
    kind: str = "householder"

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if a factor or vector does not fit the layer."""
        for letter in self.factors:
            for factor in letter:
                if len(factor.vector) != width:
                    raise InputError(f"a Householder vector has {len(factor.vector)} entries, not {width}")
        _check_vectors(self.writes, len(self.factors), width, "writes")
        if self.selector is not None:
            _check_map(self.selector, len(self.factors), num_inputs, "selector")

    @property
    def num_letters(self) -> int | None:
        """Number of letters with a transition; None with a selector, which reads the stream."""
        return len(self.factors) if self.selector is None else None

    @property
    def most_factors(self) -> int:
        """n_h: the largest number of factors of one choice."""
        return max(map(len, self.factors), default=0)

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        vectors = sum(1 for f in self.factors for g in f for e in g.vector if e != 0)
        betas = sum(len(f) for f in self.factors)
        selecting = 0 if self.selector is None else self.selector.num_entries
        return vectors + betas + selecting + sum(1 for w in self.writes for e in w if e != 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationDiagonal(Recurrence):
    """h = P(letter) D(letter) h + b(letter); column j of P has its one in row images[letter][j]."""

    images: tuple[tuple[int, ...], ...]
    diagonals: tuple[Vector, ...]
    writes: tuple[Vector, ...]
    kind: str = "permutation-diagonal"

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if an image or vector does not fit the layer."""
        for image in self.images:
            if len(image) != width or not all(0 <= i < width for i in image):
                raise InputError(f"a column-one-hot matrix is not given by {width} rows below {width}")
        _check_vectors(self.diagonals, len(self.images), width, "diagonals")
        _check_vectors(self.writes, len(self.images), width, "writes")

    @property
    def num_letters(self) -> int | None:
        """Number of letters with a transition."""
        return len(self.images)

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        numbers = sum(1 for v in (*self.diagonals, *self.writes) for e in v if e != 0)
        return numbers + sum(map(len, self.images))


@dataclass(frozen=True, slots=True, kw_only=True)
class Squashed(Recurrence):
    """h = activation(update(reads, units, h)): the map reads the state before the letter as well.

    The activation is "tanh", "relu" or "clip" (to the interval from 0 to 1).
    """

    activation: str
    update: Affine
    kind: str = "elman"

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the map does not fit the layer."""
        if self.activation not in ("tanh", "relu", "clip"):
            raise InputError(f"unknown activation {self.activation!r}; allowed are tanh, relu, clip")
        _check_map(self.update, width, num_inputs + width, "update")

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return self.update.num_entries


CELL_GATES = {
    "lstm": ("input", "forget", "output", "cell"),
    "gru": ("reset", "update", "candidate"),
    "slstm": ("input", "forget", "output", "cell"),
}
"""The pre-activations of each gated cell, in order."""

CELL_STATES = {"lstm": ("h", "c"), "gru": ("h",), "slstm": ("h", "c", "n")}
"""The blocks of each cell's state, in the order in which they are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedCell(Recurrence):
    """An LSTM, GRU or sLSTM cell; every gate is an affine map of what the layer reads and of h.

    The layer's state is the blocks of CELL_STATES one after the other, each as wide as one gate.

        lstm   c = σ(forget) c + σ(input) tanh(cell), h = σ(output) tanh(c)
        gru    r = σ(reset), z = σ(update), h = (1-z) h + z tanh(candidate with r ∘ h in place of h)
               with a cap: z = 1 - cap·(1 - σ(update)), so that at most this share of h is kept
        slstm  c = σ(forget) c + exp(input) tanh(cell), n = σ(forget) n + exp(input), h = σ(output) c / n
    """

    cell: str
    gates: tuple[Affine, ...]
    cap: Exact = 1
    kind: str = "gated-cell"

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if a gate does not fit the layer."""
        if self.cell not in CELL_GATES:
            raise InputError(f"unknown cell {self.cell!r}; allowed are {', '.join(CELL_GATES)}")
        if len(self.gates) != len(CELL_GATES[self.cell]):
            raise InputError(f"{self.cell} has the gates {', '.join(CELL_GATES[self.cell])}")
        if self.cap != 1 and (self.cell != "gru" or not is_rational(self.cap) or not 0 < self.cap < 1):
            raise InputError(f"{self.cell} has the cap {self.cap}; only gru has one, above 0 and at most 1")
        blocks = len(CELL_STATES[self.cell])
        if width % blocks:
            raise InputError(
                f"the state of {self.cell} has {blocks} blocks, {width} coordinates do not split"
            )
        for gate in self.gates:
            _check_map(gate, width // blocks, num_inputs + width // blocks, "gate")

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return sum(gate.num_entries for gate in self.gates)


class ByChoice:
    """h = A(choice) h + b(choice), the choice being the letter or the row of a selector that is 1."""

    @staticmethod
    def from_rows(*, matrices: tuple[tuple[Row, ...], ...], writes: tuple[Vector, ...]) -> LetterMatrices:
        """Returns sparse matrices by letter."""
        return LetterMatrices(matrices=matrices, writes=writes)

    @staticmethod
    def from_factors(
        *,
        factors: tuple[tuple[Factor, ...], ...],
        writes: tuple[Vector, ...],
        selector: Affine | None = None,
    ) -> Householder:
        """Returns products of Householder factors by letter or selector."""
        return Householder(factors=factors, writes=writes, selector=selector)

    @staticmethod
    def from_images(
        *, images: tuple[tuple[int, ...], ...], diagonals: tuple[Vector, ...], writes: tuple[Vector, ...]
    ) -> PermutationDiagonal:
        """Returns column-one-hot matrices times diagonal ones, by letter."""
        return PermutationDiagonal(images=images, diagonals=diagonals, writes=writes)


def largest_gate(values: Vector) -> float:
    """Returns the largest modulus among gate values."""
    return max((abs(to_complex(v)) for v in values), default=0.0)


def _check_map(given: Affine, num_outputs: int, num_inputs: int, what: str) -> None:
    if given.num_outputs != num_outputs or given.num_inputs != num_inputs:
        raise InputError(
            f"the {what} map has shape {given.num_outputs}x{given.num_inputs} instead of "
            f"{num_outputs}x{num_inputs}"
        )


def _check_matrix(matrix: tuple[Row, ...], width: int) -> None:
    if len(matrix) != width or any(not 0 <= j < width for row in matrix for j, _ in row):
        raise InputError(f"a transition matrix is not {width}x{width}")


def _check_vectors(vectors: tuple[Vector, ...], count: int, width: int, what: str) -> None:
    if len(vectors) != count or any(len(v) != width for v in vectors):
        raise InputError(f"the {what} are not {count} vectors of {width} entries")
