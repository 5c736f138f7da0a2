"""The automaton of a formula.

A state is one bit for each temporal subformula (what it needs to remember about the positions so far) and the
truth of the whole formula. One letter updates all bits in the order of the subformulas.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nerode.core import Budget, started
from nerode.languages.alphabet import Alphabet
from nerode.languages.determinise import explore, minimise
from nerode.languages.dfa import BoolArray, Dfa
from nerode.languages.language import RegularLanguage
from nerode.languages.notation import distinct_subtrees
from nerode.languages.pastltl.syntax import (
    And,
    Atom,
    Constant,
    Formula,
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
    parse,
)

_CELLS = 1 << 22
"""How many truth values one batch of states may take."""

_SHOWN = 60
"""How much of a long formula is quoted in the convention."""


def formula_to_dfa(
    formula: str | PastFormula, alphabet: Alphabet | Iterable[str] | None = None, budget: Budget | None = None
) -> Dfa:
    """Returns the canonical minimal automaton of the words at whose last position the formula holds.

    Args:
        formula: text in the notation of `nerode.languages.pastltl`, or a parsed formula.
        alphabet: for text, the alphabet; by default the letters of the formula.
        budget: `states` limits the automaton before it is minimised.

    Raises:
        PatternError: if the text does not parse.
        BudgetExceeded: with the number of states that were reached.
    """
    budget = started(budget)
    parsed = formula if isinstance(formula, PastFormula) else parse(formula, alphabet)
    machine = _Machine(parsed)
    states, table = explore(
        [machine.start()],
        machine.successors,
        num_letters=machine.num_classes,
        batch=machine.batch,
        budget=budget,
    )
    truth = np.array([state[0] & 1 for state in states], dtype=np.bool_)
    columns = [machine.class_of[symbol] for symbol in parsed.alphabet]
    return minimise(Dfa(alphabet=parsed.alphabet, transitions=table[:, columns], start=0, accepting=truth))


def formula_language(
    text: str,
    alphabet: Alphabet | Iterable[str] | None = None,
    budget: Budget | None = None,
    *,
    name: str | None = None,
) -> RegularLanguage:
    """Returns the language of a formula; its name is the formula unless another is given."""
    formula = parse(text, alphabet)
    automaton = formula_to_dfa(formula, budget=budget)
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    empty = "belongs to it" if automaton.accepts(()) else "does not belong to it"
    return RegularLanguage(
        name=text if name is None else name,
        automaton=automaton,
        convention=f"words at whose last position {shown} holds; the empty word {empty} "
        "(letters, Y, O and S are false of it, Z and H are true)",
    )


class _Machine:
    """The transition function on packed truth values; bit 0 of a state is the truth of the formula."""

    def __init__(self, formula: PastFormula) -> None:
        self.nodes, self.operands = distinct_subtrees(formula.formula)
        self.memory = [i for i, node in enumerate(self.nodes) if isinstance(node, Temporal)]
        self.place = {node: place for place, node in enumerate(self.memory)}
        self.num_bits = 1 + len(self.memory)
        atoms = {node.symbol for node in self.nodes if isinstance(node, Atom)}
        # Letters that the formula does not name behave alike. Classes are numbered by their first letter,
        # so that copying columns at the end keeps the states in breadth-first order.
        numbers: dict[str | None, int] = {}
        self.class_of = {
            symbol: numbers.setdefault(symbol if symbol in atoms else None, len(numbers))
            for symbol in formula.alphabet
        }
        self.num_classes = len(numbers)
        self.class_of_atom = {symbol: numbers[symbol] for symbol in atoms}
        self.batch = max(1, _CELLS // (len(self.nodes) * self.num_classes))

    def start(self) -> bytes:
        """The state of the empty word: every temporal formula has the value that its memory starts with."""
        initial = [isinstance(self.nodes[i], WeakYesterday | Historically) for i in self.memory]
        memory = np.array(initial, dtype=np.bool_).reshape(-1, 1)
        values: list[BoolArray] = []
        for i, node in enumerate(self.nodes):
            if isinstance(node, Temporal):
                values.append(memory[self.place[i]])
            elif isinstance(node, Atom):
                values.append(np.zeros(1, dtype=np.bool_))
            else:
                values.append(_boolean(node, [values[j] for j in self.operands[i]], 1))
        return _pack(np.concatenate([values[-1].reshape(1, 1), memory]))[0]

    def successors(self, states: list[bytes]) -> list[bytes]:
        """The states after each letter class, state by state."""
        width = len(states) * self.num_classes
        packed = np.frombuffer(b"".join(states), dtype=np.uint8).reshape(len(states), -1)
        bits = np.unpackbits(packed, axis=1, count=self.num_bits, bitorder="little").astype(np.bool_)
        memory = np.repeat(bits[:, 1:].T, self.num_classes, axis=1)
        letters = np.tile(np.arange(self.num_classes), len(states))
        after = np.empty((self.num_bits, width), dtype=np.bool_)
        values: list[BoolArray] = []
        for i, node in enumerate(self.nodes):
            below = [values[j] for j in self.operands[i]]
            if isinstance(node, Temporal):
                place = self.place[i]
                value, after[1 + place] = _temporal(node, below, memory[place])
            elif isinstance(node, Atom):
                value = letters == self.class_of_atom[node.symbol]
            else:
                value = _boolean(node, below, width)
            values.append(value)
        after[0] = values[-1]
        return _pack(after)


def _temporal(node: Temporal, below: list[BoolArray], memory: BoolArray) -> tuple[BoolArray, BoolArray]:
    """The value of a temporal formula at this position, and what it remembers for the next one."""
    match node:
        case Yesterday() | WeakYesterday():
            return memory, below[0]
        case Once():
            value = memory | below[0]
        case Historically():
            value = memory & below[0]
        case Since():
            value = below[1] | (below[0] & memory)
        case _:
            raise TypeError(f"{type(node).__name__} is not a temporal operator")
    return value, value


def _boolean(node: Formula, below: list[BoolArray], width: int) -> BoolArray:
    value: BoolArray
    match node:
        case Constant(constant):
            value = np.full(width, constant, dtype=np.bool_)
        case Not():
            value = ~below[0]
        case And():
            value = np.logical_and.reduce(below)
        case Or():
            value = np.logical_or.reduce(below)
        case Implies():
            value = below[1] | ~below[0]
        case Iff():
            value = below[0] == below[1]
        case _:
            raise TypeError(f"{type(node).__name__} is not a Boolean operator")
    return value


def _pack(bits: BoolArray) -> list[bytes]:
    """The columns as byte strings."""
    rows = np.packbits(bits.T, axis=1, bitorder="little")
    width = rows.shape[1]
    text = rows.tobytes()
    return [text[i : i + width] for i in range(0, len(text), width)]
