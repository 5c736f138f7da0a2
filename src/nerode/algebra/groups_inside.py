"""Groups inside the syntactic monoid, found on images of states; star-freeness without the monoid.

Most components are settled by a polynomial test on pairs of states. If a word permutes states p₀ → p₁ → … →
p₀ cyclically, then the pairs (p₀, p₁), (p₁, p₂), … all lie in one strongly connected component of the graph
of pairs. Read as a relation on states, that component has a directed cycle. So if the relation of every
component of the pair graph is acyclic, there is no counter: this covers order-preserving automata, whose
image sets are exponentially many. And if (p, q) and (q, p) share a component, a word swaps p and q: a
counter of order two. Only what lies between needs the images.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

import numpy as np

from nerode.algebra.components import (
    OUTSIDE,
    AccessTree,
    Numbers,
    PartialAction,
    Rows,
    component_actions,
    distinguishing_word,
    edge_labels,
    run,
    tuple_path,
    whole_action,
)
from nerode.algebra.group_structure import describe_group
from nerode.algebra.images import ImageClass, ImageOrbit
from nerode.algebra.permutation_groups import MOST_ELEMENTS, PermutationGroup, element_table
from nerode.algebra.permutations import Permutation
from nerode.algebra.records import CounterWitness, GroupInside
from nerode.core import Budget, BudgetExceeded, InputError, charge, started
from nerode.languages import Dfa, Word

MOST_EDGES = 10_000_000
"""Above this many edges the pair graph is not built."""

_STAGES = ((64, 20_000), (4000, MOST_EDGES))
"""Images to look at before the pair graph is tried, if it has at most so many edges."""

_SHORT_WORDS = 600
"""Distinct actions of words to look at for a counter that is shorter than the one found."""

_CANDIDATES = 8
"""Loops, cycles of one loop and pairs of one cycle among which the shortest witness is chosen."""


def find_counter(dfa: Dfa, budget: Budget | None = None) -> CounterWitness | None:
    """Returns words that show that the language is not star-free; None exactly when it is star-free.

    A language is star-free exactly when no word permutes states of its minimal automaton in a cycle of
    length two or more. Such a cycle stays inside one strongly connected component. There the test looks
    at single letters and whether they keep the order of the states, then at a few images of the
    component, then at pairs of states, and only then at all images, whose number the budget bounds.

    Args:
        dfa: a minimal automaton.
        budget: its `images` and `seconds` bound the search.

    Raises:
        BudgetExceeded: if the budget is used up before the question is decided.
        InputError: if two states of the automaton are equivalent.

    Implements: [Schutzenberger1965], [McNaughtonPapert1971]
    """
    budget = started(budget)
    actions = component_actions(dfa)
    loop = next(filter(None, map(_turning_letter, actions)), None)
    for action in actions:
        if loop is None:
            loop = _turning_word(action, budget)
    if loop is None:
        return None
    return _shortest_witness(dfa, loop)


def is_counter(dfa: Dfa, witness: CounterWitness) -> bool:
    """Whether the automaton answers along the words of a witness as the witness says, for every n."""
    rows: Rows = dfa.transitions.tolist()
    first = run(rows, dfa.start, witness.prefix)
    answers, state = [], first
    while True:
        answers.append(bool(dfa.accepting[run(rows, state, witness.suffix)]))
        state = run(rows, state, witness.loop)
        if state == first:
            break
        if len(answers) > dfa.num_states:
            return False
    return len(set(answers)) == 2 and _least_period(answers) == witness.period


def _turning_letter(action: PartialAction) -> Word | None:
    for letter, row in zip(action.letters, action.maps, strict=True):
        if _cycle(row):
            return (letter,)
    return None


def _turning_word(action: PartialAction, budget: Budget) -> Word | None:
    """Returns a word that permutes points of a component in a cycle, or None if there is none."""
    if _keeps_order(action):
        return None
    orbit = ImageOrbit(action, budget)
    pairs_done = False
    for few_images, few_edges in _STAGES:
        if orbit.explore(min(few_images, budget.images)):
            break
        if not pairs_done and num_pair_edges(action) <= few_edges:
            pairs_done = True
            labels = pair_labels(action)
            if swap := swapped_pair(labels):
                return _swapping_word(action, *swap)
            if is_orderly(labels):
                return None
    orbit.explore_all()
    for image_class in orbit.classes():
        if edge := image_class.moving_edge():
            # The edge and the tree disagree, so one of the circuits through its target moves a point.
            circuits = [image_class.circuit(e) for e in image_class.edges() if e[2] == edge[2]]
            moving = [way for way, permutation in circuits if permutation != tuple(range(len(permutation)))]
            return action.word(min(moving, key=len))
    return None


def _keeps_order(action: PartialAction) -> bool:
    """Whether no map takes two points to points in the other order; then none permutes points in a cycle."""
    for row in action.maps:
        images = [target for target in row if target != OUTSIDE]
        if any(p > q for p, q in pairwise(images)):
            return False
    return True


def _swapping_word(action: PartialAction, p: int, q: int) -> Word:
    n = action.num_points
    # One more point stands for the outside, so that the maps are total.
    rows = [[row[i] if row[i] != OUTSIDE else n for row in action.maps] for i in range(n)]
    rows.append([n] * len(action.maps))
    way = tuple_path(rows, (p, q), lambda pair: pair == (q, p))
    if way is None:
        raise AssertionError("two pairs of one component are not joined by a word")
    return action.word(way)


def _cycle(row: tuple[int, ...]) -> list[int]:
    """Returns the points on cycles of length two or more of a partial map, empty if there are none."""
    points = {p for p in row if p != OUTSIDE}
    while True:
        charge()
        image = {row[p] for p in points}
        image.discard(OUTSIDE)
        if len(image) == len(points):
            break
        points = image
    return sorted(p for p in points if row[p] != p)


def _shortest_witness(dfa: Dfa, loop: Word) -> CounterWitness:
    rows: Rows = dfa.transitions.tolist()
    access = AccessTree(rows, dfa.start)
    loops = [loop, *_shorter_loops(rows, len(loop))]
    shortest = min(map(len, loops))
    candidates = [
        witness
        for v in [v for v in loops if len(v) == shortest][:_CANDIDATES]
        for witness in _witnesses(dfa, rows, access, v)
    ]
    best = min(candidates, key=lambda w: (len(w.prefix) + len(w.suffix), w.prefix, w.suffix), default=None)
    if best is None:
        raise InputError("the automaton has equivalent states; give the minimal automaton")
    if not is_counter(dfa, best):
        raise AssertionError(f"the counter {best} does not hold in {dfa!r}")
    return best


def _shorter_loops(rows: Rows, below: int) -> Iterator[Word]:
    """Yields the shortest turning words among those that a small breadth-first search meets."""
    columns = list(zip(*rows, strict=True))
    identity = tuple(range(len(rows)))
    seen = {identity}
    level: list[tuple[Word, tuple[int, ...]]] = [((), identity)]
    for _ in range(below):
        following = []
        for word, action in level:
            pick = itemgetter(*action)
            for letter, column in enumerate(columns):
                image = pick(column)
                if image not in seen:
                    seen.add(image)
                    following.append(((*word, letter), image))
        turning = [word for word, action in following if _cycle(action)]
        if turning or len(seen) > _SHORT_WORDS:
            yield from turning
            return
        level = following


def _witnesses(dfa: Dfa, rows: Rows, access: AccessTree, loop: Word) -> Iterator[CounterWitness]:
    """Yields for each cycle of a turning word the witness with the shortest way in and out."""
    action = tuple(run(rows, q, loop) for q in range(len(rows)))
    for cycle in itertools.islice(_cycles(action), _CANDIDATES):
        pairs = itertools.islice(pairwise([*cycle, cycle[0]]), _CANDIDATES)
        known = [x for p, q in pairs if (x := distinguishing_word(dfa, rows, p, q)) is not None]
        reached = [i for i, q in enumerate(cycle) if q in access.rank]
        if not known or not reached:
            continue
        suffix = min(known, key=len)
        first = min(reached, key=lambda i: access.rank[cycle[i]])
        prefix = access.word(cycle[first])
        answers = [bool(dfa.accepting[run(rows, q, suffix)]) for q in cycle[first:] + cycle[:first]]
        yield CounterWitness(prefix=prefix, loop=loop, suffix=suffix, period=_least_period(answers))


def _cycles(action: tuple[int, ...]) -> Iterator[list[int]]:
    """Yields the cycles of length two or more of a map."""
    left = dict.fromkeys(_cycle(action))
    while left:
        cycle = [next(iter(left))]
        while (q := action[cycle[-1]]) != cycle[0]:
            cycle.append(q)
        for q in cycle:
            del left[q]
        yield cycle


def _least_period(answers: list[bool]) -> int:
    n = len(answers)
    return next(d for d in range(1, n + 1) if n % d == 0 and answers == answers[:d] * (n // d))


def num_pair_edges(action: PartialAction) -> int:
    """An upper bound for the edges of the pair graph, which says what `pair_labels` costs."""
    return action.num_points**2 * len(action.maps)


def pair_labels(action: PartialAction) -> Numbers:
    """Returns `labels[p, q]`, the strong component of the pair (p, q) in the graph of distinct pairs."""
    n = action.num_points
    sources, targets = [], []
    pairs = np.arange(n * n).reshape(n, n)
    for row in np.array(action.maps, dtype=np.int64).reshape(-1, n):
        inside = np.flatnonzero(row != OUTSIDE)
        image = row[inside]
        distinct = image[:, None] != image[None, :]
        sources.append(pairs[np.ix_(inside, inside)][distinct])
        targets.append((image[:, None] * n + image[None, :])[distinct])
    source = np.concatenate(sources) if sources else np.empty(0, dtype=np.int64)
    target = np.concatenate(targets) if targets else np.empty(0, dtype=np.int64)
    return edge_labels(n * n, source, target).reshape(n, n)


def swapped_pair(labels: Numbers) -> tuple[int, int] | None:
    """Returns two points that some word swaps, or None."""
    swapped = np.argwhere(np.triu(labels == labels.T, k=1))
    return (int(swapped[0, 0]), int(swapped[0, 1])) if len(swapped) else None


def is_orderly(labels: Numbers) -> bool:
    """Whether the relation of every component of the pair graph is acyclic, so that no word is a counter."""
    n = len(labels)
    first, second = np.nonzero(~np.eye(n, dtype=np.bool_))
    label = labels[first, second]
    # One node for each component and state in it: all relations side by side in one graph.
    nodes, numbers = np.unique(np.concatenate([label * n + first, label * n + second]), return_inverse=True)
    source, target = np.split(numbers, 2)
    return int(edge_labels(len(nodes), source, target).max(initial=-1)) + 1 == len(nodes)


_WHOLE_WORK = 10_000_000
"""Points moved (images × states × letters) that the images of all states may cost before components are
tried instead."""

_FEWEST_IMAGES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSearch:
    """Groups found, and whether they are all; if not, `stopped_by` says what ran out."""

    groups: tuple[GroupInside, ...]
    stopped_by: BudgetExceeded | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing was left out."""
        return self.stopped_by is None


def groups_inside(dfa: Dfa, budget: Budget | None = None) -> tuple[GroupInside, ...]:
    """Returns the non-trivial groups inside the syntactic monoid, one for each type, largest first.

    The images of the whole state set give the Schützenberger groups of the monoid itself. Where these
    images are too many, the images inside each strongly connected component give quotients of those
    groups. Every group of the monoid embeds in the product of its actions on the components, so the
    primes, the exponent and solvability can be read off either way.

    Args:
        dfa: a minimal automaton.
        budget: its `images` and `seconds` bound the search.

    Raises:
        BudgetExceeded: if the search stopped early; `known_so_far["groups"]` has what was found.

    Implements: [Eilenberg1976]
    """
    search = search_groups(dfa, budget)
    if search.stopped_by is not None:
        known = {"groups": ", ".join(g.structure.name for g in search.groups) or "none"}
        raise BudgetExceeded(search.stopped_by.resource, search.stopped_by.limit, known_so_far=known)
    return search.groups


def search_groups(dfa: Dfa, budget: Budget | None = None, *, star_free: bool | None = None) -> GroupSearch:
    """Returns the groups that were found within the budget; never raises BudgetExceeded.

    Args:
        dfa: a minimal automaton.
        budget: its `images` and `seconds` bound the search.
        star_free: whether the language is star-free, if that is known already.
    """
    budget = started(budget)
    found: dict[object, GroupInside] = {}
    try:
        if star_free is None:
            star_free = find_counter(dfa, budget) is None
        if star_free:
            return GroupSearch(groups=())
        whole = ImageOrbit(whole_action(dfa), budget)
        affordable = _WHOLE_WORK // (dfa.num_states * max(1, len(whole.action.maps)))
        if whole.explore(min(budget.images, max(_FEWEST_IMAGES, affordable))):
            _collect(whole, "monoid", found, budget)
        else:
            for action in component_actions(dfa):
                orbit = ImageOrbit(action, budget)
                orbit.explore_affordable()
                _collect(orbit, "component", found, budget)
    except BudgetExceeded as stopped:
        return GroupSearch(groups=_largest_first(found.values()), stopped_by=stopped)
    return GroupSearch(groups=_largest_first(found.values()))


def _largest_first(groups: Iterable[GroupInside]) -> tuple[GroupInside, ...]:
    return tuple(sorted(groups, key=lambda g: (-g.structure.order, g.structure.degree, g.structure.name)))


def _collect(orbit: ImageOrbit, scope: str, found: dict[object, GroupInside], budget: Budget) -> None:
    """Adds one group for each isomorphism type that the classes of an orbit show."""
    seen: set[frozenset[Permutation]] = set()
    for image_class in orbit.classes():
        if image_class.moving_edge() is None:
            continue
        budget.check_time()
        words = _shortest_words(image_class)
        if (actions := frozenset(words)) in seen:
            continue
        seen.add(actions)
        group = _generated(words, image_class.degree, budget)
        structure = describe_group(group)
        kind: tuple[object, ...] = (structure.name, structure.order, structure.factors, structure.exponent)
        if not structure.direct_factors and group.order <= MOST_ELEMENTS:
            # Groups without a name are told apart by the orders of their elements and the sizes of classes.
            kind += (structure.nilpotent, element_table(group).statistics)
        if kind not in found:
            found[kind] = GroupInside(
                structure=structure,
                points=tuple(orbit.action.states[i] for i in image_class.points),
                generators=tuple(orbit.action.word(words[g]) for g in group.generators),
                scope=scope,
            )


def _shortest_words(image_class: ImageClass) -> dict[Permutation, tuple[int, ...]]:
    """Returns for each permutation of the root that some circuit gives the shortest such circuit."""
    words: dict[Permutation, tuple[int, ...]] = {}
    for edge in image_class.edges():
        way, permutation = image_class.circuit(edge)
        if permutation not in words or len(way) < len(words[permutation]):
            words[permutation] = way
    words.pop(tuple(range(image_class.degree)), None)
    return words


def _generated(words: dict[Permutation, tuple[int, ...]], degree: int, budget: Budget) -> PermutationGroup:
    """Returns the group of all these permutations, generated by a few that have short words."""
    by_length = sorted(words, key=lambda g: (len(words[g]), words[g]))
    group = PermutationGroup([], degree, budget=budget)
    for candidate in by_length:
        if candidate not in group:
            group = PermutationGroup([*group.generators, candidate], degree, budget=budget)
    for candidate in group.generators[-2::-1]:
        fewer = PermutationGroup([g for g in group.generators if g != candidate], degree, budget=budget)
        if fewer.order == group.order:
            group = fewer
    return group
