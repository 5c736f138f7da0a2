"""The classes of attention against their definitions: the semigroup by brute force, null spaces in full."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from nerode.algebra.classes import merging
from nerode.algebra.classes.attention import (
    ComponentTable,
    before_last_letter,
    fixed_pair,
    iterated_potentials,
    split_letter,
)
from nerode.algebra.classes.table import decide_membership
from nerode.algebra.components import OUTSIDE
from nerode.languages import Dfa
from nerode.languages.bestiary import find_language
from nerode.languages.regex import regex_to_dfa
from tests.algebra.semigroups import random_dfa, semigroup


def has_only_loops(rows: list[list[int]]) -> bool:
    """Whether a state that is left is never reached again, by reachable sets."""
    reach = []
    for q in range(len(rows)):
        seen, todo = {q}, [q]
        while todo:
            for t in rows[todo.pop()]:
                if t not in seen:
                    seen.add(t)
                    todo.append(t)
        reach.append(seen)
    return not any(p != q and q in reach[p] and p in reach[q] for p in range(len(rows)) for q in range(p))


def local_monoids_are_r_trivial(dfa: Dfa, limit: int = 200) -> bool | None:
    """Whether x R y implies x = y in each eSe; None if the semigroup is too large."""
    found = semigroup(dfa, limit)
    if found is None:
        return None
    table = found.table
    for e in found.idempotents:
        inside = sorted({int(table[table[e, s], e]) for s in range(found.size)})
        ideals = {x: {int(table[x, s]) for s in inside} for x in inside}
        if any(y in ideals[x] and x in ideals[y] for x, y in itertools.combinations(inside, 2)):
            return False
    return True


def null_space(rows: list[list[Fraction]], width: int) -> list[list[Fraction]]:
    rows = [list(row) for row in rows]
    pivots: list[int] = []
    for column in range(width):
        r = len(pivots)
        p = next((i for i in range(r, len(rows)) if rows[i][column]), None)
        if p is None:
            continue
        rows[r], rows[p] = rows[p], rows[r]
        rows[r] = [x / rows[r][column] for x in rows[r]]
        for i in range(len(rows)):
            if i != r and rows[i][column]:
                rows[i] = [x - rows[i][column] * y for x, y in zip(rows[i], rows[r], strict=True)]
        pivots.append(column)
    basis = []
    for free in (c for c in range(width) if c not in pivots):
        vector = [Fraction(int(c == free)) for c in range(width)]
        for i, pivot in enumerate(pivots):
            vector[pivot] = -rows[i][free]
        basis.append(vector)
    return basis


def told_apart(rows: list[list[int]]) -> bool:
    """The definition of test C, with a weight per label and a potential per state as unknowns."""
    component = ComponentTable.of(rows).component
    for number in set(component):
        states = [q for q, c in enumerate(component) if c == number]
        block: dict[int, int] = dict.fromkeys(states, 0)
        while True:
            edges = [(q, a, t) for q in states for a, t in enumerate(rows[q]) if component[t] == number]
            labels = sorted({(a, block[q]) for q, a, _ in edges})
            width = len(labels) + len(states)
            equations = [[Fraction(int(c == len(labels))) for c in range(width)]]
            for q, a, t in edges:
                row = [Fraction(0)] * width
                row[labels.index((a, block[q]))] += 1
                row[len(labels) + states.index(q)] += 1
                row[len(labels) + states.index(t)] -= 1
                equations.append(row)
            basis = null_space(equations, width)
            keys = {
                q: (block[q], *(vector[len(labels) + i] for vector in basis)) for i, q in enumerate(states)
            }
            known = sorted(set(keys.values()))
            if len(known) == len(set(block.values())):
                break
            block = {q: known.index(keys[q]) for q in states}
        if len(known) < len(states):
            return False
    return True


@pytest.mark.parametrize("count", [60, pytest.param(1_000, marks=pytest.mark.slow)])
def test_letter_constant_locally_r_trivial_and_c_rasp_equal_their_definitions(count: int) -> None:
    rng = np.random.default_rng(16)
    seen: set[tuple[str, bool]] = set()
    for _ in range(count):
        dfa = random_dfa(rng, most_states=6)
        rows = dfa.transitions.tolist()
        merged, _ = before_last_letter(rows)
        constant = decide_membership("letter-constant", dfa).holds
        assert constant == has_only_loops(merged)
        local = decide_membership("locally-r-trivial", dfa).holds
        expected = local_monoids_are_r_trivial(dfa)
        assert expected is None or local == expected
        counted = decide_membership("c-rasp", dfa).holds
        assert counted == told_apart(merged)
        seen |= {("A", bool(constant)), ("B", bool(local)), ("C", bool(counted))}
    assert len(seen) == 6


def plain_fixed_pairs(table: ComponentTable, phase: list[int]) -> set[tuple[int, int]] | int:
    """The pairs of states of one component that walks along pairs do not leave, or the longest such walk."""
    pairs = {
        (p, q) for states in table.groups() for p in states for q in states if p < q and phase[p] == phase[q]
    }
    moves = {
        (p, q): {
            (min(s, t), max(s, t))
            for (a, s), (b, t) in itertools.product(table.inside(p), table.inside(q))
            if a == b and s != t
        }
        for p, q in pairs
    }
    rounds, left = 0, set(pairs)
    while ending := {pair for pair in left if not moves[pair] & left}:
        left -= ending
        rounds += 1
    return left or rounds


@pytest.mark.parametrize("rounds", [0, 16])
@pytest.mark.parametrize("clocked", [False, True])
def test_fixed_pairs_are_those_of_the_plain_search(
    clocked: bool, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_ROUNDS_UNSORTED", rounds)
    rng = np.random.default_rng(21)
    seen = set()
    for _ in range(150):
        size, letters = int(rng.integers(1, 12)), int(rng.integers(1, 4))
        rows = rng.integers(-1, size, (size, letters)).tolist()
        if rng.random() < 0.5:
            # A long way round, on which states meet late.
            rows = [[(q + 1) % size, *row[1:]] for q, row in enumerate(rows)]
        table = ComponentTable.of(rows)
        expected = plain_fixed_pairs(table, table.phases() if clocked else [0] * size)
        found = fixed_pair(table, clocked=clocked)
        if isinstance(found, int):
            assert found == expected
            seen.add(found)
            continue
        (p, q), word = found
        assert isinstance(expected, set)
        assert (p, q) in expected
        assert word
        for state in (p, q):
            end = state
            for letter in word:
                end = rows[end][letter]
                assert end != OUTSIDE
            assert end == state
        seen.add(-1)
    assert len(seen) > 2


# letter-constant (recognise, predict), window, rounds at the last letter, whether the end mark agrees.
TABLE: dict[str, tuple[bool, bool, int | None, int | None, bool]] = {
    "tomita-1": (True, True, 0, 0, True),
    "tomita-7": (True, True, 0, 0, True),
    "aabbccddee": (True, True, 0, 0, True),
    "tomita-2": (False, True, 1, 1, True),
    "ab-star": (False, True, 1, 1, True),
    "tomita-4": (False, False, 2, None, True),
    "even-pairs": (True, True, 1, 0, False),
    "dyck-1-2": (False, False, None, 1, True),
    "dyck-1-5": (False, False, None, 1, True),
    "dyck-2-2": (False, False, None, 2, True),
    "dyck-2-3": (False, False, None, 2, True),
    "flip-flop": (False, False, None, None, True),
    "012-star-02-star": (False, False, None, None, True),
    "tomita-3": (False, False, None, None, True),
    "tomita-5": (False, False, None, None, True),
    "tomita-6": (False, False, None, None, True),
    "parity": (False, False, None, None, True),
    "aa-star": (False, False, None, None, True),
    "abab-star": (False, False, None, None, True),
    "s3": (False, False, None, None, True),
}


@pytest.mark.parametrize("name", TABLE)
def test_named_languages(name: str) -> None:
    constant, predicted, window, rounds, same_at_end = TABLE[name]
    dfa = find_language(name).dfa()
    assert decide_membership("letter-constant", dfa).holds is constant
    assert (split_letter(ComponentTable.of_automaton(dfa, live=True)) is None) is predicted
    local, counted = decide_membership("locally-r-trivial", dfa), decide_membership("c-rasp", dfa)
    assert (local.holds, local.parameter) == (window is not None, window)
    assert (counted.holds, counted.parameter) == (rounds is not None, rounds)
    at_end = iterated_potentials(ComponentTable.of(dfa.transitions.tolist())).together is None
    assert (at_end == counted.holds) is same_at_end


def test_the_window_of_a_longer_language() -> None:
    assert decide_membership("locally-r-trivial", regex_to_dfa("(ab|bba)*")).parameter == 5


@pytest.mark.parametrize(("pattern", "clock"), [("(aa)*", 2), ("(aaa)*", 3), ("((a|b)(a|b))*b", 2)])
def test_a_clock_makes_languages_of_lengths_letter_constant(pattern: str, clock: int) -> None:
    dfa = regex_to_dfa(pattern)
    assert split_letter(ComponentTable.of_automaton(dfa)) is not None
    table = ComponentTable.of_automaton(dfa, clock=clock)
    assert split_letter(table) is None
    assert isinstance(fixed_pair(table), int)


def test_no_clock_helps_parity() -> None:
    dfa = find_language("parity").dfa()
    for clock in range(1, 7):
        table = ComponentTable.of_automaton(dfa, clock=clock)
        found = fixed_pair(table)
        assert not isinstance(found, int)
        (p, q), word = found
        for state in (p, q):
            end = state
            for letter in word:
                end = table.rows[end][letter]
            assert end == state
