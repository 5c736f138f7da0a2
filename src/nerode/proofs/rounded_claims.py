"""The claim that a network does a language in rounded arithmetic, whatever a bounded noise does on top."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from nerode.proofs.certificate import Claim, noise_claim

TANH_ERROR = Fraction(1, 1 << 20)
"""How far the claim allows a tanh in float32 to be off; good ones are sixteen times as near."""

DTYPE = "float32"

_EXACT = "computed in exact arithmetic"
_ROUNDED = (
    "computed in float32 one letter after the other, where every operation rounds to nearest, sums are taken "
    "in any order with or without fused operations, tanh is off by at most 2**-20 and answers are taken from "
    "the computed outputs (above 0, or the largest)"
)


def rounded_claim(*, task: str, method: str, eps: Fraction) -> Claim:
    """Returns the claim that a network does a language in float32, even under noise of eps on top."""
    claim = noise_claim(task=task, method=method, eps=eps)
    return replace(claim, dtype=DTYPE, covers=claim.covers.replace(_EXACT, _ROUNDED))
