"""Papers, tables, lines and cells: published numbers, their measurement here, and the rule of agreement.

Values are shares from 0 to 1; a tick of a paper is 1, a cross 0. A line is one model on one task: its cells
are read from the same runs. Nothing here needs torch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import fmean, median
from typing import Any, Literal

from nerode.core import InputError, Reference
from nerode.records import CellResult, LineResult, Measure, TableResult

Tables = Mapping[str, Any]
"""The tables of a training spec, without the seed."""

FRESH_SEED = 101
"""The first seed of a line: recipes were found on smaller ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthRange:
    """The accuracy at some lengths, all sequences together.

    Attributes:
        low: shortest length.
        high: longest length.
        measure: which accuracy.
        chance: the accuracy that is to be 0; 0 leaves it as it is.
        every: whether all of the lengths are tested, for languages with one word of each length.
    """

    low: int
    high: int
    measure: Measure = "sequence"
    chance: float = 0.0
    every: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise InputError(f"lengths from {self.low} to {self.high} are not a range from 1 on")
        if not 0 <= self.chance < 1:
            raise InputError(f"chance is {self.chance}; it has to be at least 0 and below 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisValue:
    """The accuracy at a value of another quantity than the length."""

    axis: str
    value: int
    measure: Measure = "token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A test of the task that is no accuracy over sequences.

    Attributes:
        name: "greedy", "sampled" (completions), "offset" (the share of offsets that are predicted), "two-isi"
            (with the shorter of the two gaps), "double-isi" (phase alignment) or "survives".
        at: for "survives", the number of ignored bits after which the written bit is read correctly, in every
            kind of stream; for "double-isi", the grade that is asked for.
    """

    name: Literal["greedy", "sampled", "offset", "two-isi", "double-isi", "survives"]
    at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Whether a compiled network is proved correct at every length under noise at every step.

    Attributes:
        eps: how much noise, at least.
    """

    eps: float = 0.0


Reading = LengthRange | AxisValue | Finding | Noise
"""Ways to read a cell from the record of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One number of a table.

    Attributes:
        column: its heading in the paper.
        reading: how it is measured here.
        published: the share that the paper has, 1 for a tick and 0 for a cross; None if it has none.
        printed: as the paper prints it.
        trained: whether it is about lengths that are trained on.
        threshold: the share from which it counts as solved; None for that of the table.
        elsewhere: the share that the paper gives for it in its text or in another table, which is no cell
            of this one; None if it gives none.
    """

    column: str
    reading: Reading
    published: float | None = None
    printed: str = ""
    trained: bool = False
    threshold: float | None = None
    elsewhere: float | None = None

    @property
    def of_paper(self) -> float | None:
        """The share that the paper gives, here or elsewhere; None if it gives none."""
        return self.elsewhere if self.published is None else self.published

    def __post_init__(self) -> None:
        if self.published is not None and not -1 <= self.published <= 1:
            raise InputError(f"the published value of {self.column} is {self.published}; give a share")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLine:
    """One model on one task.

    Attributes:
        row: what the paper calls the task.
        model: what the paper calls the model.
        cells: in the order of the columns.
        language: name of the language for theory; empty if the task is none.
        architecture: name of the architecture for theory; empty if theory is not asked.
        cpu: the training spec that runs here; None if there is none.
        paper: the training spec of the paper.
        grid: values of the paper's search, by dotted name.
        compile_to: a target of the compiler, for a line that is compiled and not trained.
        seeds: runs at CPU scale.
        first_seed: the seed of the first of them; the others follow.
        note: what differs from the paper at CPU scale.
        here: how the task at CPU scale departs from that of the paper: another language, other lengths or
            other labels in training; empty if it is the task of the paper.
        stands_in: whether it departs so far that its numbers are no numbers about the task of the paper.
    """

    row: str
    model: str
    cells: tuple[TableCell, ...]
    language: str = ""
    architecture: str = ""
    cpu: Tables | None = None
    paper: Tables | None = None
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    compile_to: str = ""
    seeds: int = 5
    first_seed: int = FRESH_SEED
    note: str = ""
    here: str = ""
    stands_in: bool = False

    def __post_init__(self) -> None:
        if self.stands_in and not self.here:
            raise InputError(f"the line {self.row} · {self.model} stands in for another: say in what way")
        if not self.cells:
            raise InputError(f"the line {self.row} · {self.model} has no cell; give one or more")
        if self.compile_to and (self.cpu is not None or not self.language):
            raise InputError(
                f"the line {self.row} · {self.model} is compiled: it needs a language and no spec"
            )
        if self.seeds < 3:
            raise InputError(f"the line {self.row} · {self.model} has {self.seeds} seeds; give 3 or more")

    @property
    def runs_here(self) -> bool:
        """Whether it is measured at CPU scale."""
        return self.cpu is not None or bool(self.compile_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """A table or figure of a paper.

    Attributes:
        name: kebab-case, as it is asked for.
        title: what it shows.
        where: its place in the paper.
        unit: what the numbers are; "tick" for ticks and crosses.
        protocol: how the paper measured.
        corrected: what is done otherwise here, and why.
        scale: what is smaller at CPU scale.
        lines: its lines.
        threshold: the share from which a cell counts as solved.
        seeds: those of the paper's protocol at full scale.
        remarks: what was checked where we disagree.
        average: what the paper takes of its seeds, and so do we; the mean for a paper with one run.
    """

    name: str
    title: str
    where: str
    unit: str
    protocol: str
    corrected: str
    scale: str
    lines: tuple[TableLine, ...]
    threshold: float = 0.9
    seeds: int = 5
    remarks: tuple[str, ...] = ()
    average: Literal["median", "mean"] = "mean"

    @property
    def ticks(self) -> bool:
        """Whether the paper has ticks and crosses instead of numbers."""
        return self.unit == "tick"

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings of all lines, in order of first appearance."""
        return tuple(dict.fromkeys(cell.column for line in self.lines for cell in line.cells))


FigureKind = Literal["learning", "beyond", "bars", "signals", "states"]
"""Ways to draw runs: accuracy in validation by update; accuracy beyond the lengths of training; a bar for a
number beside the published one; outputs beside the signal; eigenvalues, powers and clusters of states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFigure:
    """A figure of a paper, drawn from the runs of one of its tables.

    Attributes:
        name: kebab-case, as it is asked for.
        where: its place in the paper.
        title: above the figure.
        kind: how it is drawn.
        table: the table.
        rows: rows of the table that it shows; all of them if empty.
        signals: of "signals": "training", or names of tests of phase alignment.
    """

    name: str
    where: str
    title: str
    kind: FigureKind
    table: PaperTable
    rows: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()

    @property
    def part(self) -> PaperTable:
        """The table with the lines of the figure alone."""
        rows = self.rows or {line.row for line in self.table.lines}
        lines = tuple(line for line in self.table.lines if line.row in rows and not line.compile_to)
        return replace(self.table, lines=lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalOutput:
    """The output of a counting network beside the signal that it reads.

    Attributes:
        model: as its line calls it.
        seed: of its run.
        signal: "training", or the name of a test of phase alignment.
        bits: what it read, one per step.
        outputs: the probability that it gives the next step to be on.
    """

    model: str
    seed: int
    signal: str
    bits: str
    outputs: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper.

    Attributes:
        name: kebab-case.
        reference: the work.
        title: what is reproduced.
        tables: its tables.
        figures: figures that are drawn from the runs of the tables.
    """

    name: str
    reference: Reference
    title: str
    tables: tuple[PaperTable, ...]
    figures: tuple[PaperFigure, ...] = ()

    def __post_init__(self) -> None:
        for what, names in (
            ("tables", [table.name for table in self.tables]),
            ("figures", [figure.name for figure in self.figures]),
        ):
            if len(set(names)) != len(names) or not self.tables:
                raise InputError(f"the {what} of {self.name} are {names}; their names have to differ")


TICKS = {"✓": 1.0, "✗": 0.0}


def percent_cells(columns: Sequence[str], readings: Sequence[Reading], printed: str) -> tuple[TableCell, ...]:
    """Returns cells of percentages written like "100/54/10"; `–` for one that the paper does not have.

    The first column is about lengths that are trained on.

    Args:
        columns: the headings.
        readings: how each is measured here.
        printed: the numbers.
    """
    return _cells(
        columns, readings, printed.split("/"), lambda text: None if text == "–" else float(text) / 100
    )


def tick_cells(columns: Sequence[str], readings: Sequence[Reading], printed: str) -> tuple[TableCell, ...]:
    """Returns cells of ticks and crosses written like "✓✗–", one character per cell."""
    return _cells(columns, readings, printed, TICKS.get)


def _cells(
    columns: Sequence[str],
    readings: Sequence[Reading],
    printed: Sequence[str],
    share: Callable[[str], float | None],
) -> tuple[TableCell, ...]:
    cells = enumerate(zip(columns, readings, printed, strict=True))
    return tuple(
        TableCell(column=column, reading=reading, published=share(text), printed=text, trained=number == 0)
        for number, (column, reading, text) in cells
    )


TOLERANCE = 0.05
"""Shares that differ by no more count as the same."""


class Agreement(StrEnum):
    """The comparison of a cell with the published one."""

    AGREES = "agrees"
    IN_KIND = "in kind"
    DIFFERS = "differs"
    BOTH_FAIL = "the paper fails as well"
    NOT_LEARNED = "not learned here"
    NOTHING = "–"


RULE = (
    "not learned here: the paper solves the lengths of training and our average misses the threshold there, "
    "so that nothing follows for longer ones, be it a tick or a cross. the paper fails as well: ours misses "
    "the lengths of training, and so may the paper's, which prints no accuracy there and fails beyond them. "
    "agrees: our average is on the same side of the threshold as the paper's number and, where the paper has "
    f"numbers, not more than {TOLERANCE:g} from it. in kind: the numbers differ by more, but both or neither "
    "reach the threshold. differs: all else. The average over seeds is the median where the paper takes the "
    "median or asks for 3 of 5 seeds, and the mean elsewhere, with its 95 % confidence interval (Student's "
    "t). split: our seeds lie on both sides of the threshold. (here …): the task departs from that of the "
    "paper. A line agrees if all its cells do."
)


def compare(
    published: float | None,
    values: Sequence[float],
    *,
    threshold: float,
    tick: bool,
    learned: bool,
    known: bool = True,
    mean: bool = True,
) -> Agreement:
    """Returns how the values of all seeds compare with a published share.

    Args:
        published: the share, 1 for a tick and 0 for a cross.
        values: what each seed found.
        threshold: the share from which a cell counts as solved.
        tick: whether the paper has a tick or cross.
        learned: whether the lengths of training are solved here, or not in the paper either.
        known: whether the paper prints its accuracy at the lengths of training.
        mean: whether the paper takes the mean of its seeds instead of the median.
    """
    if published is None or not values:
        return Agreement.NOTHING
    claimed = published >= threshold
    if not learned:
        return Agreement.NOT_LEARNED if known or claimed else Agreement.BOTH_FAIL
    average = _average(values, mean)
    if (average >= threshold) != claimed:
        return Agreement.DIFFERS
    return Agreement.AGREES if tick or abs(average - published) <= TOLERANCE else Agreement.IN_KIND


def _average(values: Sequence[float], mean: bool) -> float:
    return fmean(values) if mean else median(values)


def compare_cells(
    table: PaperTable, cells: Sequence[TableCell], values: Sequence[tuple[float, ...]]
) -> tuple[CellResult, ...]:
    """Returns the cells of a line with their values and how they agree."""
    mean = table.average == "mean"
    thresholds = [table.threshold if cell.threshold is None else cell.threshold for cell in cells]
    learned = all(
        _average(own, mean) >= threshold or (cell.of_paper is not None and cell.of_paper < threshold)
        for cell, own, threshold in zip(cells, values, thresholds, strict=True)
        if cell.trained and own
    )
    known = any(cell.of_paper is not None for cell in cells if cell.trained)
    return tuple(
        CellResult(
            column=cell.column,
            published=cell.published,
            printed=cell.printed,
            values=own,
            agreement=compare(
                cell.published,
                own,
                threshold=threshold,
                tick=table.ticks,
                learned=learned,
                known=known,
                mean=mean,
            ).value,
            split=min(own) < threshold <= max(own) if own else False,
        )
        for cell, own, threshold in zip(cells, values, thresholds, strict=True)
    )


def judge_again(result: TableResult, table: PaperTable) -> TableResult:
    """Returns a stored table as the present registry and the present rule judge its values.

    A stored line that the registry no longer has, or has with other cells or another spec, is left out: it is
    yet to be run.
    """
    lines = {(line.row, line.model): line for line in table.lines}
    judged = []
    for stored in result.lines:
        own = lines.get((stored.row, stored.model))
        if own is not None and _is_of(own, stored):
            judged.append(_judged(table, own, stored))
    known = {(line.row, line.model) for line in judged}
    return replace(
        result,
        lines=tuple(judged),
        rule=RULE,
        average=table.average,
        remarks=table.remarks,
        unmeasured=sum((line.row, line.model) not in known for line in table.lines),
        waiting=tuple(
            f"{line.row} · {line.model}"
            for line in table.lines
            if line.runs_here and (line.row, line.model) not in known
        ),
    )


def _is_of(own: TableLine, stored: LineResult) -> bool:
    """Whether a stored line has the cells and the spec of a line of the registry."""
    same_cells = [cell.column for cell in own.cells] == [cell.column for cell in stored.cells]
    return same_cells and json.dumps(own.cpu or {}, sort_keys=True) == json.dumps(
        stored.spec or {}, sort_keys=True
    )


def _judged(table: PaperTable, own: TableLine, stored: LineResult) -> LineResult:
    cells = compare_cells(table, own.cells, [cell.values for cell in stored.cells])
    return replace(stored, cells=cells, here=own.here, stands_in=own.stands_in, note=own.note)


def count_coverage(
    results: Iterable[TableResult], tables: Iterable[tuple[Paper, PaperTable]]
) -> Counter[str]:
    """Returns the published cells by "same task", "easier task", "not run" yet and "no spec" for here."""
    stored = {
        (result.paper, result.table, line.row, line.model): line
        for result in results
        for line in result.lines
    }
    counts: Counter[str] = Counter()
    for paper, table in tables:
        for line in table.lines:
            found = stored.get((paper.name, table.name, line.row, line.model))
            for number, cell in enumerate(line.cells):
                if cell.published is None:
                    continue
                if found is not None and found.cells[number].values:
                    counts["easier task" if line.here else "same task"] += 1
                else:
                    counts["not run" if line.runs_here else "no spec"] += 1
    return counts
