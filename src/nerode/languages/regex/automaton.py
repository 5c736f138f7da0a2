"""The automaton of a regular expression, and an expression for the language of an automaton.

An expression becomes its canonical minimal automaton in three steps:

1. `simplify` rewrites the expression into a smaller one. Sets of letters are merged, ε and ∅ disappear where
   they can, and stars inside stars are removed. After this ∅ and ε occur only as the whole expression or, ε
   only, below a complement or an intersection; a repeat whose operand has the empty word has no lower limit.
2. `least_states` reads a lower bound of the minimal automaton off the expression.
3. Complements and intersections are carried out on minimal automata, from the inside to the outside; the
   Boolean-free expression around them becomes a position automaton in which they are blocks (`positions`).

Implements: [BruggemannKlein1993], the part of its star normal form that is local.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nerode.core import Budget, BudgetExceeded, started
from nerode.languages import operations
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa
from nerode.languages.language import RegularLanguage
from nerode.languages.notation import fold, subtrees
from nerode.languages.regex.positions import minimal_dfa, position_automaton
from nerode.languages.regex.syntax import (
    Complement,
    Concat,
    EmptySet,
    Epsilon,
    Expression,
    Intersection,
    Letters,
    Regex,
    Repeat,
    Union,
    concat,
    intersection,
    parse,
    to_text,
    union,
)

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
    budget = started(budget)
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


@dataclass(frozen=True, slots=True)
class _Part:
    """A simplified expression and whether it has the empty word."""

    node: Expression
    nullable: bool


_EMPTY_SET = _Part(EmptySet(), False)
_EPSILON = _Part(Epsilon(), True)


def simplify(regex: Regex, budget: Budget) -> Expression:
    """Returns an expression for the same language that is at most as large."""

    def combine(node: Expression, below: list[_Part]) -> _Part:
        budget.check_time(stage="reading the pattern")
        return _simplified(node, below, regex.alphabet)

    return fold(regex.expression, combine).node


def _simplified(node: Expression, below: list[_Part], alphabet: Alphabet) -> _Part:
    match node:
        case EmptySet():
            return _EMPTY_SET
        case Epsilon():
            return _EPSILON
        case Concat():
            return _concat(below)
        case Union():
            return _union(below)
        case Intersection():
            return _intersection(below)
        case Complement():
            return _complement(below[0], alphabet)
        case Repeat(_, low, high):
            return _repeat(below[0], low, high)
        case _:
            return _Part(node, False)


def _concat(parts: list[_Part]) -> _Part:
    if any(isinstance(part.node, EmptySet) for part in parts):
        return _EMPTY_SET
    nodes = [part.node for part in parts if not isinstance(part.node, Epsilon)]
    return _Part(concat(*nodes), all(part.nullable for part in parts))


def _union(parts: Iterable[_Part]) -> _Part:
    letters: set[str] = set()
    nodes: list[Expression] = []
    nullable = has_epsilon = False
    for part in parts:
        members = part.node.parts if isinstance(part.node, Union) else (part.node,)
        for node in members:
            if isinstance(node, Letters):
                letters.update(node.symbols)
            elif isinstance(node, Epsilon):
                has_epsilon = True
            elif not isinstance(node, EmptySet):
                nodes.append(node)
        nullable = nullable or (part.nullable and not isinstance(part.node, Epsilon))
    if letters:
        nodes.insert(0, Letters(tuple(sorted(letters))))
    if has_epsilon and not nullable:
        return _Part(Repeat(union(*nodes), 0, 1), True) if nodes else _EPSILON
    return _Part(union(*nodes), nullable)


def _intersection(parts: list[_Part]) -> _Part:
    if any(isinstance(part.node, EmptySet) for part in parts):
        return _EMPTY_SET
    return _Part(intersection(*(part.node for part in parts)), all(part.nullable for part in parts))


def _complement(part: _Part, alphabet: Alphabet) -> _Part:
    if isinstance(part.node, Complement):
        return _Part(part.node.operand, not part.nullable)
    if isinstance(part.node, EmptySet):
        return _Part(Repeat(Letters(tuple(sorted(alphabet))), 0, None), True)
    return _Part(Complement(part.node), not part.nullable)


def _repeat(part: _Part, low: int, high: int | None) -> _Part:
    node = part.node
    if high == 0 or isinstance(node, Epsilon) or (isinstance(node, EmptySet) and low == 0):
        return _EPSILON
    if isinstance(node, EmptySet) or (high == 1 and (low == 1 or part.nullable)):
        return part
    if part.nullable:
        low = 0
    if isinstance(node, Repeat) and (node.low, node.high) == (0, 1):
        node = node.operand
    elif isinstance(node, Repeat) and node.high is None and node.low <= 1:
        node, high = node.operand, None
    if (low, high) == (0, None):
        return _Part(_star(node), True)
    return _Part(Repeat(node, low, high), low == 0)


def _star(node: Expression) -> Expression:
    """The star of a node, without the repeats that the star makes superfluous."""
    node = _unrepeated(node)
    if isinstance(node, Union):
        # Whether a member has the empty word does not matter below a star.
        node = _union(_Part(_unrepeated(member), False) for member in node.parts).node
    return Repeat(_unrepeated(node), 0, None)


def _unrepeated(node: Expression) -> Expression:
    """The operand of a repeat that, below a star, says nothing."""
    if isinstance(node, Repeat) and node.low <= 1:
        return node.operand
    return node


@dataclass(frozen=True, slots=True)
class Lengths:
    """The shortest and the longest word of a non-empty language; None: there is no longest one."""

    shortest: int
    longest: int | None


def least_states(expression: Expression) -> int:
    """Returns a number of states that the minimal complete automaton is sure to have.

    A shortest accepted word visits no state twice, and neither does any word of a finite language, which
    also needs a dead state. So a pattern of a million letters is known to be too large before anything
    is built. Nothing is claimed for expressions with complements or intersections.

    Args:
        expression: a simplified one.
    """
    lengths = fold(expression, _lengths)
    if lengths is None:
        return 1
    finite = 0 if lengths.longest is None else lengths.longest + 2
    return max(lengths.shortest + 1, finite)


def _lengths(node: Expression, below: list[Lengths | None]) -> Lengths | None:
    """The lengths of a node; None when they are not known or there is no word."""
    known = [lengths for lengths in below if lengths is not None]
    if len(known) < len(below):
        return None
    longest = [lengths.longest for lengths in known]
    bounded = [length for length in longest if length is not None]
    infinite = len(bounded) < len(longest)
    match node:
        case Epsilon():
            return Lengths(0, 0)
        case Letters():
            return Lengths(1, 1)
        case Concat():
            return Lengths(sum(lengths.shortest for lengths in known), None if infinite else sum(bounded))
        case Union():
            return Lengths(min(lengths.shortest for lengths in known), None if infinite else max(bounded))
        case Repeat(_, low, high):
            top = None if infinite or high is None else bounded[0] * high
            return Lengths(known[0].shortest * low, top)
        case Complement() | Intersection():
            return None
        case _:
            return None


MAX_NODES = 200_000
"""The largest expression that is made; without a limit it may be exponential in the number of states."""


def dfa_to_regex(dfa: Dfa, budget: Budget | None = None) -> Regex:
    """Returns a regular expression for the language of an automaton, by elimination of states.

    States are removed one by one, those with the fewest ways through them first; each way becomes an edge
    whose label is an expression. Among the usual simplifications only those are made that never lengthen the
    text.

    Raises:
        BudgetExceeded: if the expression has more than `MAX_NODES` subexpressions, or the time is up.
    """
    return Regex(expression=_Elimination(dfa, started(budget)).run(), alphabet=dfa.alphabet)


class _Elimination:
    """Edges between the states that are left, labelled with expressions, and the size of each label."""

    def __init__(self, dfa: Dfa, budget: Budget) -> None:
        self.budget = budget
        self.first, self.last = -1, -2
        self.edges: dict[int, dict[int, Expression]] = {self.first: {}, self.last: {}}
        live = dfa.live.tolist()
        for q, row in enumerate(dfa.transitions.tolist()):
            if not live[q]:
                continue
            letters: dict[int, list[str]] = {}
            for symbol, target in zip(dfa.alphabet, row, strict=True):
                if live[target]:
                    letters.setdefault(target, []).append(symbol)
            self.edges[q] = {target: Letters(tuple(sorted(found))) for target, found in letters.items()}
            if dfa.accepting[q]:
                self.edges[q][self.last] = Epsilon()
        if live[dfa.start]:
            self.edges[self.first][dfa.start] = Epsilon()
        self.sizes: dict[int, int] = {}
        self.kept: list[Expression] = []

    def run(self) -> Expression:
        """Removes all states and returns the label that is left."""
        left = [q for q in self.edges if q >= 0]
        while left:
            state = min(left, key=self._cost)
            left.remove(state)
            self._remove(state)
            self.budget.check_time(states_left=len(left))
        return self.edges[self.first].get(self.last, EmptySet())

    def _cost(self, state: int) -> tuple[int, int]:
        ways_in = [source for source in self.edges if source != state and state in self.edges[source]]
        ways_out = [target for target in self.edges[state] if target != state]
        size = sum(self._size(self.edges[p][state]) for p in ways_in) * len(ways_out)
        size += sum(self._size(self.edges[state][r]) for r in ways_out) * len(ways_in)
        return size, state

    def _remove(self, state: int) -> None:
        out = self.edges.pop(state)
        loop = _starred(out.pop(state)) if state in out else Epsilon()
        for row in self.edges.values():
            into = row.pop(state, None)
            if into is None:
                continue
            for target, label in out.items():
                way = _chain(into, loop, label)
                row[target] = _choice(row[target], way) if target in row else way
                if self._size(row[target]) > MAX_NODES:
                    raise BudgetExceeded(
                        "subexpressions", MAX_NODES, remedy="keep the language as an automaton"
                    )

    def _size(self, expression: Expression) -> int:
        number = id(expression)
        if number not in self.sizes:
            self.kept.append(expression)  # An address is not used again while its expression is kept.
            self.sizes[number] = sum(1 for _ in subtrees(expression))
        return self.sizes[number]


def _chain(*parts: Expression) -> Expression:
    return concat(*(part for part in parts if not isinstance(part, Epsilon)))


def _starred(part: Expression) -> Expression:
    if isinstance(part, Repeat) and part.high is None and part.low <= 1:
        part = part.operand
    return Repeat(part, 0, None)


def _choice(left: Expression, right: Expression) -> Expression:
    """The union of two labels; letters are joined, and ε | x x* is x*."""
    if isinstance(left, Letters) and isinstance(right, Letters):
        return Letters(tuple(sorted({*left.symbols, *right.symbols})))
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Epsilon):
            if isinstance(other, Repeat) and other.low == 0:
                return other
            if not isinstance(other, Union):
                return Repeat(other, 0, 1)
    if isinstance(left, Concat) and isinstance(right, Concat) and left.parts == right.parts:
        return left
    return union(left, right)
