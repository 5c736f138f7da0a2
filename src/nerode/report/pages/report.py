"""The page of a report, and the page of an analysis, each from records alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nerode.core import InputError, plural
from nerode.languages import Alphabet, Dfa
from nerode.records import ANALYSIS_FORMAT
from nerode.report.automaton.svg import AutomatonFigure, automaton_figure
from nerode.report.figures import analysis as draw
from nerode.report.figures.length_figure import seeds_text
from nerode.report.figures.plot import Figure
from nerode.report.pages.render import render
from nerode.report.tables.run_report import RunReport, TaskReport
from nerode.report.tables.verdicts import sense_title
from nerode.report.terminal.analysis import conclude_analysis, summary
from nerode.study import RunFile, conclude_model

_MOST_ANALYSES = 8
"""Analyses that are shown whole; a page of hundreds would not open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TheoryFinding:
    """Theory and training in one sentence.

    Attributes:
        status: of theory; the colour of the sentence.
        word: for the pill.
        model: the model.
        text: the sentence.
        source: the work behind the verdict.
    """

    status: str
    word: str
    model: str
    text: str
    source: str


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
        sections=[_section(item) for item in report.tasks],
        sense=sense_title(report.sense),
        cpu_seconds=sum(run.record.cpu_seconds for run in report.runs),
        analyses=[_analysis(run) for run in analysed[:_MOST_ANALYSES]],
        analyses_left=max(0, len(analysed) - _MOST_ANALYSES),
        bibliography=report.bibliography(),
        command=command,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    item: TaskReport
    findings: tuple[TheoryFinding, ...]
    conclusion: list[str]


def _section(item: TaskReport) -> _Section:
    return _Section(
        item=item,
        findings=tuple(findings(item)),
        conclusion=_conclusion(item),
    )


def _conclusion(item: TaskReport) -> list[str]:
    """One sentence per model: what theory says, and how far its seeds came."""
    return [
        f"{model.label}: {conclude_model(item.task, model, theory.status if theory else None)}"
        for model, theory in zip(item.task.models, item.theories, strict=True)
    ]


def findings(item: TaskReport) -> Iterator[TheoryFinding]:
    """Yields for each model that theory speaks of whether training agrees, the disagreements first."""
    task = item.task
    if not task.lengths:
        return
    longest = task.lengths[-1]
    rows = []
    for model, theory in zip(task.models, item.theories, strict=True):
        found = model.summary(longest, task.measure)
        if theory is None or found is None:
            continue
        passing = model.mastering(longest, task.measure, task.threshold)
        mastered = found.median >= task.threshold and 2 * passing >= len(model.runs)
        first = model.summary(task.lengths[0], task.measure)
        learned = first is not None and first.median >= task.threshold
        said = _SENTENCES[theory.status, mastered] if learned or mastered else _NOT_LEARNED[theory.status]
        words = [len(run.settled.word) for run in model.runs if run.settled and run.settled.word]
        if not mastered and words and found.median >= task.threshold:
            said = _REFUTED.format(runs=len(words), all=len(model.runs), letters=min(words))
        elif not mastered and (seeds := model.reaching(longest, task.measure, task.threshold)):
            said = _SOME_SEEDS[theory.status].format(seeds=seeds, all=len(model.runs), length=longest)
        elif not learned and not mastered and first is not None and first.high >= task.threshold:
            shortest = task.lengths[0]
            seeds = model.reaching(shortest, task.measure, task.threshold)
            said = _SOME_LEARNED.format(seeds=seeds, all=len(model.runs), length=shortest)
        text = f"{seeds_text(found.median, found.low, found.high, found.seeds)} at length {longest:,}: {said}"
        agrees = theory.status == "open" or (theory.status == "yes") == mastered
        word = {"yes": "possible", "no": "impossible", "open": "open"}[theory.status]
        reason = f"{text} Theory: {theory.reason}"
        one = TheoryFinding(
            status=theory.status, word=word, model=model.label, text=reason, source=theory.reference
        )
        rows.append((agrees, one))
    yield from (one for _, one in sorted(rows, key=lambda row: row[0]))


_SENTENCES = {
    ("yes", True): "training found what theory allows.",
    ("yes", False): "some weights do it at every length, but training did not find them.",
    ("no", True): "no weights do it at every length, though these do it as far as they were tested.",
    ("no", False): "as theory says, it does not last.",
    ("open", True): "no known theorem decides it; training found weights that last as far as tested.",
    ("open", False): "no known theorem decides it.",
}


_REFUTED = "yet {runs} of {all} runs answer a shown word incorrectly, the shortest of {letters:,} letters."

_SOME_SEEDS = {
    "yes": "some weights do it at every length; {seeds} of {all} seeds do it at length {length:,}.",
    "no": "no weights do it at every length, though {seeds} of {all} seeds do it at length {length:,}.",
    "open": "no known theorem decides it; {seeds} of {all} seeds do it at length {length:,}.",
}
_SOME_LEARNED = "{seeds} of {all} seeds learned the shortest length tested ({length:,}), none the longest."

_NOT_LEARNED = {
    "yes": "some weights do it at every length; training found none, even for the shortest length tested.",
    "no": "no weights do it at every length; training found none for the shortest length tested.",
    "open": "no known theorem decides it; training found none for the shortest length tested.",
}


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
    True: "Every constant stream of ignored bits ends in a state that comes back to itself bit for bit, and "
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
        unpredicted="" if forgetting is None else forgetting["unpredicted"],
        spectra=list(zip(draw.spectrum_plots(found), draw.product_figures(found), strict=True)),
        context=draw.context_figure(found),
        clusters=draw.cluster_figures(found),
        traces=draw.trace_figures(found),
        word=" ".join(found["trace"]["word"]) if found["trace"] else "",
        attention=draw.attention_figures(found),
        margin=draw.margin_figure(found),
        forgetting=draw.forgetting_figure(found),
        command=command,
    )
