"""Polishing a run, from its folder to one with a proof: read, average, name exactly, write, check, test."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from nerode.analysis.polish.exact_parts import ExactPart, NoExactForm, exact_parts
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
from nerode.core import Budget, to_complex, to_mapping, write_atomically, write_exact
from nerode.models import (
    TORCH_DTYPES,
    WEIGHTS_FILE,
    LayerConfig,
    Model,
    ModelConfig,
    dtype_name,
    dtype_of,
    save_model,
)
from nerode.models.architectures import Orthogonal
from nerode.proofs import POLISH_CLAIM, POLISH_FILE, POLISH_FORMAT, POLISH_VERSION, check_polished
from nerode.records import LengthScore
from nerode.training import evaluate


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
    save_model(folder, model)
    content = {
        "format": POLISH_FORMAT,
        "version": POLISH_VERSION,
        "claim": POLISH_CLAIM,
        "group": network.lettered.group.name,
        "letters": [network.lettered.group.element_names[a] for a in network.lettered.letters],
        "weights": hashlib.sha256((folder / WEIGHTS_FILE).read_bytes()).hexdigest(),
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
