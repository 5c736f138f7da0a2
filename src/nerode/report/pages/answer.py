"""The page of an answer to "what does this model compute?", from its JSON alone."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from nerode.languages import Alphabet, Dfa, with_powers
from nerode.report.automaton.svg import AutomatonFigure, automaton_figure
from nerode.report.pages.render import render
from nerode.report.reliance import RELIANCE_HEADER, settled_rows
from nerode.report.terminal.answers import automaton_facts, headline, reading_lines, settled_lines, threshold

_MOST_DRAWN = 40
"""States of an automaton that is drawn; a larger one is counted."""


def answer_page(found: Mapping[str, Any], *, command: str = "") -> str:
    """Returns one HTML file about what a model computes; it loads nothing.

    Args:
        found: the JSON of an answer.
        command: the command line that made it.
    """
    settlement = found["settlement"]
    word = settlement["word"]
    learned = found["learned"]
    return render(
        "answer.html.j2",
        styles=("analysis.css",),
        title=f"What {found['model']} computes",
        headline=headline(found),
        facts=automaton_facts(found),
        reading=reading_lines(found),
        settled=settled_lines(found),
        status=settlement["status"],
        claims=settlement["claims"],
        relies_on=RELIANCE_HEADER,
        relies=settled_rows(settlement),
        known=settlement["known"],
        remarks=() if learned is None else learned["remarks"],
        automaton=_figure(found),
        tested=None if learned is None else learned["tested"],
        word="" if word is None else with_powers(word),
        letters=0 if word is None else len(word),
        places=found["places"],
        margins=_margin_widths(found),
        scale="probability" if "probability" in found["reading"] else "score",
        asked=found["language"] is not None,
        formula="" if learned is None else learned["ltl"] or "",
        command=command,
    )


def _margin_widths(found: Mapping[str, Any]) -> list[float]:
    """Distances of the least sure answers from the threshold, in per cent; none where the largest counts."""
    reading, numbers = found["reading"], [place["least"][1] for place in found["places"]]
    if reading.startswith("the largest"):
        return []
    limit = threshold(reading)
    if "probability" in reading:
        gaps = [abs(math.log(max(number, sys.float_info.min) / limit)) for number in numbers]
    else:
        gaps = [abs(number - limit) for number in numbers]
    most = max(gaps, default=0.0) or 1.0
    return [round(100 * gap / most, 1) for gap in gaps]


def _figure(found: Mapping[str, Any]) -> AutomatonFigure | None:
    """The drawing of the automaton; None if there is none or it is large."""
    learned = found["learned"]
    if learned is None or learned["states"] > _MOST_DRAWN:
        return None
    table = learned["table"]
    dfa = Dfa(
        alphabet=Alphabet(tuple(table["alphabet"])),
        transitions=np.array(table["transitions"], dtype=np.int32),
        start=table["start"],
        accepting=np.array(table["accepting"], dtype=np.bool_),
    )
    return automaton_figure(dfa, name=f"what {found['model']} computes")
