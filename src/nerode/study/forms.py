"""Forms of a language that need algebra: what `Language.to_regex`, `to_ltl` and `monoid` return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nerode.algebra import transition_monoid
from nerode.algebra.cascades import dfa_to_formula
from nerode.core import Budget
from nerode.languages import Language
from nerode.languages.pastltl import to_text as formula_text
from nerode.languages.regex import dfa_to_regex, to_text as expression_text


def _expression(language: Language, *, budget: Budget | None) -> str:
    return expression_text(dfa_to_regex(language.dfa(budget), budget))


def _formula(language: Language, *, budget: Budget | None) -> str:
    return formula_text(dfa_to_formula(language.dfa(budget), budget))


FORMS: Mapping[str, Callable[..., Any]] = {
    "regex": _expression,
    "ltl": _formula,
    "monoid": lambda language: transition_monoid(language.dfa()),
}
"""Forms by name."""
