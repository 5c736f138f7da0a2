"""Counters of one reflection a letter: a vector of the plane that is mirrored at every step.

As in the addition by two layers of reflections, a turn is a mirror together with the fixed mirror F that
takes the angle x to π/m - x: at odd positions the vector of a label is seen in F. A first layer holds the
parity of the position.
"""

from __future__ import annotations

from fractions import Fraction

from nerode.algebra.cascades import Add
from nerode.compiler.assembly import Assembly
from nerode.compiler.forms import Form, direction
from nerode.compiler.layer_builder import LayerBuilder, Selection
from nerode.compiler.levels.codings import mirror_factor, nearness, show_labels
from nerode.compiler.levels.commands import LevelLabels
from nerode.compiler.levels.layers import MachineLayers
from nerode.core import cosine, sine

ODD = "odd position"


def add_position_parity(assembly: Assembly) -> None:
    """Adds the layer h = 1 - h: one reflection a letter, whatever the letter is."""
    builder = LayerBuilder("position", assembly.stream)
    builder.output(ODD, builder.coordinate("odd", gate=-1, write=1))
    assembly.add(builder)


def add_mirrors(layers: MachineLayers, number: int) -> None:
    """Adds a counter modulo m, which is never reset, as a layer of single reflections."""
    level = layers.machine.levels[number]
    m = level.num_labels
    builder = LayerBuilder(f"level {number + 1}", layers.assembly.stream, exposes_previous=True)
    names = [f"h{number + 1}.{i}" for i in (1, 2)]
    start = (cosine(level.start, m), sine(level.start, m))
    now = [
        builder.coordinate(name, gate=1, write=0, start=value)
        for name, value in zip(names, start, strict=True)
    ]
    before = [builder.previous(name) for name in names]
    odd = direction(ODD)
    layers.labels[number] = LevelLabels(
        new=show_labels(builder, number, level, _labels(builder, now, odd, m), ""),
        old=show_labels(builder, number, level, _labels(builder, before, 1 - odd, m), "'"),
    )
    factors, choices = [], []
    for parity, sign in ((odd, -1), (1 - odd, 1)):
        told = layers.told(number, builder, guard=[parity])
        for command in level.commands:
            amount = command.amount if isinstance(command, Add) else 0
            factors.append((mirror_factor(1 + 2 * sign * amount, m),))
            choices.append(told.is_given(command))
    selection = Selection(factors=factors, writes=((0, 0),) * len(factors), choices=choices)
    layers.assembly.append(builder.build(selection=selection), builder.stream)


def _labels(builder: LayerBuilder, vector: list[Form], odd: Form, m: int) -> list[Form]:
    """The labels of a vector: at even positions at label/m of a turn, at odd ones seen in F."""
    x, y = vector
    found = []
    for label in range(m):
        seen = Fraction(label, m)
        mirrored = Fraction(1, 2 * m) - seen
        even = builder.readout_relu(nearness(x, y, seen, m) - odd)
        found.append(even + builder.readout_relu(nearness(x, y, mirrored, m) - (1 - odd)))
    return found
