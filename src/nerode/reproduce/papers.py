"""The table of papers, and their tables at full scale as sweep files for a cluster."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nerode.core import MARK, InputError, Reference, Registry, UnknownName
from nerode.reproduce.published.deletang import DELETANG
from nerode.reproduce.published.grazzi import GRAZZI
from nerode.reproduce.published.memory_copying import COPYING_FIGURES, FIGURE_1, TABLE_3
from nerode.reproduce.published.memory_counting import COUNTING_FIGURES, FIGURE_2, FIGURE_3, TABLE_4, TABLE_5
from nerode.reproduce.published.memory_tracking import FIGURE_4, TABLE_1, TABLE_2
from nerode.reproduce.published.merrill import MERRILL
from nerode.reproduce.published.metric_automata import METRIC_AUTOMATA
from nerode.reproduce.published.ngram_ssm import NGRAM_SSM
from nerode.reproduce.published.sarrof import SARROF
from nerode.reproduce.records import Paper, PaperFigure, PaperTable, TableLine

MEMORY = Paper(
    name="memory",
    reference=Reference("MemoryGeneralization"),
    title="state tracking, copying, denoising and counting: what is learned, and what goes on beyond "
    "training",
    tables=(TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, FIGURE_1, FIGURE_2, FIGURE_3),
    figures=(*COUNTING_FIGURES, FIGURE_4, *COPYING_FIGURES),
)
"""On memory and generalization in the era of linear recurrence."""

PAPERS: Registry[Paper] = Registry("paper", hint="`nerode list papers` lists them.")
for _paper in (NGRAM_SSM, SARROF, METRIC_AUTOMATA, MEMORY, GRAZZI, MERRILL, DELETANG):
    PAPERS.add(_paper.name, _paper)


def find_tables(asked: str) -> list[tuple[Paper, PaperTable]]:
    """Returns the tables that PAPER or PAPER:TABLE stands for; of a figure alone, the lines that it shows.

    Raises:
        UnknownName: if there is no such paper or table.
    """
    name, colon, table = asked.partition(":")
    paper = PAPERS[name]
    found = [(paper, row) for row in paper.tables if not colon or row.name == table]
    found = found or [(paper, row.part) for row in paper.figures if row.name == table]
    if not found:
        names = [*(row.name for row in paper.tables), *(row.name for row in paper.figures)]
        raise UnknownName(f"table of {name}", table, dict.fromkeys(names))
    return found


def find_figure(asked: str) -> tuple[Paper, PaperFigure] | None:
    """Returns the figure that PAPER:FIGURE names; None for a table without one, and for a whole paper."""
    name, _, figure = asked.partition(":")
    paper = PAPERS[name]
    return next(((paper, row) for row in paper.figures if row.name == figure), None)


_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def sweep_text(paper: Paper, table: PaperTable, *, seeds: int | range | None = None) -> str:
    """Returns the sweep file of a table as published: every line, every value of its search, every seed.

    Args:
        paper: the paper.
        table: one of its tables.
        seeds: how many or which, instead of what the protocol says.

    Raises:
        InputError: if no line of the table has a spec of the paper.
    """
    rows = list(dict.fromkeys(row for line in table.lines for row in _rows(line)))
    if not rows:
        raise InputError(f"{paper.name}:{table.name} is not trained; there is nothing to run at full scale")
    chosen = seeds if isinstance(seeds, range) else range(seeds or table.seeds)
    head = [
        f"# {MARK}",
        f"# {paper.reference}, {table.where}: {table.title}",
        f"# As published: {table.protocol}.",
        f"# Otherwise here: {table.corrected}.",
        f"# nerode train {paper.name}-{table.name}.toml --executor slurm",
        "",
        "[grid]",
        f"run.seed = {list(chosen)}",
    ]
    return "\n".join(head) + "\n" + "".join(f"\n[[list]]\n{row}" for row in rows)


def _rows(line: TableLine) -> Iterator[str]:
    if line.paper is None:
        return
    plain = dict(_leaves(line.paper))
    for values in itertools.product(*line.grid.values()):
        chosen = {**plain, **dict(zip(line.grid, values, strict=True))}
        yield "".join(f"{name} = {toml_value(value)}\n" for name, value in chosen.items())


def _leaves(tables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The settings by dotted name, two deep; deeper tables are values."""
    for name, table in tables.items():
        for key, value in table.items():
            yield f"{name}.{key}", value


def toml_value(value: Any) -> str:
    """Returns a plain value as TOML writes it.

    Raises:
        InputError: for a value that TOML does not have.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {toml_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    raise InputError(
        f"{value!r} cannot be written into a sweep file; give a number, a text, a list or a table"
    )


def _key(name: str) -> str:
    return name if _BARE.match(name) else _text(name)


def _text(value: str) -> str:
    # What JSON escapes is escaped alike in TOML, which asks for one character more.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
