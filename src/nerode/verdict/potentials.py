"""Counting with windows and clocks: what fixed gates do at finite precision, and what they cannot.

Fixed gates show the last letters (gates inside the unit disk), the position modulo m (roots of unity) and
sums (gate 1; with roots of unity sums by position). *Yes* is a search: for some m and k, iterated potentials
over (state, position modulo m, last k letters) tell all states apart; the letter itself is seen. *No* is a
certificate: words e and x of the stable semigroup, such that exe moves a state of e inside its component.
docs/theory/fixed-gates.md proves both.
"""

from __future__ import annotations

from dataclasses import dataclass

from nerode.algebra.classes import OUTSIDE, ComponentTable, Rows, iterated_potentials
from nerode.core import charge
from nerode.languages import Dfa, Word

_MOST_NODES = 2_000
"""Nodes (state, position modulo m, window) up to which potentials are computed."""

_MOST_CELLS = 200_000
"""Nodes times labels up to which potentials are computed."""

_MOST_MAPS = 3_000
"""Maps of words of one length that the search for a certificate lists at most."""

_MOST_STATES = 80
"""States of a component up to which a certificate is searched for."""

_LONGEST = 80
"""Length of words up to which the stable semigroup is searched for."""

Map = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockedCount:
    """A clock and a window with which counting tells all states apart.

    Attributes:
        modulus: positions are known modulo this number.
        window: number of last letters that are known.
        rounds: levels of counting.
    """

    modulus: int
    window: int
    rounds: int


def find_counting(dfa: Dfa, *, live: bool, moduli: int, window: int) -> ClockedCount | None:
    """Returns a clock and a window with which counting tells all states of each component apart.

    Args:
        dfa: a minimal automaton.
        live: whether only live states are asked about.
        moduli: clocks modulo 1 … this number are tried.
        window: windows of 0 … this many letters are tried.
    """
    rows = ComponentTable.of_automaton(dfa, live=live).rows
    for modulus in range(1, moduli + 1):
        for reach in range(window + 1):
            found = _marked(rows, modulus, reach)
            if found is None:
                break
            nodes, labelled = found
            potentials = iterated_potentials(ComponentTable.of(labelled))
            alike: dict[tuple[Word, int], set[int]] = {}
            for i, (q, _, last) in enumerate(nodes):
                if len(last) == reach:
                    alike.setdefault((last, potentials.blocks[i]), set()).add(q)
            if all(_one_target(rows, states) for states in alike.values()):
                return ClockedCount(modulus=modulus, window=reach, rounds=potentials.rounds)
    return None


def _one_target(rows: Rows, states: set[int]) -> bool:
    """Whether each letter, which is seen, takes all of these states to one, as far as it is asked about."""
    return all(len(set(targets) - {OUTSIDE}) <= 1 for targets in zip(*(rows[q] for q in states), strict=True))


Node = tuple[int, int, Word]


def _marked(rows: Rows, modulus: int, reach: int) -> tuple[list[Node], Rows] | None:
    """The triples (state, position, last letters) and their moves by (position, letters, letter)."""
    number: dict[Node, int] = {}
    for q in range(len(rows)):
        for position in range(modulus):
            number[q, position, ()] = len(number)
    nodes = list(number)
    labels: dict[tuple[int, Word, int], int] = {}
    moves: list[dict[int, int]] = []
    for q, position, window in nodes:
        charge()
        row = {}
        for letter, target in enumerate(rows[q]):
            if target != OUTSIDE:
                place = (target, (position + 1) % modulus, (*window, letter)[-reach:] if reach else ())
                if place not in number:
                    number[place] = len(nodes)
                    nodes.append(place)
                row[labels.setdefault((position, window, letter), len(labels))] = number[place]
        moves.append(row)
        if len(nodes) > _MOST_NODES or len(nodes) * len(labels) > _MOST_CELLS:
            return None
    return nodes, [[row.get(label, OUTSIDE) for label in range(len(labels))] for row in moves]


@dataclass(frozen=True, slots=True, kw_only=True)
class StablePair:
    """Two states that no counting with windows and clocks tells apart.

    Attributes:
        state: a state p of the automaton with p = p·e.
        other: the state q = p·exe ≠ p; all p·(exe)ⁱ are in the component of p.
        idempotent: e, which acts on the component as e² does.
        word: x, as long as e or a multiple of that.
    """

    state: int
    other: int
    idempotent: Word
    word: Word


def find_stable_pair(dfa: Dfa, *, live: bool) -> StablePair | None:
    """Returns a certificate that no counting does a language; None if there is none, or none was found."""
    table = ComponentTable.of_automaton(dfa, live=live)
    for states in table.groups():
        if len(states) > _MOST_STATES:
            continue
        point = {q: i for i, q in enumerate(states)}
        letters: dict[Map, Word] = {}
        for letter in range(len(table.rows[0])):
            targets = tuple(point.get(table.rows[q][letter], OUTSIDE) for q in states)
            letters.setdefault(targets, (letter,))
        for e, word_e in (stable := _stable(letters)).items():
            if any(t != OUTSIDE and e[t] != t for t in e):
                continue
            for x, word_x in stable.items():
                charge()
                move = _after(_after(e, x), e)
                for p in (i for i, t in enumerate(e) if t == i and move[i] not in (i, OUTSIDE)):
                    if _stays(move, p):
                        return StablePair(
                            state=states[p], other=states[move[p]], idempotent=word_e, word=word_x
                        )
    return None


def _stable(letters: dict[Map, Word]) -> dict[Map, Word]:
    """The maps of words of a length s such that words of length 2s have the same; empty if not found."""
    by_length = [letters]
    while len(by_length) < _LONGEST:
        found: dict[Map, Word] = {}
        for f, word in by_length[-1].items():
            charge()
            for g, letter in letters.items():
                found.setdefault(_after(f, g), word + letter)
        if len(found) > _MOST_MAPS:
            return {}
        by_length.append(found)
        half, odd = divmod(len(by_length), 2)
        if not odd and by_length[half - 1].keys() == found.keys():
            return by_length[half - 1]
    return {}


def _after(first: Map, second: Map) -> Map:
    """The partial map that does first, then second."""
    return tuple(OUTSIDE if t == OUTSIDE else second[t] for t in first)


def _stays(move: Map, point: int) -> bool:
    """Whether all powers of a map keep a point inside."""
    for _ in move:
        point = move[point]
        if point == OUTSIDE:
            return False
    return True
