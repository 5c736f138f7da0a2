"""The page of claims: what papers say, what was found here, what theory says, where they part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from nerode.records import CellResult, LineResult, TableResult
from nerode.report.tables.reproductions import (
    OURS,
    average_text,
    escaped,
    markdown_rows,
    proof_text,
    seeds_text,
    theory_text,
    value_text,
)

INTRODUCTION = """\
# Claims of papers, measured again

Written by `nerode reproduce --all --table > experiments/README.md` from the JSON files under
[reproduce/](reproduce). Each table's command makes its runs (or takes those that are there) and, with
`--keep experiments`, its files. Runs are at CPU scale, with smaller models and a corrected protocol
(disjoint splits, longer bins that are longer, nothing chosen by a test, every seed counted). In each table
lines that agree or differ come first, those that were not learned last. Where the task departs from the
paper's, the row says (here …). A range of lengths is tested at four of them, its ends among
them. Our numbers have the unit of the paper: percentages where it prints percentages, shares elsewhere.
`nerode reproduce PAPER:TABLE --scale paper` writes the published configuration as a sweep file.
"""

HEADINGS = ("task", "model", "published", OURS, "seeds", "theory", "verdict")
DIFFERENCES = (
    "A difference at this scale is not yet one with the paper: a row that says (here …) has another "
    "task, and most models are smaller and trained for less long. What was checked stands below each table."
)
GAPS = (
    "Where a trained network misses the longest lengths and a compiled one is correct on all of them. Theory "
    "is that of the trained architecture: where it says no, the compiled network is of a larger class."
)
GAP_HEADINGS = ("task", "trained: published", "trained: ours", "theory", "compiled: ours", "proved")
_ORDER = ("agrees", "in kind", "differs", "the paper fails as well", "not learned here")
"""Verdicts in the order of the page."""

_WORST_FIRST = ("differs", "not learned here", "the paper fails as well", "in kind", "agrees")
"""The verdict on a line is that of its worst cell."""


def claims_page(results: Sequence[TableResult], coverage: Mapping[str, int]) -> str:
    """Returns the page as Markdown: how much agrees, where it does not, and a row for each line.

    Args:
        results: the tables.
        coverage: published cells by whether they are compared, as `nerode.reproduce.count_coverage` has it.
    """
    parts = [INTRODUCTION, _summary(results, coverage), "", f"**Rule.** {results[0].rule}", ""]
    differing = [text for result in results for text in _differences(result)]
    if differing:
        parts += ["## Where we disagree", "", DIFFERENCES, "", *differing, ""]
    gaps = [row for result in results for row in _gaps(result)]
    if gaps:
        parts += ["## Compiled beside trained", "", GAPS, "", markdown_rows(GAP_HEADINGS, gaps), ""]
    parts += ["## All claims", ""]
    for result in results:
        parts += [*_section(result), ""]
    return "\n".join(parts).rstrip() + "\n"


def _summary(results: Sequence[TableResult], coverage: Mapping[str, int]) -> str:
    return "\n\n".join((_lines(results), _counts(results), _coverage(coverage), _effort(results)))


def _coverage(counts: Mapping[str, int]) -> str:
    same, easier = counts["same task"], counts["easier task"]
    return (
        f"Of {sum(counts.values())} published cells in the registry {same + easier} are compared: {same} on "
        f"the paper's task and {easier} on an easier one. {counts['not run']} have a spec for this machine "
        f"and have not been run; {counts['no spec']} have none."
    )


def _lines(results: Sequence[TableResult]) -> str:
    """Counts of lines: cells of one line are read from the same runs and are not independent."""
    found = Counter(
        _line_agreement(line) for result in results for line in result.lines if line.kind == "trained"
    )
    del found["–"]
    listed = ", ".join(f"{found[name]} {name}" for name in _ORDER if found[name])
    return f"By line (one model on one task): {found.total()} compared: {listed}."


def _line_agreement(line: LineResult) -> str:
    """The worst of its cells."""
    found = {cell.agreement for cell in line.cells}
    return next((name for name in _WORST_FIRST if name in found), "–")


def _counts(results: Sequence[TableResult]) -> str:
    """Counts of cells by agreement; a cross is agreed with more cheaply than a tick."""
    compared = [
        (cell.agreement, (cell.published or 0.0) >= result.threshold, bool(line.here))
        for result in results
        for line in result.lines
        for cell in line.cells
        if cell.agreement in _ORDER
    ]
    counts = Counter(agreement for agreement, _, _ in compared)
    listed = ", ".join(f"{counts[name]} {name}" for name in _ORDER if counts[name])
    solved = sum(agreement == _ORDER[0] and claimed for agreement, claimed, _ in compared)
    easier = sum(departs for _, _, departs in compared)
    return (
        f"{len(compared)} published cells compared: {listed}. In {solved} of those that agree the paper "
        f"solves the task, in {counts[_ORDER[0]] - solved} it does not. {easier} of the cells are compared "
        "on an easier task than the paper's."
    )


def _effort(results: Sequence[TableResult]) -> str:
    lines = [line for result in results for line in result.lines]
    proved = sum(bool(line.claims) for line in lines)
    # Tables may share runs.
    runs: set[str] = set()
    seconds = 0.0
    for line in lines:
        if not line.keys or not runs.issuperset(line.keys):
            seconds += line.cpu_seconds
        runs.update(line.keys)
    fewer = sum(bool(line.missing) for line in lines)
    waiting = sum(len(result.waiting) for result in results)
    return (
        f"{len(runs):,} training runs, {seconds / 60:,.0f} CPU minutes; {proved} compiled networks with a "
        f"proof. {fewer} lines have fewer seeds than asked for, and {waiting} are yet to be run."
    )


def _differences(result: TableResult) -> list[str]:
    found = []
    for line in result.lines:
        cells = [cell for cell in line.cells if cell.agreement == "differs"]
        if cells:
            said = "; ".join(f"{c.column}: {c.printed}, ours {_ours(result, line, c)}" for c in cells)
            said += f" ({seeds_text(line)} seeds)"
            where = f"{result.citation}, {result.where}, {line.task}, {line.model}"
            found.append(f"- {escaped(f'{where}: {said}.')}")
    return found


def _gaps(result: TableResult) -> list[tuple[str, ...]]:
    """The tasks of a table on which a compiled network is correct everywhere and a trained one is not."""
    rows: list[tuple[str, ...]] = []
    for compiled in result.lines:
        if not compiled.claims or any(cell.median != 1 for cell in compiled.cells):
            continue
        for line in result.lines:
            last = line.cells[-1].median
            same = line.row == compiled.row and line.kind == "trained"
            if same and last is not None and last < result.threshold:
                rows.append(
                    (
                        line.task,
                        f"{line.model}: " + " / ".join(c.printed or "–" for c in line.cells),
                        " / ".join(_ours(result, line, c) for c in line.cells),
                        theory_text(line),
                        f"{compiled.architecture}: "
                        + " / ".join(value_text(result, 1) for _ in compiled.cells),
                        proof_text(compiled.claims),
                    )
                )
    return rows


def _section(result: TableResult) -> list[str]:
    file = f"reproduce/{result.paper}/{result.table}.md"
    rows = [
        (
            line.task,
            line.model,
            " · ".join(f"{c.column}: {c.printed}" for c in line.cells if c.printed) or "–",
            " · ".join(f"{c.column}: {_ours(result, line, c)}" for c in line.cells),
            seeds_text(line) if line.seeds else "–",
            theory_text(line),
            _verdict(line),
        )
        for line in sorted(result.lines, key=_place)
    ]
    return [
        f"### {result.citation}, {result.where}: {result.title}",
        "",
        f"`{result.command}` · [{file.removeprefix('reproduce/')}]({file}) · {result.cpu_seconds:,.0f} CPU s",
        "",
        markdown_rows(HEADINGS, rows),
        *([""] + [f"- {remark}" for remark in _below(result)] if _below(result) else []),
    ]


def _place(line: LineResult) -> int:
    """The place of a line in its table: what agrees or differs first, then ours, and not learned last."""
    places = ("agrees", "in kind", "differs", "–", "the paper fails as well", "not learned here")
    return places.index(_line_agreement(line))


def _below(result: TableResult) -> list[str]:
    waiting = escaped(", ".join(result.waiting))
    return [*result.remarks, *([f"Yet to be run: {waiting}."] if waiting else [])]


def _ours(result: TableResult, line: LineResult, cell: CellResult) -> str:
    if not cell.values:
        return "refused" if line.failed else "–"
    return average_text(result, cell)


def _verdict(line: LineResult) -> str:
    if line.claims:
        return f"proved: {proof_text(line.claims)}"
    found = Counter(cell.agreement for cell in line.cells if cell.agreement != "–")
    if len(found) == 1:
        return str(next(iter(found)))
    return ", ".join(f"{found[name]} {name}" for name in _ORDER if found[name]) or "–"
