"""From a learned table of rotations to a representation of the group, and the proof of its answers.

A run is polished from its folder to one with a proof: read, average, sharpen, write, check, test. Averaging
in floats leaves matrices that multiply as the group does up to 1e-15. Whole numbers over 2^160 take them
further by the same mean; the checker bounds how far the nearest exact representation can be from these.
"""

from __future__ import annotations

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
from nerode.core import Budget, NerodeError, to_mapping, write_atomically
from nerode.models import TORCH_DTYPES, LayerConfig, Model, ModelConfig, dtype_name
from nerode.models.architectures import Orthogonal
from nerode.proofs import (
    POLISH_BITS,
    POLISH_CLAIM,
    POLISH_FILE,
    POLISH_FORMAT,
    POLISH_VERSION,
    check_polished,
)
from nerode.records import WEIGHTS_FILE, LengthScore
from nerode.tasks import Task
from nerode.training import evaluate, write_subject

Numbers = npt.NDArray[np.object_]
"""Whole numbers in place of their shares of SCALE."""

SCALE = 1 << POLISH_BITS

_ROUNDS = 2
"""Means over the group, and steps towards orthogonal matrices: each doubles the digits, of which floats have
15 and 2^160 has 48."""


class NoRepresentation(NerodeError):
    """No block is near a representation."""


def sharpened(block: Floats, lettered: LetteredGroup) -> Numbers:
    """Returns a representation in floats in whole numbers over SCALE, as near to one as these allow.

    Args:
        block: M of each element (elements, n, n) with M(gh) = M(h) M(g), orthogonal up to rounding.
        lettered: the group.
    """
    table = np.vectorize(lambda x: int(Fraction(float(x)) * SCALE), otypes=[object])(block)
    three = np.eye(block.shape[-1], dtype=int).astype(object) * (3 * SCALE)
    for _ in range(_ROUNDS):
        means = [table[own] @ matrix.T for own, matrix in zip(lettered.products, table, strict=True)]
        table = sum(means) // (lettered.order * SCALE)
        for _ in range(_ROUNDS):
            # Towards the orthogonal factor of the polar decomposition, with twice as many digits each time.
            table = table @ (three - table.swapaxes(-1, -2) @ table // SCALE) // (2 * SCALE)
    return np.asarray(table)


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
    """Returns the record of a polished model, which is written, with a certificate if there is a proof.

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
    except NoRepresentation as error:
        problem = str(error)
    model = None
    if network is not None:
        model = to_model(network, chosen)
        assert subject.task is not None
        write_polished(folder, network, model, subject.task)
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
        proved=not problem,
        problem=problem,
        margin=margin,
        length=length,
        before=_test(subject.model, subject, lengths, sequences),
        after=() if model is None else _test(model, subject, lengths, sequences),
        polish_cpu_seconds=made - begun,
        check_cpu_seconds=checked - made,
    )


@torch.no_grad()
def _test(
    model: nn.Module, subject: LoadedNetwork, lengths: Sequence[int], sequences: int
) -> tuple[LengthScore, ...]:
    assert subject.task is not None
    return evaluate(model, subject.task, lengths, sequences=sequences)


def write_polished(folder: Path, network: PolishedNetwork, model: Model, task: Task) -> dict[str, Any]:
    """Writes a model with the question of its task, and its certificate, which is returned.

    Raises:
        InputError: if the folder cannot be written.
    """
    subject = write_subject(folder, model, task, origin={"kind": "mended"})
    lettered, blocks = network.lettered, network.table.swapaxes(0, 1)
    content = {
        "format": POLISH_FORMAT,
        "version": POLISH_VERSION,
        "claim": POLISH_CLAIM,
        "group": lettered.group.name,
        "letters": [lettered.group.element_names[a] for a in lettered.letters],
        "weights": subject.files[WEIGHTS_FILE],
        "blocks": [sharpened(block, lettered)[[*lettered.letters]].tolist() for block in blocks],
    }
    write_atomically(folder / POLISH_FILE, json.dumps(content, ensure_ascii=False) + "\n")
    return content


@dataclass(frozen=True, kw_only=True, eq=False)
class PolishedNetwork:
    """A network whose blocks are representations.

    Attributes:
        lettered: the group, and what each letter is.
        table: M of each element (elements, blocks, n, n).
        weight: C, (elements, blocks, n, n).
        bias: c, (elements,).
    """

    lettered: LetteredGroup
    table: Floats
    weight: Floats
    bias: Floats


def polished_network(learned: LearnedTable, averaged: Averaged) -> PolishedNetwork:
    """Returns the network of the blocks that are representations.

    The state begins at I, so what it began at moves into the readout. A junk block is left out; the mean of
    what it added to the scores goes to the bias.

    Raises:
        NoRepresentation: if every block is junk.
    """
    kept = list(averaged.kept)
    if not kept:
        raise NoRepresentation(
            "no block is near a representation of the group; train until the lengths of training are right"
        )
    # C vec(M S) = C' vec(M) with C' = C Sᵀ in each block.
    weight = np.einsum("obij,bkj->obik", learned.weight, learned.start)
    junk = [block for block in range(learned.blocks) if block not in kept]
    added = np.einsum("gbij,obij->o", averaged.table[:, junk], weight[:, junk]) / learned.lettered.order
    return PolishedNetwork(
        lettered=learned.lettered,
        table=averaged.table[:, kept],
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
