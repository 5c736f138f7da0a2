"""Everything that the algebra can say about a language within a budget."""

from __future__ import annotations

from dataclasses import replace

from nerode.algebra.classes.inference import infer
from nerode.algebra.classes.subject import Subject
from nerode.algebra.classes.table import CLASSES
from nerode.algebra.families import family_profile
from nerode.algebra.groups_inside import GroupSearch
from nerode.algebra.records import Profile
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Dfa, Language

MONOID_LIMIT = 20_000
"""Elements of the syntactic monoid that a profile enumerates unless told otherwise."""

_MOST_MONOID_WORK = 1_000_000_000
"""Points moved (elements × states × letters) that the monoid may cost."""

_MOST_MONOID_BYTES = 1 << 28

_COMPUTED_STATES = 2_000
"""States above which a family with a theorem is not computed."""


def profile(language: Language, budget: Budget | None = None, *, monoid_limit: int = MONOID_LIMIT) -> Profile:
    """Returns what the algebra finds out about a language, cheap answers first.

    Nothing here fails because something is too large: what did not fit is None, with the reason under
    `incomplete`.

    Args:
        language: any language; one that is not regular gives a profile that says so and nothing else.
        budget: bounds everything; the seconds are shared by all steps.
        monoid_limit: elements up to which the syntactic monoid is enumerated.
    """
    if not language.regular:
        return Profile(
            regular=False, source=f"not regular: a {language.kind} language of the family {language.family}"
        )
    budget = budget or Budget()
    states = language.num_states()
    size = states or language.parameters.get("contexts", 0)
    if size > min(_COMPUTED_STATES, budget.states):
        known = family_profile(language)
        if known is not None:
            return known
    try:
        dfa = language.dfa(budget)
    except BudgetExceeded as exceeded:
        return Profile(
            regular=True, num_states=states, groups_complete=False, incomplete={"automaton": str(exceeded)}
        )
    return profile_automaton(dfa, budget, monoid_limit=monoid_limit)


def profile_automaton(dfa: Dfa, budget: Budget | None = None, *, monoid_limit: int = MONOID_LIMIT) -> Profile:
    """Returns the profile of the language of a minimal automaton."""
    budget = budget or Budget()
    affordable = _MOST_MONOID_WORK // (dfa.num_states * max(1, dfa.num_letters))
    elements = max(1, min(monoid_limit, budget.elements, affordable))
    modest = replace(budget, elements=elements, bytes=min(budget.bytes, _MOST_MONOID_BYTES))
    subject = Subject(dfa, modest)
    classes = infer({name: row.membership(subject) for name, row in CLASSES.items()})
    incomplete = {name: found.explanation for name, found in classes.items() if found.holds is None}
    star_free = classes["star-free"].holds
    # Star-freeness may follow from a smaller class although the search for groups stopped.
    search = GroupSearch(groups=()) if star_free else subject.groups
    if search.stopped_by is not None:
        incomplete["groups"] = str(search.stopped_by)
    monoid_size = d_classes = None
    try:
        monoid_size = len(subject.elements.maps)
        d_classes = len(set(subject.elements.d_class.tolist()))
    except BudgetExceeded as exceeded:
        incomplete["monoid"] = str(exceeded)
    return Profile(
        regular=True,
        num_states=dfa.num_states,
        star_free=star_free,
        counter=subject.counter if star_free is False else None,
        groups=search.groups,
        groups_complete=search.complete,
        classes=classes,
        monoid_size=monoid_size,
        d_classes=d_classes,
        incomplete=incomplete,
    )
