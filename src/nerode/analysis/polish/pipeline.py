"""Polishing a run, from its folder to one with a proof: read, average, name exactly, write, check, test."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nerode.analysis.polish.averaging import BlockDefect, average
from nerode.analysis.polish.certificate import write_polished
from nerode.analysis.polish.exact_parts import NoExactForm
from nerode.analysis.polish.learned import read_learned
from nerode.analysis.polish.network import PolishedNetwork, polished_network, to_model
from nerode.analysis.subject import Subject
from nerode.core import Budget, to_mapping
from nerode.models import DTYPES
from nerode.proofs import POLISH_FILE, check_polished
from nerode.records import LengthScore
from nerode.training import evaluate


@dataclass(frozen=True, kw_only=True)
class PolishRecord:
    """What polishing a network found.

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
        margin: of the right score at the exact points; 0 without a proof.
        length: the model is right up to here in its floats, proved; 0 without a proof.
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
    subject: Subject,
    folder: Path,
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
        budget: limits of the averaging.

    Raises:
        InputError: if the network is of another kind.
        BudgetExceeded: if averaging takes too long.
    """
    begun = time.process_time()
    learned = read_learned(subject)
    chosen = learned.dtype if dtype is None else DTYPES[dtype]
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
        found = check_polished(folder)
        problem, margin, length = found.problem, found.margin, found.length
        if not found.ok:
            (folder / POLISH_FILE).unlink()
    checked = time.process_time()
    return PolishRecord(
        name=subject.name,
        group=learned.lettered.group.name,
        elements=learned.lettered.order,
        letters=len(learned.lettered.letters),
        dtype=str(chosen).removeprefix("torch."),
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
    model: nn.Module, subject: Subject, lengths: Sequence[int], sequences: int
) -> tuple[LengthScore, ...]:
    assert subject.task is not None
    return evaluate(model, subject.task, lengths, sequences=sequences)
