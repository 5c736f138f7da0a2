"""From a learned table of rotations to an exact representation of the group, and the proof of its answers.

A run is polished from its folder to one with a proof: read, average, name exactly, write, check, test.

The exact form of a representation that is known in floats is found from its irreducible parts. A part is
known by its character, and each value of the character is a sum of roots of unity that floats are close
enough to name. If some element h has an eigenvalue λ once only, its eigenvector v is unique, and the
character gives φ(g) = ⟨v, ρ(g) v⟩ = mean over j of λ⁻ʲ χ(g hʲ) exactly. In the basis g₁v, g₂v, … of
translates of v, the matrix of g is Γ⁻¹ N(g) with Γ = (φ(gᵢ⁻¹ gⱼ)) and N(g) = (φ(gᵢ⁻¹ g gⱼ)).
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from nerode.analysis.polish.learned import (
    Averaged,
    BlockDefect,
    Floats,
    LearnedTable,
    LetteredGroup,
    average,
    read_learned,
)
from nerode.analysis.subject import LoadedNetwork
from nerode.core import (
    Budget,
    Exact,
    NerodeError,
    exact_sum,
    inverse,
    root_of_unity,
    to_complex,
    to_mapping,
    write_atomically,
    write_exact,
)
from nerode.models import (
    TORCH_DTYPES,
    LayerConfig,
    Model,
    ModelConfig,
    dtype_name,
    dtype_of,
    save_model,
)
from nerode.models.architectures import Orthogonal
from nerode.proofs import POLISH_CLAIM, POLISH_FILE, POLISH_FORMAT, POLISH_VERSION, check_polished
from nerode.records import WEIGHTS_FILE, LengthScore
from nerode.training import evaluate

__all__ = ["PolishRecord", "polish"]


Complexes = npt.NDArray[np.complex128]
ExactMatrix = tuple[tuple[Exact, ...], ...]

CLOSE = 1e-6
"""Distance up to which an eigenvalue counts as a root of unity, or as equal to another eigenvalue."""


class NoExactForm(NerodeError):
    """The exact form of a block was not found."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactPart:
    """An irreducible part of a block.

    Attributes:
        degree: its dimension over the complex numbers.
        matrices: E of each letter; E(gh) = E(h) E(g).
        basis: the vectors of its basis in the coordinates of the block (n, degree), in floats.
    """

    degree: int
    matrices: tuple[ExactMatrix, ...]
    basis: Complexes


def exact_parts(block: Floats, lettered: LetteredGroup) -> tuple[ExactPart, ...]:
    """Returns the irreducible parts of a representation in floats.

    Args:
        block: M of each element (elements, n, n) with M(gh) = M(h) M(g), orthogonal up to rounding.
        lettered: the group.

    Raises:
        NoExactForm: if an eigenvalue is no root of unity, or no element has a simple eigenvalue.
    """
    # Of inverses, so that it multiplies in the order of the group.
    direct = block[lettered.inverses].astype(np.complex128)
    return tuple(_exact_part(direct, subspace, lettered) for subspace in invariant_subspaces(direct))


def invariant_subspaces(direct: Complexes) -> list[Complexes]:
    """Returns orthonormal bases (n, degree) of irreducible invariant subspaces whose sum is everything.

    They are the eigenspaces of the mean over the group of a Hermitian matrix drawn at random: it commutes
    with the group, so by Schur's lemma it is a number on each part, another one for each.
    """
    n = direct.shape[-1]
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    mean = np.mean(direct @ (drawn + drawn.conj().T) @ direct.conj().swapaxes(-1, -2), axis=0)
    values, vectors = np.linalg.eigh(mean)
    cuts = np.flatnonzero(np.diff(values) > CLOSE) + 1
    return np.split(vectors, cuts, axis=1)


def _exact_part(direct: Complexes, subspace: Complexes, lettered: LetteredGroup) -> ExactPart:
    part = subspace.conj().T @ direct @ subspace
    turns = [eigenvalue_turns(matrix, lettered, g) for g, matrix in enumerate(part)]
    h, turn = _simple_eigenvalue(turns)
    vector = _eigenvector(part[h], turn)
    chosen = _independent_translates(part, vector)
    coefficient = Coefficient(turns, h, turn, lettered)
    products, inverses = lettered.products, lettered.inverses

    def pairings(g: int) -> ExactMatrix:
        rows = [products[inverses[i], g] for i in chosen]
        return tuple(tuple(coefficient(int(products[row, j])) for j in chosen) for row in rows)

    inverse_gram = invert(pairings(lettered.group.identity))
    matrices = tuple(multiply(inverse_gram, pairings(int(inverses[element]))) for element in lettered.letters)
    basis = np.stack([subspace @ part[g] @ vector for g in chosen], axis=1)
    return ExactPart(degree=subspace.shape[1], matrices=matrices, basis=basis)


def eigenvalue_turns(matrix: Complexes, lettered: LetteredGroup, element: int) -> tuple[Fraction, ...]:
    """Returns t for each eigenvalue exp(2πi t), sorted; the order of the element is a multiple of each.

    Raises:
        NoExactForm: if an eigenvalue is not near such a root of unity.
    """
    order = element_order(lettered, element)
    found = []
    for value in np.linalg.eigvals(matrix):
        step = round(float(np.angle(value)) / (2 * np.pi) * order) % order
        if abs(value - np.exp(2j * np.pi * step / order)) > CLOSE:
            name = lettered.group.element_names[element]
            raise NoExactForm(
                f"an eigenvalue of {name} is {value:.6f}, which is no root of unity of order {order}"
            )
        found.append(Fraction(step, order))
    return tuple(sorted(found))


def element_order(lettered: LetteredGroup, element: int) -> int:
    """Returns the least n > 0 for which the n-th power of the element is the identity."""
    power, order = element, 1
    while power != lettered.group.identity:
        power, order = int(lettered.products[power, element]), order + 1
    return order


def _simple_eigenvalue(turns: Sequence[tuple[Fraction, ...]]) -> tuple[int, Fraction]:
    """An element and one of its eigenvalues that is simple; those that need small fields come first."""
    simple = [
        (turn.denominator, turn, max(t.denominator for t in row), g)
        for g, row in enumerate(turns)
        for turn in row
        if row.count(turn) == 1
    ]
    if not simple:
        raise NoExactForm("no element has a simple eigenvalue, so no vector is known exactly")
    _, turn, _, g = min(simple)
    return g, turn


def _eigenvector(matrix: Complexes, turn: Fraction) -> Complexes:
    values, vectors = np.linalg.eig(matrix)
    vector = vectors[:, np.argmin(np.abs(values - np.exp(2j * np.pi * float(turn))))]
    return np.asarray(vector / np.linalg.norm(vector))


def _independent_translates(part: Complexes, vector: Complexes) -> list[int]:
    """Elements whose images of the vector are a basis, each as far as can be from those before."""
    rest = (part @ vector).T
    chosen: list[int] = []
    for _ in range(len(vector)):
        sizes = np.linalg.norm(rest, axis=0)
        # The first of those that are equal up to rounding.
        g = int(np.argmax(sizes > sizes.max() - CLOSE))
        chosen.append(g)
        direction = rest[:, g] / sizes[g]
        rest = rest - np.outer(direction, direction.conj() @ rest)
    return chosen


class Coefficient:
    """φ(g) = ⟨v, ρ(g) v⟩, exactly."""

    def __init__(
        self, turns: Sequence[tuple[Fraction, ...]], h: int, turn: Fraction, lettered: LetteredGroup
    ) -> None:
        self._turns = turns
        self._powers = [lettered.group.identity]
        while (power := int(lettered.products[self._powers[-1], h])) != lettered.group.identity:
            self._powers.append(power)
        self._turn = turn
        self._products = lettered.products
        self._known: dict[int, Exact] = {}

    def __call__(self, g: int) -> Exact:
        """Returns φ(g)."""
        if g not in self._known:
            terms = (
                _root(-self._turn * j) * character(self._turns[self._products[g, power]])
                for j, power in enumerate(self._powers)
            )
            self._known[g] = exact_sum(terms) * Fraction(1, len(self._powers))
        return self._known[g]


def character(turns: tuple[Fraction, ...]) -> Exact:
    """Returns the sum of the roots of unity exp(2πi t)."""
    return exact_sum(_root(turn) for turn in turns)


@functools.lru_cache(maxsize=4096)
def _root(turn: Fraction) -> Exact:
    return root_of_unity(turn.numerator, turn.denominator)


def multiply(left: ExactMatrix, right: ExactMatrix) -> ExactMatrix:
    """Returns the product of two matrices."""
    columns = list(zip(*right, strict=True))
    return tuple(
        tuple(exact_sum(a * b for a, b in zip(row, column, strict=True)) for column in columns)
        for row in left
    )


def invert(matrix: ExactMatrix) -> ExactMatrix:
    """Returns the inverse, or raises NoExactForm if there is none."""
    n = len(matrix)
    rows: list[list[Exact]] = [[*row, *(int(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for column in range(n):
        pivot = next((i for i in range(column, n) if rows[i][column] != 0), None)
        if pivot is None:
            raise NoExactForm("the translates of the vector are dependent")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        scale = inverse(rows[column][column])
        rows[column] = [value * scale for value in rows[column]]
        for i in range(n):
            factor = rows[i][column]
            if i != column and factor != 0:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column], strict=True)]
    return tuple(tuple(row[n:]) for row in rows)


@dataclass(frozen=True, kw_only=True)
class PolishRecord:
    """The outcome of polishing a network.

    Attributes:
        name: of the network.
        group: name of the group.
        elements: its order.
        letters: how many are read.
        dtype: the floats of the polished model.
        rounds: how often the table was averaged.
        defects: of each block.
        degrees: of the irreducible parts of each block that was kept.
        proved: whether the checker accepts the polished network.
        problem: why it does not; "" if it does.
        margin: of the correct score at the exact points; 0 without a proof.
        length: the model is correct up to here in its floats, proved; 0 without a proof.
        before: how the trained network answers.
        after: how the polished one does; none if there is none.
        polish_cpu_seconds: for everything up to the certificate.
        check_cpu_seconds: for the checker.
    """

    name: str
    group: str
    elements: int
    letters: int
    dtype: str
    rounds: int
    defects: tuple[BlockDefect, ...]
    degrees: tuple[tuple[int, ...], ...]
    proved: bool
    problem: str
    margin: float
    length: int
    before: tuple[LengthScore, ...]
    after: tuple[LengthScore, ...]
    polish_cpu_seconds: float
    check_cpu_seconds: float

    @property
    def junk(self) -> tuple[int, ...]:
        """The blocks that were left out."""
        return tuple(row.block for row in self.defects if row.is_junk)

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {"format": "nerode-polish-record", "version": 1, **to_mapping(self)}


def polish(
    subject: LoadedNetwork,
    folder: Path | str,
    *,
    dtype: str | None = None,
    lengths: Sequence[int] = (),
    sequences: int = 64,
    budget: Budget | None = None,
) -> PolishRecord:
    """Returns what polishing found; the polished model is written, with its certificate if there is a proof.

    Args:
        subject: a run that tracks a group with one layer of orthogonal blocks.
        folder: where the polished model goes.
        dtype: floats of the polished model, "float32" or "float64"; those of the run when not given.
        lengths: lengths to test both at.
        sequences: how many of each.
        budget: limits.

    Raises:
        InputError: if the network is of another kind.
        BudgetExceeded: if averaging or the check take too long.
    """
    folder = Path(folder)
    begun = time.process_time()
    learned = read_learned(subject)
    chosen = learned.dtype if dtype is None else TORCH_DTYPES[dtype]
    averaged = average(learned, budget=budget)
    network, problem = None, ""
    try:
        network = polished_network(learned, averaged)
    except NoExactForm as error:
        problem = str(error)
    model = None
    if network is not None:
        model = to_model(network, chosen)
        write_polished(folder, network, model)
    made = time.process_time()
    margin, length = 0.0, 0
    if network is not None:
        found = check_polished(folder, budget=budget)
        problem, margin, length = found.problem, found.margin, found.length
        if not found.ok:
            (folder / POLISH_FILE).unlink()
    checked = time.process_time()
    return PolishRecord(
        name=subject.name,
        group=learned.lettered.group.name,
        elements=learned.lettered.order,
        letters=len(learned.lettered.letters),
        dtype=dtype_name(chosen),
        rounds=averaged.rounds,
        defects=averaged.defects,
        degrees=_degrees(network),
        proved=not problem,
        problem=problem,
        margin=margin,
        length=length,
        before=_test(subject.model, subject, lengths, sequences),
        after=() if model is None else _test(model, subject, lengths, sequences),
        polish_cpu_seconds=made - begun,
        check_cpu_seconds=checked - made,
    )


def _degrees(network: PolishedNetwork | None) -> tuple[tuple[int, ...], ...]:
    if network is None:
        return ()
    return tuple(tuple(part.degree for part in parts) for parts in network.parts)


@torch.no_grad()
def _test(
    model: nn.Module, subject: LoadedNetwork, lengths: Sequence[int], sequences: int
) -> tuple[LengthScore, ...]:
    assert subject.task is not None
    return evaluate(model, subject.task, lengths, sequences=sequences)


BASIS_BITS = 64
"""A basis is written in multiples of 2^-64."""

MARGIN_CLAIMED = 0.99
LENGTH_CLAIMED = 0.5
"""Shares of the estimates that are claimed, since they are made in floats: that of the length with matrices
whose distance from the exact ones is of the size of a rounding. The checker says how much holds.
"""

ROOM = 1.0
"""Largest drift of a state for which the estimate holds."""


def write_polished(folder: Path, network: PolishedNetwork, model: Model) -> dict[str, Any]:
    """Writes a model and its certificate, and returns the certificate.

    Raises:
        InputError: if the folder cannot be written.
    """
    subject = save_model(folder, model)
    content = {
        "format": POLISH_FORMAT,
        "version": POLISH_VERSION,
        "claim": POLISH_CLAIM,
        "group": network.lettered.group.name,
        "letters": [network.lettered.group.element_names[a] for a in network.lettered.letters],
        "weights": subject.files[WEIGHTS_FILE],
        "margin": MARGIN_CLAIMED * float(network.margins().min()),
        "dtype": dtype_of(model),
        "length": int(LENGTH_CLAIMED * estimate_length(network, model)),
        "blocks": [_block(parts) for parts in network.parts],
    }
    write_atomically(folder / POLISH_FILE, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    return content


def _block(parts: tuple[ExactPart, ...]) -> dict[str, Any]:
    basis = np.concatenate([part.basis for part in parts], axis=1)
    scale = 2.0**BASIS_BITS
    return {
        "basis_bits": BASIS_BITS,
        "basis": [[[int(z.real * scale), int(z.imag * scale)] for z in row] for row in basis],
        "parts": [
            [[[write_exact(e) for e in row] for row in matrix] for matrix in part.matrices] for part in parts
        ],
    }


def estimate_length(network: PolishedNetwork, model: Model) -> float:
    """Returns about how many steps of rounding leave the margins positive, at the least; 0 if one is not.

    One step adds at most (‖M̃ - M‖ + γ‖M̃‖)‖H‖ to the distance from the exact point, and rotations do not
    stretch what was added before.
    """
    if not network.margins().min() > 0:
        return 0.0
    layer = model.layers[0]
    assert isinstance(layer, Orthogonal)
    unit = torch.finfo(next(model.parameters()).dtype).eps / 2
    _, blocks, size, _ = network.table.shape
    given = layer.W.weight.detach().double().numpy().T.reshape(-1, blocks, size, size)
    exact = np.stack([_exact_letters(parts, size) for parts in network.parts], axis=1)
    distance = np.linalg.norm(given - exact, axis=(-1, -2)).max(axis=0)
    weight = np.linalg.norm(given, axis=(-1, -2)).max(axis=0)
    gamma = (size + 1) * unit / (1 - (size + 1) * unit)
    step = (distance + gamma * weight) * (np.sqrt(size) + ROOM)
    return _shortest(network, step, unit)


def _exact_letters(parts: tuple[ExactPart, ...], size: int) -> np.ndarray[Any, Any]:
    """B E B⁻¹ of each letter, in floats."""
    letters = len(parts[0].matrices)
    matrices = np.zeros((letters, size, size), dtype=np.complex128)
    first = 0
    for part in parts:
        last = first + part.degree
        matrices[:, first:last, first:last] = [
            [[to_complex(e) for e in row] for row in matrix] for matrix in part.matrices
        ]
        first = last
    basis = np.concatenate([part.basis for part in parts], axis=1)
    return np.asarray(basis @ matrices @ np.linalg.inv(basis))


def _shortest(network: PolishedNetwork, step: np.ndarray[Any, Any], unit: float) -> float:
    scores = np.einsum("gbij,obij->go", network.table, network.weight) + network.bias
    norms = np.linalg.norm(network.weight, axis=(-1, -2))
    terms = network.weight[0].size + 2
    reading = terms * unit * (norms.sum(axis=1) * (np.sqrt(network.size) + ROOM) + np.abs(network.bias))
    best = float((ROOM / step).min())
    for g, row in enumerate(scores):
        apart = np.linalg.norm(network.weight - network.weight[g], axis=(-1, -2)) @ step
        left = row[g] - row - reading - reading[g]
        others = np.arange(len(row)) != g
        best = min(best, float((left[others] / apart[others]).min()))
    return max(0.0, best)


@dataclass(frozen=True, kw_only=True, eq=False)
class PolishedNetwork:
    """A network whose blocks are representations.

    Attributes:
        lettered: the group, and what each letter is.
        table: M of each element (elements, blocks, n, n).
        parts: the exact parts of each block.
        weight: C, (elements, blocks, n, n).
        bias: c, (elements,).
    """

    lettered: LetteredGroup
    table: Floats
    parts: tuple[tuple[ExactPart, ...], ...]
    weight: Floats
    bias: Floats

    @property
    def size(self) -> int:
        """Rows of a block."""
        return int(self.table.shape[-1])

    def margins(self) -> Floats:
        """Returns, for each product, how far its score is above the largest other one."""
        scores = np.einsum("gbij,obij->go", self.table, self.weight) + self.bias
        right = np.diagonal(scores).copy()
        np.fill_diagonal(scores, -np.inf)
        return np.asarray(right - scores.max(axis=1))


def polished_network(learned: LearnedTable, averaged: Averaged) -> PolishedNetwork:
    """Returns the network of the blocks that are representations.

    The state begins at I, so what it began at moves into the readout. A junk block is left out; the mean of
    what it added to the scores goes to the bias.

    Raises:
        NoExactForm: if every block is junk, or the exact form of one that is not was not found.
    """
    kept = list(averaged.kept)
    if not kept:
        raise NoExactForm(
            "no block is near a representation of the group; train until the lengths of training are right"
        )
    # C vec(M S) = C' vec(M) with C' = C Sᵀ in each block.
    weight = np.einsum("obij,bkj->obik", learned.weight, learned.start)
    junk = [block for block in range(learned.blocks) if block not in kept]
    added = np.einsum("gbij,obij->o", averaged.table[:, junk], weight[:, junk]) / learned.lettered.order
    return PolishedNetwork(
        lettered=learned.lettered,
        table=averaged.table[:, kept],
        parts=tuple(exact_parts(averaged.table[:, block], learned.lettered) for block in kept),
        weight=weight[:, kept],
        bias=learned.bias + added,
    )


def to_model(network: PolishedNetwork, dtype: torch.dtype) -> Model:
    """Returns the model that holds the matrices, rounded to floats of a type."""
    order, blocks, size, _ = network.table.shape
    settings = {"blocks": blocks, "size": size, "outputs": order, "form": "matrix"}
    config = ModelConfig(
        layers=(LayerConfig(name="orthogonal", settings=settings),),
        letters=len(network.lettered.letters),
        outputs=order,
        head="none",
    )
    model = Model(config.complete()).to(dtype).eval()
    layer = model.layers[0]
    assert isinstance(layer, Orthogonal)
    letters = network.table[list(network.lettered.letters)].reshape(-1, blocks * size * size)
    with torch.no_grad():
        layer.W.weight.copy_(torch.from_numpy(letters.T))
        layer.C.weight.copy_(torch.from_numpy(network.weight.reshape(order, -1)))
        layer.C.bias.copy_(torch.from_numpy(network.bias))
    return model
