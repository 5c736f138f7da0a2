"""Section-labelled holonomy: of a whole automaton, or over a tower of quotients."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from nerode.algebra.cascades.cascade_builder import CascadeBuilder, ChainWriter, DecodedLookup
from nerode.algebra.cascades.chains import LetterContext, build_chain
from nerode.algebra.cascades.records import Cascade
from nerode.algebra.cascades.skeleton import Congruence, Levels, Skeleton, Tower
from nerode.algebra.components import Rows, whole_action
from nerode.core import Budget
from nerode.languages import Dfa

Pair = tuple[int, int]

MOST_STATES_OF_A_TOWER = 32
"""Above this no tower is looked for."""

MOST_CONGRUENCES = 24
"""Number of congruences that a tower may be chosen from."""


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
    levels = Levels(Skeleton(whole_action(dfa), budget))
    kind = "permutation-reset" if any(levels.has_group) else "section-labelled"
    return _chain_cascade(dfa, levels, f"{kind} holonomy of the whole automaton")


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
    sizes = ", ".join(str(max(labels) + 1) for labels in levels.skeleton.tower.congruences)
    return _chain_cascade(dfa, levels, f"holonomy over a tower of quotients with {sizes} states")


def _chain_cascade(dfa: Dfa, levels: Levels, route: str) -> Cascade:
    """The cascade of one chain, given the levels of the images of all states."""
    builder = CascadeBuilder(dfa.num_letters)
    skeleton = levels.skeleton
    map_of = {images: j for j, images in enumerate(skeleton.action.maps)}
    contexts = [LetterContext(map_of[tuple(column)], 0, 0) for column in dfa.transitions.T.tolist()]
    blocks = build_chain(levels, contexts=contexts, images=[0], start=(dfa.start, 0))
    chain = ChainWriter(builder, blocks)
    if chain.has_levels:
        chain.add_levels(builder.add_letter_classes("front", [chain.kind(c) for c in contexts]))
    reading = chain.add_reading(DecodedLookup(None, (0,)))
    state = DecodedLookup(reading.number, tuple(skeleton.point(image) for image in reading.meanings))
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
