"""From a regular expression to its canonical minimal automaton.

Complements and intersections are carried out on minimal automata, from the inside to the outside; the
Boolean-free expression around them becomes a position automaton in which they are blocks.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

from nerode.core import Budget, BudgetExceeded
from nerode.languages import operations
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa
from nerode.languages.language import RegularLanguage
from nerode.languages.regex.bounds import least_states
from nerode.languages.regex.parse import parse
from nerode.languages.regex.positions import position_automaton
from nerode.languages.regex.simplify import simplify
from nerode.languages.regex.subsets import minimal_dfa
from nerode.languages.regex.syntax import (
    Complement,
    Expression,
    Intersection,
    Letters,
    Regex,
    Union,
    union,
)
from nerode.languages.regex.text import to_text
from nerode.languages.trees import fold, subtrees

_SHOWN = 60
"""How much of a long pattern is quoted in messages and sentences."""


def regex_to_dfa(
    pattern: str | Regex, alphabet: Alphabet | Iterable[str] | None = None, budget: Budget | None = None
) -> Dfa:
    """Returns the canonical minimal automaton of a regular expression.

    Args:
        pattern: text in the notation of `nerode.languages.regex`, or a parsed expression.
        alphabet: for text, the alphabet; by default the letters of the pattern.
        budget: `states` limits every automaton on the way.

    Raises:
        PatternError: if the text does not parse.
        BudgetExceeded: with what is known about the size of the minimal automaton.
    """
    budget = budget or Budget()
    regex = pattern if isinstance(pattern, Regex) else parse(pattern, alphabet)
    expression = simplify(regex, budget)
    least = least_states(expression)
    if least > budget.states:
        raise BudgetExceeded("states", budget.states, known_so_far={"minimal_states_at_least": least})
    class_of = _letter_classes(expression, regex.alphabet)
    dfa = _Compiler(regex.alphabet, class_of, budget).compile(expression)
    budget.check("bytes", 4 * dfa.num_states * len(regex.alphabet), minimal_states=dfa.num_states)
    table = dfa.transitions[:, [class_of[symbol] for symbol in regex.alphabet]]
    return Dfa(alphabet=regex.alphabet, transitions=table, start=0, accepting=dfa.accepting)


def regular_language(
    text: str,
    alphabet: Alphabet | Iterable[str] | None = None,
    budget: Budget | None = None,
    *,
    name: str | None = None,
) -> RegularLanguage:
    """Returns the language of a pattern; its name is the pattern unless another is given."""
    return RegularLanguage(
        name=text if name is None else name,
        automaton=regex_to_dfa(text, alphabet, budget),
        convention=f"words that match {_shorten(text)}",
    )


def _letter_classes(expression: Expression, alphabet: Alphabet) -> dict[str, int]:
    """The symbols by class: two symbols share one when every set of letters has both or neither.

    Classes are numbered by their first symbol in alphabet order, so that an automaton over the classes
    that is canonical stays so when its columns are copied to the symbols.
    """
    sets = {node.symbols for node in subtrees(expression) if isinstance(node, Letters)}
    signature = dict.fromkeys(alphabet, 0)
    for i, symbols in enumerate(sets):
        for symbol in symbols:
            signature[symbol] |= 1 << i
    numbers: dict[int, int] = {}
    return {symbol: numbers.setdefault(mark, len(numbers)) for symbol, mark in signature.items()}


class _Compiler:
    """Compiles subexpressions over the letter classes; `blocks` has the Boolean ones by id."""

    def __init__(self, alphabet: Alphabet, class_of: dict[str, int], budget: Budget) -> None:
        self.whole_alphabet = alphabet
        self.class_of = class_of
        self.budget = budget
        representatives: dict[int, str] = {}
        for symbol in alphabet:
            representatives.setdefault(class_of[symbol], symbol)
        self.alphabet = Alphabet(tuple(representatives.values()))
        self.blocks: dict[int, Dfa] = {}

    def compile(self, expression: Expression) -> Dfa:
        def combine(node: Expression, below: list[None]) -> None:
            if node is not expression and isinstance(node, Complement | Intersection):
                self.blocks[id(node)] = self.part(node)

        fold(expression, combine)
        return self.whole(expression)

    def part(self, node: Expression) -> Dfa:
        """The automaton of a proper part; if it is too large, the error says of which part it speaks."""
        try:
            return self.whole(node)
        except BudgetExceeded as stop:
            if "part" in stop.known_so_far:
                raise
            known = {f"part_{name}": value for name, value in stop.known_so_far.items()}
            known["part"] = _shorten(to_text(Regex(expression=node, alphabet=self.whole_alphabet)))
            raise BudgetExceeded(stop.resource, stop.limit, known_so_far=known) from None

    def whole(self, node: Expression) -> Dfa:
        """The automaton of a node; complements and intersections inside it are blocks already."""
        if id(node) in self.blocks:
            return self.blocks[id(node)]
        if isinstance(node, Complement):
            return operations.complement(self.whole(node.operand))
        if isinstance(node, Intersection):
            return self.join([self.part(part) for part in node.parts], operations.intersection)
        if isinstance(node, Union) and any(id(part) in self.blocks for part in node.parts):
            dfas = [self.blocks[id(part)] for part in node.parts if id(part) in self.blocks]
            rest = union(*(part for part in node.parts if id(part) not in self.blocks))
            return self.join([*dfas, self.part(rest)], operations.union)
        return self.plain(node)

    def plain(self, node: Expression) -> Dfa:
        automaton = position_automaton(
            node, self.class_of, num_letters=len(self.alphabet), blocks=self.blocks, budget=self.budget
        )
        return minimal_dfa(automaton, self.alphabet, self.budget)

    def join(self, dfas: list[Dfa], operation: Callable[[Dfa, Dfa, Budget], Dfa]) -> Dfa:
        """The intersection or union of all, smallest automata first."""
        queue = [(dfa.num_states, i, dfa) for i, dfa in enumerate(dfas)]
        heapq.heapify(queue)
        while len(queue) > 1:
            _, _, left = heapq.heappop(queue)
            _, i, right = heapq.heappop(queue)
            joined = operation(left, right, self.budget)
            heapq.heappush(queue, (joined.num_states, i, joined))
        return queue[0][2]


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
