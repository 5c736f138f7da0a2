"""The table of what may be relied on, made from claims for `verify`, model cards and pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nerode.proofs import FORMAL, RECOGNISE, STATE_BOXES, TESTED, TRACK, UNDER_NOISE, VALID_PREFIXES, Claim

RELIANCE_HEADER = ("what holds", "words", "arithmetic", "to be believed")

_KERNEL = "the kernel (nerode/kernel, Python)"
_COQ = "Coq and formal/Network.v"
_BELIEVED = {
    "bit-closure": "nerode/proofs/replay/bits.py; torch on this machine",
    "fading-boxes": "nerode/proofs/replay/fading.py; torch on this machine",
    "attention-rounding": "nerode/proofs/replay/attention",
}
"""The code that checks claims about weights, by the method of the proof."""

_ANSWERS = {
    VALID_PREFIXES: "every answer along words of the language",
    RECOGNISE: "membership of every word",
    TRACK: "the class of every word",
}


def reliance_rows(
    claims: Iterable[Claim], *, levels: Sequence[str] = (), lifted: bool = False
) -> list[tuple[str, ...]]:
    """Returns the rows of the table, one per claim.

    Args:
        claims: that were checked.
        levels: of each, where they were asked for: formal, or checked.
        lifted: whether claims of the kernel were carried over from the exact network to the weights.
    """
    rows: list[tuple[str, ...]] = []
    for number, claim in enumerate(claims):
        level = levels[number] if number < len(levels) else ""
        believed = _COQ if level == FORMAL else _BELIEVED.get(claim.method, _KERNEL)
        if lifted and claim.method == STATE_BOXES:
            believed = f"{_KERNEL}; nerode/proofs/replay/lift.py"
        rows.append((_what(claim), _lengths(claim), _arithmetic(claim), believed))
    return rows


def _what(claim: Claim) -> str:
    found = _ANSWERS.get(claim.task, "every answer after every prefix")
    if claim.task not in (*_ANSWERS, "predict"):
        found = claim.covers.removesuffix(".")
    return f"{found} (tested, no proof)" if claim.scope == TESTED else found


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
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def reliance_markdown(rows: Sequence[tuple[str, ...]]) -> str:
    """Returns the table as Markdown."""
    lines = [RELIANCE_HEADER, ("---",) * len(RELIANCE_HEADER), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)
