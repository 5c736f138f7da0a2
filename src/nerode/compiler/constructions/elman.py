"""Any automaton as an Elman network: tanh, clipped or ReLU units.

tanh, clip    threshold units (`threshold_coding`) with a gain that saturates them: each step pulls the state
              back to a corner, so noise does not add up
relu          one unit for each state and each of its preimages, kept at 0 by all states outside the preimage:
              exactly 0 or 1, and noise does not add up either, because nothing positive is copied
relu, wide    the same units as conjunctions, with shorter rows: exact, without a margin
relu, wider   each threshold unit as the difference of two ReLUs of whole numbers: exact, without a margin
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from nerode.compiler.answers import automaton_of
from nerode.compiler.assembly import legal_sets
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.forms import Form, constant, direction, total
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.compiler.state_layers import one_layer_network, state_layer
from nerode.compiler.threshold_coding import Preimage, code_by_thresholds, preimages
from nerode.compiler.threshold_layers import (
    affine_rows,
    letter_sum,
    saturating_gain,
    sign_indicator,
    threshold_decoder,
    unit_sum,
)
from nerode.core import Exact, NotCompilable, Reference
from nerode.languages import Dfa
from nerode.network import Layer, Network, ScoreDecoder, Squashed
from nerode.verdict import ClassCondition, State, nonlinear, regular, relu_state, squashed

TANH, RELU = "elman-tanh", "elman-relu"

_INHIBITED_UNITS = 128
"""Up to this number of ReLU units each is kept at 0 by the others; rows are then as long as the state."""

_MANY_UNITS = 1_000
"""Above this number of ReLU units, pairs for thresholds are used instead."""

_HALF = Fraction(1, 2)
_additive = ClassCondition("ReLU units beside a memory", lambda c: c.state is State.ADDITIVE)


def compile_elman_tanh(request: Request) -> Network:
    """Returns a network of tanh units near -1 and 1.

    With a gain g, unit j computes tanh(g·(s + 1/2)), where s is a whole number as long as the units are
    exactly -1 or 1. If they are off by at most 3/4 of 1/spread, then |s + 1/2| stays above 1/8, and the new
    units are off by at most 1/4 of 1/spread: there is room for noise of 1/(2·spread) on every unit.

    Implements: [Dankowiakowski2025]
    """
    if request.target.name == "gru":
        raise NotCompilable("gru", ["a GRU has gates; see gated-cells"])
    dfa = automaton_of(request)
    coding = request.once("threshold coding", lambda: code_by_thresholds(dfa))
    gain = saturating_gain(coding.spread)
    names = [unit.name for unit in coding.units]
    bits = [_HALF * (1 + direction(name)) for name in names]
    rows = [gain * (unit_sum(dfa, coding, unit, bits) + _HALF) for unit in coding.units]
    layer = _elman_layer(dfa, names, "tanh", rows, start=[2 * bit - 1 for bit in coding.start])
    margin = Fraction(1, 2 * coding.spread)
    return one_layer_network(
        request,
        layer,
        threshold_decoder(dfa, coding, names, sign_indicator(names)),
        construction=TANH,
        route=(
            f"{len(names)} threshold units for {dfa.num_states} states, saturated by the gain {gain}: right "
            f"under noise of up to {margin} on every unit"
        ),
        reference=Reference("Dankowiakowski2025"),
    )


def compile_elman_clip(request: Request) -> Network:
    """Returns a network of units that are clipped to the interval from 0 to 1.

    With gain 4 a unit is exactly 0 or 1 as long as the units before it are off by at most 3/(8·spread). No
    named architecture has such units, so the construction is not in the table.
    """
    dfa = automaton_of(request)
    coding = request.once("threshold coding", lambda: code_by_thresholds(dfa))
    names = [unit.name for unit in coding.units]
    bits = [direction(name) for name in names]
    rows = [4 * (unit_sum(dfa, coding, unit, bits) + _HALF) + _HALF for unit in coding.units]

    def indicator(decoder: DecoderBuilder, on: int, off: int | None) -> Form:
        value = 2 * bits[on] - 1
        return 4 * decoder.relu(value if off is None else value - 2 * bits[off])

    return one_layer_network(
        request,
        _elman_layer(dfa, names, "clip", rows, start=coding.start),
        threshold_decoder(dfa, coding, names, indicator),
        construction="elman-clip",
        route=f"{len(names)} clipped threshold units for {dfa.num_states} states",
        reference=Reference("Minsky1967"),
    )


def compile_elman_relu(request: Request) -> Network:
    """Returns a network of ReLU units that are exactly 0 or 1, or differ by exactly 0 or 1 in pairs.

    Implements: [Minsky1967]
    """
    dfa = automaton_of(request)
    sources = [(q, *item) for q in range(dfa.num_states) for item in preimages(dfa, q).items()]
    if len(sources) <= _MANY_UNITS:
        return _compile_one_hot(request, dfa, sources, inhibited=len(sources) <= _INHIBITED_UNITS)
    return _compile_steps(request, dfa)


def _compile_one_hot(
    request: Request, dfa: Dfa, sources: Sequence[tuple[int, Preimage, list[int]]], *, inhibited: bool
) -> Network:
    """One unit for each state and each of its preimages, exactly one of which is 1.

    Inhibited, a unit is relu(±1 - 2·(units of states outside the preimage)), where ±1 says whether the letter
    is right; otherwise it is relu(-1 + (is the letter right) + (units of states in the preimage)), which has
    shorter rows.
    """
    states = [q for q, _, _ in sources]
    names = [_name(dfa, q, letters, alone=states.count(q) == 1) for q, _, letters in sources]
    if dfa.start not in states:
        states, names = [*states, dfa.start], [*names, "start"]
    rows = []
    for _, allowed, letters in sources:
        right = letter_sum(dfa, [int(a in letters) for a in range(dfa.num_letters)])
        chosen = [direction(n) for n, q in zip(names, states, strict=True) if (q in allowed) != inhibited]
        rows.append(2 * right - 1 - 2 * total(chosen) if inhibited else right - 1 + total(chosen))
    if len(rows) < len(names):
        rows.append(constant(-1))
    first = states.index(dfa.start)
    how = (
        "each is kept at 0 by the states that do not lead there, so that noise does not add up"
        if inhibited
        else "each is the conjunction of letter and state, without a noise margin"
    )
    return one_layer_network(
        request,
        _elman_layer(dfa, names, "relu", rows, start=[int(j == first) for j in range(len(names))]),
        _decode_states(dfa, names, states),
        construction=RELU,
        route=(
            f"{len(names)} ReLU units, one for each of {dfa.num_states} states and each set of states that "
            f"lead there, exactly 0 or 1; {how}"
        ),
        reference=Reference("Minsky1967"),
    )


def _compile_steps(request: Request, dfa: Dfa) -> Network:
    """Two units for each threshold: [s ≥ 0] = relu(s + 1) - relu(s) for whole s."""
    coding = request.once("threshold coding", lambda: code_by_thresholds(dfa))
    pairs = [(f"{unit.name} +1", f"{unit.name} +0") for unit in coding.units]
    bits = [direction(above) - direction(below) for above, below in pairs]
    sums = [unit_sum(dfa, coding, unit, bits) for unit in coding.units]
    rows = [form for s in sums for form in (s + 1, s)]
    names = [name for pair in pairs for name in pair]

    def indicator(decoder: DecoderBuilder, on: int, off: int | None) -> Form:
        return bits[on] if off is None else bits[on] - bits[off]

    return one_layer_network(
        request,
        _elman_layer(dfa, names, "relu", rows, start=[v for bit in coding.start for v in (bit, 0)]),
        threshold_decoder(dfa, coding, names, indicator),
        construction=RELU,
        route=(
            f"{len(bits)} threshold units for {dfa.num_states} states, each the difference of two ReLUs of "
            "whole numbers: exact, without a noise margin"
        ),
        reference=Reference("Minsky1967"),
    )


def _elman_layer(
    dfa: Dfa, names: Sequence[str], activation: str, rows: Sequence[Form], start: Sequence[Exact]
) -> Layer:
    reads = [f"x={symbol}" for symbol in dfa.alphabet]
    update = affine_rows([*reads, *names], rows)
    recurrence = Squashed(activation=activation, update=update)
    return state_layer("automaton", names, start=start, recurrence=recurrence, reads=reads)


def _decode_states(dfa: Dfa, names: Sequence[str], states: Sequence[int]) -> ScoreDecoder:
    """The decoder of units of which exactly one is on; it is 1 and stands for a state."""
    legal = legal_sets(dfa)
    decoder = DecoderBuilder(names, dfa.num_letters)
    for name, state in zip(names, states, strict=True):
        decoder.add_legal(legal[state], direction(name))
    return decoder.build(legal[dfa.start])


def _name(dfa: Dfa, state: int, letters: Sequence[int], *, alone: bool) -> str:
    shown = " ".join(dfa.alphabet.symbols[a] for a in letters[:4]) + (" …" if len(letters) > 4 else "")
    return f"q={state}" if alone else f"q={state} by {shown}"


construction(
    Construction(
        name=RELU,
        title="ReLU units with feedback",
        theorem="regular-by-nonlinear-units",
        language=regular,
        architecture=nonlinear & (relu_state | _additive),
        build=compile_elman_relu,
    )
)
construction(
    Construction(
        name=TANH,
        title="saturated tanh units with feedback",
        theorem="robust-nonlinear-regular",
        language=regular,
        architecture=nonlinear & squashed,
        build=compile_elman_tanh,
    )
)
