"""The JSON object of `nerode check`: a contract, keys may be added but never renamed."""

from __future__ import annotations

from typing import Any

from nerode.algebra import Profile
from nerode.languages import Language
from nerode.verdict import VerdictTable


def check_object(language: Language, profile: Profile, table: VerdictTable) -> dict[str, Any]:
    """Returns what is known about a language as JSON-ready values.

    A value that was not computed within the budget is null, and its name is a key of "incomplete".
    """
    return {
        "language": language_object(language, profile),
        "algebra": algebra_object(language, profile),
        "task": table.task.value,
        "dtype": table.dtype,
        "verdicts": [verdict.to_json() for verdict in table],
        "incomplete": _incomplete(profile),
    }


def _incomplete(profile: Profile) -> dict[str, str]:
    """The reasons for values that are null, by their keys."""
    found = dict(profile.incomplete)
    why = found.pop("monoid", "")
    if why and profile.monoid_size is None:
        found |= {"monoid_size": why, "d_classes": why}
    return found


def language_object(language: Language, profile: Profile) -> dict[str, Any]:
    """Returns the description of a language."""
    return {
        "name": language.name,
        "kind": language.kind,
        "regular": language.regular,
        "alphabet": list(language.alphabet),
        "states": profile.num_states,
        "convention": language.convention,
        "family": language.family,
        "parameters": dict(language.parameters),
    }


def algebra_object(language: Language, profile: Profile) -> dict[str, Any]:
    """Returns what the algebra found."""
    decode = language.alphabet.decode
    witness = None if profile.counter is None else profile.counter.to_json(language.alphabet)
    return {
        "star_free": profile.star_free,
        "monoid_size": profile.monoid_size,
        "d_classes": profile.d_classes,
        "groups": [
            {
                "name": g.structure.name,
                "order": g.structure.order,
                "solvable": g.structure.solvable,
                "abelian": g.structure.abelian,
                "derived_length": g.structure.derived_length,
                "factors": list(g.structure.factors),
                "scope": g.scope,
                "states": list(g.points),
                "generators": [decode(w) for w in g.generators],
            }
            for g in profile.groups
        ],
        "classes": {name: m.holds for name, m in profile.classes.items()},
        "class_details": {
            name: {
                "k": m.parameter,
                "identity": m.identity,
                "method": m.method,
                "reference": str(m.reference),
                "witness": {role: decode(w) for role, w in m.witness.items()},
                "explanation": m.explanation,
            }
            for name, m in profile.classes.items()
        },
        "witness": witness,
        "source": profile.source,
    }
