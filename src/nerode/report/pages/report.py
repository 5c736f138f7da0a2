"""The page of a report, and the page of an analysis, each from records alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nerode.core import InputError, plural
from nerode.languages import Alphabet, Dfa
from nerode.records import ANALYSIS_FORMAT, VerdictSummary
from nerode.report.automaton.svg import AutomatonFigure, automaton_figure
from nerode.report.figures import analysis as draw
from nerode.report.figures.plot import Figure
from nerode.report.pages.render import render
from nerode.report.tables.run_report import RunReport, TaskReport
from nerode.report.tables.verdicts import sense_title
from nerode.report.terminal.analysis import conclude_analysis, summary
from nerode.study import RunFile, conclude_model

_MOST_ANALYSES = 8
"""Analyses that are shown whole; a page of hundreds would not open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisSection:
    """The analysis of one run.

    Attributes:
        name: of the run.
        tables: by title, each with its headings first.
        groups: figures by title.
        damage: why nothing can be shown; empty if it can.
    """

    name: str
    tables: dict[str, list[tuple[str, ...]]]
    groups: tuple[tuple[str, tuple[Figure, ...]], ...]
    damage: str = ""


def report_page(report: RunReport, *, command: str = "") -> str:
    """Returns one HTML file; it needs no network and no script.

    Args:
        report: the report.
        command: the command line that made it.
    """
    analysed = [run for run in report.runs if run.analysis is not None]
    return render(
        "report.html.j2",
        styles=("report.css",),
        title=f"Report of {plural(len(report.runs), 'run')} · nerode",
        report=report,
        sections=[(item, _conclusions(item)) for item in report.tasks],
        sense=sense_title(report.sense),
        cpu_seconds=sum(run.record.cpu_seconds for run in report.runs),
        analyses=[_analysis(run) for run in analysed[:_MOST_ANALYSES]],
        analyses_left=max(0, len(analysed) - _MOST_ANALYSES),
        bibliography=report.bibliography(),
        command=command,
    )


def _conclusions(item: TaskReport) -> list[tuple[str, VerdictSummary | None]]:
    """One sentence per model, what theory says and how far its seeds came, with the verdict behind it."""
    return [
        (f"{model.label}: {conclude_model(item.task, model, theory.status if theory else None)}", theory)
        for model, theory in zip(item.task.models, item.theories, strict=True)
    ]


def _analysis(run: RunFile) -> AnalysisSection:
    """The section of an analysis; its file is the user's, and may have been made by another version."""
    try:
        return _analysis_section(run.analysis or {})
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, InputError) as error:
        why = f"The analysis in {run.folder} cannot be shown: {type(error).__name__} {error}"
        return AnalysisSection(name=run.folder.name, tables={}, groups=(), damage=why)


def _analysis_section(found: Mapping[str, Any]) -> AnalysisSection:
    groups = (
        ("Spectra", tuple(draw.spectrum_plots(found))),
        ("Norms of products", tuple(draw.product_figures(found))),
        ("How far back it looks", _some(draw.context_figure(found))),
        ("Clusters of hidden states", tuple(item for pair in draw.cluster_figures(found) for item in pair)),
        ("Margins", (*_some(draw.margin_figure(found)), *_some(draw.forgetting_figure(found)))),
        ("States and gates along a word", tuple(draw.trace_figures(found))),
        ("Attention", tuple(draw.attention_figures(found))),
    )
    return AnalysisSection(
        name=str(found["name"]),
        tables=summary(found),
        groups=tuple((title, figures) for title, figures in groups if figures),
    )


def _some(figure: Figure | None) -> tuple[Figure, ...]:
    return () if figure is None else (figure,)


def _automaton_figure(found: Mapping[str, Any]) -> AutomatonFigure | None:
    """The drawing of the extracted automaton, None if there is none or it cannot be read."""
    table = (found.get("automaton") or {}).get("table")
    if not table:
        return None
    dfa = Dfa(
        alphabet=Alphabet(tuple(table["alphabet"])),
        transitions=np.array(table["transitions"], dtype=np.int32),
        start=table["start"],
        accepting=np.array(table["accepting"], dtype=np.bool_),
    )
    return automaton_figure(dfa, name=f"the words that {found['name']} accepts")


FINDINGS = {
    True: "Every constant stream of ignored bits ends in a state that returns to itself bit for bit, and "
    "the written bit is read correctly all the way: correct at every length, in these floats.",
    False: "Some constant stream of ignored bits makes the network forget the written bit.",
    None: "Not every constant stream was seen to settle; nothing is claimed for all lengths.",
}


def analysis_page(found: Mapping[str, Any], *, command: str = "") -> str:
    """Returns one HTML file about an analysis; it needs no network.

    Args:
        found: the JSON of an analysis.
        command: the command line that made it.

    Raises:
        InputError: if it is not the JSON of an analysis.
    """
    if found.get("format") != ANALYSIS_FORMAT:
        raise InputError(f"this has the format {found.get('format')!r}; an analysis has {ANALYSIS_FORMAT!r}")
    forgetting = found["forgetting"]
    word = " ".join(found["trace"]["word"]) if found["trace"] else ""
    return render(
        "analysis.html.j2",
        styles=("analysis.css",),
        title=found["name"],
        name=found["name"],
        about=found["about"],
        tables=summary(found),
        conclusion=conclude_analysis(found),
        automaton=_automaton_figure(found),
        left_out=found["left_out"],
        latch="" if forgetting is None else FINDINGS[forgetting["latch"]],
        spectra=list(zip(draw.spectrum_plots(found), draw.product_figures(found), strict=True)),
        context=draw.context_figure(found),
        clusters=draw.cluster_figures(found),
        traces=draw.trace_figures(found),
        word=word,
        refuting=" ".join((found.get("settled") or {}).get("word") or ()) == word != "",
        attention=draw.attention_figures(found),
        margin=draw.margin_figure(found),
        forgetting=draw.forgetting_figure(found),
        command=command,
    )
