"""What theory says about whole families of languages, for members that are too large to compute with."""

from __future__ import annotations

from nerode.algebra.classes.table import CLASSES
from nerode.algebra.records import Membership, Profile
from nerode.languages.language import Language

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


def family_profile(language: Language) -> Profile | None:
    """Returns a profile without an automaton, from what is proved about the family; None if nothing is.

    The families are the bounded Dyck languages. Two layers of a non-negative diagonal recurrence predict
    them, which happens for star-free languages only [Sarrof2024]; the argument in the profile is direct.
    """
    if language.family != "bounded-dyck":
        return None
    classes = {
        name: Membership(
            name=name,
            holds=True,
            identity=CLASSES[name].identity,
            method="theory",
            reference=CLASSES[name].reference,
            explanation=why,
        )
        for name, why in _FOLLOWS.items()
    }
    states = language.num_states()
    why = f"the minimal automaton has {_number(states)} states; its semigroup was not computed"
    return Profile(
        regular=True,
        num_states=states,
        star_free=True,
        classes=classes,
        incomplete={"monoid": why} | {name: why for name in CLASSES if name not in classes},
        source=_BOUNDED_DYCK,
    )


def _number(states: int | None) -> str:
    if states is None:
        return "too many"
    # A number of states can have thousands of digits.
    digits = len(str(states)) if states < 10**4000 else int(states.bit_length() * 0.30103) + 1
    return f"{states:,}" if digits <= 15 else f"about 10^{digits - 1}"
