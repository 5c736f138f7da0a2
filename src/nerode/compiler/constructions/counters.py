"""Counter languages: one layer of integer counters, and a flag for words that left the language.

Each letter adds its amounts to counters with gate 1. What may follow depends on the current letter, which is
on the stream, and on which counters are zero or positive; every counter is compared with zero by itself,
before anything could scale one down next to another. One layer predicts on prefixes of valid words. After an
error the counters mean nothing (they may be negative, too), so a second layer remembers the first error.

With one reflection per letter, h = -h + 2v, the gate is -1: the number of the first layer is (-1)ᵗ, and the
counters are multiples of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from nerode.compiler.construction import Construction, Request
from nerode.compiler.forms import (
    DirectionForm,
    Relu,
    conjunction,
    constant,
    direction,
    is_positive,
    is_zero,
    total,
)
from nerode.compiler.layer_builder import DecoderBuilder, LayerBuilder
from nerode.compiler.network_builder import DEAD, LayerStack
from nerode.compiler.tables import DecisionTable, Literal, decision_table, table_indicator
from nerode.core import Exact, NotCompilable, Reference
from nerode.languages import START, CounterLanguage, CounterMachine, CounterRule, Legal
from nerode.network import Network
from nerode.verdict import (
    LanguageCondition,
    WayOfCounting,
    can_fade,
    can_hold,
    counts_by,
    householder,
    input_dependent,
    linear,
    many_factors,
    never_holds,
    nonlinear,
    one_factor,
    plain_state,
)

NEGATIVE, ZERO, POSITIVE = 0, 1, 2
SIGNS = (-1, 0, 1)
"""A counter of each sign, for trying the rules."""

_MOST_CASES = 100_000
"""Combinations of signs and last letters that are tried for one letter."""

_FEW_COUNTERS = 4
"""Counters whose tests may be added in one sum: float32 has claims to 10^6 letters then."""

given_by_counters = LanguageCondition(
    "given by a counter machine", lambda facts: isinstance(facts.language, CounterLanguage)
)

SCALE = "scale"
"""The direction that holds (-1)ᵗ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterUnit:
    """The gate of the counters, and what they are multiples of.

    Attributes:
        gate: of counters, 1 or -1.
        scale: 1, or the number that the gate multiplies at every letter.
    """

    gate: Exact = 1
    scale: DirectionForm = field(default_factory=lambda: constant(1))

    @property
    def alternates(self) -> bool:
        """Whether counters are multiples of (-1)ᵗ."""
        return self.gate != 1

    def is_positive(self, counter: DirectionForm, relu: Relu) -> DirectionForm:
        """Returns the literal of a counter above 0; where the scale is -1, the difference is 1 less."""
        found = is_positive(counter, relu, self.scale)
        return found + (1 - self.scale) * Fraction(1, 2) if self.alternates else found

    def added(self, machine: CounterMachine, c: int, stack: LayerStack, relu: Relu) -> DirectionForm:
        """Returns what the current letter adds to a counter, times the scale."""
        amounts = [row[c] for row in machine.increments]
        if not self.alternates:
            return total(stack.letter(a) * amount for a, amount in enumerate(amounts))
        alike = {
            amount: total(stack.letter(a) for a, other in enumerate(amounts) if other == amount)
            for amount in amounts
            if amount
        }
        odd = (1 - self.scale) * Fraction(1, 2)
        return total((2 * relu(letters - odd) - letters) * amount for amount, letters in alike.items())


def _unit(stack: LayerStack, gate: Exact) -> CounterUnit:
    """Adds the layer whose only number is multiplied by the gate at every letter; none for a gate of 1."""
    if gate == 1:
        return CounterUnit()
    builder = stack.layer(SCALE)
    scale = builder.output(SCALE, builder.coordinate(SCALE, gate=gate, write=0, start=1))
    stack.add(builder)
    return CounterUnit(gate=gate, scale=scale)


def compile_counters(request: Request) -> Network:
    """Returns one layer of counters and one of a set-once flag; correct on every word.

    Implements: [Sarrof2024]
    """
    return _recogniser(request, "with gate 1, each compared with zero")


def compile_counters_predictor(request: Request) -> Network:
    """Returns the one layer of counters that predicts on prefixes of valid words.

    Implements: [Sarrof2024]
    """
    return _predictor(request, "with gate 1, each compared with zero; only for prefixes of valid words")


def compile_alternating_counters(request: Request) -> Network:
    """Returns counters with the gate -1, beside the sign of the position, and a flag of errors.

    Implements: [NerodeTheory]
    """
    return _recogniser(
        request,
        "that every letter reflects, h = -h + 2v, compared in proportion to the number (-1)ᵗ of layer 1",
        gate=-1,
    )


def _recogniser(request: Request, how: str, *, gate: Exact = 1) -> Network:
    machine = machine_of(request)
    tables = [allowed_before(machine, letter, request) for letter in range(len(machine.alphabet))]
    if all(table.otherwise and not table.rows for table in tables):
        never = f"{how}; no word leaves the language for good"
        return _predictor(request, never, gate=gate)
    lasts = {
        value for table in tables for variable, value in table.literals if variable == machine.num_counters
    }
    stack = LayerStack(request)
    unit = _unit(stack, gate)
    _add_counters(stack, machine, sorted(lasts), unit)
    builder = stack.layer("errors")
    alike: dict[tuple[DecisionTable[bool], tuple[str, ...]], list[DirectionForm]] = {}
    for letter, table in enumerate(tables):
        alike.setdefault((table, _old_names(machine, letter, unit)), []).append(stack.letter(letter))
    bad = total(
        table_indicator(
            table,
            lambda allowed: not allowed,
            _before(machine, names),
            builder.relu,
            [total(letters)],
        )
        for (table, names), letters in alike.items()
    )
    zeros_shown = _show_zeros(builder, machine, unit)
    stack.add_dead_flag(builder, bad)
    return _finish(
        stack,
        machine,
        unit,
        zeros_shown=zeros_shown,
        alive=1 - direction(DEAD),
        route=f"{count_of(machine)} {how}; layer {len(stack.layers)} remembers the first error",
    )


def _show_zeros(builder: LayerBuilder, machine: CounterMachine, unit: CounterUnit) -> bool:
    """Shows once more which of many counters are zero, as units; returns whether it does.

    A test is a sum of numbers as large as its counter. A unit that reads several tests would add them all,
    and floats would end the sooner; what is 0 or 1 by a unit of its own stands on the stream as it is.
    """
    if machine.num_counters <= _FEW_COUNTERS or unit.alternates:
        return False
    for c in range(machine.num_counters):
        builder.output(_zero(c), builder.readout_relu(direction(f"c{c}=0")))
    return True


def _zero(counter: int) -> str:
    return f"c{counter} is zero"


def _predictor(request: Request, how: str, *, gate: Exact = 1) -> Network:
    machine = machine_of(request)
    stack = LayerStack(request)
    unit = _unit(stack, gate)
    _add_counters(stack, machine, (), unit)
    return _finish(stack, machine, unit, alive=constant(1), route=f"{count_of(machine)} {how}")


def machine_of(request: Request) -> CounterMachine:
    """Returns the machine of the language, or raises NotCompilable if it has none."""
    language = request.facts.language
    if not isinstance(language, CounterLanguage):
        raise NotCompilable(request.target.name, ["the language is not given by a counter machine"])
    return language.machine


def _add_counters(
    stack: LayerStack, machine: CounterMachine, lasts: Sequence[int], unit: CounterUnit
) -> None:
    """Adds the layer of counters, which also shows some letters (or the start) one step later."""
    exclusive = stack.request.options.exclusive_scan
    builder = stack.layer("counters", exposes_previous=exclusive and bool(lasts))
    relu = builder.readout_relu
    for c in range(machine.num_counters):
        added = unit.added(machine, c, stack, builder.relu)
        now = builder.coordinate(f"c{c}", gate=unit.gate, write=added, start=machine.start[c])
        shown = {f"c{c}": now}
        if unit.alternates:
            amounts = {letter: row[c] for letter, row in enumerate(machine.increments)}
            shown |= {_old_names(machine, a, unit)[c]: now - amounts[a] * unit.scale for a in amounts}
        else:
            shown[f"c{c}'"] = now - added
        for name, counter in shown.items():
            builder.output(f"{name}=0", is_zero(counter, relu, unit.scale))
            builder.output(f"{name}>0", unit.is_positive(counter, relu))
    if lasts and not _overwrites(stack.request):
        _add_seen(builder, machine, stack, unit)
        lasts = ()
    for last in lasts:
        at_start = last == len(machine.alphabet)
        write = constant(0) if at_start else stack.letter(last)
        name, retain = last_name(machine, last), stack.request.options.retention
        builder.output(f"{name}'", builder.delayed(name, write, retain, start=int(at_start))[1])
    stack.add(builder)


def _overwrites(request: Request) -> bool:
    """Whether the gates of the target may be 0, or small."""
    properties = request.target.properties
    return can_fade(properties) is True and never_holds(properties) is not True


def _add_seen(builder: LayerBuilder, machine: CounterMachine, stack: LayerStack, unit: CounterUnit) -> None:
    """Shows the last letter before the current one by tallies of the letters, for gates that never forget.

    As long as no letter was wrong, letters come in the order of the alphabet: the last one is the one that
    was seen while the next one was not.
    """
    letters = range(len(machine.alphabet))
    first = frozenset({START})
    for rule in machine.rules:
        late = {
            a for a in rule.symbols if (rule.after or first | set(letters)) - {START if a == 0 else a - 1, a}
        }
        if late:
            reason = "the rules ask for a last letter that may come before others again, and no gate forgets"
            raise NotCompilable(stack.request.target.name, [reason])
    before: list[DirectionForm] = []
    for a in letters:
        name = f"seen {machine.alphabet.symbols[a]}"
        tally = builder.coordinate(name, gate=unit.gate, write=stack.letter(a))
        left = builder.previous(name) if builder.exposes_previous else tally - stack.letter(a)
        before.append(unit.is_positive(left, builder.readout_relu))
    seen = [constant(1), *before, constant(0)]
    for last in (len(letters), *letters):
        number = 0 if last == len(letters) else last + 1
        builder.output(f"{last_name(machine, last)}'", seen[number] - seen[number + 1])


def _old_names(machine: CounterMachine, letter: int, unit: CounterUnit) -> tuple[str, ...]:
    """The names of the counters before a letter; those of an alternating unit are its own multiples less."""
    if not unit.alternates:
        return tuple(f"c{c}'" for c in range(machine.num_counters))
    amounts = machine.increments[letter]
    return tuple(f"c{c}" if d == 0 else f"c{c}{-d:+d}" for c, d in enumerate(amounts))


def allowed_before(machine: CounterMachine, letter: int, request: Request) -> DecisionTable[bool]:
    """Returns whether a letter may follow, by the signs of the counters and the last letter before it.

    The variables of the table are the counters, then the last letter (its number, or the number of letters
    at the start).
    """
    rules = [rule for rule in machine.rules if letter in rule.symbols]
    counters = sorted(frozenset[int]().union(*(rule.zero | rule.positive for rule in rules)))
    num_letters = len(machine.alphabet)
    lasts = range(num_letters + 1) if any(rule.after is not None for rule in rules) else range(1)
    if len(lasts) * 3 ** len(counters) > _MOST_CASES:
        symbol = machine.alphabet.symbols[letter]
        reason = f"{len(counters)} counters decide about the letter {symbol}, too many for one table"
        raise NotCompilable(request.target.name, [reason])
    patterns, values = [], []
    for signs in itertools.product(range(3), repeat=len(counters)):
        known = [ZERO] * machine.num_counters
        for counter, sign in zip(counters, signs, strict=True):
            known[counter] = sign
        for last in lasts:
            patterns.append((*known, last))
            values.append(_some_rule_holds(rules, START if last == num_letters else last, known))
    return decision_table(patterns, values, (*(3,) * machine.num_counters, num_letters + 1))


def _some_rule_holds(rules: Iterable[CounterRule], last: int, signs: list[int]) -> bool:
    counters = tuple(SIGNS[sign] for sign in signs)
    return any(rule.holds(last, counters) for rule in rules)


def _before(machine: CounterMachine, names: Sequence[str]) -> Literal:
    """The literals of the variables of `_allowed`: everything before the current letter."""

    def literal(variable: int, value: int) -> list[DirectionForm]:
        if variable == machine.num_counters:
            return [direction(f"{last_name(machine, value)}'")]
        return [_sign(names[variable], value)]

    return literal


def last_name(machine: CounterMachine, last: int) -> str:
    """Returns the name of the last letter; the number of letters stands for the start."""
    symbols = machine.alphabet.symbols
    return "no letter" if last == len(symbols) else f"last={symbols[last]}"


def _sign(counter: str, sign: int) -> DirectionForm:
    zero, positive = direction(f"{counter}=0"), direction(f"{counter}>0")
    return {NEGATIVE: 1 - zero - positive, ZERO: zero, POSITIVE: positive}[sign]


def _finish(
    stack: LayerStack,
    machine: CounterMachine,
    unit: CounterUnit,
    *,
    alive: DirectionForm,
    route: str,
    zeros_shown: bool = False,
) -> Network:
    """Adds the decoder; a letter is legal where at least one rule that allows it holds."""
    decoder = stack.decoder()

    def sign_of(c: int, sign: int) -> DirectionForm:
        return direction(_zero(c)) if zeros_shown and sign == ZERO else _sign(f"c{c}", sign)

    decode_rules(decoder, machine, alive, stack.letter, sign_of)
    return stack.network(
        decoder.build(stack.empty()),
        route=route,
        reference=Reference("NerodeTheory" if unit.alternates else "Sarrof2024"),
    )


def decode_rules(
    decoder: DecoderBuilder,
    machine: CounterMachine,
    alive: DirectionForm,
    after: Callable[[int], DirectionForm],
    sign: Callable[[int, int], DirectionForm],
) -> None:
    """Adds one unit for each rule of a machine, to the scores of what it allows.

    Args:
        decoder: gets the scores.
        machine: the rules.
        alive: 1 as long as no error was made.
        after: 1 where the last letter is this one.
        sign: 1 where a counter has a sign.
    """
    for rule in machine.rules:
        literals = [alive]
        if rule.after is not None:
            literals.append(total(after(a) for a in sorted(rule.after - {START})))
        literals += [sign(c, ZERO) for c in sorted(rule.zero)]
        literals += [sign(c, POSITIVE) for c in sorted(rule.positive)]
        if constant(0) not in literals:
            decoder.add_legal(Legal(rule.symbols, rule.end), conjunction(literals, decoder.relu))


def count_of(machine: CounterMachine) -> str:
    """Returns the number of counters in words."""
    return "one counter" if machine.num_counters == 1 else f"{machine.num_counters} counters"


_holds_and_adds = linear & (
    (counts_by(WayOfCounting.FREE, WayOfCounting.SLOW_DECAY) & plain_state)
    # The normaliser turns a count into its sign, which is all that is asked for.
    | counts_by(WayOfCounting.NORMALISER)
    # Two reflections per letter have the gate 1 and a free write.
    | (counts_by(WayOfCounting.REFLECTIONS) & many_factors)
)
_cells = nonlinear & counts_by(WayOfCounting.CELL)
"""LSTM cells whose gates have saturated are linear counters; tanh shows their signs."""

COUNTERS = Construction(
    name="counters",
    title="counters and an error flag",
    theorem="counters-in-one-layer",
    language=given_by_counters,
    # A time-invariant layer can only tally errors; the predictor below serves those carriers.
    architecture=(can_hold & _holds_and_adds & input_dependent) | _cells,
    build=compile_counters,
)

COUNTERS_PREDICTOR = Construction(
    name="counters-predictor",
    title="one layer of counters, on valid prefixes",
    theorem="counters-in-one-layer",
    language=given_by_counters,
    architecture=(can_hold & _holds_and_adds) | _cells,
    build=compile_counters_predictor,
    predicts_only=True,
)

ALTERNATING_COUNTERS = Construction(
    name="alternating-counters",
    title="counters that every letter reflects",
    theorem="counters-two-reflections",
    language=given_by_counters,
    architecture=linear & householder & counts_by(WayOfCounting.REFLECTIONS) & one_factor,
    build=compile_alternating_counters,
)
