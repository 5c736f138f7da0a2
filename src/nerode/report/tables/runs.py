"""Tables for papers, of runs and of verdicts, as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nerode.records import VerdictSummary
from nerode.report.notation import STATUS_MARKS, STATUS_WORDS, TEX_CHARACTERS, seeds_text
from nerode.report.tables.verdicts import sense_title
from nerode.study import MEASURES, ModelGroup, TaskGroup
from nerode.verdict import Sense, Verdict, VerdictTable

Form = Literal["md", "tex", "csv"]

_TEX = {
    **TEX_CHARACTERS,
    "–": "--",
    "✓": r"$\checkmark$",
    "✗": r"$\times$",
    "\n": " ",
    "\r": " ",
}
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|&])")
_FORMULA = re.compile(r"[=+\-@\t\r]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable:
    """A table of results.

    Attributes:
        title: what it is about.
        caption: how to read it.
        headings: of the columns.
        rows: cells as text.
    """

    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def success_table(task: TaskGroup, theories: Sequence[VerdictSummary | None]) -> ResultTable:
    """Returns model × length: median [range] over all seeds, how many master the longest, and theory.

    Args:
        task: the runs.
        theories: what is known of each model.
    """
    lengths = task.lengths
    known = any(theories)
    longest = (f"passes tests to {lengths[-1]:,}",) if lengths else ()
    headings = ("model", "parameters", "seeds", *(f"{n:,}" for n in lengths), *longest)
    rows = [_row(task, model, lengths) for model in task.models]
    if known:
        headings = (*headings, "theory")
        rows = [
            (*row, STATUS_WORDS[theory.status] if theory else "–")
            for row, theory in zip(rows, theories, strict=True)
        ]
    return ResultTable(
        title=task.title,
        caption=f"{MEASURES.get(task.measure, task.measure).capitalize()}: in %, median [range] over all "
        "seeds, both values where there are two, 0 for a run that diverged. "
        f"{task.threshold:g} or more passes; the last count wants every length tested, and no word "
        "of at most this length that is known to be answered incorrectly.",
        headings=headings,
        rows=tuple(rows),
    )


def _row(task: TaskGroup, model: ModelGroup, lengths: Sequence[int]) -> tuple[str, ...]:
    cells = []
    for length in lengths:
        found = model.summary(length, task.measure)
        cells.append(seeds_text(found.median, found.low, found.high, found.seeds) if found else "–")
    if lengths:
        cells.append(f"{model.mastering(lengths[-1], task.measure, task.threshold)} of {len(model.runs)}")
    seeds = str(len(model.runs))
    if model.diverged:
        seeds += f" ({len(model.diverged)} diverged)"
    return (model.label, f"{model.runs[0].record.parameters:,}", seeds, *cells)


def verdicts_table(tables: Mapping[str, VerdictTable], sense: Sense) -> ResultTable:
    """Returns language × architecture in one sense, for papers.

    Args:
        tables: the verdicts by the name that a language has in the table.
        sense: the arithmetic.
    """
    first = next(iter(tables.values()))
    names = first.architectures()
    rows = [
        (name, *(STATUS_MARKS[table[architecture, sense.value].status.value] for architecture in names))
        for name, table in tables.items()
    ]
    return ResultTable(
        title="Languages and architectures",
        caption=f"At every length, {sense_title(sense, first.dtype)}, task: {first.task.value}. "
        "✓ some weights are correct, ✗ none are, ? open.",
        headings=("language", *names),
        rows=tuple(rows),
    )


def verdicts_csv(tables: Mapping[str, VerdictTable]) -> str:
    """Returns one row per language, architecture and sense, with reason and reference."""
    headings = ("language", "architecture", "sense", "task", "status", "reason", "reference")
    rows = (
        (name, v.architecture, v.sense.value, table.task.value, v.status.value, v.reason, _cited(v))
        for name, table in tables.items()
        for v in table
    )
    return csv_text(headings, rows)


def _cited(verdict: Verdict) -> str:
    return "" if verdict.reference is None else verdict.reference.key


def to_markdown(tables: Iterable[ResultTable]) -> str:
    """Returns the tables as Markdown."""
    parts = []
    for table in tables:
        lines = [table.headings, ("---",) * len(table.headings), *table.rows]
        marked = [lines[1] if line is lines[1] else tuple(map(_markdown, line)) for line in lines]
        body = "\n".join(f"| {' | '.join(line)} |" for line in marked)
        parts.append(f"## {_markdown(table.title)}\n\n{body}\n\n{_markdown(table.caption)}\n")
    return "\n".join(parts)


def to_latex(tables: Iterable[ResultTable]) -> str:
    """Returns the tables as LaTeX for `booktabs`."""
    parts = []
    for table in tables:
        columns = "l" + "r" * (len(table.headings) - 1)
        rows = [" & ".join(map(_latex, row)) + r" \\" for row in table.rows]
        parts.append(
            "\n".join(
                [
                    r"\begin{table}",
                    r"\centering",
                    rf"\caption{{{_latex(table.title)}. {_latex(table.caption)}}}",
                    rf"\begin{{tabular}}{{{columns}}}",
                    r"\toprule",
                    " & ".join(map(_latex, table.headings)) + r" \\",
                    r"\midrule",
                    *rows,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
        )
    body = "\n\n".join(parts)
    packages = "booktabs,amssymb" if r"\checkmark" in body else "booktabs"
    return f"% needs \\usepackage{{{packages}}}\n{body}\n"


CSV_HEADINGS = (
    "task",
    "model",
    "seed",
    "length",
    "measure",
    "accuracy",
    "steps",
    "parameters",
    "cpu_seconds",
)


def to_csv(tasks: Iterable[TaskGroup]) -> str:
    """Returns every measured number: one row for each run and length."""
    return csv_text(CSV_HEADINGS, _measured(tasks))


def csv_text(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns rows as CSV; no text is taken for a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(headings)
    writer.writerows([_cell(v) if isinstance(v, str) else v for v in row] for row in rows)
    return out.getvalue()


def _measured(tasks: Iterable[TaskGroup]) -> Iterator[tuple[object, ...]]:
    for task in tasks:
        for model in task.models:
            for run in model.runs:
                record = run.record
                ends = (record.steps, record.parameters, record.cpu_seconds)
                for length, value in model.points(run, task.measure):
                    yield (task.title, model.label, run.seed, length, task.measure, value, *ends)


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _latex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def plain_columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns rows in columns as plain text; ten thousand of them in a moment, which a rich table cannot."""
    lines = [headings, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
