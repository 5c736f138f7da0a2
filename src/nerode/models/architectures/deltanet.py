"""DeltaNet: each token replaces what its key retrieves, S ← S - β k̂ (k̂ᵀ S) + β k̂ vᵀ, o = q̂ᵀ S."""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import Reference
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


KIND = LayerKind(
    name="deltanet",
    title="DeltaNet",
    settings=DeltaNetSettings,
    build=DeltaNet,
    equation="S = (I - β k kᵀ) S + β k vᵀ",
    reference=Reference("YangDeltaNet2024"),
    surroundings=AROUND,
    variants={"deltanet-signed": {"signed": True}},
)
