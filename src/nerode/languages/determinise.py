"""Nondeterministic automata, the automaton of their subsets, and the canonical minimal automaton.

Implements: [Hopcroft1971], with a first phase of vectorised Moore rounds [Moore1956].

Moore's rounds are cheap and finish the many automata whose states are told apart by short words; an
automaton that needs long words (a chain) would take as many rounds as it has states, so a partition that
is unfinished after a few rounds and grows slowly goes on to Hopcroft's algorithm.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import or_
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, InputError, charge, started
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa, IntArray

Edge = tuple[int, int | None, int]
"""Source, letter (None: the edge reads nothing), target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nfa:
    """A nondeterministic automaton, with edges that may read nothing.

    States are any non-negative integers; those that occur nowhere do not exist.

    Attributes:
        alphabet: the letters, by number in the edges.
        transitions: the edges (source, letter or None, target).
        starts: the initial states; none of them gives the empty language.
        accepting: the final states.
    """

    alphabet: Alphabet
    transitions: tuple[Edge, ...]
    starts: frozenset[int]
    accepting: frozenset[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "transitions", tuple(self.transitions))
        object.__setattr__(self, "starts", frozenset(self.starts))
        object.__setattr__(self, "accepting", frozenset(self.accepting))
        for source, letter, target in self.transitions:
            if letter is not None and not 0 <= letter < len(self.alphabet):
                raise InputError(
                    f"the edge {source} → {target} reads letter number {letter}, "
                    f"but the alphabet has {len(self.alphabet)} letters"
                )
            if source < 0 or target < 0:
                raise InputError(f"the edge {source} → {target} has a negative state; number states from 0")
        if any(q < 0 for q in self.starts | self.accepting):
            raise InputError("a start or accepting state is negative; number states from 0")


def determinise(nfa: Nfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton whose states are the reachable subsets, numbered breadth first.

    States from which nothing is accepted are left out of the subsets, so at most one state of the result
    (the empty subset) is dead. The result need not be minimal.

    Raises:
        BudgetExceeded: if there are more subsets than `budget.states`; it says how many were reached.
    """
    budget = started(budget)
    edges, starts = _without_silent_edges(nfa, budget)
    edges, starts, useful = _useful_part(edges, starts, nfa.accepting)
    number = {q: i for i, q in enumerate(useful)}
    letters: dict[tuple[int, int], int] = defaultdict(int)
    for p, a, q in edges:
        letters[number[p], number[q]] |= 1 << a
    links: list[list[BundledEdge]] = [[] for _ in useful]
    for (p, q), mask in letters.items():
        links[p].append((mask, q))
    automaton = BundledNfa(
        num_letters=len(nfa.alphabet),
        links=tuple(map(tuple, links)),
        out=tuple((i,) for i in range(len(useful))),
        starts=frozenset(number[q] for q in starts),
        accepting=frozenset(number[q] for q in useful if q in nfa.accepting),
    )
    return automaton.determinised(nfa.alphabet, budget)


BundledEdge = tuple[int, int]
"""Letters, as a bit set of letter numbers, and target state."""

_MASK_BITS = 1 << 28
"""Above this size (32 MB) the table of bit sets gives way to sets of numbers."""

_BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledNfa:
    """A nondeterministic automaton without silent moves, whose edges are bundled.

    A *link* is a bundle of edges that several states share, so that an automaton stays linear in the pattern
    that it is made of where its edges, counted one by one, would be quadratic.

    Attributes:
        num_letters: letters are 0 … num_letters-1.
        links: bundles of edges.
        out: for each state the numbers of the links that leave it.
        starts: the initial states.
        accepting: the final states.
    """

    num_letters: int
    links: tuple[tuple[BundledEdge, ...], ...]
    out: tuple[tuple[int, ...], ...]
    starts: frozenset[int]
    accepting: frozenset[int]

    @property
    def num_states(self) -> int:
        """Number of states."""
        return len(self.out)

    @property
    def has_masks(self) -> bool:
        """Whether the moves as bit sets fit into a table."""
        return self.num_states**2 * self.num_letters <= _MASK_BITS

    def determinised(self, alphabet: Alphabet, budget: Budget) -> Dfa:
        """Returns the automaton of the reachable subsets, numbered breadth first.

        Implements: [RabinScott1959]
        """
        if self.has_masks:
            return MaskAutomaton.of_bundles(self).determinised(alphabet, budget)
        return _determinise_sparse(self, alphabet, budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskAutomaton:
    """A nondeterministic automaton without silent moves; sets of states are bit sets.

    Attributes:
        moves: `moves[p][a]` is the set of states after letter a in state p.
        starts: the initial states.
        accepting: the final states.
    """

    moves: tuple[tuple[int, ...], ...]
    starts: int
    accepting: int

    @classmethod
    def of_bundles(cls, automaton: BundledNfa) -> MaskAutomaton:
        """Returns the same automaton with every edge spelled out."""
        bundles = []
        for link in automaton.links:
            targets = [0] * automaton.num_letters
            for letters, target in link:
                for letter in _members(letters):
                    targets[letter] |= 1 << target
            bundles.append(tuple(targets))
        nothing = (0,) * automaton.num_letters
        moves = []
        for links in automaton.out:
            row = nothing
            for link_number in links:
                row = tuple(map(or_, row, bundles[link_number]))
            moves.append(row)
        accepting = sum(1 << state for state in automaton.accepting)
        starts = sum(1 << state for state in automaton.starts)
        return cls(moves=tuple(moves), starts=starts, accepting=accepting)

    @classmethod
    def of_dfa(cls, dfa: Dfa) -> MaskAutomaton:
        """Returns a deterministic automaton as a nondeterministic one."""
        moves = tuple(tuple(1 << target for target in row) for row in dfa.transitions.tolist())
        accepting = sum(1 << q for q in np.flatnonzero(dfa.accepting).tolist())
        return cls(moves=moves, starts=1 << dfa.start, accepting=accepting)

    def reversed(self) -> MaskAutomaton:
        """Returns the automaton of the reversed language."""
        back = [[0] * len(self.moves[0]) for _ in self.moves]
        for source, row in enumerate(self.moves):
            for letter, targets in enumerate(row):
                for target in _members(targets):
                    back[target][letter] |= 1 << source
        return MaskAutomaton(moves=tuple(map(tuple, back)), starts=self.accepting, accepting=self.starts)

    def determinised(self, alphabet: Alphabet, budget: Budget) -> Dfa:
        """Returns the automaton of the reachable subsets, numbered breadth first."""
        subsets, table = explore(
            [self.starts],
            _MaskStep(self.moves, len(alphabet)),
            num_letters=len(alphabet),
            batch=_BATCH,
            budget=budget,
        )
        accepting = np.array([subset & self.accepting != 0 for subset in subsets])
        return Dfa(alphabet=alphabet, transitions=table, start=0, accepting=accepting)


class _MaskStep:
    """The subsets after each letter; the moves of eight states at a time are looked up in a table."""

    def __init__(self, moves: tuple[tuple[int, ...], ...], num_letters: int) -> None:
        self.moves = moves
        self.nothing = (0,) * num_letters
        self.width = (len(moves) + 7) // 8
        self.tables: list[dict[int, tuple[int, ...]]] = [{} for _ in range(self.width)]

    def __call__(self, subsets: list[int]) -> list[int]:
        found: list[int] = []
        for subset in subsets:
            after = self.nothing
            # Looking at every byte of a large set with few members would take longer than the members.
            few = 8 * subset.bit_count() < self.width
            for row in self.rows_one_by_one(subset) if few else self.rows_by_eight(subset):
                after = tuple(map(or_, after, row))
            found += after
        return found

    def rows_one_by_one(self, subset: int) -> list[tuple[int, ...]]:
        return [self.moves[state] for state in _members(subset)]

    def rows_by_eight(self, subset: int) -> list[tuple[int, ...]]:
        return [
            self.tables[place].get(byte) or self.look_up(place, byte)
            for place, byte in enumerate(subset.to_bytes(self.width, "little"))
            if byte
        ]

    def look_up(self, place: int, byte: int) -> tuple[int, ...]:
        row = self.nothing
        for bit in _members(byte):
            row = tuple(map(or_, row, self.moves[8 * place + bit]))
        self.tables[place][byte] = row
        return row


def _determinise_sparse(automaton: BundledNfa, alphabet: Alphabet, budget: Budget) -> Dfa:
    """The automaton of the reachable subsets, for automata with very many states."""
    bundles: dict[int, list[tuple[int, list[int]]]] = {}

    def bundle(link: int) -> list[tuple[int, list[int]]]:
        by_letter: dict[int, list[int]] = {}
        for letters, target in automaton.links[link]:
            for letter in _members(letters):
                by_letter.setdefault(letter, []).append(target)
        bundles[link] = list(by_letter.items())
        return bundles[link]

    def successors(subsets: list[frozenset[int]]) -> list[frozenset[int]]:
        found: list[frozenset[int]] = []
        for subset in subsets:
            after: list[set[int]] = [set() for _ in alphabet]
            for link in {link for state in subset for link in automaton.out[state]}:
                for letter, targets in bundles.get(link) or bundle(link):
                    after[letter].update(targets)
            found += map(frozenset, after)
        return found

    subsets, table = explore(
        [automaton.starts], successors, num_letters=len(alphabet), batch=1, budget=budget
    )
    accepting = np.array([not automaton.accepting.isdisjoint(subset) for subset in subsets])
    return Dfa(alphabet=alphabet, transitions=table, start=0, accepting=accepting)


def _members(mask: int) -> Iterator[int]:
    """The numbers in a bit set, in increasing order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _without_silent_edges(nfa: Nfa, budget: Budget) -> tuple[set[tuple[int, int, int]], frozenset[int]]:
    """Returns edges (source, letter, target) and starts of an equal automaton that always reads a letter."""
    silent: dict[int, list[int]] = defaultdict(list)
    for source, letter, target in nfa.transitions:
        if letter is None:
            silent[source].append(target)
    closures: dict[int, frozenset[int]] = {}
    edges: set[tuple[int, int, int]] = set()
    for source, letter, target in nfa.transitions:
        if letter is None:
            continue
        if target not in closures:
            closures[target] = frozenset(_reach([target], silent))
            budget.check_time(edges_without_silent_ones=len(edges))
        edges.update((source, letter, q) for q in closures[target])
    return edges, frozenset(_reach(nfa.starts, silent))


def _useful_part(
    edges: set[tuple[int, int, int]], starts: frozenset[int], accepting: frozenset[int]
) -> tuple[set[tuple[int, int, int]], frozenset[int], list[int]]:
    """Returns edges, starts and states of the part that is both reachable and able to accept."""
    forward: dict[int, list[int]] = defaultdict(list)
    backward: dict[int, list[int]] = defaultdict(list)
    for source, _, target in edges:
        forward[source].append(target)
        backward[target].append(source)
    useful = _reach(starts, forward) & _reach(accepting, backward)
    kept = {(p, a, q) for p, a, q in edges if p in useful and q in useful}
    return kept, starts & useful, sorted(useful)


def _reach(starts: Iterable[int], successors: Mapping[int, list[int]]) -> set[int]:
    """Returns what can be reached from some states, themselves included."""
    found = set(starts)
    pending = list(found)
    while pending:
        for q in successors.get(pending.pop(), ()):
            if q not in found:
                found.add(q)
                pending.append(q)
    return found


K = TypeVar("K", bound=Hashable)


def explore(
    starts: Sequence[K],
    successors: Callable[[list[K]], Sequence[K]],
    *,
    num_letters: int,
    batch: int,
    budget: Budget,
) -> tuple[list[K], IntArray]:
    """Returns the keys that are reached, in breadth-first order, and the table of their transitions.

    Args:
        starts: distinct keys, which get the first numbers.
        successors: the keys after each letter for a list of keys, one key after the other; a whole list
            at a time, so that it can be computed with arrays.
        num_letters: how many successors each key has.
        batch: how many keys are handed over at a time.
        budget: limits the number of keys.

    Raises:
        BudgetExceeded: as soon as a batch leads beyond the budget.
    """
    order = list(starts)
    number = {key: i for i, key in enumerate(order)}
    targets: list[int] = []
    done = 0
    while done < len(order):
        budget.check("states", len(order), states_reached=len(order))
        keys = order[done : done + batch]
        done += len(keys)
        for key in successors(keys):
            found = number.get(key)
            if found is None:
                found = number[key] = len(order)
                order.append(key)
            targets.append(found)
    return order, np.array(targets, dtype=np.int32).reshape(len(order), num_letters)


Labels = npt.NDArray[np.int32]

_MOORE_ROUNDS = 12
"""Rounds after which a partition that grows slowly is handed to Hopcroft's algorithm."""

_GROWTH = 1.25
"""The factor by which a later round must multiply the classes to be worth its pass over the table."""


def minimise(dfa: Dfa) -> Dfa:
    """Returns the canonical minimal automaton of the same language.

    Canonical: states are numbered breadth first from the start, letters in alphabet order. Two automata
    over one alphabet accept the same language exactly when `minimise` makes them equal.
    """
    dfa = trim(dfa)
    return trim(_quotient(dfa, equivalence_classes(dfa)))


def equivalence_classes(dfa: Dfa) -> Labels:
    """Returns a label for each state; two states have one label when the same words lead them to acceptance.

    All states are labelled, unreachable ones too. The labels are 0 … number of classes - 1.
    """
    return refine(dfa.transitions, dfa.accepting[:, None].astype(np.int32))


def refine(transitions: IntArray, answers: Labels) -> Labels:
    """Returns a label for each state of a table; two have one when all words lead them to equal answers."""
    labels, stable = _moore_rounds(transitions, answers)
    return labels if stable else _hopcroft(transitions, labels)


def trim(dfa: Dfa) -> Dfa:
    """Returns the reachable part, states numbered breadth first; the automaton stays complete."""
    order = dfa.breadth_first
    if len(order) == dfa.num_states and np.array_equal(order, np.arange(dfa.num_states)):
        return dfa
    number = np.full(dfa.num_states, -1, dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return Dfa(
        alphabet=dfa.alphabet,
        transitions=number[dfa.transitions[order]],
        start=0,
        accepting=dfa.accepting[order],
    )


def _moore_rounds(transitions: IntArray, answers: Labels) -> tuple[Labels, bool]:
    """Refines the partition by answers a few times; says whether it is stable."""
    labels = _number_rows(answers)
    for rounds in itertools.count(1):
        refined = _number_rows(np.column_stack([labels, labels[transitions]]))
        before, after = int(labels.max()) + 1, int(refined.max()) + 1
        labels = refined
        if after in (before, len(transitions)):
            return labels, True
        if rounds >= _MOORE_ROUNDS and after < _GROWTH * before:
            break
    return labels, False


def _number_rows(rows: npt.NDArray[np.int32]) -> Labels:
    """Returns a number for each row of a table, the same for equal rows, in order of first occurrence."""
    # A dictionary of the rows as bytes takes one pass whatever the number of columns is; sorting would
    # take one for each column.
    text, width = rows.tobytes(), rows.shape[1] * rows.itemsize
    number: dict[bytes, int] = {}
    keys = (text[i : i + width] for i in range(0, len(text), width))
    return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int32)


def _hopcroft(transitions: IntArray, labels: Labels) -> Labels:
    """Refines a partition to the coarsest stable one."""
    n, k = transitions.shape
    block_of: list[int] = labels.tolist()
    blocks: list[set[int]] = [set() for _ in range(max(block_of) + 1)]
    for q, b in enumerate(block_of):
        blocks[b].add(q)
    preimage: list[list[list[int]]] = [[[] for _ in range(n)] for _ in range(k)]
    for q, row in enumerate(transitions.tolist()):
        for letter, target in enumerate(row):
            preimage[letter][target].append(q)
    work = deque((b, letter) for b in range(len(blocks)) for letter in range(k))
    waiting = set(work)
    while work:
        charge()
        splitter = work.popleft()
        waiting.discard(splitter)
        b, letter = splitter
        pre = preimage[letter]
        hit: dict[int, list[int]] = {}
        for q in blocks[b]:
            for p in pre[q]:
                hit.setdefault(block_of[p], []).append(p)
        for c, members in hit.items():
            if len(members) == len(blocks[c]):
                continue
            new = len(blocks)
            moved = set(members)
            blocks[c] -= moved
            blocks.append(moved)
            for p in moved:
                block_of[p] = new
            for a in range(k):
                add = (new, a) if (c, a) in waiting or len(moved) <= len(blocks[c]) else (c, a)
                if add not in waiting:
                    waiting.add(add)
                    work.append(add)
    return np.array(block_of, dtype=np.int32)


def _quotient(dfa: Dfa, labels: Labels) -> Dfa:
    """Returns the automaton of the classes."""
    members, first = np.unique(labels, return_index=True)
    if len(members) == dfa.num_states:
        return dfa
    return Dfa(
        alphabet=dfa.alphabet,
        transitions=labels[dfa.transitions[first]],
        start=int(labels[dfa.start]),
        accepting=dfa.accepting[first],
    )
