"""Claims of certificates in one line each."""

from __future__ import annotations

from nerode.certificates.certificate import (
    FRAGILE,
    RECOGNISE,
    TESTED,
    UNDER_NOISE,
    VALID_PREFIXES,
    WINDOW,
    Claim,
)


def claim_line(claim: Claim) -> str:
    """Returns a claim as a line with a mark: a proof, a limit, or neither."""
    mark = "·" if claim.scope == TESTED else "✗" if claim.task == FRAGILE else "✓"
    parts = [claim.scope.replace("a dtype", claim.dtype or "a dtype")]
    if claim.length != "all":
        parts = [f"right up to length {claim.length:,} in {claim.dtype}"]
    if claim.scope == TESTED:
        parts = [f"tested to length {claim.length:,} in {claim.dtype}, no proof"]
    if claim.task == WINDOW or claim.task == FRAGILE:
        parts = [claim.covers]
    if claim.scope == UNDER_NOISE and claim.dtype is not None:
        parts.append(f"computed in {claim.dtype}")
    if claim.eps is not None:
        parts.append(f"eps = {float(claim.eps):.3g}")
    if claim.task == VALID_PREFIXES:
        parts.append("on valid prefixes")
    if claim.task == RECOGNISE:
        parts.append("membership only")
    return f"{mark} {', '.join(parts)}  [{claim.method}]"


def polished_lines(*, margin: float, length: int, dtype: str) -> str:
    """Returns what is proved about a polished network, in two lines."""
    return (
        f"✓ with its exact matrices right at every length, the right score above all others by {margin:.3g}\n"
        f"✓ as it is, right up to length {length:,} in {dtype}, one letter after the other"
    )
