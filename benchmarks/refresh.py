"""Pages of kept results, written anew: tables, claims, findings and the numbers of the README.

    python -m benchmarks refresh

Runs nothing. A kept line whose runs are not those of the registry (another spec, other test lengths) is left
out of its table, which then names it as yet to be run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import findings, settled
from nerode.core import write_atomically
from nerode.records import LineResult, TableResult, read_tables, write_table
from nerode.report import claims_page, table_markdown
from nerode.reproduce import PAPERS, PaperTable, count_coverage, find_tables, judge_again
from nerode.reproduce.measuring import specs_of
from nerode.training import run_key

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
README = ROOT / "README.md"


def main(arguments: Sequence[str] = ()) -> None:
    """Writes all of them."""
    for result in read_tables(EXPERIMENTS / "reproduce"):
        ((_, table),) = find_tables(f"{result.paper}:{result.table}")
        path = write_table(EXPERIMENTS / "reproduce", renewed(result, table))
        write_atomically(path.with_suffix(".md"), table_markdown(renewed(result, table)))
    results = read_tables(EXPERIMENTS / "reproduce")
    tables = [(paper, table) for paper in PAPERS.values() for table in paper.tables]
    write_atomically(EXPERIMENTS / "README.md", claims_page(results, count_coverage(results, tables)))
    findings.main()
    write_atomically(README, filled(README.read_text(encoding="utf-8")))


def renewed(result: TableResult, table: PaperTable) -> TableResult:
    """Returns a kept table as the registry has it now, without the lines that are yet to be run."""
    rows = {(line.row, line.model): line for line in table.lines}

    def is_current(line: LineResult) -> bool:
        own = rows.get((line.row, line.model))
        if line.kind != "trained":
            return True
        return own is not None and list(line.keys) == [run_key(s) for s in specs_of(own, line.seeds)]

    named = {
        name: getattr(table, name)
        for name in ("title", "where", "unit", "threshold", "protocol", "corrected", "scale")
    }
    return judge_again(replace(result, lines=tuple(filter(is_current, result.lines)), **named), table)


NUMBER = r"[\d,]+"
SENTENCES = {
    "passing": r"Of (#) Mambas with 100 % in every bin of a published test, (#) are wrong on a word",
    "settled": r"Of all (#) training runs kept here, (#) are open",
    "papers": r"Of (#) published numbers that we measured again, (#) agree and (#) differ",
}
"""Sentences of the README whose numbers follow from kept results, by what they are about."""


def numbers(experiments: Path = EXPERIMENTS) -> dict[str, tuple[str, ...]]:
    """Returns the numbers of each of these sentences."""
    passed = [run for run in findings.mambas() if min(run.shares) == 1]
    ends: Counter[str] = sum(settled.kept_ends(experiments).values(), Counter())
    results = read_tables(experiments / "reproduce")
    cells = [cell for result in results for line in result.lines for cell in line.cells]
    agreements = Counter(cell.agreement for cell in cells if cell.agreement != "–")
    found = {
        "passing": (len(passed), sum(bool(run.failing) for run in passed)),
        "settled": (ends.total(), ends["open"]),
        "papers": (agreements.total(), agreements["agrees"], agreements["differs"]),
    }
    return {name: tuple(f"{number:,}" for number in own) for name, own in found.items()}


def filled(text: str) -> str:
    """Returns the README with the numbers of the kept results."""
    for name, values in numbers().items():
        found = re.search(SENTENCES[name].replace("#", NUMBER), text, re.DOTALL)
        if found is None:
            raise ValueError(f"the README has no sentence about {name!r} of the form {SENTENCES[name]!r}")
        for group in range(len(values), 0, -1):
            text = text[: found.start(group)] + values[group - 1] + text[found.end(group) :]
    return text
