"""Random regular expressions."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from nerode.languages.regex import (
    Complement,
    EmptySet,
    Epsilon,
    Expression,
    Letters,
    Repeat,
    concat,
    intersection,
    union,
)


def letter_sets(symbols: str) -> st.SearchStrategy[Expression]:
    """One letter out of a random non-empty set."""
    return st.sets(st.sampled_from(symbols), min_size=1).map(lambda found: Letters(tuple(sorted(found))))


def repeats(operand: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """A repeat with small limits."""
    limits = st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 2)))
    return st.builds(
        lambda node, pair: Repeat(node, pair[0], None if pair[1] is None else pair[0] + pair[1]),
        operand,
        limits,
    )


def expressions(
    symbols: str = "ab", *, boolean: bool = True, max_leaves: int = 8
) -> st.SearchStrategy[Expression]:
    """Random expressions over these letters, with or without complement and intersection."""
    leaves = st.one_of(letter_sets(symbols), letter_sets(symbols), st.just(Epsilon()), st.just(EmptySet()))

    def extend(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        parts = st.lists(inner, min_size=2, max_size=3)
        options = [parts.map(lambda p: concat(*p)), parts.map(lambda p: union(*p)), repeats(inner)]
        if boolean:
            options += [inner.map(Complement), parts.map(lambda p: intersection(*p))]
        return st.one_of(options)

    return st.recursive(leaves, extend, max_leaves=max_leaves)


def words(symbols: str, longest: int) -> list[str]:
    """All words up to a length."""
    return ["".join(word) for n in range(longest + 1) for word in itertools.product(symbols, repeat=n)]
