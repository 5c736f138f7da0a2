"""The page of an analysis: what a network does inside, in figures and tables, from the JSON alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nerode.core import InputError
from nerode.report.figures import analysis as draw
from nerode.report.pages.render import render
from nerode.report.terminal.analysis import summary

FORMAT = "nerode-analysis-1"

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
    if found.get("format") != FORMAT:
        raise InputError(f"this has the format {found.get('format')!r}; an analysis has {FORMAT!r}")
    forgetting = found["forgetting"]
    return render(
        "analysis.html.j2",
        figures=True,
        styles=("analysis.css",),
        title=found["name"],
        name=found["name"],
        about=found["about"],
        tables=summary(found),
        left_out=found["left_out"],
        latch="" if forgetting is None else FINDINGS[forgetting["latch"]],
        unpredicted="" if forgetting is None else forgetting["unpredicted"],
        spectra=list(zip(draw.spectrum_figures(found), draw.product_figures(found), strict=True)),
        context=draw.context_figure(found),
        clusters=draw.cluster_figures(found),
        traces=draw.trace_figures(found),
        word=" ".join(found["trace"]["word"]) if found["trace"] else "",
        attention=draw.attention_figures(found),
        margin=draw.margin_figure(found),
        forgetting=draw.forgetting_figure(found),
        command=command,
    )
