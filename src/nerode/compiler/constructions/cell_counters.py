"""Counters in one layer of ReLU units with feedback.

For a counter C there are the units relu(C), relu(-C), relu(C + 1) and relu(C - 1). The first two hold it, as
their difference; all of them together say, by affine forms of whole numbers, whether it is zero or positive.
So a unit of the next step can ask for the signs before the letter, and units that find an error feed a flag
that stays.
"""

from __future__ import annotations

from collections.abc import Iterable

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
from nerode.compiler.constructions.nonlinear_cells import additive
from nerode.compiler.forms import DirectionForm, Relu, constant, direction, total
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.compiler.network_builder import one_layer_network, state_layer
from nerode.compiler.tables import table_indicator
from nerode.compiler.thresholds import affine_rows
from nerode.core import Exact, Reference
from nerode.languages import CounterMachine
from nerode.network import Network, Squashed
from nerode.verdict import nonlinear, relu_state


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
