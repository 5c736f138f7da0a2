"""DeltaNet, Gated DeltaNet and DeltaProduct: each token replaces what its keys retrieve.

DeltaNet:        S ← S - β k̂ (k̂ᵀ S) + β k̂ vᵀ,  o = q̂ᵀ S
Gated DeltaNet:  the state fades by a number before the delta rule, S ← (I - β k̂ k̂ᵀ) α S + β k̂ vᵀ
DeltaProduct:    S ← α S,  then S ← S - β_j k̂_j (k̂_jᵀ S) + β_j k̂_j v_jᵀ for j = 1 … n;  α = 1 unless gated

The transition of a token of DeltaProduct is a product of reflections.
"""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import InputError, Reference
from nerode.models.base import LayerKind
from nerode.models.parts.delta_rule import AROUND, DeltaRule, DeltaSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaNetSettings(DeltaSettings):
    """Settings of a DeltaNet layer: those of the delta rule."""


class DeltaNet(DeltaRule):
    """A DeltaNet layer: one key a token, no decay.

    Implements: [YangDeltaNet2024]
    """

    def __init__(self, inputs: int, settings: DeltaNetSettings) -> None:
        super().__init__(inputs, settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDeltaNetSettings(DeltaSettings):
    """Settings of a Gated DeltaNet layer: those of the delta rule, with an output gate as published.

    The authors take keys of 3/4 and values of 3/2 of the share that a head has of the width. Here both are
    the whole share when they are not given, so that any width that the heads divide will do.
    """

    output_gate: bool = True


class GatedDeltaNet(DeltaRule):
    """A Gated DeltaNet layer: one key a token, and the decay of Mamba-2.

    Implements: [YangGatedDeltaNet2025]
    """

    def __init__(self, inputs: int, settings: GatedDeltaNetSettings) -> None:
        super().__init__(inputs, settings, decays=True)


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


DELTANET = LayerKind(
    name="deltanet",
    title="DeltaNet",
    settings=DeltaNetSettings,
    build=DeltaNet,
    equation="S = (I - β k kᵀ) S + β k vᵀ",
    reference=Reference("YangDeltaNet2024"),
    surroundings=AROUND,
    variants={"deltanet-signed": {"signed": True}},
)

GATED_DELTANET = LayerKind(
    name="gated-deltanet",
    title="Gated DeltaNet",
    settings=GatedDeltaNetSettings,
    build=GatedDeltaNet,
    equation="S = α (I - β k kᵀ) S + β k vᵀ",
    reference=Reference("YangGatedDeltaNet2025"),
    surroundings=AROUND,
    variants={"gated-deltanet-signed": {"signed": True}},
)

DELTAPRODUCT = LayerKind(
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
