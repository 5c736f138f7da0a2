"""A sweep in a TOML file: what all runs share, a grid, and combinations written out.

    [base]                          # a spec, shared by all runs
    task.name = "parity"
    run.steps = 500

    [grid]                          # every combination of these
    model.layers = ["mamba", "lstm"]
    run.seed = [0, 1, 2]

    [[list]]                        # with each of these, if there are any
    optimiser.rate = 1e-2
    model.width = 8

    [[list]]
    optimiser.rate = 1e-3
    model.width = 32

A sweep is a set of runs. Adding a value to the grid, or a combination, adds runs and changes none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerode.core import FormatError, InputError, UnknownName
from nerode.records import merge_tables, nest_settings, read_toml, refuse_code
from nerode.sweeps.running import RunJob, RunKind

Complete = Callable[[dict[str, Any]], dict[str, Any]]
"""Adds to the settings of a run what they leave open."""

MAX_RUNS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The content of a sweep file.

    Attributes:
        base: the spec that all runs share.
        grid: values by dotted name.
        rows: combinations written out; one empty one if there are none.
    """

    base: dict[str, Any]
    grid: dict[str, list[Any]]
    rows: tuple[dict[str, Any], ...] = ({},)

    def __post_init__(self) -> None:
        for name, values in self.grid.items():
            if not isinstance(values, list) or not values:
                raise InputError(
                    f"grid.{name} is {values!r}; it has to be a list with a value or more "
                    "(a list of lists, where a value is itself a list)"
                )
            if clash := [row for row in self.rows if _has(row, name)]:
                raise InputError(f"{name} is set both in the grid and in a list entry: {clash[0]!r}")
        if self.size > MAX_RUNS:
            raise InputError(f"the sweep has {self.size:,} runs; at most {MAX_RUNS:,} are allowed")

    @property
    def size(self) -> int:
        """The number of combinations; two may be the same run."""
        size = len(self.rows)
        for values in self.grid.values():
            size *= len(values)
        return size

    def specs(self) -> Iterator[dict[str, Any]]:
        """Yields all specs: the rows in order, for each the last name of the grid fastest."""
        for row in self.rows:
            for values in itertools.product(*self.grid.values()):
                spec = merge_tables(self.base, row)
                for name, value in zip(self.grid, values, strict=True):
                    spec = merge_tables(spec, nest_settings({name: value}))
                yield spec

    def jobs(self, runner: RunKind, complete: Complete = dict, *, trust_code: bool = False) -> list[RunJob]:
        """Returns the runs, each once, in the order of their first appearance.

        Args:
            runner: the kind of run.
            complete: adds to a combination what the file leaves open.
            trust_code: whether modules that the sweep names for its models may be imported.

        Raises:
            InputError: for a combination that is no spec, with its settings; for one that names a module
                whose code is not trusted.
        """
        found: dict[str, RunJob] = {}
        for number, combination in enumerate(self.specs(), start=1):
            try:
                refuse_code(combination, "the sweep", trust_code=trust_code)
                spec = complete(combination)
                key = runner.key(spec)
            except InputError as error:
                raise InputError(f"combination {number} of the sweep: {error}") from None
            found.setdefault(key, RunJob(key=key, spec=spec))
        return list(found.values())


def read_sweep(path: Path) -> Sweep:
    """Returns the sweep of a TOML file.

    Raises:
        FormatError: if it cannot be read, is not TOML, or is no sweep.
    """
    tables = read_toml(path)
    try:
        return parse_sweep(tables)
    except InputError as error:
        raise FormatError(str(error), path=path) from None


def parse_sweep(tables: Mapping[str, Any]) -> Sweep:
    """Returns the sweep that plain tables describe, or raises InputError."""
    allowed = ("base", "grid", "list")
    for name in tables:
        if name not in allowed:
            raise UnknownName("table of a sweep", name, allowed, hint="Settings of all runs go into [base].")
    for name in ("base", "grid"):
        if not isinstance(tables.get(name, {}), Mapping):
            raise InputError(f"{name} is {tables[name]!r}; it has to be a table")
    rows = tables.get("list", [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(f"list is {rows!r}; write each combination under a heading [[list]]")
    return Sweep(
        base=_expanded(tables.get("base", {})),
        grid=dict(_leaves(tables.get("grid", {}))),
        rows=tuple(_expanded(row) for row in rows) or ({},),
    )


def _leaves(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Values by dotted name. TOML tables are nested only as deep as their file writes them."""
    for name, value in table.items():
        place = f"{above}.{name}" if above else name
        if isinstance(value, Mapping):
            yield from _leaves(value, place)
        else:
            yield place, value


def _expanded(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with quoted dotted names ("run.seed" = 1) as tables."""
    result: dict[str, Any] = {}
    for name, value in table.items():
        inner = _expanded(value) if isinstance(value, Mapping) else value
        result = merge_tables(result, nest_settings({name: inner}))
    return result


def _has(table: Mapping[str, Any], name: str) -> bool:
    """Whether a table sets what has this dotted name, or a part of it."""
    place: Any = table
    for part in name.split("."):
        if not isinstance(place, Mapping) or part not in place:
            return False
        place = place[part]
    return True
