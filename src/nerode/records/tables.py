"""Reproduced tables: cells beside the published ones, on disk as JSON under `experiments/reproduce`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from nerode.core import FormatError, InputError, from_mapping, read_json, to_mapping, write_atomically

TABLE_FORMAT = "nerode-reproduction"
TABLE_VERSION = 1

_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5 % quantiles of Student's t for 1, 2, … degrees of freedom."""

CURVE = 40
"""Most points of a stored learning curve."""

_DERIVED = ("median", "mean", "half_width", "low", "high")
"""What the JSON of a cell has besides its fields."""


def kept_experiments() -> Path:
    """Returns the folder of the results that come with nerode: in a wheel `nerode/kept`, else the clone's."""
    package = Path(__file__).parents[1]
    return kept if (kept := package / "kept").is_dir() else package.parents[1] / "experiments"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One number beside the published one.

    Attributes:
        column: its heading.
        published: the share of the paper; None if it has none.
        printed: as the paper prints it.
        values: what each seed found, in their order; one value for a compiled network.
        agreement: how they compare.
        split: whether seeds lie on both sides of the threshold.
    """

    column: str
    published: float | None
    printed: str
    values: tuple[float, ...]
    agreement: str
    split: bool = False

    @property
    def median(self) -> float | None:
        """The median over the seeds; None without values."""
        return median(self.values) if self.values else None

    @property
    def mean(self) -> float | None:
        """The mean over the seeds; None without values."""
        return fmean(self.values) if self.values else None

    @property
    def half_width(self) -> float | None:
        """Half of the 95 % confidence interval of the mean (Student's t); None for less than two values."""
        count = len(self.values)
        if count < 2:
            return None
        quantile = _STUDENT[count - 2] if count - 2 < len(_STUDENT) else 1.96
        return quantile * stdev(self.values) / math.sqrt(count)

    @property
    def printed_in_percent(self) -> bool:
        """Whether the paper prints the share as a percentage."""
        number = self.printed.partition("±")[0]
        if not self.published or not number.replace(".", "", 1).isdecimal():
            return False
        return math.isclose(float(number), 100 * self.published, abs_tol=1e-6)

    @property
    def low(self) -> float | None:
        """The worst seed; None without values."""
        return min(self.values, default=None)

    @property
    def high(self) -> float | None:
        """The best seed; None without values."""
        return max(self.values, default=None)

    def to_json(self) -> dict[str, Any]:
        """Returns plain values, with the averages, the interval and the range."""
        return {**to_mapping(self), **{name: getattr(self, name) for name in _DERIVED}}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictSummary:
    """A verdict in short.

    Attributes:
        status: "yes", "no" or "open": whether it can be correct at every length.
        reason: in one sentence.
        reference: the work behind it; empty if it is open.
        robust: the same under noise at every step; empty if it was not asked.
    """

    status: str
    reason: str
    reference: str = ""
    robust: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineResult:
    """One model on one task.

    Attributes:
        row: what the paper calls the task.
        model: what the paper calls the model.
        kind: "trained" or "compiled".
        language: name of the language, where the cells go from lengths of training to longer ones; else "".
        architecture: name of the architecture for theory; "" if theory was not asked.
        cells: its numbers.
        theory: the verdict; None if theory was not asked.
        seeds: of the finished runs.
        diverged: seeds whose run diverged; it counts as 0.
        failed: seeds whose run could not be carried out, or what stood in the way of the compiler or of a
            proof, with the message.
        missing: seeds that the line asks for and that have not been run.
        here: how the task departs from that of the paper; empty if it does not.
        stands_in: whether it departs so far that its numbers are none about the task of the paper.
        steps: updates of each run.
        parameters: trained numbers; None if no run is finished.
        cpu_seconds: of all runs, training and testing.
        keys: of the runs.
        spec: tables of the runs.
        claims: what was proved of a compiled network, as its certificate has it.
        note: what differs from the paper.
        ends: the status of each run: its mark with a length, and the word that it gets wrong.
        commits: the source of each run.
        weights: SHA-256 of the file of weights of each run; empty for one that diverged.
        curves: of each run, the step and the validation accuracy, at most `CURVE` of them.
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
    here: str = ""
    stands_in: bool = False
    steps: tuple[int, ...] = ()
    parameters: int | None = None
    cpu_seconds: float = 0.0
    keys: tuple[str, ...] = ()
    spec: dict[str, Any] | None = None
    claims: tuple[dict[str, Any], ...] = ()
    note: str = ""
    ends: tuple[str, ...] = ()
    language: str = ""
    architecture: str = ""
    commits: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    curves: tuple[tuple[tuple[float, ...], ...], ...] = ()

    @property
    def task(self) -> str:
        """The task as the paper calls it, and how it departs from that."""
        return f"{self.row} (here {self.here})" if self.here else self.row

    def to_json(self) -> dict[str, Any]:
        """Returns plain values; fields that older stored tables lack are left out where they are empty."""
        plain = {**to_mapping(self), "cells": [cell.to_json() for cell in self.cells]}
        for name in ("ends", "commits", "weights", "curves"):
            if not plain[name]:
                del plain[name]
        return plain


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
        average: "median" or "mean" over the seeds, as in the paper.
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
    average: str = "median"

    @property
    def cpu_seconds(self) -> float:
        """Of all runs."""
        return sum(line.cpu_seconds for line in self.lines)

    @property
    def in_percent(self) -> bool:
        """Whether the paper prints percentages, as 62.6 for a share of 0.626."""
        return any(cell.printed_in_percent for line in self.lines for cell in line.cells)

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {
            "format": TABLE_FORMAT,
            "version": TABLE_VERSION,
            **to_mapping(self),
            "lines": [line.to_json() for line in self.lines],
            "cpu_seconds": self.cpu_seconds,
        }

    @classmethod
    def from_json(cls, data: Any, *, path: Path) -> TableResult:
        """Returns the table of plain values; what follows from the rest is left out.

        Raises:
            FormatError: if they are no table of this version.
        """
        if not isinstance(data, dict) or data.get("format") != TABLE_FORMAT:
            raise FormatError(f"is no reproduced table: its format is not {TABLE_FORMAT!r}", path=path)
        if data.get("version") != TABLE_VERSION:
            version = data.get("version")
            raise FormatError(f"has version {version!r}; this nerode reads {TABLE_VERSION}", path=path)
        try:
            plain = _without(data, "format", "version", "cpu_seconds")
            lines = [
                {**line, "cells": [_without(cell, *_DERIVED) for cell in line["cells"]]}
                for line in plain["lines"]
            ]
            return from_mapping(cls, {**plain, "lines": lines})
        except (InputError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"is damaged: {type(error).__name__} {error}", path=path) from None


def _without(table: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}


def write_table(folder: Path, result: TableResult) -> Path:
    """Writes the JSON of a table, and returns its path."""
    path = folder / result.paper / f"{result.table}.json"
    text = json.dumps(result.to_json(), ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    write_atomically(path, text + "\n")
    return path


def read_table(path: Path) -> TableResult:
    """Returns a reproduced table.

    Raises:
        FormatError: for a file that is no table of this version.
    """
    return TableResult.from_json(read_json(path), path=path)


def read_tables(folder: Path) -> list[TableResult]:
    """Returns all reproduced tables of a folder, by paper and table.

    Raises:
        FormatError: for a file that is no table of this version.
    """
    return [read_table(path) for path in sorted(folder.glob("*/*.json"))]
