"""The table of papers."""

from __future__ import annotations

from nerode.core import Registry, UnknownName
from nerode.reproduce.deletang import DELETANG
from nerode.reproduce.grazzi import GRAZZI
from nerode.reproduce.memory_tracking import MEMORY
from nerode.reproduce.merrill import MERRILL
from nerode.reproduce.metric_automata import METRIC_AUTOMATA
from nerode.reproduce.ngram_ssm import NGRAM_SSM
from nerode.reproduce.records import Paper, PaperTable
from nerode.reproduce.sarrof import SARROF

PAPERS: Registry[Paper] = Registry("paper", hint="`nerode papers` lists them.")
for _paper in (NGRAM_SSM, SARROF, METRIC_AUTOMATA, MEMORY, GRAZZI, MERRILL, DELETANG):
    PAPERS.add(_paper.name, _paper)


def find_tables(asked: str) -> list[tuple[Paper, PaperTable]]:
    """Returns the tables that PAPER or PAPER:TABLE stands for.

    Raises:
        UnknownName: if there is no such paper or table.
    """
    name, _, table = asked.partition(":")
    paper = PAPERS[name]
    found = [(paper, row) for row in paper.tables if not table or row.name == table]
    if not found:
        raise UnknownName(f"table of {name}", table, [row.name for row in paper.tables])
    return found
