"""What was found for a table: cells beside the published ones, as plain values for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from nerode.core import to_mapping
from nerode.study import VerdictSummary

FORMAT = "nerode-reproduction"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One number beside the published one.

    Attributes:
        column: its heading.
        published: the share of the paper; None if it has none.
        printed: as the paper prints it.
        values: what each seed found, in their order; one value for a compiled network.
        agreement: how they compare.
    """

    column: str
    published: float | None
    printed: str
    values: tuple[float, ...]
    agreement: str

    def to_json(self) -> dict[str, Any]:
        """Returns plain values, with the median and the range."""
        found = self.values
        return {
            **to_mapping(self),
            "median": median(found) if found else None,
            "low": min(found, default=None),
            "high": max(found, default=None),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LineResult:
    """One model on one task.

    Attributes:
        row: what the paper calls the task.
        model: what the paper calls the model.
        kind: "trained", "compiled" or "polished".
        language: name of the language, where the cells go from lengths of training to longer ones; else "".
        architecture: name of the architecture for theory; "" if theory was not asked.
        cells: its numbers.
        theory: the verdict; None if theory was not asked.
        seeds: of the runs that ended.
        diverged: seeds whose run diverged; it counts as 0.
        failed: seeds whose run could not be carried out, or what stood in the way of the compiler or of a
            proof, with the message.
        missing: seeds that the line asks for and that have not been run.
        stands_in: whether the task is an easier one than that of the paper.
        steps: updates of each run.
        parameters: trained numbers; None if no run ended.
        cpu_seconds: of all runs, training and testing.
        keys: of the runs.
        spec: tables of the runs.
        claims: what was proved of a compiled network, as its certificate has it.
        note: what differs from the paper.
    """

    row: str
    model: str
    kind: str
    cells: tuple[CellResult, ...]
    theory: VerdictSummary | None
    seeds: tuple[int, ...] = ()
    diverged: tuple[int, ...] = ()
    failed: tuple[str, ...] = ()
    missing: tuple[int, ...] = ()
    stands_in: bool = False
    steps: tuple[int, ...] = ()
    parameters: int | None = None
    cpu_seconds: float = 0.0
    keys: tuple[str, ...] = ()
    spec: dict[str, Any] | None = None
    claims: tuple[dict[str, Any], ...] = ()
    note: str = ""
    language: str = ""
    architecture: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {**to_mapping(self), "cells": [cell.to_json() for cell in self.cells]}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableResult:
    """A table with what was found.

    Attributes:
        paper: name of the paper.
        reference: key of the work.
        citation: the work in short.
        table: name of the table.
        title: what it shows.
        where: its place in the paper.
        unit: what the numbers are.
        threshold: the share from which a cell counts as solved.
        protocol: how the paper measured.
        corrected: what is done otherwise here.
        scale: what is smaller at CPU scale.
        remarks: what was checked where we disagree.
        rule: when a number agrees.
        command: what reproduces this.
        lines: the lines that were measured.
        unmeasured: how many lines of the paper have no run at this scale.
        waiting: those of them that run at this scale, and have not been run yet.
        environment: versions and machine of what put the table together.
        commits: the source of the runs, most of them first.
    """

    paper: str
    reference: str
    citation: str
    table: str
    title: str
    where: str
    unit: str
    threshold: float
    protocol: str
    corrected: str
    scale: str
    remarks: tuple[str, ...]
    rule: str
    command: str
    lines: tuple[LineResult, ...]
    unmeasured: int
    waiting: tuple[str, ...]
    environment: dict[str, Any]
    commits: tuple[str, ...]

    @property
    def cpu_seconds(self) -> float:
        """Of all runs."""
        return sum(line.cpu_seconds for line in self.lines)

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **to_mapping(self),
            "lines": [line.to_json() for line in self.lines],
            "cpu_seconds": self.cpu_seconds,
        }
