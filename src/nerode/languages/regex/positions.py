"""The position automaton: one state for each occurrence of a letter, no silent moves; and its minimal DFA.

Implements: [Glushkov1961]

Everything that may follow a star, say, is one bundle of edges (`BundledNfa`). A subexpression whose minimal
automaton is already known (a complement, an intersection) is put in as a block. `minimal_dfa` determinises
over subsets of positions, and tells what is known of the minimal automaton when that is too large.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from nerode.core import Budget, BudgetExceeded
from nerode.languages.alphabet import Alphabet
from nerode.languages.determinise import BundledEdge, BundledNfa, MaskAutomaton, minimise
from nerode.languages.dfa import Dfa
from nerode.languages.notation import fold
from nerode.languages.regex.syntax import Concat, Epsilon, Expression, Letters, Repeat, Union

START = 0
"""The state before the first letter."""

_BYTES_PER_STATE = 500
_BYTES_PER_EDGE = 16


@dataclass(slots=True)
class _Fragment:
    """A part of the automaton: how it is entered, where it may be left, whether it may be skipped."""

    first: list[BundledEdge]
    last: list[int]
    nullable: bool


def position_automaton(
    expression: Expression,
    letters: Mapping[str, int],
    *,
    num_letters: int,
    blocks: Mapping[int, Dfa],
    budget: Budget,
) -> BundledNfa:
    """Returns the position automaton of a simplified expression.

    Args:
        expression: made of ∅, ε, letters, concatenation, union, repeats and blocks.
        letters: the letter number of each symbol; several symbols may share one.
        num_letters: how many letter numbers there are.
        blocks: automata of subexpressions, by the id of the node.
        budget: its bytes limit the size, its seconds the time.
    """
    num_positions = _count_positions(expression, blocks)
    budget.check("bytes", num_positions * _BYTES_PER_STATE, positions=num_positions)
    builder = _Builder(letters, blocks, budget)
    whole = builder.build(expression)
    builder.link([START], whole.first)
    accepting = frozenset(whole.last) | ({START} if whole.nullable else frozenset())
    return BundledNfa(
        num_letters=num_letters,
        links=tuple(map(tuple, builder.links)),
        out=tuple(map(tuple, builder.out)),
        starts=frozenset({START}),
        accepting=accepting,
    )


@dataclass(slots=True)
class _Builder:
    letters: Mapping[str, int]
    blocks: Mapping[int, Dfa]
    budget: Budget
    links: list[list[BundledEdge]] = field(default_factory=list)
    out: list[list[int]] = field(default_factory=lambda: [[]])
    masks: dict[int, int] = field(default_factory=dict)
    size: int = 0

    def build(self, expression: Expression) -> _Fragment:
        # A node is visited once for each of its occurrences; True marks that its operands are built.
        todo: list[tuple[Expression, bool]] = [(expression, False)]
        built: list[_Fragment] = []
        while todo:
            node, ready = todo.pop()
            if id(node) in self.blocks:
                built.append(self.block(self.blocks[id(node)]))
            elif ready:
                count = _num_copies(node) if isinstance(node, Repeat) else len(node.children)
                parts = built[-count:]
                del built[-count:]
                built.append(self.combine(node, parts))
            elif isinstance(node, Repeat):
                todo.append((node, True))
                todo += [(node.operand, False)] * _num_copies(node)
            elif node.children:
                todo.append((node, True))
                todo += [(child, False) for child in reversed(node.children)]
            else:
                built.append(self.leaf(node))
        return built.pop()

    def leaf(self, node: Expression) -> _Fragment:
        if not isinstance(node, Letters):
            return _Fragment([], [], isinstance(node, Epsilon))
        if id(node) not in self.masks:
            self.masks[id(node)] = sum({1 << self.letters[symbol] for symbol in node.symbols})
        state = self.new_state()
        return _Fragment([(self.masks[id(node)], state)], [state], False)

    def combine(self, node: Expression, parts: list[_Fragment]) -> _Fragment:
        if isinstance(node, Concat):
            return self.concat(parts)
        if isinstance(node, Union):
            first = [edge for part in parts for edge in part.first]
            last = [state for part in parts for state in part.last]
            return _Fragment(first, last, any(part.nullable for part in parts))
        assert isinstance(node, Repeat)
        return self.repeat(node, parts)

    def concat(self, parts: list[_Fragment]) -> _Fragment:
        first: list[BundledEdge] = []
        last: list[int] = []
        nullable = True
        for part in parts:
            self.link(last, part.first)
            if nullable:
                first = first + part.first
            last = last + part.last if part.nullable else part.last
            nullable = nullable and part.nullable
        return _Fragment(first, last, nullable)

    def repeat(self, node: Repeat, copies: list[_Fragment]) -> _Fragment:
        """Copies in a row. None is ever skipped: copies that read nothing can be thought at the end."""
        for before, after in itertools.pairwise(copies):
            self.link(before.last, after.first)
        if node.high is None:
            self.link(copies[-1].last, copies[-1].first)
        last = [state for copy in copies[max(node.low, 1) - 1 :] for state in copy.last]
        return _Fragment(copies[0].first, last, node.low == 0 or copies[0].nullable)

    def block(self, dfa: Dfa) -> _Fragment:
        """The live part of an automaton that has its own start."""
        rows = dfa.transitions.tolist()
        live = dfa.live.tolist()
        state_of = {q: self.new_state() for q in range(dfa.num_states) if live[q]}
        edges = {}
        for q in state_of:
            by_target: dict[int, int] = {}
            for letter, target in enumerate(rows[q]):
                if live[target]:
                    by_target[target] = by_target.get(target, 0) | 1 << letter
            edges[q] = [(mask, state_of[target]) for target, mask in by_target.items()]
            self.link([state_of[q]], edges[q])
        last = [state for q, state in state_of.items() if dfa.accepting[q]]
        return _Fragment(edges.get(dfa.start, []), last, bool(dfa.accepting[dfa.start]))

    def new_state(self) -> int:
        self.out.append([])
        self.grow(_BYTES_PER_STATE)
        return len(self.out) - 1

    def link(self, sources: list[int], edges: list[BundledEdge]) -> None:
        """Makes every source lead wherever the edges do."""
        if sources and edges:
            self.grow(_BYTES_PER_EDGE * (len(sources) + len(edges)))
            for source in sources:
                self.out[source].append(len(self.links))
            self.links.append(edges)

    def grow(self, num_bytes: int) -> None:
        self.size += num_bytes
        self.budget.check("bytes", self.size, positions=len(self.out))


def _count_positions(expression: Expression, blocks: Mapping[int, Dfa]) -> int:
    """The number of states that the automaton has besides the start, known before it is built."""

    def combine(node: Expression, below: list[int]) -> int:
        if id(node) in blocks:
            return blocks[id(node)].num_states
        if isinstance(node, Repeat):
            return below[0] * _num_copies(node)
        return isinstance(node, Letters) + sum(below)

    return fold(expression, combine)


def _num_copies(node: Repeat) -> int:
    return max(node.low, 1) if node.high is None else node.high


_REVERSED_STATES = 1_000
"""A reversed automaton larger than this is not turned back: its subsets would be slow."""


def minimal_dfa(automaton: BundledNfa, alphabet: Alphabet, budget: Budget) -> Dfa:
    """Returns the canonical minimal automaton.

    Raises:
        BudgetExceeded: if there are too many states. It says how many were reached; and, where the
            automaton of the reversed language is small, the size of that one and a lower bound for the
            minimal automaton.
    """
    try:
        return minimise(automaton.determinised(alphabet, budget))
    except BudgetExceeded as stop:
        if stop.resource != "states" or not automaton.has_masks:
            raise
        return _through_reversal(MaskAutomaton.of_bundles(automaton), alphabet, budget, stop)


def _through_reversal(masks: MaskAutomaton, alphabet: Alphabet, budget: Budget, stop: BudgetExceeded) -> Dfa:
    """Returns the minimal automaton by determinising the reversed language, then its reversal.

    Every subset that the second step reaches is a state of the minimal automaton, so that a stop there
    bounds the minimal automaton from below.

    Implements: [Brzozowski1962]
    """
    try:
        back = minimise(masks.reversed().determinised(alphabet, budget))
    except BudgetExceeded:
        raise stop from None
    known = stop.known_so_far | {"reversed_states": back.num_states}
    if back.num_states <= _REVERSED_STATES:
        try:
            return MaskAutomaton.of_dfa(back).reversed().determinised(alphabet, budget)
        except BudgetExceeded as again:
            known["minimal_states_at_least"] = again.known_so_far["states_reached"]
    raise BudgetExceeded(
        "states",
        budget.states,
        known_so_far=known,
        remedy=f"raise it with --max-states, or ask about the reversed language ({back.num_states} states)",
    ) from None
