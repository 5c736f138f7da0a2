"""Formulas of past temporal logic: one coordinate for each temporal operator, one layer for each nesting.

    Y f, Z f   gate 0, write f; the value before the letter is the truth (without an exclusive scan: gate 1/4,
               and the truth is the second base-4 digit)
    O f        gate 1 - f, write f
    H f        gate f, write 0, starting with 1
    f S g      gate f and not g, write g

Fixed gates do all but "since": O f counts the positions where f held, H f those where it did not.
What the operands say is a table over the letter and the truth of the operators inside, one unit a row.
Acceptance is the truth of the formula; which letters may follow is a table over the coordinates, made from
the minimal automaton.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TypeVar

from nerode.compiler.assembly import Assembly, Literal, decode_table, legal_sets, table_indicator
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.forms import Form, direction
from nerode.compiler.formula_machine import FormulaMachine, Position
from nerode.compiler.layer_builder import LayerBuilder, Relu
from nerode.compiler.piecewise import is_positive, second_digit, top_digit
from nerode.compiler.tables import DecisionTable, decision_table
from nerode.core import NotCompilable, Reference
from nerode.languages import Legal
from nerode.languages.pastltl import (
    FormulaLanguage,
    Historically,
    Once,
    Since,
    WeakYesterday,
    Yesterday,
    subformulas,
    to_text,
)
from nerode.network import Network, ScoreDecoder
from nerode.verdict import (
    LanguageCondition,
    can_hold,
    diagonal,
    householder,
    input_dependent,
    linear,
    time_invariant,
)

V = TypeVar("V", bound=Hashable)

_LONGEST_NAME = 24

HOLD, SET, CLEAR = "hold", "set", "clear"
"""What "since" does with its bit."""

_formula = LanguageCondition(
    "given by a formula of past temporal logic", lambda facts: isinstance(facts.language, FormulaLanguage)
)
_unary = LanguageCondition(
    "given by a formula without 'since'",
    lambda facts: (
        isinstance(facts.language, FormulaLanguage)
        and not any(isinstance(node, Since) for node in subformulas(facts.language.formula.formula))
    ),
)


def compile_past_ltl(request: Request, name: str = "past-ltl") -> Network:
    """Returns one layer for each nesting of temporal operators, one coordinate for each operator.

    Implements: [Alsmann2026]
    """
    language = request.facts.language
    if not isinstance(language, FormulaLanguage):
        raise NotCompilable(request.target.name, ["the language is not given by a formula"])
    machine = FormulaMachine(language.formula)
    if not machine.temporal:
        raise NotCompilable(request.target.name, ["the formula has no temporal operator, so nothing is kept"])
    network = _FormulaNetwork(request, machine, machine.positions(language.automaton, request.options.budget))
    for depth in range(1, network.depth + 1):
        network.add_layer(depth)
    operators = f"{len(machine.temporal)} operators" if len(machine.temporal) > 1 else "one operator"
    return network.assembly.network(
        network.decoder(legal_sets(language.automaton)),
        construction=name,
        route=f"the formula itself: {operators}, nested to depth {network.depth}",
        reference=Reference("Alsmann2026"),
    )


class _FormulaNetwork:
    """The layers of one formula."""

    def __init__(self, request: Request, machine: FormulaMachine, positions: list[Position]) -> None:
        self.assembly = Assembly(request)
        self._machine = machine
        self._positions = positions
        self._names = self._name_operators()
        self.depth = max(machine.depth(i) for i in machine.temporal)

    def _name_operators(self) -> dict[int, str]:
        """The text of each temporal subformula, or a number where that is long."""
        names = {}
        for i in self._machine.temporal:
            text = to_text(self._machine.nodes[i])
            names[i] = text if len(text) <= _LONGEST_NAME else f"formula {i}"
        return names

    def add_layer(self, depth: int) -> None:
        """Adds the operators in which so many are nested, themselves included."""
        machine = self._machine
        operators = [i for i in machine.temporal if machine.depth(i) == depth]
        looks_back = any(isinstance(machine.nodes[i], Yesterday | WeakYesterday) for i in operators)
        exposes = looks_back and self.assembly.request.options.exclusive_scan
        builder = self.assembly.layer(f"nesting {depth}", exposes_previous=exposes)
        for i in operators:
            match machine.nodes[i]:
                case Yesterday() | WeakYesterday():
                    self._add_yesterday(builder, i)
                case Once() | Historically():
                    self._add_unary(builder, i)
                case Since():
                    self._add_since(builder, i)
        self.assembly.add(builder)

    def _add_yesterday(self, builder: LayerBuilder, i: int) -> None:
        name = self._names[i]
        start = int(isinstance(self._machine.nodes[i], WeakYesterday))
        holds = self._truth(self._machine.operands[i][0], builder.relu)
        exclusive, retain = builder.exposes_previous, self.assembly.request.options.retention
        state = builder.coordinate(name, gate=0 if exclusive else retain, write=holds, start=start)
        relu = builder.readout_relu
        builder.output(name, builder.previous(name) if exclusive else second_digit(state, relu, retain))
        builder.output(_kept(name), state if exclusive else top_digit(state, relu))

    def _add_unary(self, builder: LayerBuilder, i: int) -> None:
        name = self._names[i]
        holds = self._truth(self._machine.operands[i][0], builder.relu)
        once = isinstance(self._machine.nodes[i], Once)
        if self.assembly.time_invariant:
            count = builder.coordinate(name, gate=1, write=holds if once else 1 - holds)
            seen = is_positive(count, builder.readout_relu)
            builder.output(name, seen if once else 1 - seen)
        elif once:
            builder.output(name, builder.coordinate(name, gate=1 - holds, write=holds))
        else:
            builder.output(name, builder.coordinate(name, gate=holds, write=0, start=1))

    def _add_since(self, builder: LayerBuilder, i: int) -> None:
        name = self._names[i]
        if self.assembly.time_invariant:
            raise NotCompilable(self.assembly.request.target.name, ["'since' needs an input-dependent gate"])
        left, right = self._machine.operands[i]
        cone = sorted({*self._machine.cone(left), *self._machine.cone(right)})

        def action(position: Position) -> str:
            if position.truth[right]:
                return SET
            return HOLD if position.truth[left] else CLEAR

        table = self._table(cone, action)
        state = builder.coordinate(
            name,
            gate=table_indicator(table, HOLD.__eq__, self._literal(cone), builder.relu),
            write=table_indicator(table, SET.__eq__, self._literal(cone), builder.relu),
        )
        builder.output(name, state)

    def decoder(self, legal: list[Legal]) -> ScoreDecoder:
        """Returns the decoder: the end by the truth of the formula, letters by what the operators keep."""
        decoder = self.assembly.decoder()
        whole = len(self._machine.nodes) - 1
        decoder.add(len(self.assembly.alphabet), self._truth(whole, decoder.relu))
        kept = list(dict.fromkeys((p.memory, p.state) for p in self._positions))
        table = decision_table(
            [memory for memory, _ in kept],
            [Legal(legal[state].symbols, False) for _, state in kept],
            [2] * len(self._machine.temporal),
            self.assembly.request.options.budget,
        )
        decode_table(decoder, table, self._kept_literal)
        return decoder.build(self.assembly.empty())

    def _truth(self, place: int, relu: Relu) -> Form:
        """Returns 1 where a subformula holds."""
        cone = self._machine.cone(place)
        table = self._table(cone, lambda position: position.truth[place])
        return table_indicator(table, bool, self._literal(cone), relu)

    def _table(self, cone: Sequence[int], value: Callable[[Position], V]) -> DecisionTable[V]:
        """Returns a function of the letter and of the truth of some operators as a table."""
        cases = {(p.letter, *(p.truth[i] for i in cone)): value(p) for p in self._positions}
        sizes = [len(self.assembly.alphabet), *(2 for _ in cone)]
        return decision_table(list(cases), list(cases.values()), sizes, self.assembly.request.options.budget)

    def _literal(self, cone: Sequence[int]) -> Literal:
        """The literals of the variables of `_table`."""

        def literal(variable: int, value: int) -> list[Form]:
            if variable == 0:
                return [self.assembly.letter(value)]
            name = direction(self._names[cone[variable - 1]])
            return [name if value else 1 - name]

        return literal

    def _kept_literal(self, variable: int, value: int) -> list[Form]:
        """The literals of what an operator keeps: the truth of what follows Y or Z, otherwise its own."""
        place = self._machine.temporal[variable]
        looks_back = isinstance(self._machine.nodes[place], Yesterday | WeakYesterday)
        kept = direction(_kept(self._names[place]) if looks_back else self._names[place])
        return [kept if value else 1 - kept]


def _kept(name: str) -> str:
    return f"next {name}"


for _suffix, _theorem, _language, _architecture in (
    ("", "star-free-selective", _formula, diagonal & input_dependent),
    ("-delta-rule", "star-free-delta-rule", _formula, householder & input_dependent),
    ("-time-invariant", "time-invariant-unary-logic", _unary, time_invariant),
):
    construction(
        Construction(
            name=f"past-ltl{_suffix}",
            title="one coordinate a temporal operator",
            theorem=_theorem,
            language=_language,
            architecture=linear & can_hold & _architecture,
            build=partial(compile_past_ltl, name=f"past-ltl{_suffix}"),
        )
    )
