"""Scores of a run by short names: `final@256`, `blanks=40`, `greedy`, `two-isi 80`, `opposite`.

`measure@length` is an accuracy at a length; `axis=value` the share of right positions at a value of an axis;
`greedy` and `sampled` are shares of completed sentences; `two-isi GAP` and `double-isi` are 1 for passed; a
kind of stream stands for the number of ignored bits that both written bits survive.
"""

from __future__ import annotations

from nerode.records import Measure, RunRecord

_MEASURES: dict[str, Measure] = {"final": "final", "sequence": "sequence", "token": "token"}


def score_of(record: RunRecord, name: str) -> float:
    """Returns the score of this name, or raises KeyError."""
    if "@" in name:
        measure, _, length = name.partition("@")
        found = record.at(int(length))
        if found is None:
            raise KeyError(f"{record.title} was not tested at length {length}")
        return found.accuracy(_MEASURES[measure])
    if "=" in name:
        axis, _, value = name.partition("=")
        return next(a.score.token for a in record.axes if (a.axis, str(a.value)) == (axis, value))
    examination = record.examination
    if name in ("greedy", "sampled"):
        return float(examination[name])
    if "-isi" in name:
        kind, _, gap = name.partition(" ")
        return float(
            next(
                test["passed"]
                for test in examination["phase_alignment"]
                if test["name"] == kind and (not gap or str(test["gap"]) == gap)
            )
        )
    return float(min(row["survived"] for row in examination["streams"] if row["stream"] == name))
