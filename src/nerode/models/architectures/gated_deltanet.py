"""Gated DeltaNet: the state fades by a number before the delta rule, S ← (I - β k̂ k̂ᵀ) α S + β k̂ vᵀ."""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import Reference
from nerode.models.base import LayerKind
from nerode.models.parts.delta_rule import AROUND, DeltaRule, DeltaSettings


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


KIND = LayerKind(
    name="gated-deltanet",
    title="Gated DeltaNet",
    settings=GatedDeltaNetSettings,
    build=GatedDeltaNet,
    equation="S = α (I - β k kᵀ) S + β k vᵀ",
    reference=Reference("YangGatedDeltaNet2025"),
    surroundings=AROUND,
    variants={"gated-deltanet-signed": {"signed": True}},
)
