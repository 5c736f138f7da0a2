"""Section-labelled holonomy: of a whole automaton, of quotients side by side, over a tower of quotients.

Independent parts of an automaton are independent in its cascade only if they are looked for: of a hundred
random cascades of four levels, 45 become up to three levels deeper without quotients and towers.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from nerode.algebra.cascades.cascade_builder import CascadeBuilder, ChainWriter, DecodedLookup
from nerode.algebra.cascades.chains import LetterContext, build_chain
from nerode.algebra.cascades.lookups import Lookup, LookupRow, lookup
from nerode.algebra.cascades.records import Cascade
from nerode.algebra.cascades.skeleton import Congruence, Levels, Skeleton, Tower
from nerode.algebra.components import Rows, strong_components, whole_action
from nerode.core import Budget, started
from nerode.languages import Dfa

Pair = tuple[int, int]

MOST_STATES_OF_A_TOWER = 32
"""Above this no tower is looked for."""

MOST_CONGRUENCES = 24
"""Number of congruences that a tower may be chosen from."""

MOST_STATES_OF_QUOTIENTS = 64
"""Above this the pairs of states are too many for a search that is only worth a try."""


def holonomy_cascade(dfa: Dfa, budget: Budget | None = None) -> Cascade:
    """Returns the cascade of one chain over all states.

    A level is a set-reset component, or a permutation component where a group permutes the tiles.

    Args:
        dfa: any automaton; the states of the cascade are its states.
        budget: its `images` bound the images.

    Raises:
        BudgetExceeded: if there are too many images.

    Implements: [Eilenberg1976], [EgriNagyNehaniv2015], with sections.
    """
    builder = CascadeBuilder(dfa.num_letters)
    levels = Levels(Skeleton(whole_action(dfa), budget))
    state = add_holonomy(builder, dfa, levels)
    kind = "permutation-reset" if any(levels.has_group) else "section-labelled"
    route = f"{kind} holonomy of the whole automaton"
    return builder.build(state=state, num_states=dfa.num_states, route=route)


def add_holonomy(builder: CascadeBuilder, dfa: Dfa, levels: Levels, name: str = "") -> DecodedLookup:
    """Adds the chain of an automaton to a builder; returns the lookup of its state.

    Args:
        builder: the builder of the cascade.
        dfa: the automaton.
        levels: of the images of all its states.
        name: of the chain, in the names of its levels.
    """
    skeleton = levels.skeleton
    map_of = {images: j for j, images in enumerate(skeleton.action.maps)}
    contexts = [LetterContext(map_of[tuple(column)], 0, 0) for column in dfa.transitions.T.tolist()]
    blocks = build_chain(levels, contexts=contexts, images=[0], start=(dfa.start, 0))
    chain = ChainWriter(builder, blocks, name)
    if chain.has_levels:
        chain.add_levels(builder.add_letter_classes(f"{name}front", [chain.kind(c) for c in contexts]))
    state = chain.add_reading(DecodedLookup(None, (0,)))
    return DecodedLookup(state.number, tuple(skeleton.point(image) for image in state.meanings))


def quotient_cascade(dfa: Dfa, budget: Budget | None = None) -> Cascade | None:
    """Returns the cascade of quotients that together determine the state; None if there is one quotient only.

    Args:
        dfa: any automaton; the states of the cascade are its states.
        budget: bounds the images of each quotient.

    Raises:
        BudgetExceeded: if a quotient has too many images.

    Implements: [HartmanisStearns1966]
    """
    congruences = separating_congruences(dfa.transitions.tolist(), budget)
    if len(congruences) < 2:
        return None
    builder = CascadeBuilder(dfa.num_letters)
    decoded_states = []
    for number, labels in enumerate(congruences):
        factor = quotient(dfa, labels)
        levels = Levels(Skeleton(whole_action(factor), budget))
        decoded_states.append(add_holonomy(builder, factor, levels, name=f"{number + 1}."))
    state = join_classes(builder, congruences, decoded_states)
    sizes = ", ".join(str(max(labels) + 1) for labels in congruences)
    route = f"holonomy of {len(congruences)} quotients with {sizes} states side by side"
    return builder.build(state=state, num_states=dfa.num_states, route=route)


def quotient(dfa: Dfa, labels: Congruence) -> Dfa:
    """Returns the automaton of the classes of a congruence; which of them accept is not said."""
    first = [labels.index(number) for number in range(max(labels) + 1)]
    table = np.array(labels, dtype=np.int32)[dfa.transitions[first]]
    return Dfa(
        alphabet=dfa.alphabet,
        transitions=table,
        start=labels[dfa.start],
        accepting=np.zeros(len(first), dtype=np.bool_),
    )


def join_classes(
    builder: CascadeBuilder, congruences: Sequence[Congruence], decoded_states: Sequence[DecodedLookup]
) -> DecodedLookup:
    """Adds the lookup from the classes of a state to the state; returns where the state is said."""
    num_states = len(congruences[0])
    order = sorted(range(len(decoded_states)), key=lambda i: -max(congruences[i]))
    values = []
    reads = []
    for i in order:
        number = decoded_states[i].number
        if number is not None:
            value_of = {meaning: value for value, meaning in enumerate(decoded_states[i].meanings)}
            reads.append(lookup(number))
            values.append([value_of.get(label) for label in congruences[i]])
    table = list(zip(*values, strict=True))
    otherwise: list[int] = []
    rows: list[LookupRow] = []
    for first in range(len(decoded_states[order[0]].meanings)):
        states = [q for q in range(num_states) if table[q][0] == first]
        otherwise.append(states[0])
        rows.extend(LookupRow(_distinguish(table, q, states), q) for q in states[1:])
    joined = Lookup(
        name="state",
        num_values=num_states,
        reads=tuple(reads),
        otherwise=tuple(otherwise),
        rows=tuple(rows),
    )
    return DecodedLookup(builder.add_lookup(joined), tuple(range(num_states)))


def _distinguish(
    table: Sequence[tuple[int | None, ...]], state: int, states: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Returns few literals, the first one included, that hold in one state and in no other of its case."""
    chosen = [0]
    left = [q for q in states if q != state]
    while left:
        counts = Counter(i for q in left for i, value in enumerate(table[q]) if value != table[state][i])
        best = max(counts, key=lambda i: (counts[i], -i))
        chosen.append(best)
        left = [q for q in left if table[q][best] == table[state][best]]
    literals = []
    for i in sorted(chosen):
        value = table[state][i]
        if value is None:
            raise AssertionError("a class that no reading means")
        literals.append((i, value))
    return tuple(literals)


def tower_cascade(dfa: Dfa, budget: Budget | None = None) -> Cascade | None:
    """Returns the cascade of one chain over a tower of congruences; None if no tower lowers the levels.

    Args:
        dfa: any automaton; the states of the cascade are its states.
        budget: its `images` bound the images.

    Raises:
        BudgetExceeded: if there are too many images.

    Implements: [HartmanisStearns1966]
    """
    levels = _levels_over_a_tower(dfa, budget) if 3 < dfa.num_states <= MOST_STATES_OF_A_TOWER else None
    if levels is None:
        return None
    builder = CascadeBuilder(dfa.num_letters)
    state = add_holonomy(builder, dfa, levels)
    sizes = ", ".join(str(max(labels) + 1) for labels in levels.skeleton.tower.congruences)
    route = f"holonomy over a tower of quotients with {sizes} states"
    return builder.build(state=state, num_states=dfa.num_states, route=route)


def _levels_over_a_tower(dfa: Dfa, budget: Budget | None) -> Levels | None:
    """Returns levels below those of the whole automaton, or None.

    The tower is grown greedily: each time by the congruence that lowers the levels most, of those that one
    pair of states generates.
    """
    action = whole_action(dfa)
    principal = principal_congruences(dfa.transitions.tolist(), MOST_CONGRUENCES)
    best = Levels(Skeleton(action, budget))
    grows = True
    while grows:
        grows = False
        tower = best.skeleton.tower.congruences
        for labels in principal:
            if labels not in tower and all(is_finer(labels, t) or is_finer(t, labels) for t in tower):
                higher = Tower(sorted([*tower, labels], key=max))
                levels = Levels(Skeleton(action, budget, higher))
                if levels.top < best.top:
                    best, grows = levels, True
    return best if best.skeleton.tower.congruences else None


def separating_congruences(rows: Rows, budget: Budget | None = None) -> list[Congruence]:
    """Returns congruences, large ones, such that any two states differ in one of them.

    Whatever identifies two states identifies every pair of states that words make of them. So it is enough
    to keep apart one pair of each terminal component of the graph of pairs (an atom). For each atom a
    congruence is grown greedily, pair by pair, as long as it keeps the atom apart.

    Args:
        rows: the transition table.
        budget: its seconds bound the search.

    Returns:
        The congruences; a single one with a class for each state if the automaton cannot be split, or if it
        has more than MOST_STATES_OF_QUOTIENTS states.

    Implements: [HartmanisStearns1966]
    """
    budget = started(budget)
    n = len(rows)
    trivial = tuple(range(n))
    if not 2 < n <= MOST_STATES_OF_QUOTIENTS:
        return [trivial]
    found: list[Congruence] = []
    for p, q in _atoms(rows):
        budget.check_time()
        if all(labels[p] == labels[q] for labels in found):
            found.append(_grow(rows, (p, q), budget))
    return _irredundant(found)


def _atoms(rows: Rows) -> list[Pair]:
    """Returns one pair of each terminal component of the graph of unordered pairs."""
    n = len(rows)
    pairs = list(itertools.combinations(range(n), 2))
    number = {pair: i for i, pair in enumerate(pairs)}
    successors = []
    for p, q in pairs:
        targets = zip(rows[p], rows[q], strict=True)
        successors.append([number[min(r, s), max(r, s)] for r, s in targets if r != s])
    atoms = []
    for members in strong_components(successors):
        inside = set(members)
        if all(target in inside for member in members for target in successors[member]):
            atoms.append(pairs[min(members)])
    return sorted(atoms)


def _grow(rows: Rows, atom: Pair, budget: Budget) -> Congruence:
    labels = tuple(range(len(rows)))
    for pair in itertools.combinations(range(len(rows)), 2):
        if labels[pair[0]] == labels[pair[1]]:
            continue
        budget.check_time()
        coarser = generated_congruence(rows, labels, [pair])
        if coarser[atom[0]] != coarser[atom[1]]:
            labels = coarser
    return labels


def generated_congruence(rows: Rows, labels: Sequence[int], pairs: Iterable[Pair]) -> Congruence:
    """Returns the least congruence that contains a congruence and identifies some pairs of states."""
    parent = list(labels)
    first = {label: q for q, label in reversed(list(enumerate(labels)))}
    parent = [first[label] for label in labels]

    def find(q: int) -> int:
        while parent[q] != q:
            parent[q] = q = parent[parent[q]]
        return q

    pending = list(pairs)
    while pending:
        p, q = pending.pop()
        p, q = find(p), find(q)
        if p != q:
            parent[max(p, q)] = min(p, q)
            # The roots were congruent to their classes before, so their images stand for all.
            pending.extend(zip(rows[p], rows[q], strict=True))
    number: dict[int, int] = {}
    return tuple(number.setdefault(find(q), len(number)) for q in range(len(rows)))


def _irredundant(congruences: list[Congruence]) -> list[Congruence]:
    """Returns the list without members that the others make needless, the finest ones dropped first."""
    kept = sorted(set(congruences), key=lambda labels: (max(labels), labels))
    for labels in reversed(list(kept)):
        others = [other for other in kept if other != labels]
        if others and len(set(zip(*others, strict=True))) == len(labels):
            kept = others
    return kept


def is_finer(first: Congruence, second: Congruence) -> bool:
    """Whether states of one class of the first congruence are in one class of the second."""
    return len(set(zip(first, second, strict=True))) == len(set(first))


def principal_congruences(rows: Rows, most: int) -> list[Congruence]:
    """Returns congruences that one pair of states generates, the coarsest ones first.

    Neither the one with a single class nor the one with a class for each state is among them.
    """
    n = len(rows)
    pairs = itertools.combinations(range(n), 2)
    found = {generated_congruence(rows, range(n), [pair]) for pair in pairs}
    proper = [labels for labels in found if 0 < max(labels) < n - 1]
    return sorted(proper, key=lambda labels: (max(labels), labels))[:most]
