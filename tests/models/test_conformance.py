"""Every member of the zoo keeps every promise."""

from __future__ import annotations

import pytest
import torch

from nerode.conformance import CHECKS, ModelUnderTest
from nerode.models.base import SequenceLayer
from nerode.models.zoo import LayerConfig, all_kinds
from nerode.verdict import ARCHITECTURES, Gates, MemoryKind, Transition

WIDTH = 8

SMALL = {
    "local-attention": {"heads": 2, "window": 9},
    "mamba-2": {"head_size": 4, "groups": 2, "states": 5},
    "mamba-2-signed": {"head_size": 4, "groups": 2, "states": 5},
    # Its gradient through a choice is not the derivative, on purpose.
    "pd-ssm": {"straight_through": False},
    "ttt-linear": {"heads": 2, "mini_batch": 4},
}
"""Settings that make a layer small enough to examine; those of the kind hold for its variants."""

RANGES = {
    Gates.NONNEGATIVE: "[0,1]",
    Gates.ABOVE_MINUS_HALF: "real, above -1/2",
    Gates.SIGNED: "[-1,1]",
    Gates.AT_MOST_ONE: "real, at most 1",
    Gates.COMPLEX: "unit disk",
    Gates.UNIT: "unit circle",
}

LITERATURE = {"aussm", "complex-kda", "mamba-3", "rwkv-7-signed", "slice"}
"""Rows of the verdict whose equations are published and whose layers the zoo does not have."""


def subject(name: str) -> ModelUnderTest:
    kind, settings = LayerConfig(name=name, settings=SMALL.get(name, {})).resolve()
    return ModelUnderTest(
        build=lambda: stirred(kind.build(WIDTH, settings)), features=WIDTH, gates=promised_gates(name)
    )


def stirred(layer: SequenceLayer) -> SequenceLayer:
    """The layer with noise on every weight: a map that begins at zero would hide what stands before it.

    With much more noise, recurrences without a bound (IDS4, NRU) overflow float16 or grow past any digits.
    """
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.03)
    return layer


def promised_gates(name: str) -> str | None:
    """Where the theory says that the gates of this architecture lie."""
    row = ARCHITECTURES.get(name)
    if row is None or row.properties.recurrence is not MemoryKind.LINEAR:
        return None
    if row.properties.transition is Transition.HOUSEHOLDER and row.properties.max_factors != 1:
        # Two reflections make a rotation.
        return "[0,1]" if row.properties.gates is Gates.NONNEGATIVE else "unit disk"
    return RANGES.get(row.properties.gates)


def promises() -> list[object]:
    """All members and checks; of a signed variant the numerical gradients stay, and the loop's are slow."""
    return [
        pytest.param(
            name, check, marks=[pytest.mark.slow] if check == "gradients" and name.endswith("-signed") else []
        )
        for name in sorted(all_kinds())
        for check in CHECKS
    ]


@pytest.mark.parametrize(("name", "check"), promises())
def test_conformance(name: str, check: str) -> None:
    CHECKS[check](subject(name))


@pytest.mark.parametrize("name", sorted(all_kinds()))
def test_what_the_checks_compare_is_not_zero(name: str) -> None:
    found = subject(name)
    outputs, _ = found.model()(found.inputs(2, 5))
    assert outputs.abs().max() > 1e-6


def test_the_zoo_has_every_architecture_of_the_verdict() -> None:
    named = {row.name for row in ARCHITECTURES.values() if not row.is_class}
    hybrids = {r.name for r in ARCHITECTURES.values() if r.properties.recurrence is MemoryKind.HYBRID}
    assert named - hybrids - LITERATURE <= set(all_kinds())
    assert not LITERATURE & set(all_kinds())
