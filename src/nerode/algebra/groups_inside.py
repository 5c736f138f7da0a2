"""The groups inside the syntactic monoid, found on images of states and never in the monoid itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nerode.algebra.components import component_actions, whole_action
from nerode.algebra.counters import find_counter
from nerode.algebra.group_structure import describe_group
from nerode.algebra.images import ImageClass, ImageOrbit
from nerode.algebra.permutation_groups import MOST_ELEMENTS, PermutationGroup, element_table
from nerode.algebra.permutations import Permutation
from nerode.algebra.records import GroupInside
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Dfa

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
    budget = budget or Budget()
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
