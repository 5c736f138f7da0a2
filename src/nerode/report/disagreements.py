"""Where training and theory do not say the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nerode.report.trained import Trained


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One model that does not do what theory says it can, or does what theory says it cannot.

    Attributes:
        trained: what was found.
        verdict: "yes" or "no".
        kind: "beyond" (theory says no, the longest tested length is right), "forgets" (theory says yes, and
            only the lengths of training are right) or "unlearned" (theory says yes, and not even those are).
        reading: what it means, in a sentence.
    """

    trained: Trained
    verdict: str
    kind: str
    reading: str


_READINGS = {
    "beyond": "right at the longest length tested, although no weights are right at all: longer words will "
    "fail",
    "forgets": "weights that are right at every length exist; training found others",
    "unlearned": "weights that are right at every length exist; training did not find them in its steps",
}


def find_disagreements(
    trained: Iterable[Trained], verdicts: Mapping[tuple[str, str], str]
) -> list[Disagreement]:
    """Returns the models that surprise, those beyond theory first.

    Args:
        trained: what training found.
        verdicts: "yes", "no" or "open" by language and architecture.
    """
    found = []
    for item in trained:
        verdict = verdicts.get((item.language, item.architecture), "open")
        kind = ""
        if verdict == "no" and item.generalises:
            kind = "beyond"
        elif verdict == "yes" and not item.generalises:
            kind = "forgets" if item.learned else "unlearned"
        if kind:
            found.append(Disagreement(trained=item, verdict=verdict, kind=kind, reading=_READINGS[kind]))
    order = list(_READINGS)
    return sorted(found, key=lambda d: order.index(d.kind))
