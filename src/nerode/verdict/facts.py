"""Facts about a language that theorems may use: the algebra's profile and what follows from it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nerode.algebra import COMPUTED, GroupInside, GroupStructure, Profile
from nerode.core import DTYPES, Budget, BudgetExceeded
from nerode.languages import CounterLanguage, Dfa, Language
from nerode.verdict.conditions import Condition
from nerode.verdict.records import VerdictTask

COUNTER_FAMILIES = frozenset({"dyck-1", "shuffle-dyck", "boolean-expression", "counting-blocks"})
"""Families with a deterministic counter machine that needs no more than zero tests and the last letter."""


@dataclass(frozen=True)
class Facts:
    """A language together with its algebraic profile.

    Attributes:
        language: the language.
        profile: what the algebra found within the budget.
        task: what the network is asked to do.
        dtype: the float format for the IEEE sense.
        budget: limits for building the automaton.
    """

    language: Language
    profile: Profile
    task: VerdictTask
    dtype: str
    budget: Budget

    @functools.cached_property
    def found(self) -> dict[str, object]:
        """Findings of later stages about the language, by name."""
        return {}

    @functools.cached_property
    def automaton(self) -> Dfa | None:
        """The minimal automaton, None if the language is not regular or too large to build."""
        if not self.profile.regular or self.profile.source != COMPUTED:
            return None
        try:
            # Facts may be asked long after they were collected: the seconds count from the question on.
            return self.language.dfa(self.budget.start())
        except BudgetExceeded:
            return None

    @property
    def regular(self) -> bool:
        """Whether the language is regular."""
        return self.profile.regular

    @functools.cached_property
    def quasi_aperiodic(self) -> bool | None:
        """Whether the language is a regular language in AC0; star-free languages are."""
        if self.profile.star_free:
            return True
        return self.profile.holds("quasi-aperiodic")

    @functools.cached_property
    def two_groups(self) -> bool | None:
        """Whether every group inside has an order that is a power of two."""
        if any(not g.structure.is_two_group for g in self.profile.groups):
            return False
        return True if self.groups_known else None

    @property
    def groups_known(self) -> bool:
        """Whether the list of groups inside is complete."""
        return self.profile.regular and self.profile.groups_complete and self.profile.star_free is not None

    @property
    def num_counters(self) -> int | None:
        """For a counter language, how many counters its machine has."""
        return self.language.machine.num_counters if isinstance(self.language, CounterLanguage) else None

    @property
    def window_determined(self) -> bool | None:
        """Whether a finite window of the input settles the task at every position.

        Prediction only has to be right on prefixes of valid words, so strictly local languages qualify;
        recognition must also remember an error for ever, so only definite languages do.
        """
        return self.profile.holds("strictly-local" if self.task is VerdictTask.PREDICT else "definite")

    @functools.cached_property
    def neutral_letter(self) -> bool | None:
        """Whether some letter acts as the identity on the states."""
        if self.automaton is None:
            return None
        table = self.automaton.transitions
        return bool((table == np.arange(len(table))[:, None]).all(axis=0).any())

    @functools.cached_property
    def letters_act_alike(self) -> bool | None:
        """Whether membership depends on the length alone."""
        if self.automaton is None:
            return None
        table = self.automaton.transitions
        return bool((table == table[:, :1]).all())

    @functools.cached_property
    def is_group_language(self) -> bool | None:
        """Whether every letter permutes the states."""
        if self.automaton is None:
            return None
        table = np.sort(self.automaton.transitions, axis=0)
        return bool((table == np.arange(len(table))[:, None]).all())

    @property
    def group_of_language(self) -> GroupInside | None:
        """For a group language, its syntactic group."""
        return self.largest_group() if self.is_group_language else None

    @functools.cached_property
    def most_points_moved(self) -> int | None:
        """For a group language, the largest number of states that one letter moves."""
        if self.automaton is None or not self.is_group_language:
            return None
        table = self.automaton.transitions
        return int((table != np.arange(len(table))[:, None]).sum(axis=0).max())

    def largest_group(self, *, solvable: bool | None = None) -> GroupInside | None:
        """Returns the largest group inside, optionally among the (non-)solvable ones."""
        for group in self.profile.groups:
            if solvable is None or group.structure.solvable is solvable:
                return group
        return None

    def odd_group(self) -> GroupInside | None:
        """Returns a group inside whose order is not a power of two."""
        return next((g for g in self.profile.groups if not g.structure.is_two_group), None)

    @property
    def exact_integers_below(self) -> int:
        """Integers up to this bound are exact in the float format."""
        return 1 << DTYPES[self.dtype].bits

    def group_names(self) -> str:
        """The groups inside as a list."""
        return ", ".join(g.structure.name for g in self.profile.groups) or "none"

    def counter_witness(self) -> Mapping[str, Any] | None:
        """Returns the words u, v, x of a counter, ready to be printed."""
        if self.profile.counter is None:
            return None
        found = self.profile.counter.to_json(self.language.alphabet)
        if self.profile.groups:
            found["group"] = self.profile.groups[0].structure.name
        return found

    def group_witness(self, group: GroupInside | None) -> Mapping[str, Any] | None:
        """Returns a group with words that generate it and a counter, ready to be printed."""
        counter = self.counter_witness()
        if group is None:
            return counter
        alphabet = self.language.alphabet
        return {
            **(counter or {}),
            "group": group.structure.name,
            "order": group.structure.order,
            "states": list(group.points),
            "generators": [alphabet.decode(w) for w in group.generators],
        }


LanguageCondition = Condition[Facts]


def in_class(name: str) -> LanguageCondition:
    """Returns the condition of belonging to a class of the algebra."""
    return LanguageCondition(name.replace("-", " "), lambda f: f.profile.holds(name) if f.regular else False)


def of_family(names: Iterable[str], text: str) -> LanguageCondition:
    """Returns the condition of being defined as a member of one of these families."""
    allowed = frozenset(names)
    return LanguageCondition(text, lambda f: f.language.family in allowed)


def with_group(text: str, holds: Callable[[GroupStructure], bool]) -> LanguageCondition:
    """Returns the condition of being a group language with such a group; undecided without an automaton."""

    def decide(facts: Facts) -> bool | None:
        if facts.automaton is None:
            return None
        group = facts.group_of_language
        return group is not None and holds(group.structure)

    return LanguageCondition(text, decide)


window_determined = LanguageCondition(
    "settled by a finite window", lambda f: f.window_determined if f.regular else False
)
with_neutral_letter = LanguageCondition("with a neutral letter", lambda f: f.neutral_letter)
regular = LanguageCondition("regular", lambda f: f.regular)
star_free = LanguageCondition("star-free", lambda f: f.profile.star_free if f.regular else False)
quasi_aperiodic = LanguageCondition(
    "regular in AC0 (quasi-aperiodic)", lambda f: f.quasi_aperiodic if f.regular else False
)
solvable = LanguageCondition(
    "one with only solvable groups in the monoid", lambda f: f.profile.solvable if f.regular else False
)
two_groups = LanguageCondition(
    "one with only 2-groups in the monoid", lambda f: f.two_groups if f.regular else False
)
group_language = LanguageCondition(
    "one in which every letter permutes the states", lambda f: f.is_group_language if f.regular else False
)
length_only = LanguageCondition(
    "one in which only the length of a word matters", lambda f: f.letters_act_alike if f.regular else False
)
counter_language = of_family(COUNTER_FAMILIES, "a counter language of the list of Sarrof et al.")
