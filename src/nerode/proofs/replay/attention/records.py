"""Records of proofs about softmax decoders: findings about heads, the proof, its claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nerode.kernel import PREDICT, STEP_BY_STEP, UP_TO_LENGTH, Claim

METHOD = "attention-rounding"

UNDERFLOW = {"float64": 746, "float32": 104}
"""exp(-x) is 0 from here on, by the format of the scores."""

DEEPEST_SUM = 1 << 16
"""Depth of a tree of additions up to which sums over positions of heads without a slope are covered."""

ASSUMPTIONS = (
    "exp(0) = 1; exp(x) = 0 for x below minus {underflow}; exp is off by at most 8 units of the last place",
    "max, sums, products and quotients are rounded to nearest, with or without fused operations",
    "scores, their exponentials and sums over positions are in {scores}, divided last, as `step` does it",
)

_STACKS = (
    " Stacks are not listed: for each of {levels} depths the heads that a bracket opened there is written to "
    "were found; in every case what they hold at other depths than the closed and the new top is any bit."
)
"""What a proof by depth says besides; it is a way to cover all stacks and takes nothing more for granted."""

Json = Any


class NotProved(Exception):
    """The lemmas do not apply; the text says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadFinding:
    """The findings about one head.

    Attributes:
        layer, head: its place.
        kind: last, parity, soft, once or mean.
        slope: of its distance penalty.
        gap: how far below a match the score of any other position is; None where nothing is compared.
        horizon: number of letters up to which it does what its lemma says; None for all.
    """

    layer: int
    head: int
    kind: str
    slope: float
    gap: float | None
    horizon: int | None

    def to_json(self) -> dict[str, Json]:
        """Returns the finding for a certificate."""
        return {
            "layer": self.layer,
            "head": self.head,
            "kind": self.kind,
            "slope": self.slope,
            "gap": self.gap,
            "horizon": self.horizon,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionProof:
    """A decoder that does a language, as far as `length`.

    Attributes:
        dtype: the type of the weights.
        scores: the type of the scores.
        heads: the heads that are used.
        recurrent: number of recurrent blocks before the attention, all of whose float states were visited.
        levels: number of depths of a stack that were covered one by one; None if all states were listed.
        joint_states: number of states of the decoder together with the language.
        margin: the least distance of a ramp from its edge, errors taken off; infinite without ramps.
        rounding: the largest error of a ramp's argument; what is not known of a stack counts as an error.
        length: number of letters up to which it is correct, or "all".
    """

    dtype: str
    scores: str
    heads: tuple[HeadFinding, ...]
    recurrent: int
    levels: int | None = None
    joint_states: int
    margin: float
    rounding: float
    length: int | str

    def evidence(self) -> dict[str, Json]:
        """Returns the findings for a certificate; the checker finds them again by itself."""
        return {
            "dtype": self.dtype,
            "scores": self.scores,
            "heads": [head.to_json() for head in self.heads],
            "recurrent": self.recurrent,
            "levels": self.levels,
            "joint_states": self.joint_states,
            "margin": self.margin if math.isfinite(self.margin) else None,
            "rounding": self.rounding,
            "order": {"normalise": "last", "depth": DEEPEST_SUM if self._has("once") else None},
        }

    def _has(self, kind: str) -> bool:
        return any(head.kind == kind for head in self.heads)

    def claim(self) -> Claim:
        """Returns the claim that follows."""
        taken = list(ASSUMPTIONS)
        if self._has("once"):
            taken.append(f"sums over positions are trees of additions of depth at most {DEEPEST_SUM:,}")
        if self._has("mean"):
            taken.append("sums of whole numbers over positions are exact below 2^{bits}")
        if self.recurrent:
            taken.append("recurrent layers are computed as `step` does it on this arithmetic")
        stacks = "" if self.levels is None else _STACKS.format(levels=self.levels)
        bits = {"float64": 53, "float32": 24}[self.scores]
        text = "; ".join(taken).format(underflow=UNDERFLOW[self.scores], scores=self.scores, bits=bits)
        return Claim(
            scope=STEP_BY_STEP if self.length == "all" else UP_TO_LENGTH,
            method=METHOD,
            task=PREDICT,
            covers=(
                "The softmax decoder, with all its roundings in the stated dtype: after every prefix of "
                "every word over the alphabet, the empty one included, its scores are above 1/2 for exactly "
                f"the symbols that may follow and, where the word may end, for the end.{stacks} Taken for "
                f"granted: {text}."
            ),
            dtype=self.dtype,
            length=self.length,
        )
