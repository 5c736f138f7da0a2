from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import isotonic_regression

from nerode.report.automaton.diagram import Diagram
from nerode.report.automaton.placement import count_crossings, order_layers, place_in_layers, separate
from tests.report.specimens import SPECIMENS, contains, ladder

places = st.floats(-100, 100)


@given(st.lists(st.tuples(places, st.floats(0.1, 10), st.floats(0, 20)), min_size=1, max_size=12))
def test_separation_is_isotonic_regression_after_the_gaps(rows: list[tuple[float, float, float]]) -> None:
    wanted, weights, gaps = (list(column) for column in zip(*rows, strict=True))
    offsets = np.concatenate([[0.0], np.cumsum(gaps[:-1])])
    oracle = isotonic_regression(np.array(wanted) - offsets, weights=np.array(weights)).x + offsets
    assert separate(wanted, weights, gaps[:-1]) == pytest.approx(oracle, abs=1e-6)


def test_ranks_grow_to_the_right() -> None:
    placement = place_in_layers(Diagram.of(SPECIMENS["brackets 3"]))
    rank = placement.diagram.rank
    for q, p in ((q, p) for q in rank for p in rank):
        assert (rank[q] < rank[p]) == (placement.centre[q][0] < placement.centre[p][0])


def test_a_chain_is_level() -> None:
    ys = {round(y, 3) for _, y in place_in_layers(Diagram.of(ladder(12))).centre.values()}
    assert len(ys) == 1


def test_long_ways_back_have_a_lane_in_every_rank_between() -> None:
    placement = place_in_layers(Diagram.of(contains("abcabcd", "abcd")))
    rank = placement.diagram.rank
    assert placement.lanes
    for (source, target), lane in placement.lanes.items():
        assert len(lane) == rank[source] - rank[target] - 1
        assert [x for x, _ in lane] == sorted((x for x, _ in lane), reverse=True)


def test_stretching_moves_states_apart() -> None:
    diagram = Diagram.of(SPECIMENS["S3"])
    near, far = place_in_layers(diagram), place_in_layers(diagram, stretch=2.0)
    assert max(x for x, _ in far.centre.values()) > max(x for x, _ in near.centre.values())


links_between = st.lists(st.tuples(st.integers(0, 5), st.integers(6, 11)), unique=True, max_size=20)


def crossings_by_definition(upper: list[int], lower: list[int], links: list[tuple[int, int]]) -> int:
    return sum(
        (upper.index(a) - upper.index(c)) * (lower.index(b) - lower.index(d)) < 0
        for (a, b), (c, d) in itertools.combinations(links, 2)
    )


@given(links_between, st.permutations(range(6)), st.permutations(range(6, 12)))
def test_crossings_are_counted(links: list[tuple[int, int]], upper: list[int], lower: list[int]) -> None:
    right = [[b for a, b in links if a == v] for v in range(12)]
    assert count_crossings(upper, lower, right) == crossings_by_definition(upper, lower, links)


@given(links_between)
def test_order_is_a_permutation_and_never_worse_than_the_first(links: list[tuple[int, int]]) -> None:
    ranks = [0] * 6 + [1] * 6
    layers = order_layers(ranks, links, [])
    assert [sorted(layer) for layer in layers] == [list(range(6)), list(range(6, 12))]
    first = crossings_by_definition(list(range(6)), list(range(6, 12)), links)
    assert crossings_by_definition(layers[0], layers[1], links) <= first


def test_a_matching_is_untangled() -> None:
    links = [(i, 11 - i) for i in range(6)]
    layers = order_layers([0] * 6 + [1] * 6, links, [])
    assert crossings_by_definition(layers[0], layers[1], links) == 0


def test_partners_stand_next_to_each_other() -> None:
    layers = order_layers([0, 1, 1, 1, 1], [(0, i) for i in range(1, 5)], [(1, 4)])
    assert abs(layers[1].index(1) - layers[1].index(4)) == 1
