"""Outputs of a layer as comparisons of a counter: by letter, the values at which an output changes.

Softmax gives means, not sums, so a decoder cannot compute ReLU units of a counter. It can compare the counter
with half-integers. An output that is 0 or 1 for every letter and every value of one counter is a sum of such
comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nerode.core import Exact, NotCompilable, to_float
from nerode.network import Layer, Network, relu

_REACH = 6
"""Values of a counter that are tried on both sides of 0, and beyond the last place where a unit bends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterComparison:
    """An output as a function of the letter and one counter.

    Attributes:
        counter: the coordinate that counts.
        base: by letter, the output for very small values.
        steps: by letter, pairs (m, change): the output changes by that much from m - 1 to m.
    """

    counter: int
    base: tuple[int, ...]
    steps: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def same_for_all(self) -> bool:
        """Whether the letter does not matter."""
        return len(set(self.base)) == 1 and len(set(self.steps)) == 1


def counters_read(layer: Layer, output: int, counters: Sequence[int]) -> list[int]:
    """Returns the counters on which an output depends."""
    first = len(layer.reads)
    columns = {j for j, _ in layer.readout.rows[output]}
    plain = layer.readout_units.num_inputs
    for j in [j for j in columns if j >= plain]:
        columns |= {i for i, _ in layer.readout_units.rows[j - plain]}
    return [k for k in counters if first + k in columns]


def compare(network: Network, layer: Layer, output: int, counter: int, target: str) -> CounterComparison:
    """Returns an output of a layer that reads one counter and the letter.

    Raises:
        NotCompilable: if it reads something else, or is not 0 or 1 and constant far from 0.
    """
    place = {name: i for i, name in enumerate(network.embedding.directions)}
    missing = [name for name in layer.reads if name not in place]
    if missing:
        raise NotCompilable(target, [f"layer {layer.name} compares counters where {missing[0]} is read"])
    base, steps = [], []
    reach = _REACH + max((math.ceil(abs(to_float(bias))) for bias in layer.readout_units.bias), default=0)
    for vector in network.embedding.vectors:
        reads = [vector[place[name]] for name in layer.reads]
        found = [_value(layer, reads, output, counter, c) for c in range(-reach, reach + 1)]
        values = [int(v == 1) for v in found]
        if any(v not in (0, 1) for v in found) or values[0] != values[1] or values[-1] != values[-2]:
            raise NotCompilable(target, [f"an output of layer {layer.name} is no comparison of a counter"])
        base.append(values[0])
        changes = [(c, values[i + 1] - values[i]) for i, c in enumerate(range(1 - reach, reach + 1))]
        steps.append(tuple((c, change) for c, change in changes if change))
    return CounterComparison(counter=counter, base=tuple(base), steps=tuple(steps))


def _value(layer: Layer, reads: Sequence[Exact], output: int, counter: int, count: int) -> Exact:
    """The output at a letter for one value of a counter, everything else 0."""
    state: list[Exact] = [0] * (layer.width * (2 if layer.exposes_previous else 1))
    state[counter] = count
    inside = [*reads, *state]
    return layer.readout([*inside, *(relu(v) for v in layer.readout_units(inside))])[output]
