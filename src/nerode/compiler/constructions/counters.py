"""Counter languages: one layer of integer counters, and a flag for words that left the language.

Each letter adds its amounts to counters with gate 1. What may follow depends on the current letter, which is
on the stream, and on which counters are zero or positive; every counter is compared with zero by itself,
before anything could scale one down next to another. One layer predicts on prefixes of valid words. After an
error the counters mean nothing (they may be negative, too), so a second layer remembers the first error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction

from nerode.compiler.construction import Construction, Request
from nerode.compiler.forms import (
    DirectionForm,
    conjunction,
    constant,
    direction,
    equals,
    is_positive,
    second_digit,
    total,
)
from nerode.compiler.layer_builder import LayerBuilder
from nerode.compiler.network_builder import DEAD, LayerStack
from nerode.compiler.tables import DecisionTable, Literal, decision_table, table_indicator
from nerode.core import NotCompilable, Reference
from nerode.languages import START, CounterLanguage, CounterMachine, CounterRule
from nerode.network import Network
from nerode.verdict import LanguageCondition, can_hold, free_write, input_dependent, linear, plain_state

NEGATIVE, ZERO, POSITIVE = 0, 1, 2
SIGNS = (-1, 0, 1)
"""A counter of each sign, for trying the rules."""

_MOST_CASES = 100_000
"""Combinations of signs and last letters that are tried for one letter."""

_counter_machine = LanguageCondition(
    "given by a counter machine", lambda facts: isinstance(facts.language, CounterLanguage)
)


def compile_counters(request: Request) -> Network:
    """Returns one layer of counters and one of a set-once flag; right on every word.

    Implements: [Sarrof2024]
    """
    machine = _machine(request)
    tables = [_allowed(machine, letter, request) for letter in range(len(machine.alphabet))]
    if all(table.otherwise and not table.rows for table in tables):
        return _without_flag(request, "no word leaves the language for good")
    lasts = {
        value for table in tables for variable, value in table.literals if variable == machine.num_counters
    }
    stack = LayerStack(request)
    _add_counters(stack, machine, sorted(lasts))
    builder = stack.layer("errors")
    alike: dict[DecisionTable[bool], list[DirectionForm]] = {}
    for letter, table in enumerate(tables):
        alike.setdefault(table, []).append(stack.letter(letter))
    bad = total(
        table_indicator(table, lambda allowed: not allowed, _before(machine), builder.relu, [total(letters)])
        for table, letters in alike.items()
    )
    stack.add_dead_flag(builder, bad)
    return _finish(
        stack,
        machine,
        alive=1 - direction(DEAD),
        route=f"{_count(machine)} with gate 1, each compared with zero; layer 2 remembers the first error",
    )


def compile_counters_predictor(request: Request) -> Network:
    """Returns the one layer of counters that predicts on prefixes of valid words.

    Implements: [Sarrof2024]
    """
    return _without_flag(request, "only for prefixes of valid words")


def _without_flag(request: Request, scope: str) -> Network:
    machine = _machine(request)
    stack = LayerStack(request)
    _add_counters(stack, machine, ())
    route = f"{_count(machine)} with gate 1, each compared with zero; {scope}"
    return _finish(stack, machine, alive=constant(1), route=route)


def _machine(request: Request) -> CounterMachine:
    language = request.facts.language
    if not isinstance(language, CounterLanguage):
        raise NotCompilable(request.target.name, ["the language is not given by a counter machine"])
    return language.machine


def _add_counters(stack: LayerStack, machine: CounterMachine, lasts: Sequence[int]) -> None:
    """Adds the layer of counters, which also shows some letters (or the start) one step later."""
    exclusive = stack.request.options.exclusive_scan
    builder = stack.layer("counters", exposes_previous=exclusive and bool(lasts))
    relu = builder.readout_relu
    for c in range(machine.num_counters):
        added = total(stack.letter(a) * row[c] for a, row in enumerate(machine.increments))
        now = builder.coordinate(f"c{c}", gate=1, write=added, start=machine.start[c])
        for name, counter in ((f"c{c}", now), (f"c{c}'", now - added)):
            builder.output(f"{name}=0", equals(counter, 0, relu))
            builder.output(f"{name}>0", is_positive(counter, relu))
    for last in lasts:
        at_start = last == len(machine.alphabet)
        write = constant(0) if at_start else stack.letter(last)
        retain = stack.request.options.retention
        _add_last(builder, _last_name(machine, last), write, start=int(at_start), retain=retain)
    stack.add(builder)


def _add_last(
    builder: LayerBuilder, name: str, write: DirectionForm, *, start: int, retain: Fraction
) -> None:
    """Holds a bit for one step and shows the one before."""
    if builder.exposes_previous:
        builder.coordinate(name, gate=0, write=write, start=start)
        builder.output(f"{name}'", builder.previous(name))
    else:
        state = builder.coordinate(name, gate=retain, write=write, start=start)
        builder.output(f"{name}'", second_digit(state, builder.readout_relu, retain))


def _allowed(machine: CounterMachine, letter: int, request: Request) -> DecisionTable[bool]:
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


def _before(machine: CounterMachine) -> Literal:
    """The literals of the variables of `_allowed`: everything before the current letter."""

    def literal(variable: int, value: int) -> list[DirectionForm]:
        if variable == machine.num_counters:
            return [direction(f"{_last_name(machine, value)}'")]
        return [_sign(f"c{variable}'", value)]

    return literal


def _last_name(machine: CounterMachine, last: int) -> str:
    symbols = machine.alphabet.symbols
    return "no letter" if last == len(symbols) else f"last={symbols[last]}"


def _sign(counter: str, sign: int) -> DirectionForm:
    zero, positive = direction(f"{counter}=0"), direction(f"{counter}>0")
    return {NEGATIVE: 1 - zero - positive, ZERO: zero, POSITIVE: positive}[sign]


def _finish(stack: LayerStack, machine: CounterMachine, *, alive: DirectionForm, route: str) -> Network:
    """Adds one unit for each rule; a symbol is legal where at least one rule that allows it holds."""
    decoder = stack.decoder()
    for rule in machine.rules:
        literals = [alive]
        if rule.after is not None:
            literals.append(total(stack.letter(a) for a in sorted(rule.after - {START})))
        literals += [_sign(f"c{c}", ZERO) for c in sorted(rule.zero)]
        literals += [_sign(f"c{c}", POSITIVE) for c in sorted(rule.positive)]
        if constant(0) in literals:
            continue
        holds = conjunction(literals, decoder.relu)
        for symbol in sorted(rule.symbols):
            decoder.add(symbol, holds)
        if rule.end:
            decoder.add(len(machine.alphabet), holds)
    return stack.network(
        decoder.build(stack.empty()),
        route=route,
        reference=Reference("Sarrof2024"),
    )


def _count(machine: CounterMachine) -> str:
    return "one counter" if machine.num_counters == 1 else f"{machine.num_counters} counters"


COUNTERS = Construction(
    name="counters",
    title="counters and an error flag",
    theorem="counters-in-one-layer",
    language=_counter_machine,
    # A time-invariant layer can only tally errors; the predictor below serves those carriers.
    architecture=linear & can_hold & free_write & plain_state & input_dependent,
    build=compile_counters,
)

COUNTERS_PREDICTOR = Construction(
    name="counters-predictor",
    title="one layer of counters, on valid prefixes",
    theorem="counters-in-one-layer",
    language=_counter_machine,
    architecture=linear & can_hold & free_write & plain_state,
    build=compile_counters_predictor,
)
