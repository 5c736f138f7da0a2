"""Classes that decide what attention computes: tests on the components of the minimal automaton.

All of them look at a partial transition table. The whole automaton gives the test for recognition; its live
part gives the one for prediction; pairs (state, time modulo m) give the one with periodic positions.

    letter-constant      a component and a letter determine the next state       "once" at the last letter
    locally-r-trivial    no word fixes two states of one component               "once" and "yesterday"
    c-rasp               weights of letters tell the states of a component apart counting
    stutter-invariant    a letter that is read twice in a row counts once        a mask that is not strict
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from nerode.algebra.classes.merging import joining_word
from nerode.algebra.classes.subject import Evidence, Subject, describe_words, member, violation
from nerode.algebra.components import OUTSIDE, Rows, distinguishing_word, strong_components
from nerode.core import Budget, charge, started
from nerode.languages import Dfa, Word

LETTER_CONSTANT = "(xy)^ω a = (xy)^ω xa for letters a"
LOCALLY_R_TRIVIAL = "(z^ω x z^ω y)^ω z^ω = (z^ω x z^ω y)^ω z^ω x z^ω"
C_RASP = "iterated weights of letters tell all states of each component apart, before the last letter"
STUTTER_INVARIANT = "aa = a for letters a"

LONGEST_CLOCK = 12
"""Clocks modulo 1, 2, 3 … are tried up to this one."""

_MOST_EDGES = 4_000_000
"""Pairs of states times letters that are listed at once."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentTable:
    """A partial transition table with its strong components.

    Attributes:
        rows: the target of each state and letter, or OUTSIDE.
        component: the number of the component of each state.
    """

    rows: Rows
    component: tuple[int, ...]

    @classmethod
    def of(cls, rows: Rows) -> ComponentTable:
        """Returns a table with its components."""
        numbers = [0] * len(rows)
        found = strong_components([[t for t in dict.fromkeys(row) if t != OUTSIDE] for row in rows])
        for number, states in enumerate(found):
            for q in states:
                numbers[q] = number
        return cls(rows=rows, component=tuple(numbers))

    @classmethod
    def of_automaton(cls, dfa: Dfa, *, live: bool = False, clock: int = 1) -> ComponentTable:
        """Returns the table of an automaton, of its live part, or of the pairs (state, time modulo clock)."""
        table = dfa.transitions
        if live:
            table = np.where(dfa.live[:, None] & dfa.live[table], table, OUTSIDE)
        rows: Rows = table.tolist()
        return cls.of(rows if clock == 1 else _clocked(rows, dfa.start, clock))

    def groups(self) -> Iterator[list[int]]:
        """Yields the components of two states or more."""
        found: dict[int, list[int]] = {}
        for q, number in enumerate(self.component):
            found.setdefault(number, []).append(q)
        yield from (states for states in found.values() if len(states) > 1)

    def phases(self) -> list[int]:
        """Returns the cyclic class of each state: lengths of paths modulo the period of its component."""
        distance = [0] * len(self.rows)
        for states in self.groups():
            order, known = [states[0]], {states[0]: 0}
            period = 0
            for q in order:
                for _, target in self.inside(q):
                    if target not in known:
                        known[target] = known[q] + 1
                        order.append(target)
                    period = math.gcd(period, known[q] + 1 - known[target])
            for q in states:
                distance[q] = known[q] % period
        return distance

    def inside(self, q: int) -> Iterator[tuple[int, int]]:
        """Yields the letters that keep a state in its component, with their targets."""
        for letter, target in enumerate(self.rows[q]):
            if target != OUTSIDE and self.component[target] == self.component[q]:
                yield letter, target


def _clocked(rows: Rows, start: int, clock: int) -> Rows:
    """The pairs (state, time) that occur, over the letters (letter, time)."""
    number = {(start, 0): 0}
    order = [(start, 0)]
    found: Rows = []
    for q, time in order:
        charge()
        row = [OUTSIDE] * (len(rows[q]) * clock)
        for letter, target in enumerate(rows[q]):
            if target != OUTSIDE:
                place = (target, (time + 1) % clock)
                if place not in number:
                    number[place] = len(order)
                    order.append(place)
                row[letter * clock + time] = number[place]
        found.append(row)
    return found


def split_letter(table: ComponentTable) -> tuple[int, int, int] | None:
    """Returns two states of one component and a letter that takes them apart; None if there are none."""
    for states in table.groups():
        for letter in range(len(table.rows[0])):
            charge()
            first: dict[int, int] = {}
            for q in states:
                if (target := table.rows[q][letter]) != OUTSIDE:
                    first.setdefault(target, q)
            if len(first) > 1:
                p, q, *_ = first.values()
                return p, q, letter
    return None


def fixed_pair(table: ComponentTable, *, clocked: bool = False) -> tuple[Pair, Word] | int:
    """Returns two states of one component and a word that fixes both, or the window that decides.

    The window is the length of the longest word that keeps two states apart in one component, plus one; it is
    0 where no component has two states.

    Args:
        table: the automaton.
        clocked: whether positions modulo some m may be known. Then only pairs count between which paths have
            all large multiples of the component's period as lengths: for every m, two states of one such
            class are in one component of the pairs (state, time modulo m), and with m a multiple of all
            periods no others are.
    """
    if not clocked and (window := _window(table)) is not None:
        return window
    phase = table.phases() if clocked else [0] * len(table.rows)
    nodes = [
        (p, q) for states in table.groups() for p in states for q in states if p < q and phase[p] == phase[q]
    ]
    number = {pair: i for i, pair in enumerate(nodes)}
    moves: list[dict[int, int]] = [{} for _ in nodes]
    inside = [dict(table.inside(q)) for q in range(len(table.rows))]
    for found, (p, q) in zip(moves, nodes, strict=True):
        charge()
        reached = inside[q]
        for letter, target in inside[p].items():
            other = reached.get(letter, target)
            if other != target:
                found.setdefault(number[(target, other) if target < other else (other, target)], letter)
    depth = [0] * len(nodes)
    for cycle in strong_components([list(m) for m in moves]):
        if len(cycle) > 1 or cycle[0] in moves[cycle[0]]:
            return _fixing_word(table.rows, nodes[cycle[0]], moves, cycle[0], nodes)
        # Successors come first, so their depths are known.
        depth[cycle[0]] = max((1 + depth[following] for following in moves[cycle[0]]), default=1)
    return max(depth, default=0)


def _window(table: ComponentTable) -> int | None:
    """The window that decides; None if some word fixes two states of a component, or pairs are too many."""
    found = [_longest_walk(table, states) for states in table.groups()]
    return None if None in found else max((length for length in found if length is not None), default=0)


def _longest_walk(table: ComponentTable, states: list[int]) -> int | None:
    """The most pairs of different states on a walk inside a component; None if there is no end, or too many.

    Pairs that lead to no others are taken away, then those that only led to these, until none are left.
    """
    place = np.full(len(table.rows) + 1, OUTSIDE)
    place[states] = np.arange(len(states))
    # Targets in other components, and OUTSIDE itself, have no place.
    moves = np.unique(place[np.array([table.rows[q] for q in states])], axis=1)
    first, second = np.triu_indices(len(states), 1)
    count = len(first)
    if count * moves.shape[1] > _MOST_EDGES:
        return None
    number = np.zeros((len(states), len(states)), dtype=np.intp)
    number[first, second] = number[second, first] = np.arange(count)
    sources, targets = [], []
    for column in moves.T:
        charge()
        one, other = column[first], column[second]
        kept = np.flatnonzero((one != OUTSIDE) & (other != OUTSIDE) & (one != other))
        sources.append(kept)
        targets.append(number[one[kept], other[kept]])
    source, target = np.concatenate(sources), np.concatenate(targets)
    left = np.bincount(source, minlength=count)
    order = np.argsort(target, kind="stable")
    incoming, begins = source[order], np.searchsorted(target[order], np.arange(count + 1))
    ends = np.flatnonzero(left == 0)
    rounds = taken = 0
    while len(ends):
        charge()
        rounds, taken = rounds + 1, taken + len(ends)
        sizes = begins[ends + 1] - begins[ends]
        places = np.repeat(begins[ends] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        earlier, fewer = np.unique(incoming[places], return_counts=True)
        left[earlier] -= fewer
        ends = earlier[left[earlier] == 0]
    return rounds if taken == count else None


def _fixing_word(
    rows: Rows, pair: Pair, moves: Sequence[dict[int, int]], start: int, nodes: Sequence[Pair]
) -> tuple[Pair, Word]:
    """A word that takes a pair of states to itself; twice round if the first round exchanges the two."""
    came_from: dict[int, tuple[int, int]] = {}
    order = [start]
    word: list[int] = []
    for node in order:
        for following, letter in moves[node].items():
            if following == start:
                word = [letter]
                while node != start:
                    node, letter = came_from[node]
                    word.append(letter)
                word.reverse()
                break
            if following not in came_from:
                came_from[following] = (node, letter)
                order.append(following)
        if word:
            break
    p = pair[0]
    for letter in word:
        p = rows[p][letter]
    return pair, tuple(word if p == pair[0] else [*word, *word])


@dataclass(frozen=True, slots=True, kw_only=True)
class Potentials:
    """The outcome of iterated potentials on all components.

    Attributes:
        rounds: how often weights were refined: the levels of counting.
        blocks: the number of the block of each state; blocks of different components differ.
        together: two states of one component that no weights tell apart; None if there are none.
    """

    rounds: int
    blocks: tuple[int, ...]
    together: Pair | None


def iterated_potentials(table: ComponentTable, budget: Budget | None = None) -> Potentials:
    """Returns how far weights of labelled letters tell the states of each component apart.

    In a round, weights of labels are balanced if along every closed walk of the component they sum to 0; then
    each state has a potential. States with equal potentials for all balanced weights share a block. The label
    of a letter is the letter together with the block in which it is read; rounds go on until no block splits.

    References: [Veseli2026], whose decision lists simple cycles; this form needs no list.
    """
    budget = started(budget)
    blocks = list(table.component)
    rounds, together = 0, None
    for states in table.groups():
        found, used = _refine(table, states, budget)
        first: dict[int, int] = {}
        for q in states:
            blocks[q] = len(table.rows) + len(states) * states[0] + found[q]
            if q != first.setdefault(found[q], q):
                together = together or (first[found[q]], q)
        rounds = max(rounds, used)
    number: dict[int, int] = {}
    return Potentials(
        rounds=rounds,
        blocks=tuple(number.setdefault(block, len(number)) for block in blocks),
        together=together,
    )


Vector = dict[int, int | Fraction]
"""The entries of a sparse vector that are not 0; ints as long as nothing was divided."""


def _refine(table: ComponentTable, states: list[int], budget: Budget) -> tuple[dict[int, int], int]:
    """The blocks of one component, and the number of rounds that split one."""
    block = dict.fromkeys(states, 0)
    edges = [(q, a, t) for q in states for a, t in table.inside(q)]
    rounds = 0
    while True:
        label: dict[tuple[int, int], int] = {}
        labels = [label.setdefault((a, block[q]), len(label)) for q, a, _ in edges]
        forms = _potential_forms(states, edges, labels, budget)
        number: dict[tuple[object, ...], int] = {}
        finer = {q: number.setdefault((block[q], *sorted(forms[q].items())), len(number)) for q in states}
        if len(number) == len(set(block.values())):
            return block, rounds
        block, rounds = finer, rounds + 1


def _potential_forms(
    states: list[int], edges: list[tuple[int, int, int]], labels: list[int], budget: Budget
) -> dict[int, Vector]:
    """The potential of each state as a form in the weights, modulo what vanishes for all balanced weights."""
    path: dict[int, Vector] = {states[0]: {}}
    ways: dict[int, list[tuple[int, int]]] = {}
    for (q, _, t), name in zip(edges, labels, strict=True):
        ways.setdefault(q, []).append((t, name))
    for q in (order := [states[0]]):
        for t, name in ways.get(q, ()):
            if t not in path:
                path[t] = {**path[q], name: path[q].get(name, 0) + 1}
                order.append(t)
    echelon: dict[int, Vector] = {}
    for (q, _, t), name in zip(edges, labels, strict=True):
        budget.check_time()
        closed = dict(path[q])
        closed[name] = closed.get(name, 0) + 1
        for column, value in path[t].items():
            closed[column] = closed.get(column, 0) - value
        rest = _reduced({c: v for c, v in closed.items() if v}, echelon)
        if rest:
            pivot = min(rest)
            first = rest[pivot]
            # Nearly all of these are 1 or -1.
            inverse = first if first in (1, -1) else 1 / Fraction(first)
            echelon[pivot] = {c: v * inverse for c, v in rest.items()}
    return {q: _reduced(form, echelon) for q, form in path.items()}


def _reduced(vector: Vector, echelon: dict[int, Vector]) -> Vector:
    """The normal form of a vector modulo rows whose first entries are 1 at their pivots."""
    vector = dict(vector)
    done = -1
    while True:
        pivot = min((c for c in vector if c > done and c in echelon), default=None)
        if pivot is None:
            return vector
        factor, done = vector[pivot], pivot
        for column, value in echelon[pivot].items():
            rest = vector.get(column, 0) - factor * value
            if rest:
                vector[column] = rest
            else:
                vector.pop(column, None)


def before_last_letter(rows: Rows) -> tuple[Rows, list[int]]:
    """Returns the automaton before the last letter, states with equal rows merged, and the class of each."""
    number: dict[tuple[int, ...], int] = {}
    classes = [number.setdefault(tuple(row), len(number)) for row in rows]
    merged: Rows = [[] for _ in number]
    for q, row in enumerate(rows):
        merged[classes[q]] = [classes[t] for t in row]
    return merged, classes


def letter_constant(subject: Subject) -> Evidence:
    """Decides whether each letter takes all states of a component to one state."""
    found = split_letter(ComponentTable.of(subject.rows))
    if found is None:
        return member()
    p, q, letter = found
    words = {"x": joining_word(subject, p, q), "y": joining_word(subject, q, p), "a": (letter,)}
    return violation(subject, LETTER_CONSTANT.split(" for ")[0], words)


def locally_r_trivial(subject: Subject) -> Evidence:
    """Decides whether no non-empty word fixes two states of one component; the parameter is the window.

    References: [CohenPerrinPin1993] for the mirror image, next and eventually.
    """
    found = fixed_pair(ComponentTable.of(subject.rows))
    if isinstance(found, int):
        return member(parameter=found)
    (p, q), word = found
    words = {"z": word, "x": joining_word(subject, p, q), "y": joining_word(subject, q, p)}
    return violation(subject, LOCALLY_R_TRIVIAL, words)


def c_rasp(subject: Subject) -> Evidence:
    """Decides whether counting letters tells all states apart; the parameter is the number of levels.

    The answer is read at the last letter, so states that every letter takes to one state are one state.

    References: [Veseli2026], [YangCadilhacChiang2025]
    """
    merged, classes = before_last_letter(subject.rows)
    found = iterated_potentials(ComponentTable.of(merged), subject.budget)
    if found.together is None:
        return member(parameter=found.rounds)
    p, q = (classes.index(number) for number in found.together)
    p, q = _joined(subject, classes, p, q)
    after = distinguishing_word(subject.dfa, subject.rows, p, q)
    assert after is not None
    witness = {
        "before": subject.access.word(p),
        "x": joining_word(subject, p, q),
        "y": joining_word(subject, q, p),
        "after": after,
    }
    text = f"{describe_words(subject, witness)}: no count of letters tells whether the last x was undone by y"
    return Evidence(holds=False, method="automaton", witness=witness, explanation=text)


def _joined(subject: Subject, classes: list[int], p: int, q: int) -> Pair:
    """States of the automaton in two classes, in one component."""
    for left in (s for s, c in enumerate(classes) if c == classes[p]):
        for right in (s for s, c in enumerate(classes) if c == classes[q]):
            if subject.component[left] == subject.component[right]:
                return left, right
    raise AssertionError("two classes of one component have no states of one component")


def stutter_invariant(subject: Subject) -> Evidence:
    """Decides whether reading a letter twice in a row is reading it once."""
    for letter in range(subject.dfa.num_letters):
        if any(subject.rows[row[letter]][letter] != row[letter] for row in subject.rows):
            return violation(subject, STUTTER_INVARIANT.split(" for ")[0], {"a": (letter,)})
    return member()
