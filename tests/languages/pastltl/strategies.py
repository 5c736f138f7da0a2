"""Random formulas."""

from __future__ import annotations

from hypothesis import strategies as st

from nerode.languages.pastltl import (
    Atom,
    Constant,
    Formula,
    Historically,
    Iff,
    Implies,
    Not,
    Once,
    Since,
    WeakYesterday,
    Yesterday,
    conjunction,
    disjunction,
)


def formulas(symbols: str = "ab", *, max_leaves: int = 8) -> st.SearchStrategy[Formula]:
    """Random formulas over these letters."""
    leaves = st.one_of(st.sampled_from(symbols).map(Atom), st.booleans().map(Constant))

    def extend(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        parts = st.lists(inner, min_size=2, max_size=3)
        unary = st.sampled_from([Not, Yesterday, WeakYesterday, Once, Historically])
        binary = st.sampled_from([Implies, Iff, Since, Since])
        return st.one_of(
            st.builds(lambda kind, operand: kind(operand), unary, inner),
            st.builds(lambda kind, left, right: kind(left, right), binary, inner, inner),
            parts.map(lambda found: conjunction(*found)),
            parts.map(lambda found: disjunction(*found)),
        )

    return st.recursive(leaves, extend, max_leaves=max_leaves)
