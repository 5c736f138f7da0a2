"""Results of training beside theory, one line per trained model with its curve."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nerode.records import MARKS
from nerode.report.figures.small_chart import sparkline
from nerode.study import TrainingOutcome, find_disagreements
from nerode.verdict import ARCHITECTURES

FINDINGS = {
    "beyond": "correct so far, though impossible",
    "forgets": "fails on longer words",
    "unlearned": "not learned",
    "proved": "proved at every length",
    "holds": "correct as far as tested",
    "fails": "fails, as theory says",
    "open": "fails",
}
"""What a line says; the first three are the kinds of `Disagreement`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeLine:
    """A trained model as a page shows it.

    Attributes:
        language: its title.
        architecture: its title.
        verdict: "yes", "no" or "open".
        trained: what was found.
        kind: a key of `FINDINGS`.
        line: accuracy by length as a small drawing.
    """

    language: str
    architecture: str
    verdict: str
    trained: TrainingOutcome
    kind: str
    line: Markup

    @property
    def finding(self) -> str:
        """The finding in a few words."""
        return FINDINGS[self.kind]

    @property
    def mark(self) -> str:
        """Proved, refuted or unsettled, as a sign."""
        return MARKS[self.trained.end]


def outcome_line(trained: TrainingOutcome, *, verdict: str, language: str = "") -> OutcomeLine:
    """Returns the line of a trained model.

    Args:
        trained: what was found.
        verdict: what theory says: "yes", "no" or "open".
        language: how the language is called.
    """
    odd = find_disagreements([trained], {(trained.language, trained.architecture): verdict})
    if odd:
        kind = odd[0].kind
    elif trained.end == "refuted":
        kind = "fails" if verdict == "no" else "open"
    else:
        kind = "proved" if trained.end == "proved" else "holds"
    return OutcomeLine(
        language=language or trained.language,
        architecture=ARCHITECTURES[trained.architecture].title,
        verdict=verdict,
        trained=trained,
        kind=kind,
        line=sparkline([(point.low, point.median, point.high) for point in trained.points]),
    )
