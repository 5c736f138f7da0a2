"""Any automaton as a network of nonlinear units: Elman networks and gated cells; counters in ReLU units.

tanh          threshold units with a gain that saturates them: each step pulls the state back to a corner, so
              noise does not add up
relu          one unit for each state and each of its preimages, kept at 0 by all states outside the preimage:
              exactly 0 or 1, and noise does not add up either, because nothing positive is copied
relu, wide    the same units as conjunctions, with shorter rows: exact, without a margin
relu, wider   each threshold unit as the difference of two ReLUs of whole numbers: exact, without a margin

A gated cell is made an Elman network by gates that its biases saturate:

lstm          forget -> 0, input -> 1, output -> 1:   h = tanh(tanh(z)), near ±tanh 1
gru           update -> 1, reset -> 1:                h = tanh(z)
slstm         forget -> 0, input = 1, output -> 1:    h = c/n = tanh(z)

The memory goes around through h, not through the cell, so that each step pulls it back to a corner; an
additive cell would add up noise.

For a counter C there are the units relu(C), relu(-C), relu(C + 1) and relu(C - 1). The first two hold it, as
their difference; all of them together say, by affine forms of whole numbers, whether it is zero or positive.
So a unit of the next step can ask for the signs before the letter, and units that find an error feed a flag
that stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.counters import (
    NEGATIVE,
    POSITIVE,
    ZERO,
    allowed_before,
    count_of,
    decode_rules,
    given_by_counters,
    last_name,
    machine_of,
)
from nerode.compiler.forms import DirectionForm, Relu, constant, direction, total
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.compiler.network_builder import legal_sets, one_layer_network, state_layer
from nerode.compiler.tables import table_indicator
from nerode.compiler.thresholds import (
    Preimage,
    ThresholdCoding,
    affine_rows,
    code_by_thresholds,
    letter_sum,
    preimages,
    saturating_gain,
    sign_indicator,
    threshold_decoder,
    unit_sum,
)
from nerode.core import Exact, NotCompilable, Reference, plural
from nerode.languages import CounterMachine, Dfa
from nerode.network import CELL_STATES, Affine, GatedCell, Layer, Network, ScoreDecoder, Squashed, zero_map
from nerode.verdict import ClassCondition, State, nonlinear, regular, relu_state, squashed

_INHIBITED_UNITS = 128
"""Up to this number of ReLU units each is kept at 0 by the others; rows are then as long as the state."""

_MANY_UNITS = 1_000
"""Above this number of ReLU units, pairs for thresholds are used instead."""

_HALF = Fraction(1, 2)
additive = ClassCondition("ReLU units beside a memory", lambda c: c.state is State.ADDITIVE)

_cells = ClassCondition("a gated cell", lambda c: c.state in (State.CELL, State.NORMALISED))

_COARSE, _FINE = Fraction(21, 16), Fraction(86051, 65536)
"""1/tanh 1 = 1.31303528…, with an error of 6/10000 and of 2/1000000."""

_MANY = 64
"""Above this spread the fine value is needed."""

_REFERENCES = {"lstm": "HochreiterSchmidhuber1997", "gru": "Cho2014", "slstm": "Beck2024"}


def compile_elman_tanh(request: Request) -> Network:
    """Returns a network of tanh units near -1 and 1.

    With a gain g, unit j computes tanh(g·(s + 1/2)), where s is a whole number as long as the units are
    exactly -1 or 1. If they are off by at most 3/4 of 1/spread, then |s + 1/2| stays above 1/8, and the new
    units are off by at most 1/4 of 1/spread: there is room for noise of 1/(2·spread) on every unit.

    Implements: [Dankowiakowski2025]
    """
    if request.target.name == "gru":
        raise NotCompilable("gru", ["a GRU has gates; see gated-cells"])
    dfa = request.automaton
    coding = request.once("threshold coding", lambda: code_by_thresholds(dfa))
    gain = saturating_gain(coding.spread)
    names = [unit.name for unit in coding.units]
    rows = [gain * (total + _HALF) for total in _signed_sums(request, coding)]
    layer = _elman_layer(dfa, names, "tanh", rows, start=[2 * bit - 1 for bit in coding.start])
    margin = Fraction(1, 2 * coding.spread)
    return one_layer_network(
        request,
        layer,
        threshold_decoder(dfa, coding, names, sign_indicator(names)),
        route=(
            f"{plural(len(names), 'threshold unit')} for {plural(dfa.num_states, 'state')}, saturated by the "
            f"gain {gain}: correct under noise of up to {margin} on every unit"
        ),
        reference=Reference("Dankowiakowski2025"),
    )


def _signed_sums(
    request: Request, coding: ThresholdCoding, scale: Fraction = Fraction(1)
) -> list[DirectionForm]:
    """The sums of all units of a coding, whose bits are read from numbers near -scale and scale."""

    def compute() -> list[DirectionForm]:
        bits = [_HALF * (1 + scale * direction(unit.name)) for unit in coding.units]
        return [unit_sum(request.automaton, coding, unit, bits) for unit in coding.units]

    return request.once(f"threshold sums, scale {scale}", compute)


def compile_elman_relu(request: Request) -> Network:
    """Returns a network of ReLU units that are exactly 0 or 1, or differ by exactly 0 or 1 in pairs.

    Implements: [Minsky1967]
    """
    dfa = request.automaton
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

    def indicator(decoder: DecoderBuilder, on: int, off: int | None) -> DirectionForm:
        return bits[on] if off is None else bits[on] - bits[off]

    return one_layer_network(
        request,
        _elman_layer(dfa, names, "relu", rows, start=[v for bit in coding.start for v in (bit, 0)]),
        threshold_decoder(dfa, coding, names, indicator),
        route=(
            f"{len(bits)} threshold units for {dfa.num_states} states, each the difference of two ReLUs of "
            "whole numbers: exact, without a noise margin"
        ),
        reference=Reference("Minsky1967"),
    )


def _elman_layer(
    dfa: Dfa, names: Sequence[str], activation: str, rows: Sequence[DirectionForm], start: Sequence[Exact]
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


ELMAN_RELU = Construction(
    name="elman-relu",
    title="ReLU units with feedback",
    theorem="regular-by-nonlinear-units",
    language=regular,
    architecture=nonlinear & (relu_state | additive),
    build=compile_elman_relu,
)
ELMAN_TANH = Construction(
    name="elman-tanh",
    title="saturated tanh units with feedback",
    theorem="robust-nonlinear-regular",
    language=regular,
    architecture=nonlinear & squashed,
    build=compile_elman_tanh,
)


def compile_gated_cells(request: Request) -> Network:
    """Returns a network of one layer of gated cells, one for each threshold unit.

    Implements: [Dankowiakowski2025]
    """
    cell = request.target.name
    if cell not in CELL_STATES:
        raise NotCompilable(cell, [f"{cell} is not one of the cells {', '.join(CELL_STATES)}"])
    dfa = request.automaton
    coding = request.once("threshold coding", lambda: code_by_thresholds(dfa))
    gain = saturating_gain(2 * coding.spread)
    gate = _gate_bias(coding.spread)
    scale = Fraction(1) if cell != "lstm" else _COARSE if coding.spread <= _MANY else _FINE
    names = [unit.name for unit in coding.units]
    rows = [gain * (total + _HALF) for total in _signed_sums(request, coding, scale)]
    reads = [f"x={symbol}" for symbol in dfa.alphabet]
    signs = [2 * bit - 1 for bit in coding.start]
    return one_layer_network(
        request,
        cell_layer(cell, names, reads, _gates(cell, reads, names, rows, gate), _start(cell, signs, scale)),
        threshold_decoder(dfa, coding, names, sign_indicator(names, scale)),
        route=(
            f"{plural(len(names), 'cell')}, one for each threshold unit of "
            f"{plural(dfa.num_states, 'state')}; gates saturated by biases of {gate} make them "
            f"an Elman network with gain {gain}"
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


def _gates(
    cell: str, reads: list[str], names: list[str], rows: list[DirectionForm], bias: int
) -> list[Affine]:
    def gate(value: Exact) -> list[DirectionForm]:
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


GATED_CELLS = Construction(
    name="gated-cells",
    title="gated cells with saturated gates",
    theorem="robust-nonlinear-regular",
    language=regular,
    architecture=nonlinear & (_cells | squashed),
    build=compile_gated_cells,
)


class _Units:
    """The units of the layer: each the ReLU of a form of the current letter and of all units before it."""

    def __init__(self) -> None:
        self.rows: dict[str, DirectionForm] = {}
        self.start: list[Exact] = []

    def add(self, name: str, row: DirectionForm, start: Exact = 0) -> DirectionForm:
        """Adds a unit and returns its value."""
        self.rows[name] = row
        self.start.append(start)
        return direction(name)


def compile_relu_counters(request: Request) -> Network:
    """Returns one layer of ReLU units that counts; correct on every word.

    Implements: [Weiss2018]
    """
    machine = machine_of(request)
    alphabet = request.facts.language.alphabet
    letters = [direction(f"x={symbol}") for symbol in alphabet]
    units = _Units()
    for c in range(machine.num_counters):
        added = total(letter * row[c] for letter, row in zip(letters, machine.increments, strict=True))
        count = direction(f"c{c}") - direction(f"-c{c}") + added
        first = machine.start[c]
        for name, row, start in (
            (f"c{c}", count, first),
            (f"-c{c}", -count, -first),
            (f"c{c}+1", count + 1, first + 1),
            (f"c{c}-1", count - 1, first - 1),
        ):
            units.add(name, row, max(start, 0))
    if machine.reads_last:
        for a, letter in enumerate(letters):
            units.add(last_name(machine, a), letter)
        units.add(last_name(machine, len(letters)), constant(-1), 1)
    dead = _add_errors(request, machine, letters, units)
    names = list(units.rows)
    reads = [f"x={symbol}" for symbol in alphabet]
    layer = state_layer(
        "counters",
        names,
        start=units.start,
        recurrence=Squashed(activation="relu", update=affine_rows([*reads, *names], units.rows.values())),
        reads=reads,
    )
    decoder = DecoderBuilder(names, len(alphabet))
    decode_rules(decoder, machine, 1 - dead, lambda a: direction(last_name(machine, a)), _sign)
    language = request.facts.language
    return one_layer_network(
        request,
        layer,
        decoder.build(language.legal(language.initial())),
        route=f"{count_of(machine)} as differences of ReLU units, beside units that show the signs; a flag "
        "remembers the first error",
        reference=Reference("Weiss2018"),
    )


def _add_errors(
    request: Request, machine: CounterMachine, letters: list[DirectionForm], units: _Units
) -> DirectionForm:
    """Adds units that find an error in the current letter, and the flag of earlier ones; returns the sum."""
    tables = [allowed_before(machine, letter, request) for letter in range(len(letters))]
    if all(table.otherwise and not table.rows for table in tables):
        return constant(0)

    def literal(variable: int, value: int) -> list[DirectionForm]:
        if variable == machine.num_counters:
            return [direction(last_name(machine, value))]
        return [_sign(variable, value)]

    def join(literals: Iterable[DirectionForm], relu: Relu) -> DirectionForm:
        parts = list(literals)
        return relu(total(parts) - (len(parts) - 1))

    errors = total(
        table_indicator(
            table,
            lambda allowed: not allowed,
            literal,
            lambda row: units.add(f"error {len(units.rows)}", row),
            [letters[letter]],
            join,
        )
        for letter, table in enumerate(tables)
    )
    flag = direction("dead") - direction("dead-1")
    units.add("dead", flag + errors)
    units.add("dead-1", flag + errors - 1)
    return flag + errors


def _sign(c: int, sign: int) -> DirectionForm:
    """1 where a counter has this sign, by its units."""
    count, more, less = direction(f"c{c}"), direction(f"c{c}+1"), direction(f"c{c}-1")
    zero, positive = more - 2 * count + less, count - less
    return {NEGATIVE: 1 - zero - positive, ZERO: zero, POSITIVE: positive}[sign]


RELU_COUNTERS = Construction(
    name="relu-counters",
    title="counters of ReLU units with feedback",
    theorem="cells-count",
    language=given_by_counters,
    architecture=nonlinear & (relu_state | additive),
    build=compile_relu_counters,
)
