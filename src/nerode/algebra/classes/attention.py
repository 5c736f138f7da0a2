"""Classes that decide what attention computes: tests on the components of the minimal automaton.

All of them look at a partial transition table. The whole automaton gives the test for recognition; its live
part gives the one for prediction; pairs (state, time modulo m) give the one with periodic positions.

    letter-constant      a component and a letter determine the next state       "once" at the last letter
    locally-r-trivial    no word fixes two states of one component               "once" and "yesterday"
    c-rasp               weights of letters tell the states of a component apart counting
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from nerode.algebra.classes.merging import joined_fixed_states, joining_word, merge_pairs, merging_inside
from nerode.algebra.classes.subject import Evidence, ExaminedLanguage, member, non_member, violation
from nerode.algebra.components import OUTSIDE, Rows, component_labels, distinguishing_word
from nerode.core import Budget, charge, started
from nerode.languages import Dfa, Word

LETTER_CONSTANT = "(xy)^ω a = (xy)^ω xa for letters a"
LOCALLY_R_TRIVIAL = "(z^ω x z^ω y)^ω z^ω = (z^ω x z^ω y)^ω z^ω x z^ω"
C_RASP = "iterated weights of letters tell all states of each component apart, before the last letter"

LONGEST_CLOCK = 12
"""Clocks modulo 1, 2, 3 … are tried up to this one."""

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
        labels = component_labels([[t for t in dict.fromkeys(row) if t != OUTSIDE] for row in rows])
        return cls(rows=rows, component=tuple(labels))

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
    size = len(table.rows)
    component, targets = np.array(table.component), np.array(table.rows).reshape(size, -1).T
    # A last place for OUTSIDE, which is in no component.
    inside = np.append(component, OUTSIDE)[targets] == component
    columns = np.where(inside, targets, OUTSIDE)
    letters = np.sort(np.unique(columns, axis=0, return_index=True)[1])
    phase = np.array(table.phases() if clocked else [0] * size)
    labels = component * (1 + int(phase.max(initial=0))) + phase
    found = merge_pairs(columns[letters], labels, letters.tolist())
    if found.stuck is not None:
        return found.stuck, found.loop
    assert found.length is not None
    return found.length


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
        if len(number) == len(states):
            return block, rounds


def _potential_forms(
    states: list[int], edges: list[tuple[int, int, int]], labels: list[int], budget: Budget
) -> dict[int, Vector]:
    """The potential of each state as a form in the weights, modulo what vanishes for all balanced weights."""
    # A label that is on a loop has the weight 0.
    zero = {name for (q, _, t), name in zip(edges, labels, strict=True) if q == t}
    path: dict[int, Vector] = {states[0]: {}}
    ways: dict[int, list[tuple[int, int]]] = {}
    for (q, _, t), name in zip(edges, labels, strict=True):
        ways.setdefault(q, []).append((t, name))
    tree: set[tuple[int, int, int]] = set()
    for q in (order := [states[0]]):
        for t, name in ways.get(q, ()):
            if t not in path:
                tree.add((q, t, name))
                path[t] = dict(path[q]) if name in zero else {**path[q], name: path[q].get(name, 0) + 1}
                order.append(t)
    echelon: dict[int, Vector] = {}
    seen: set[frozenset[tuple[int, int | Fraction]]] = set()
    rank = len(set(labels) - zero)
    for (q, _, t), name in zip(edges, labels, strict=True):
        budget.check_time()
        if len(echelon) == rank:
            return {state: {} for state in states}
        if (q, t, name) in tree:
            # The walk to t goes along this edge.
            continue
        closed = dict(path[q])
        if name not in zero:
            closed[name] = closed.get(name, 0) + 1
        for column, value in path[t].items():
            closed[column] = closed.get(column, 0) - value
        walk = frozenset((c, v) for c, v in closed.items() if v)
        if walk in seen:
            continue
        seen.add(walk)
        rest = _reduced(dict(walk), echelon)
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


def letter_constant(subject: ExaminedLanguage) -> Evidence:
    """Decides whether each letter takes all states of a component to one state."""
    found = split_letter(ComponentTable(rows=subject.rows, component=tuple(subject.component)))
    if found is None:
        return member()
    p, q, letter = found
    words = {"x": joining_word(subject, p, q), "y": joining_word(subject, q, p), "a": (letter,)}
    return violation(subject, LETTER_CONSTANT.split(" for ")[0], words)


def locally_r_trivial(subject: ExaminedLanguage) -> Evidence:
    """Decides whether no non-empty word fixes two states of one component; the parameter is the window.

    References: [CohenPerrinPin1993] for the mirror image, next and eventually.
    """
    if (fixed := joined_fixed_states(subject)) is None:
        return member(parameter=merging_inside(subject).length)
    return violation(subject, LOCALLY_R_TRIVIAL, dict(zip("zxy", fixed, strict=True)))


def c_rasp(subject: ExaminedLanguage) -> Evidence:
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
    return non_member(subject, witness, "no count of letters tells whether the last x was undone by y")


def _joined(subject: ExaminedLanguage, classes: list[int], p: int, q: int) -> Pair:
    """States of the automaton in two classes, in one component."""
    for left in (s for s, c in enumerate(classes) if c == classes[p]):
        for right in (s for s, c in enumerate(classes) if c == classes[q]):
            if subject.component[left] == subject.component[right]:
                return left, right
    raise AssertionError("two classes of one component have no states of one component")
