"""What theory says about whole families of languages, for members that are too large to compute with."""

from __future__ import annotations

from collections.abc import Mapping

from nerode.algebra.classes.table import CLASSES
from nerode.algebra.records import Membership, Profile
from nerode.languages import Language

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
