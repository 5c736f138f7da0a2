"""The table of what may be relied on, made from claims for `verify`, model cards and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from nerode.proofs import (
    FORMAL,
    FRAGILE,
    RECOGNISE,
    STATE_BOXES,
    TESTED,
    TRACK,
    UNDER_NOISE,
    VALID_PREFIXES,
    WINDOW,
    Claim,
)
from nerode.records import WEIGHTS
from nerode.report.terminal.findings import only_in_batches

RELIANCE_HEADER = ("of", "what holds", "words", "arithmetic", "trusted code")

_KERNEL = "the kernel"
_COQ = "Coq and formal/Network.v"
_BELIEVED = {
    "bit-closure": "proofs/replay/bits.py, torch here",
    "fading-boxes": "proofs/replay/fading.py, torch here",
    "attention-rounding": "proofs/replay/attention/",
    "exact-sums": f"{_KERNEL}, proofs/replay/sums.py and forms.py",
}
"""The code that checks claims about weights, by the method of the proof."""

_SETTLED_BY = {
    "closure": _BELIEVED["bit-closure"],
    "fading": _BELIEVED["fading-boxes"],
    "heads": _BELIEVED["attention-rounding"],
    "boxes": f"{_KERNEL}, proofs/replay/lift.py",
    "sums": _BELIEVED["exact-sums"],
}
"""The same by the names that settlements have for methods."""

_ANSWERS = {
    VALID_PREFIXES: (
        "every answer along words of the language",
        "every answer after a letter along words of the language",
    ),
    RECOGNISE: ("membership of every word", "membership of every word but the empty one"),
    TRACK: ("the class of every word", "the class of every word but the empty one"),
}
"""What holds after every prefix, and what where the empty one is not covered."""


def reliance_rows(
    claims: Iterable[Claim], *, about: str, levels: Sequence[str] = (), lifted: bool = False
) -> list[tuple[str, ...]]:
    """Returns the rows of the table, one per claim.

    Args:
        claims: that were checked.
        about: what they speak of.
        levels: of each, where they were asked for: formal, or checked.
        lifted: whether claims of the kernel were carried over from the exact network to the weights.
    """
    rows: list[tuple[str, ...]] = []
    for number, claim in enumerate(claims):
        level = levels[number] if number < len(levels) else ""
        believed = _COQ if level == FORMAL else _BELIEVED.get(claim.method, _KERNEL)
        if level == FORMAL and claim.dtype is not None:
            believed = f"{_COQ}, Rounding.v"
        if lifted and claim.method == STATE_BOXES:
            believed = f"{_KERNEL}, proofs/replay/lift.py"
        rows.append((about, _what(claim), _lengths(claim), _arithmetic(claim), believed))
    return rows


def settled_rows(settlement: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Returns the row of a proof that ended a search, from its JSON; none for another end."""
    if settlement["status"] != "proved":
        return []
    order = "exact" if settlement["dtype"] is None else f"{settlement['dtype']}, step by step"
    noise = settlement["noise"]
    arithmetic = order if noise is None else f"{order}, under noise below {float(Fraction(noise)):.3g}"
    believed = _SETTLED_BY.get(settlement["method"], _KERNEL)
    after = " after a letter" * any("The empty prefix" in said for said in settlement.get("claims", ()))
    holds = f"every answer{after} on {settlement['words']}"
    return [(WEIGHTS, holds, "of any length", arithmetic, believed)]


def _what(claim: Claim) -> str:
    if claim.task in (WINDOW, FRAGILE) or claim.method.startswith("n-gram"):
        # Their scope alone would say too much: which prefixes and which window is in the sentence.
        return claim.covers.removesuffix(".")
    every = ("every answer after every prefix", "every answer after a letter")
    found = _ANSWERS.get(claim.task, every)["The empty prefix" in claim.covers]
    parts = [found, *only_in_batches(claim)] + ["tested, no proof"] * (claim.scope == TESTED)
    return ", ".join(parts)


def _lengths(claim: Claim) -> str:
    return "of any length" if claim.length == "all" else f"up to {claim.length:,} letters"


def _arithmetic(claim: Claim) -> str:
    order = "in any order of evaluation" if "any evaluation order" in claim.scope else "step by step"
    found = "exact" if claim.dtype is None else f"{claim.dtype}, {order}"
    if claim.scope == UNDER_NOISE and claim.eps is not None:
        found += f", under noise below {float(claim.eps):.3g}"
    return found


def reliance_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Returns the table for a terminal."""
    table = [RELIANCE_HEADER, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(RELIANCE_HEADER))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def reliance_objects(rows: Sequence[tuple[str, ...]]) -> list[dict[str, str]]:
    """Returns the table for programs."""
    keys = ("of", "holds", "words", "arithmetic", "believed")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def reliance_markdown(rows: Sequence[tuple[str, ...]]) -> str:
    """Returns the table as Markdown."""
    lines = [RELIANCE_HEADER, ("---",) * len(RELIANCE_HEADER), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)
