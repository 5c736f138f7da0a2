"""A slow, plain second opinion: the semigroup as a multiplication table, identities by brute force."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.algebra.classes.subject import Term, parse_identity
from nerode.languages import Alphabet, Dfa, minimise

Table = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Semigroup:
    """Elements 0 … m-1 are the maps of non-empty words; `identity` is one of them, or m where none is."""

    maps: list[tuple[int, ...]]
    table: Table
    omega: Table
    by_length: list[frozenset[int]]
    identity: int

    @property
    def size(self) -> int:
        return len(self.maps)

    @property
    def idempotents(self) -> list[int]:
        return [i for i in range(self.size) if self.table[i, i] == i]


def semigroup(dfa: Dfa, limit: int) -> Semigroup | None:
    """Returns the semigroup of the automaton, None if it has more elements than `limit`."""
    letters = [tuple(column) for column in dfa.transitions.T.tolist()]
    number: dict[tuple[int, ...], int] = {}
    maps: list[tuple[int, ...]] = []
    for letter in letters:
        if letter not in number:
            number[letter] = len(maps)
            maps.append(letter)
    for x in maps:
        for letter in letters:
            product = tuple(letter[q] for q in x)
            if product not in number:
                number[product] = len(maps)
                maps.append(product)
        if len(maps) > limit:
            return None
    m = len(maps)
    table = np.empty((m + 1, m + 1), dtype=np.int64)
    for i, x in enumerate(maps):
        for j, y in enumerate(maps):
            table[i, j] = number[tuple(y[q] for q in x)]
    table[m, :] = table[:, m] = np.arange(m + 1)
    identity = number.get(tuple(range(dfa.num_states)), m)
    return Semigroup(maps, table, _omega(table), _by_length(letters, number, maps), identity)


def _omega(table: Table) -> Table:
    omega = np.empty(len(table), dtype=np.int64)
    for i in range(len(table)):
        power = i
        while table[power, power] != power:
            power = int(table[power, i])
        omega[i] = power
    return omega


def _by_length(letters, number, maps) -> list[frozenset[int]]:
    """The sets of elements that words of length 1, 2, … reach, until the sequence repeats."""
    sets = [frozenset(number[letter] for letter in letters)]
    while sets[-1] not in sets[:-1]:
        sets.append(frozenset(number[tuple(y[q] for q in maps[i])] for i in sets[-1] for y in letters))
    return sets


def satisfies(s: Semigroup, identity: str, idempotent_variables: str = "") -> bool:
    """Whether an identity holds for every assignment; the named variables range over idempotents only."""
    return all(
        _equal_everywhere(s, left, right, idempotent_variables)
        for (_, left), (_, right) in parse_identity(identity)
    )


def _equal_everywhere(s: Semigroup, left: Term, right: Term, idempotent_variables: str) -> bool:
    variables = sorted(left.variables | right.variables)
    ranges = [s.idempotents if v in idempotent_variables else list(range(s.size)) for v in variables]
    axes = np.meshgrid(*(np.array(r, dtype=np.int64) for r in ranges), indexing="ij")
    values = dict(zip(variables, axes, strict=True))
    return bool((_value(s, left, values) == _value(s, right, values)).all())


def _value(s: Semigroup, term: Term, values):
    result = np.int64(s.identity)
    for factor, shift in term.factors:
        if factor == "1":
            continue
        value = values[factor] if isinstance(factor, str) else _value(s, factor, values)
        if shift is not None:
            base, value = value, s.omega[value]
            if shift == 1:
                value = s.table[value, base]
            elif shift == -1:
                value = _inverse_in_group(s, base)
        result = s.table[result, value]
    return result


def _inverse_in_group(s: Semigroup, base):
    inverse = np.array([_one_inverse(s, i) for i in range(len(s.table))])
    return inverse[base]


def _one_inverse(s: Semigroup, i: int) -> int:
    e = int(s.omega[i])
    g = int(s.table[e, i])
    power = e
    while int(s.table[power, g]) != e:
        power = int(s.table[power, g])
    return power


def is_quasi_aperiodic(s: Semigroup) -> bool:
    """Whether no set of words of one length holds a non-trivial group, straight from the definition."""
    for elements in s.by_length:
        for e in elements:
            if s.table[e, e] == e and any(
                s.table[e, g] == g and s.table[g, e] == g and s.omega[g] == e and g != e for g in elements
            ):
                return False
    return True


def random_dfa(rng: np.random.Generator, most_states: int = 6, most_letters: int = 3) -> Dfa:
    """Returns the minimal automaton of a random language, of one of several shapes; few have one state."""
    while True:
        n, k = int(rng.integers(2, most_states + 1)), int(rng.integers(1, most_letters + 1))
        dfa = minimise(
            Dfa(
                alphabet=Alphabet(tuple("abcdefgh"[:k])),
                transitions=_random_table(rng, n, k),
                start=int(rng.integers(n)),
                accepting=rng.random(n) < 0.5,
            )
        )
        if dfa.num_states > 1 or rng.random() < 0.05:
            return dfa


def _random_table(rng: np.random.Generator, n: int, k: int) -> Table:
    table = rng.integers(0, n, (n, k))
    states = np.arange(n)[:, None]
    shape = rng.integers(6)
    if shape == 1:
        table = np.sort(table, axis=0)
    elif shape == 2:
        table = np.maximum(table, states)
    elif shape == 3:
        table = np.where(rng.random((n, k)) < 0.6, states, table)
    elif shape == 4:
        table = np.where(rng.random((n, k)) < 0.6, rng.integers(0, n, k)[None, :], table)
    elif shape == 5:
        table = np.where(rng.random((n, k)) < 0.5, n - 1, table)
        table[n - 1] = n - 1
    return table


def all_words(num_letters: int, up_to: int):
    """Yields all words up to a length, shortest first."""
    for length in range(up_to + 1):
        yield from itertools.product(range(num_letters), repeat=length)
