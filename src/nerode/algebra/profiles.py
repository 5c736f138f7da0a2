"""The profile of a regular language: everything that is found out about it within a budget.

For members of a few families that are too large to compute with, it is what theory says of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from nerode.algebra.classes.subject import ExaminedLanguage
from nerode.algebra.classes.table import CLASSES, infer
from nerode.algebra.groups_inside import GroupSearch
from nerode.algebra.records import Membership, Profile
from nerode.core import Budget, BudgetExceeded, started
from nerode.languages import Dfa, Language

MONOID_LIMIT = 20_000
"""Elements of the syntactic monoid that a profile enumerates unless told otherwise."""

_MOST_MONOID_WORK = 1_000_000_000
"""Points moved (elements × states × letters) that the monoid may cost."""

_MOST_MONOID_BYTES = 1 << 28

_COMPUTED_STATES = 2_000
"""States above which a family with a theorem is not computed."""


class ClassesOnDemand(Mapping[str, Membership]):
    """Memberships by class name, each decided when it is first asked for."""

    def __init__(self, subject: ExaminedLanguage) -> None:
        self._subject = subject
        self._found: dict[str, Membership] = {}

    def __getitem__(self, name: str) -> Membership:
        if name not in CLASSES:
            raise KeyError(name)
        if name not in self._found:
            found = CLASSES[name].membership(self._subject)
            # What one test does not decide may follow from a smaller or a larger class.
            self._found |= {name: found} if found.holds is not None else _all_classes(self._subject)
        return self._found[name]

    @property
    def decided(self) -> frozenset[str]:
        """The classes that were asked for so far."""
        return frozenset(self._found)

    def __iter__(self) -> Iterator[str]:
        return iter(CLASSES)

    def __len__(self) -> int:
        return len(CLASSES)


def profile(
    language: Language,
    budget: Budget | None = None,
    *,
    monoid_limit: int = MONOID_LIMIT,
    on_demand: bool = False,
) -> Profile:
    """Returns the algebraic profile of a language; cheap answers come first.

    Nothing here fails because something is too large: what did not fit is None, with the reason under
    `incomplete`.

    Args:
        language: any language; one that is not regular gives a profile that says so and nothing else.
        budget: bounds everything; the seconds are shared by all steps.
        monoid_limit: elements up to which the syntactic monoid is enumerated.
        on_demand: whether classes are decided only when they are asked for; the monoid is then not measured,
            and `incomplete` says nothing about either.
    """
    if not language.regular:
        return Profile(
            regular=False, source=f"not regular: a {language.kind} language of the family {language.family}"
        )
    budget = started(budget)
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
    return profile_automaton(dfa, budget, monoid_limit=monoid_limit, on_demand=on_demand)


def profile_automaton(
    dfa: Dfa,
    budget: Budget | None = None,
    *,
    monoid_limit: int = MONOID_LIMIT,
    on_demand: bool = False,
) -> Profile:
    """Returns the profile of the language of a minimal automaton; see `profile`."""
    budget = started(budget)
    affordable = _MOST_MONOID_WORK // (dfa.num_states * max(1, dfa.num_letters))
    elements = max(1, min(monoid_limit, budget.elements, affordable))
    modest = replace(budget, elements=elements, bytes=min(budget.bytes, _MOST_MONOID_BYTES))
    subject = ExaminedLanguage(dfa, modest)
    with modest.running():
        return _profile(subject, on_demand=on_demand)


def _profile(subject: ExaminedLanguage, *, on_demand: bool) -> Profile:
    dfa = subject.dfa
    classes: Mapping[str, Membership] = ClassesOnDemand(subject) if on_demand else _all_classes(subject)
    star_free = classes["star-free"].holds
    # Star-freeness may follow from a smaller class although the search for groups stopped.
    search = GroupSearch(groups=()) if star_free else subject.groups
    incomplete: dict[str, str] = {}
    monoid_size = d_classes = None
    if not on_demand:
        incomplete = {name: found.explanation for name, found in classes.items() if found.holds is None}
    if search.stopped_by is not None:
        incomplete["groups"] = str(search.stopped_by)
    if not on_demand:
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


def _all_classes(subject: ExaminedLanguage) -> dict[str, Membership]:
    return infer({name: row.membership(subject) for name, row in CLASSES.items()})


_BOUNDED_DYCK = (
    "A word that can be read from a stack at all pops some brackets α and pushes others β. If it takes "
    "stacks round in a circle, α and β have one length, and each stack on the circle ends in β and in α; so "
    "α = β and the word changes nothing. No word is a counter: bounded Dyck languages are star-free"
)
_FOLLOWS = {
    "star-free": "no word permutes stacks in a circle",
    "quasi-aperiodic": "every star-free language is quasi-aperiodic",
    "solvable": "a star-free language has no groups inside",
}


_NGRAM = (
    "Whether a sentence has positive probability is a matter of its windows of n words, start and end "
    "included: the support of an n-gram model is strictly local, hence locally testable and star-free"
)
_FOLLOWS_FROM_WINDOWS = {
    "star-free": "every strictly local language is star-free",
    "quasi-aperiodic": "every star-free language is quasi-aperiodic",
    "solvable": "a star-free language has no groups inside",
    "strictly-local": "windows of n words decide",
    "locally-testable": "every strictly local language is locally testable",
    "locally-threshold-testable": "every locally testable language is locally threshold testable",
}


def family_profile(language: Language) -> Profile | None:
    """Returns a profile without an automaton, from what is proved about the family; None if nothing is.

    The families are the bounded Dyck languages and the supports of n-gram models. Two layers of a
    non-negative diagonal recurrence predict bounded Dyck languages, which happens for star-free languages
    only [Sarrof2024]; the argument in the profile is direct.
    """
    if language.family == "bounded-dyck":
        states = language.num_states()
        why = f"the minimal automaton has {_number(states)} states; its semigroup was not computed"
        return _from_theory(_FOLLOWS, why, source=_BOUNDED_DYCK, num_states=states)
    if language.family == "n-gram":
        why = f"the model has {language.parameters['contexts']:,} contexts; its automaton was not built"
        return _from_theory(
            _FOLLOWS_FROM_WINDOWS, why, source=_NGRAM, parameters={"strictly-local": language.parameters["n"]}
        )
    return None


def _from_theory(
    follows: Mapping[str, str],
    why: str,
    *,
    source: str,
    num_states: int | None = None,
    parameters: Mapping[str, int] | None = None,
) -> Profile:
    """A star-free profile with the memberships that follow; everything else was not computed."""
    classes = {
        name: Membership(
            name=name,
            holds=True,
            identity=CLASSES[name].identity,
            method="theory",
            reference=CLASSES[name].reference,
            parameter=(parameters or {}).get(name),
            explanation=reason,
        )
        for name, reason in follows.items()
    }
    missing = {"monoid": why} | {name: why for name in CLASSES if name not in classes}
    if num_states is None:
        missing["states"] = why
    return Profile(
        regular=True,
        num_states=num_states,
        star_free=True,
        classes=classes,
        incomplete=missing,
        source=source,
    )


def _number(states: int | None) -> str:
    if states is None:
        return "too many"
    # A number of states can have thousands of digits.
    digits = len(str(states)) if states < 10**4000 else int(states.bit_length() * 0.30103) + 1
    return f"{states:,}" if digits <= 15 else f"about 10^{digits - 1}"
