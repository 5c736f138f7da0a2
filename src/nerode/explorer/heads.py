"""Positions that the heads of a network look at along a word; position 0 is the beginning mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nerode.explorer.steps import Number, Step
from nerode.network import AttentionHeads, Network

LOOKS = "looks"
"""The name of the positions among what moves a layer."""

EVERYWHERE = "all"
"""What a head looks at that averages."""


def add_positions(network: Network, steps: Sequence[Step]) -> list[Step]:
    """Returns steps in which layers of attention also say, for each coordinate, where its head looks.

    A head of the kind "last" looks at the latest position that did not hold, one of the kind "once" at the
    first one that matched, one of the kind "previous" one position back, one of the kind "mean" at all.
    """
    found = [[dict(drive) for drive in step.drives] for step in steps]
    for number, layer in enumerate(network.layers):
        if not isinstance(layer.recurrence, AttentionHeads):
            continue
        kinds = layer.recurrence.heads
        at = [0] * len(kinds)
        for position in range(1, len(steps)):
            drive = found[position][number]
            looks: list[Number] = []
            for i, kind in enumerate(kinds):
                written = kind == "last" and _is_zero(drive["gate"][i])
                set_now = kind == "once" and at[i] == 0 and not _is_zero(drive["write"][i])
                if kind == "previous":
                    at[i] = position - 1
                elif written or set_now:
                    at[i] = position
                looks.append(EVERYWHERE if kind == "mean" else float(at[i]))
            drive[LOOKS] = looks
    return [replace(step, drives=tuple(drives)) for step, drives in zip(steps, found, strict=True)]


def _is_zero(value: Number) -> bool:
    return isinstance(value, float) and abs(value) < 1 / 2
