"""How a layer's state moves: one record for each shape of the transition.

All maps of a recurrence read the layer's `reads` followed by its ReLU units; recurrences that are indexed
by the letter read the letter itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import Exact, InputError, is_rational, to_complex
from nerode.network.affine import Affine, Row

Vector = tuple[Exact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagonal:
    """h = gate ∘ h + write, gate and write affine in what the layer reads."""

    gate: Affine
    write: Affine
    kind: str = "diagonal"

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the maps do not fit the layer."""
        _check_map(self.gate, width, num_inputs, "gate")
        _check_map(self.write, width, num_inputs, "write")

    @property
    def num_letters(self) -> int | None:
        """None: the transition reads the stream."""
        return None

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return self.gate.num_entries + self.write.num_entries


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeInvariant:
    """h = A h + write with one fixed sparse matrix A."""

    matrix: tuple[Row, ...]
    write: Affine
    kind: str = "time-invariant"

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the matrix or the map does not fit the layer."""
        _check_matrix(self.matrix, width)
        _check_map(self.write, width, num_inputs, "write")

    @property
    def num_letters(self) -> int | None:
        """None: the transition is fixed."""
        return None

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return sum(map(len, self.matrix)) + self.write.num_entries


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterMatrices:
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
class Householder:
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
        """n_h: the largest number of factors of one letter."""
        return max(map(len, self.factors), default=0)

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        vectors = sum(1 for f in self.factors for g in f for e in g.vector if e != 0)
        betas = sum(len(f) for f in self.factors)
        selecting = 0 if self.selector is None else self.selector.num_entries
        return vectors + betas + selecting + sum(1 for w in self.writes for e in w if e != 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationDiagonal:
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
class Elman:
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
    def num_letters(self) -> int | None:
        """None: the update reads the stream."""
        return None

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
class GatedCell:
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
    def num_letters(self) -> int | None:
        """None: the gates read the stream."""
        return None

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return sum(gate.num_entries for gate in self.gates)


Recurrence = Diagonal | TimeInvariant | LetterMatrices | Householder | PermutationDiagonal | Elman | GatedCell


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
