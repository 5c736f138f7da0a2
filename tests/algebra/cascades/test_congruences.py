"""The congruence that pairs of states generate, against all partitions of a small state set."""

from __future__ import annotations

import itertools

from hypothesis import given, strategies as st

from nerode.algebra.cascades.holonomy import generated_congruence
from nerode.algebra.components import Rows
from nerode.languages import Dfa
from tests.strategies import dfas


def is_congruence(rows: Rows, labels: tuple[int, ...]) -> bool:
    pairs = itertools.combinations(range(len(rows)), 2)
    alike = [(p, q) for p, q in pairs if labels[p] == labels[q]]
    return all(labels[r] == labels[s] for p, q in alike for r, s in zip(rows[p], rows[q], strict=True))


def partitions(n: int) -> list[tuple[int, ...]]:
    found = [(0,)]
    for _ in range(n - 1):
        found = [(*labels, new) for labels in found for new in range(max(labels) + 2)]
    return found


@given(dfas(max_states=5, max_letters=2), st.data())
def test_the_generated_congruence_is_the_least_one(dfa: Dfa, data: st.DataObject) -> None:
    rows = dfa.transitions.tolist()
    state = st.integers(0, len(rows) - 1)
    pairs = data.draw(st.lists(st.tuples(state, state), max_size=3))
    found = generated_congruence(rows, range(len(rows)), pairs)
    assert is_congruence(rows, found)
    for labels in partitions(len(rows)):
        if is_congruence(rows, labels) and all(labels[p] == labels[q] for p, q in pairs):
            assert all(
                labels[p] == labels[q]
                for p, q in itertools.product(range(len(rows)), repeat=2)
                if found[p] == found[q]
            )
