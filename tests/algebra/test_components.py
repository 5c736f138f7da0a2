"""Strongly connected components and partial actions."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.algebra import components
from nerode.algebra.components import (
    OUTSIDE,
    component_actions,
    component_labels,
    strong_components,
    whole_action,
)
from nerode.languages import Dfa
from tests.strategies import dfas


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    n = draw(st.integers(0, 12))
    return [draw(st.lists(st.integers(0, n - 1), max_size=4)) for _ in range(n)]


@given(graphs())
def test_components_are_those_of_networkx(successors: list[list[int]]) -> None:
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(successors)))
    graph.add_edges_from((p, q) for p, targets in enumerate(successors) for q in targets)
    expected = {frozenset(c) for c in networkx.strongly_connected_components(graph)}
    assert {frozenset(c) for c in strong_components(successors)} == expected


@given(graphs())
def test_edges_never_lead_to_a_later_component(successors: list[list[int]]) -> None:
    labels = component_labels(successors)
    assert all(labels[q] <= labels[p] for p, targets in enumerate(successors) for q in targets)


def test_a_long_chain_needs_no_recursion() -> None:
    n = 50_000
    assert len(strong_components([[min(q + 1, n - 1)] for q in range(n)])) == n
    assert len(strong_components([[(q + 1) % n] for q in range(n)])) == 1


@given(dfas())
def test_partial_actions_agree_with_the_table(dfa: Dfa) -> None:
    for action in [whole_action(dfa), *component_actions(dfa)]:
        inside = set(action.states)
        for letter, row in zip(action.letters, action.maps, strict=True):
            for i, q in enumerate(action.states):
                target = int(dfa.transitions[q, letter])
                assert row[i] == (action.states.index(target) if target in inside else OUTSIDE)
        assert len(set(action.maps)) == len(action.maps)
        assert action.word(range(len(action.maps))) == action.letters


def test_letters_that_act_alike_are_one_and_leaving_letters_none() -> None:
    dfa = Dfa.build(
        "abcd",
        lambda q, s: {"a": 1 - q, "b": 1 - q, "c": q, "d": None}[s],
        start=0,
        accept=[0],
    )
    (action,) = component_actions(dfa)
    assert action.letters == (0, 2)
    assert action.maps == ((1, 0), (0, 1))
    with pytest.raises(AttributeError):
        action.maps = ()  # type: ignore[misc]
    assert np.array_equal(whole_action(dfa).letters, (0, 2, 3))


@pytest.mark.parametrize("installed", [True, False])
def test_large_graphs_have_the_same_components_with_and_without_scipy(
    monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    rng = np.random.default_rng(3)
    source, target = rng.integers(0, 300, 400), rng.integers(0, 300, 400)
    plain = components.edge_labels(300, source, target)
    monkeypatch.setattr(components, "_PLAIN_EDGES", 0)
    monkeypatch.setattr(components, "_FEW_EDGES", 0)
    if not installed:
        monkeypatch.setattr(components, "_sparse_graphs", lambda: None)
    other = components.edge_labels(300, source, target)
    pairs = set(zip(plain.tolist(), other.tolist(), strict=True))
    assert len(pairs) == len(set(plain.tolist())) == len(set(other.tolist()))
