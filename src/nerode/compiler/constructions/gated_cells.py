"""LSTM, GRU and sLSTM cells with saturated gates: they forget everything and act as an Elman network.

    lstm    forget -> 0, input -> 1, output -> 1:   h = tanh(tanh(z)), near ±tanh 1
    gru     update -> 1, reset -> 1:                h = tanh(z)
    slstm   forget -> 0, input = 1, output -> 1:    h = c/n = tanh(z)

What is to be remembered goes around through h, not through the cell, so that each step pulls it back to a
corner; an additive cell would add up noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from nerode.compiler.answers import automaton_of
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.forms import Form, constant, direction
from nerode.compiler.state_layers import one_layer_network
from nerode.compiler.threshold_coding import code_by_thresholds
from nerode.compiler.threshold_layers import (
    affine_rows,
    saturating_gain,
    sign_indicator,
    threshold_decoder,
    unit_sum,
)
from nerode.core import Exact, NotCompilable, Reference
from nerode.network import CELL_STATES, Affine, GatedCell, Layer, Network, zero_map
from nerode.verdict import ClassCondition, State, nonlinear, regular, squashed

NAME = "gated-cells"

_HALF = Fraction(1, 2)
_cells = ClassCondition("a gated cell", lambda c: c.state in (State.CELL, State.NORMALISED))

_COARSE, _FINE = Fraction(21, 16), Fraction(86051, 65536)
"""1/tanh 1 = 1.31303528…, with an error of 6/10000 and of 2/1000000."""

_MANY = 64
"""Above this spread the fine value is needed."""

_REFERENCES = {"lstm": "HochreiterSchmidhuber1997", "gru": "Cho2014", "slstm": "Beck2024"}


def compile_gated_cells(request: Request) -> Network:
    """Returns a network of one layer of gated cells, one for each threshold unit.

    Implements: [Dankowiakowski2025]
    """
    cell = request.target.name
    if cell not in CELL_STATES:
        raise NotCompilable(cell, [f"{cell} is not one of the cells {', '.join(CELL_STATES)}"])
    dfa = automaton_of(request)
    coding = request.once("threshold coding", lambda: code_by_thresholds(dfa))
    gain = saturating_gain(2 * coding.spread)
    gate = _gate_bias(coding.spread)
    scale = Fraction(1) if cell != "lstm" else _COARSE if coding.spread <= _MANY else _FINE
    names = [unit.name for unit in coding.units]
    bits = [_HALF * (1 + scale * direction(name)) for name in names]
    rows = [gain * (unit_sum(dfa, coding, unit, bits) + _HALF) for unit in coding.units]
    reads = [f"x={symbol}" for symbol in dfa.alphabet]
    signs = [2 * bit - 1 for bit in coding.start]
    return one_layer_network(
        request,
        cell_layer(cell, names, reads, _gates(cell, reads, names, rows, gate), _start(cell, signs, scale)),
        threshold_decoder(dfa, coding, names, sign_indicator(names, scale)),
        construction=NAME,
        route=(
            f"{len(names)} cells, one for each threshold unit of {dfa.num_states} states; gates saturated by "
            f"biases of {gate} make them an Elman network with gain {gain}"
        ),
        reference=Reference(_REFERENCES[cell]),
    )


def cell_layer(
    cell: str, names: Sequence[str], reads: Sequence[str], gates: Sequence[Affine], start: Sequence[Exact]
) -> Layer:
    """Returns a layer of cells that shows h, under the names of its coordinates."""
    others = [f"{block} {name}" for block in CELL_STATES[cell][1:] for name in names]
    state = (*names, *others)
    seen = len(reads) + len(state)
    return Layer(
        name="automaton",
        reads=tuple(reads),
        state=state,
        start=tuple(start),
        units=zero_map(len(reads)),
        recurrence=GatedCell(cell=cell, gates=tuple(gates)),
        readout_units=zero_map(seen),
        outputs=tuple(names),
        readout=affine_rows([*reads, *state], map(direction, names)),
    )


def _gates(cell: str, reads: list[str], names: list[str], rows: list[Form], bias: int) -> list[Affine]:
    def gate(value: Exact) -> list[Form]:
        return [constant(value)] * len(names)

    order = {
        "lstm": [gate(bias), gate(-bias), gate(bias), rows],
        "gru": [gate(bias), gate(bias), rows],
        "slstm": [gate(0), gate(-bias), gate(bias), rows],
    }
    return [affine_rows([*reads, *names], forms) for forms in order[cell]]


def _start(cell: str, signs: list[int], scale: Fraction) -> list[Exact]:
    """The state before the first letter: every unit at its level, as if it had always been there."""
    shown: list[Exact] = [sign / scale for sign in signs]
    return {"lstm": [*shown, *signs], "gru": shown, "slstm": [*shown, *signs, *(1 for _ in signs)]}[cell]


def _gate_bias(spread: int) -> int:
    """A bias from 8 on such that the logistic function of it is within 1/(64·spread) of 1."""
    bias = 8
    while Fraction(27, 10) ** bias < 64 * spread:
        bias += 1
    return bias


construction(
    Construction(
        name=NAME,
        title="gated cells with saturated gates",
        theorem="robust-nonlinear-regular",
        language=regular,
        architecture=nonlinear & (_cells | squashed),
        build=compile_gated_cells,
    )
)
