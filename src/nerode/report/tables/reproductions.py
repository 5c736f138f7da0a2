"""Reproduced tables for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median

from rich.table import Table
from rich.text import Text

from nerode.proofs import FRAGILE, PREDICT, WINDOW
from nerode.records import CellResult, LineResult, TableResult

_STYLES = {
    "agrees": "green",
    "in kind": "green",
    "differs": "red",
    "the paper fails as well": "yellow",
    "not learned here": "yellow",
}
OURS = "ours: mean ± 95 % interval, or median (range)"
HEADINGS = ("task", "model", "column", "published", f"{OURS}, seeds", "theory", "agrees?")


def reproduction_table(result: TableResult) -> Table:
    """Returns published | ours | theory | agrees? for a terminal, a row for each cell."""
    view = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for number, heading in enumerate(HEADINGS):
        view.add_column(heading, style="cyan" if number == 1 else "", overflow="fold")
    for row in cell_rows(result):
        *texts, agreement = row
        view.add_row(*map(Text, texts), Text(agreement, style=_STYLES.get(agreement, "")))
    return view


def cell_rows(result: TableResult) -> list[tuple[str, ...]]:
    """Returns the rows of a table; what repeats the row above is left out."""
    rows: list[tuple[str, ...]] = []
    before = ""
    for line in result.lines:
        first = True
        for cell in line.cells:
            task = line.task if first and line.task != before else ""
            model = line.model if first else ""
            theory = theory_text(line) if first else ""
            ours = ours_text(result, line, cell)
            rows.append((task, model, cell.column, cell.printed or "–", ours, theory, cell.agreement))
            first = False
        before = line.task
    return rows


def ours_text(result: TableResult, line: LineResult, cell: CellResult) -> str:
    """Returns the average and the range of all seeds, or what there is instead."""
    values = cell.values
    if not values:
        return "refused" if line.failed else "–"
    if line.kind == "compiled":
        return f"{value_text(result, values[0])} (compiled)"
    text = average_text(result, cell, (seeds_text(line),))
    if line.diverged:
        text += f", {len(line.diverged)} diverged"
    return text


def average_text(result: TableResult, cell: CellResult, remarks: Sequence[str] = ()) -> str:
    """Returns the mean of the seeds with its 95 % interval, or their median with the range, and remarks."""
    values = cell.values
    inner = ["split"] if cell.split else []
    if result.average == "mean":
        middle = value_text(result, fmean(values))
        if cell.half_width:
            middle += f" ± {value_text(result, cell.half_width)}"
    else:
        middle = value_text(result, median(values))
        if min(values) != max(values):
            inner.insert(0, f"{value_text(result, min(values))}–{value_text(result, max(values))}")
    inner += remarks
    return f"{middle} ({'; '.join(inner)})" if inner else middle


def value_text(result: TableResult, value: float) -> str:
    """Returns one of our numbers in the unit of the paper: a percentage or a share."""
    return percentage(value) if result.in_percent else share(value)


def percentage(value: float) -> str:
    """One digit after the point, and never 100 for what is less."""
    text = f"{100 * value:.1f}".rstrip("0").rstrip(".")
    return "99.95" if text == "100" and value < 1 else text


def seeds_text(line: LineResult) -> str:
    """Returns how many seeds have been run, and of how many if some have not."""
    run = len(line.seeds)
    asked = run + len(line.missing) + (len(line.failed) if line.kind == "trained" else 0)
    return str(run) if run == asked else f"{run} of {asked}"


def share(value: float) -> str:
    """Three digits, and never 1 for what is not."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0.9995" if text == "1" and value < 1 else text or "0"


def theory_text(line: LineResult) -> str:
    """Returns the verdict in short."""
    theory = line.theory
    if theory is None:
        return "–"
    return theory.status if theory.status == theory.robust else f"{theory.status} (robust: {theory.robust})"


def claim_text(claim: Mapping[str, object]) -> str:
    """Returns a claim of a certificate in one line."""
    text = str(claim["scope"]).replace("a dtype", str(claim["dtype"] or "a dtype"))
    if claim["length"] != "all":
        text = f"correct up to length {claim['length']:,} in {claim['dtype']}"
    if claim["task"] != PREDICT:
        text = f"{text} ({claim['task']})"
    return text if claim["eps"] is None else f"{text}, eps = {float_of(claim['eps']):.3g}"


def proof_text(claims: Sequence[Mapping[str, object]]) -> str:
    """Returns the strongest claim, that about float32 and that about noise, where there are any."""
    # The context window and the lack of robustness are no proofs of correctness.
    first, *others = [claim for claim in claims if claim["task"] not in (WINDOW, FRAGILE)]
    chosen = [first, *(c for c in others if c["dtype"] == "float32" or c["eps"] is not None)]
    return "; ".join(dict.fromkeys(map(claim_text, chosen)))


def float_of(value: object) -> float:
    """Returns a number that may be written as a fraction."""
    if isinstance(value, str):
        above, _, below = value.partition("/")
        return float(above) / float(below or 1)
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def table_markdown(result: TableResult) -> str:
    """Returns one table as Markdown, with protocol, command, environment and what was checked."""
    parts = [
        f"## {result.where}: {result.title}",
        "",
        f"{result.citation}. Numbers are {'ticks' if result.unit == 'tick' else result.unit}"
        f"{' in %' if result.in_percent else ''}; a cell counts as solved from "
        f"{value_text(result, result.threshold)}.",
        "",
        f"- Published protocol: {result.protocol}.",
        f"- Corrected protocol: {result.corrected}.",
        f"- CPU scale: {result.scale}.",
        f"- Command: `{result.command}`",
        f"- {_effort(result)}",
        "",
        markdown_rows(HEADINGS, cell_rows(result)),
        "",
        *_notes(result),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _effort(result: TableResult) -> str:
    environment = result.environment
    runs = sum(len(line.seeds) for line in result.lines)
    return (
        f"{runs} runs, {result.cpu_seconds:,.0f} CPU seconds on one core ({environment['processor']}), "
        f"torch {environment['torch']}. Put together at commit {str(environment['commit'])[:10]}"
        f"{_sources(result.commits)}.{left_text(result)}"
    )


def _sources(commits: Sequence[str]) -> str:
    if not commits:
        return ""
    others = f" and {len(commits) - 1} others" if len(commits) > 1 else ""
    return f", most runs at {commits[0][:10]}{others}"


def left_text(result: TableResult) -> str:
    """Returns how many lines of the paper have no run, and which of them could have one here."""
    if not result.unmeasured:
        return ""
    waiting = len(result.waiting)
    text = f" {result.unmeasured} lines of the paper have no run at this scale"
    return f"{text}, {waiting} of which can be run here." if waiting else f"{text}."


def _notes(result: TableResult) -> list[str]:
    found = [f"- {remark}" for remark in result.remarks]
    for line in result.lines:
        name = escaped(f"{line.task} · {line.model}")
        found += [f"- {name}: proved {proof_text(line.claims)}."] if line.claims else []
        found += [f"- {name}: {message}." for message in line.failed]
        if line.missing:
            found.append(f"- {name}: {seeds_text(line)} seeds have been run.")
    found += [f"- Yet to be run: {escaped(name)}." for name in result.waiting]
    return [*found, ""] if found else []


def markdown_rows(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a Markdown table."""
    lines = [_markdown_row(headings), _markdown_row(["---"] * len(headings))]
    return "\n".join([*lines, *map(_markdown_row, rows)])


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escaped(cell).replace("|", "\\|") for cell in cells) + " |"


def escaped(text: str) -> str:
    """Returns a text for Markdown: a star or an underscore of a language is no emphasis."""
    return text.replace("*", "\\*").replace("_", "\\_")
