from __future__ import annotations

import itertools

from hypothesis import given, strategies as st

from nerode.report.automaton.ordering import count_crossings, order_layers

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
