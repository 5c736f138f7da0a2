r"""Past temporal logic, and the automata its formulas stand for.

A formula describes the words at whose *last position* it holds. From tight to loose binding:

| written | holds at a position |
|---|---|
| `a`, `7`, `é` | whose letter this is: every character without a meaning of its own |
| `<close>`, `<S>` | the same, for names of several characters and names of operators |
| `\(` | the same, for punctuation with a meaning |
| `true`, `false` | always, never |
| `( )` | grouping |
| `!f` | if f does not |
| `Y f` | yesterday: if there is a position before, and f held there |
| `Z f` | weak yesterday: if there is no position before, or f held there |
| `O f` (or `P f`) | once: if f held here or at some position before |
| `H f` | historically: if f held here and at all positions before |
| `f S g` | since: if g held here or before, and f held at every position after that one |
| `f & g` | if both do |
| `f \| g` | if one of them does |
| `f -> g` | if g does or f does not |
| `f <-> g` | if both do or neither does |

All unary operators bind equally tightly. `S` and `<->` associate to the left, `->` to the right:
`a S b S c` is `(a S b) S c`, `a -> b -> c` is `a -> (b -> c)`. White space is ignored.

The empty word has no position. What claims that something has happened is false of it, what claims that
nothing else has is true: letters, `Y`, `O` and `S` are false, `Z` and `H` are true, and the Boolean
operators decide. The laws `H f = !O !f`, `Z f = !Y !f` and `O f = true S f` hold there too. So (ab)* is
`H ((a -> Z b) & (b -> Y a)) & !a`, and `Z false` says that the word has at most one letter.

The alphabet consists of the letters written in the formula, sorted, or is given; then the formula may use
only letters of that alphabet.

A state of the automaton of a formula is one bit for each temporal subformula (what it needs to remember about
the positions so far) and the truth of the whole formula. One letter updates all bits in the order of the
subformulas. `holds` and `truth_along` evaluate a formula on a word straight from the definition: the oracle
for everything compiled from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from nerode.core import Budget, started
from nerode.languages.alphabet import Alphabet, WordLike
from nerode.languages.determinise import explore, minimise
from nerode.languages.dfa import BoolArray, Dfa
from nerode.languages.language import RegularLanguage
from nerode.languages.notation import distinct_subtrees, fold
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
    conjunction,
    disjunction,
    parse,
    subformulas,
    temporal_depth,
    temporal_subformulas,
    to_text,
)

__all__ = [
    "And",
    "Atom",
    "Constant",
    "Formula",
    "FormulaLanguage",
    "Historically",
    "Iff",
    "Implies",
    "Not",
    "Once",
    "Or",
    "PastFormula",
    "Since",
    "Temporal",
    "WeakYesterday",
    "Yesterday",
    "conjunction",
    "disjunction",
    "formula_language",
    "formula_to_dfa",
    "holds",
    "parse",
    "subformulas",
    "temporal_depth",
    "temporal_subformulas",
    "to_text",
]


_CELLS = 1 << 22
"""How many truth values one batch of states may take."""

_SHOWN = 60
"""How much of a long formula is quoted in the convention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaLanguage(RegularLanguage):
    """The language of a formula, which it keeps for compiling it directly.

    Attributes:
        formula: the formula; two languages are compared by their automata all the same.
    """

    formula: PastFormula = field(compare=False, repr=False)


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
) -> FormulaLanguage:
    """Returns the language of a formula; its name is the formula unless another is given."""
    formula = parse(text, alphabet)
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    empty = "belongs to it" if holds(formula, ()) else "does not belong to it"
    return FormulaLanguage(
        name=text if name is None else name,
        formula=formula,
        automaton=formula_to_dfa(formula, budget=budget),
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


Truth = list[bool]
"""Whether a formula holds of the empty word, then at each position."""


def holds(formula: PastFormula, word: WordLike) -> bool:
    """Whether the formula holds at the last position of a word, or of the empty word."""
    return truth_along(formula, word)[-1]


def truth_along(formula: PastFormula, word: WordLike) -> Truth:
    """Returns whether the formula holds of each prefix of a word, the empty prefix first."""
    letters = [formula.alphabet.symbols[i] for i in formula.alphabet.encode(word)]
    return fold(formula.formula, lambda node, below: _truth(node, below, letters))


def _truth(node: Formula, below: list[Truth], word: list[str]) -> Truth:
    places = range(len(word) + 1)
    match node:
        case Constant(value):
            return [value for _ in places]
        case Atom(symbol):
            return [False] + [letter == symbol for letter in word]
        case Not():
            return [not f for f in below[0]]
        case And():
            return [all(values) for values in zip(*below, strict=True)]
        case Or():
            return [any(values) for values in zip(*below, strict=True)]
        case Implies():
            return [g or not f for f, g in zip(*below, strict=True)]
        case Iff():
            return [f == g for f, g in zip(*below, strict=True)]
        case Yesterday():
            return [t >= 2 and below[0][t - 1] for t in places]
        case WeakYesterday():
            return [t < 2 or below[0][t - 1] for t in places]
        case Once():
            first = next((t for t in places[1:] if below[0][t]), len(places))
            return [t >= first for t in places]
        case Historically():
            first = next((t for t in places[1:] if not below[0][t]), len(places))
            return [t < first for t in places]
        case Since():
            return _since(*below)
        case _:
            raise TypeError(f"{type(node).__name__} is not a formula")


def _since(left: Truth, right: Truth) -> Truth:
    """Compares the last position where `right` held with the last one where `left` did not; 0 is none."""
    held = accumulate((t if t and value else 0 for t, value in enumerate(right)), max)
    broken = accumulate((t if t and not value else 0 for t, value in enumerate(left)), max)
    return [last > 0 and gap <= last for last, gap in zip(held, broken, strict=True)]
