"""Groups and monoids by name, and their word problems as languages."""

from __future__ import annotations

from nerode.languages.groups.families import FiniteMonoid
from nerode.languages.groups.word_problems import (
    canonical_name,
    direct_product,
    finite_monoid,
    is_monoid_name,
    monoid_order,
    split_letters,
    word_problem,
    word_problem_convention,
)

__all__ = [
    "FiniteMonoid",
    "canonical_name",
    "direct_product",
    "finite_monoid",
    "is_monoid_name",
    "monoid_order",
    "split_letters",
    "word_problem",
    "word_problem_convention",
]
