"""Formulas of past temporal logic: one coordinate for each temporal operator, one layer for each nesting.

    Y f, Z f   gate 0, write f; the value before the letter is the truth (without an exclusive scan: gate 1/4,
               and the truth is the second base-4 digit)
    O f        gate 1 - f, write f
    H f        gate f, write 0, starting with 1
    f S g      gate f and not g, write g

Fixed gates do all but "since": O f counts the positions where f held, H f those where it did not.
The operands are tables over the letter and the truth of the operators inside, one unit per row.
Acceptance is the truth of the formula; which letters may follow is a table over the coordinates, made from
the minimal automaton.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from nerode.compiler.construction import Construction, Request
from nerode.compiler.forms import DirectionForm, Relu, direction, is_positive, top_digit
from nerode.compiler.layer_builder import LayerBuilder
from nerode.compiler.network_builder import LayerStack, legal_sets
from nerode.compiler.tables import DecisionTable, Literal, decision_table, decode_table, table_indicator
from nerode.core import Budget, NotCompilable, Reference
from nerode.languages import Dfa, Legal, distinct_subtrees
from nerode.languages.pastltl import (
    And,
    Atom,
    Constant,
    Formula,
    FormulaLanguage,
    Historically,
    Iff,
    Implies,
    Not,
    Once,
    Or,
    PastFormula,
    Since,
    Temporal,
    WeakYesterday,
    Yesterday,
    subformulas,
    to_text,
)
from nerode.network import Network, ScoreDecoder
from nerode.verdict import (
    LanguageCondition,
    can_fade,
    can_hold,
    diagonal,
    householder,
    input_dependent,
    linear,
    time_invariant,
)

Memory = tuple[bool, ...]

V = TypeVar("V", bound=Hashable)

_LONGEST_NAME = 24

HOLD, SET, CLEAR = "hold", "set", "clear"
"""The commands of "since" to its bit."""

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


@dataclass(frozen=True, slots=True)
class Position:
    """The truth of all subformulas at one position of a word.

    Attributes:
        letter: the letter there.
        truth: of every subformula.
        memory: what each temporal subformula keeps for the next position.
        state: of the minimal automaton, after the letter.
    """

    letter: int
    truth: Memory
    memory: Memory
    state: int


class FormulaMachine:
    """The subformulas of a formula, and how their truth moves from one position to the next.

    Attributes:
        nodes: the different subformulas, operands first, the whole last.
        operands: the places of each one's operands.
        temporal: the places of those that begin with a temporal operator.
    """

    def __init__(self, formula: PastFormula) -> None:
        self.alphabet = formula.alphabet
        self.nodes, self.operands = distinct_subtrees(formula.formula)
        self.temporal = [i for i, node in enumerate(self.nodes) if isinstance(node, Temporal)]
        self._place = {node: place for place, node in enumerate(self.temporal)}

    def depth(self, place: int) -> int:
        """Returns how many temporal operators are nested in a subformula."""
        return self._depths[place]

    @functools.cached_property
    def _depths(self) -> list[int]:
        depths: list[int] = []
        for node, below in zip(self.nodes, self.operands, strict=True):
            depths.append(isinstance(node, Temporal) + max((depths[i] for i in below), default=0))
        return depths

    def cone(self, place: int) -> tuple[int, ...]:
        """Returns the temporal subformulas on which the truth of a subformula depends at one position."""
        found: set[int] = set()
        pending = [place]
        while pending:
            current = pending.pop()
            if isinstance(self.nodes[current], Temporal):
                found.add(current)
            else:
                pending.extend(self.operands[current])
        return tuple(sorted(found))

    def initial(self) -> Memory:
        """Returns what is kept before the first letter: "weak yesterday" and "historically" hold there."""
        return tuple(isinstance(self.nodes[i], WeakYesterday | Historically) for i in self.temporal)

    def step(self, memory: Memory, letter: int) -> tuple[Memory, Memory]:
        """Returns the truth of all subformulas at the next position, and what is kept after it."""
        symbol = self.alphabet.symbols[letter]
        truth: list[bool] = []
        kept = list(memory)
        for i, node in enumerate(self.nodes):
            below = [truth[j] for j in self.operands[i]]
            if isinstance(node, Temporal):
                place = self._place[i]
                value, kept[place] = _temporal(node, below, memory[place])
            else:
                value = node.symbol == symbol if isinstance(node, Atom) else _boolean(node, below)
            truth.append(value)
        return tuple(truth), tuple(kept)

    def positions(self, dfa: Dfa, budget: Budget) -> list[Position]:
        """Returns everything that can hold at a position of some word.

        Args:
            dfa: the minimal automaton of the formula.
            budget: `states` bounds what is kept.
        """
        found: dict[tuple[int, Memory], Position] = {}
        states = {self.initial(): dfa.start}
        pending = [self.initial()]
        while pending:
            memory = pending.pop()
            for letter in range(len(self.alphabet)):
                truth, kept = self.step(memory, letter)
                state = int(dfa.transitions[states[memory], letter])
                if kept not in states:
                    states[kept] = state
                    pending.append(kept)
                position = Position(letter, truth, kept, state)
                found.setdefault((letter, truth + kept), position)
            budget.check("states", len(states), states_of_the_formula=len(states))
        return list(found.values())


def _temporal(node: Temporal, below: Sequence[bool], memory: bool) -> tuple[bool, bool]:
    """The truth at this position, and what is kept for the next one."""
    match node:
        case Yesterday() | WeakYesterday():
            return memory, below[0]
        case Once():
            value = memory or below[0]
        case Historically():
            value = memory and below[0]
        case Since():
            value = below[1] or (below[0] and memory)
        case _:
            raise TypeError(f"{type(node).__name__} is not a temporal operator")
    return value, value


def _boolean(node: Formula, below: Sequence[bool]) -> bool:
    match node:
        case Constant(value):
            return value
        case Not():
            return not below[0]
        case And():
            return all(below)
        case Or():
            return any(below)
        case Implies():
            return below[1] or not below[0]
        case Iff():
            return below[0] == below[1]
        case _:
            raise TypeError(f"{type(node).__name__} is not a Boolean operator")


def compile_past_ltl(request: Request) -> Network:
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
    return network.stack.network(
        network.decoder(legal_sets(language.automaton)),
        route=f"the formula itself: {operators}, nested to depth {network.depth}",
        reference=Reference("Alsmann2026"),
    )


class _FormulaNetwork:
    """The layers of one formula."""

    def __init__(self, request: Request, machine: FormulaMachine, positions: list[Position]) -> None:
        self.stack = LayerStack(request)
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
        exposes = looks_back and self.stack.request.options.exclusive_scan
        builder = self.stack.layer(f"nesting {depth}", exposes_previous=exposes)
        for i in operators:
            match machine.nodes[i]:
                case Yesterday() | WeakYesterday():
                    self._add_yesterday(builder, i)
                case Once() | Historically():
                    self._add_unary(builder, i)
                case Since():
                    self._add_since(builder, i)
        self.stack.add(builder)

    def _add_yesterday(self, builder: LayerBuilder, i: int) -> None:
        name = self._names[i]
        start = int(isinstance(self._machine.nodes[i], WeakYesterday))
        holds = self._truth(self._machine.operands[i][0], builder.relu)
        state, before = builder.delayed(name, holds, self.stack.request.options.retention, start=start)
        builder.output(name, before)
        now = state if builder.exposes_previous else top_digit(state, builder.readout_relu)
        builder.output(_kept(name), now)

    def _add_unary(self, builder: LayerBuilder, i: int) -> None:
        name = self._names[i]
        holds = self._truth(self._machine.operands[i][0], builder.relu)
        once = isinstance(self._machine.nodes[i], Once)
        if self.stack.time_invariant:
            count = builder.coordinate(name, gate=1, write=holds if once else 1 - holds)
            seen = is_positive(count, builder.readout_relu)
            builder.output(name, seen if once else 1 - seen)
        elif once:
            builder.output(name, builder.coordinate(name, gate=1 - holds, write=holds))
        else:
            builder.output(name, builder.coordinate(name, gate=holds, write=0, start=1))

    def _add_since(self, builder: LayerBuilder, i: int) -> None:
        name = self._names[i]
        if self.stack.time_invariant:
            raise NotCompilable(self.stack.request.target.name, ["'since' needs an input-dependent gate"])
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
        decoder = self.stack.decoder()
        whole = len(self._machine.nodes) - 1
        decoder.add(len(self.stack.alphabet), self._truth(whole, decoder.relu))
        kept = list(dict.fromkeys((p.memory, p.state) for p in self._positions))
        table = decision_table(
            [memory for memory, _ in kept],
            [Legal(legal[state].symbols, False) for _, state in kept],
            [2] * len(self._machine.temporal),
            self.stack.request.options.budget,
        )
        decode_table(decoder, table, self._kept_literal)
        return decoder.build(self.stack.empty())

    def _truth(self, place: int, relu: Relu) -> DirectionForm:
        """Returns 1 where a subformula holds."""
        cone = self._machine.cone(place)
        table = self._table(cone, lambda position: position.truth[place])
        return table_indicator(table, bool, self._literal(cone), relu)

    def _table(self, cone: Sequence[int], value: Callable[[Position], V]) -> DecisionTable[V]:
        """Returns a function of the letter and of the truth of some operators as a table."""
        cases = {(p.letter, *(p.truth[i] for i in cone)): value(p) for p in self._positions}
        sizes = [len(self.stack.alphabet), *(2 for _ in cone)]
        return decision_table(list(cases), list(cases.values()), sizes, self.stack.request.options.budget)

    def _literal(self, cone: Sequence[int]) -> Literal:
        """The literals of the variables of `_table`."""

        def literal(variable: int, value: int) -> list[DirectionForm]:
            if variable == 0:
                return [self.stack.letter(value)]
            name = direction(self._names[cone[variable - 1]])
            return [name if value else 1 - name]

        return literal

    def _kept_literal(self, variable: int, value: int) -> list[DirectionForm]:
        """The literals of what an operator keeps: the truth of what follows Y or Z, otherwise its own."""
        place = self._machine.temporal[variable]
        looks_back = isinstance(self._machine.nodes[place], Yesterday | WeakYesterday)
        kept = direction(_kept(self._names[place]) if looks_back else self._names[place])
        return [kept if value else 1 - kept]


def _kept(name: str) -> str:
    return f"next {name}"


PAST_LTL = Construction(
    name="past-ltl",
    title="one coordinate per temporal operator",
    theorem="star-free-selective",
    language=_formula,
    architecture=linear & can_hold & can_fade & diagonal & input_dependent,
    build=compile_past_ltl,
)

PAST_LTL_DELTA_RULE = replace(
    PAST_LTL,
    name="past-ltl-delta-rule",
    theorem="star-free-delta-rule",
    architecture=linear & can_hold & householder & input_dependent,
)

PAST_LTL_TIME_INVARIANT = replace(
    PAST_LTL,
    name="past-ltl-time-invariant",
    theorem="time-invariant-unary-logic",
    language=_unary,
    architecture=linear & can_hold & time_invariant,
)
