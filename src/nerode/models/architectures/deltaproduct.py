"""DeltaProduct: several steps of the delta rule a token, so that its transition is a product of reflections.

S ← α S,  then S ← S - β_j k̂_j (k̂_jᵀ S) + β_j k̂_j v_jᵀ for j = 1 … n,  o = q̂ᵀ S;  α = 1 unless gated.
"""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import InputError, Reference
from nerode.models.base import LayerKind
from nerode.models.parts.delta_rule import AROUND, DeltaRule, DeltaSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaProductSettings(DeltaSettings):
    """Settings of a DeltaProduct layer: those of the delta rule, and two of its own.

    Attributes:
        factors: number of keys, values and β a token.
        gated: whether the state fades before them, by the decay of Mamba-2.
    """

    factors: int = 2
    gated: bool = False
    output_gate: bool = True

    def __post_init__(self) -> None:
        DeltaSettings.__post_init__(self)
        if self.factors < 1:
            raise InputError(f"factors is {self.factors}; it has to be 1 or more")


class DeltaProduct(DeltaRule):
    """A DeltaProduct layer, gated or not.

    Implements: [Siems2025]
    """

    def __init__(self, inputs: int, settings: DeltaProductSettings) -> None:
        super().__init__(inputs, settings, factors=settings.factors, decays=settings.gated)


KIND = LayerKind(
    name="deltaproduct",
    title="DeltaProduct",
    settings=DeltaProductSettings,
    build=DeltaProduct,
    equation="S = ∏(I - β k kᵀ) S + …, several k, v, β a token",
    reference=Reference("Siems2025"),
    surroundings=AROUND,
    variants={
        "deltaproduct-signed": {"signed": True},
        "gated-deltaproduct": {"gated": True},
        "gated-deltaproduct-signed": {"gated": True, "signed": True},
    },
)
