"""The transition monoid against libsemigroups and against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.algebra.maps import RowLayout, Rows, Words
from nerode.algebra.monoid import TransitionMonoid, transition_monoid
from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import Dfa
from tests.algebra import transformations as build
from tests.strategies import dfas


def closure(letters: build.Letters) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Every map with its shortlex-least word, by trying all words in that order."""
    identity = tuple(range(len(letters[0])))
    found = {identity: ()}
    frontier = [((), identity)]
    while frontier:
        following = []
        for word, images in frontier:
            for a, letter in enumerate(letters):
                product = tuple(letter[x] for x in images)
                if product not in found:
                    found[product] = (*word, a)
                    following.append(((*word, a), product))
        frontier = following
    return found


def check_against_libsemigroups(letters: build.Letters) -> None:
    monoid = transition_monoid(letters)
    expected = build.opinion(letters)
    assert int(monoid.in_semigroup.sum()) == expected.size
    assert bool(monoid.in_semigroup[0]) == expected.has_identity
    assert int(monoid.is_idempotent[monoid.in_semigroup].sum()) == expected.idempotents


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_automaton_with_two_letters(n: int) -> None:
    for letters in build.every_pair(n):
        check_against_libsemigroups(letters)


@pytest.mark.parametrize("seed", range(5))
def test_random_automata(seed: int) -> None:
    for letters in build.some(80, seed, points=(2, 6), letters=(1, 4)):
        check_against_libsemigroups(letters)


@pytest.mark.parametrize(
    ("letters", "size"),
    [
        (build.full(5), 5**5),
        (build.full(6), 6**6),
        (build.order_preserving(8), 6435),
        (build.counter(20), 2 * 21 * 22 * 43 // 12 + 1),
        (build.counter(40), 2 * 41 * 42 * 83 // 12 + 1),
    ],
)
def test_known_sizes(letters: build.Letters, size: int) -> None:
    # The partial maps that a bounded counter allows are shifts of intervals: Σ i² of them, and a zero.
    monoid = transition_monoid(letters)
    assert len(monoid) == size
    check_against_libsemigroups(letters)


@pytest.mark.parametrize("seed", range(4))
def test_elements_words_and_order_are_those_of_brute_force(seed: int) -> None:
    for letters in build.some(25, 100 + seed, points=(1, 5), letters=(1, 3)):
        expected = closure(letters)
        monoid = transition_monoid(letters)
        assert [tuple(row) for row in monoid.elements.tolist()] == list(expected)
        assert [monoid.word(x) for x in range(len(monoid))] == list(expected.values())
        assert monoid.length.tolist() == [len(word) for word in expected.values()]


@given(dfas(max_states=5, max_letters=3), st.data())
def test_a_word_leads_to_its_action(dfa: Dfa, data: st.DataObject) -> None:
    monoid = transition_monoid(dfa)
    word = tuple(data.draw(st.lists(st.integers(0, dfa.num_letters - 1), max_size=12)))
    x = monoid.element_of(word)
    assert monoid.elements[x].tolist() == dfa.action(word).tolist()
    least = monoid.word(x)
    assert dfa.action(least).tolist() == dfa.action(word).tolist()
    assert (len(least), least) <= (len(word), word)
    assert monoid.index_of(dfa.action(word)) == x


def check_graphs_and_products(monoid: TransitionMonoid) -> None:
    maps = [tuple(row) for row in monoid.elements.tolist()]
    number = {images: x for x, images in enumerate(maps)}
    letters = monoid.generators.tolist()
    for x, images in enumerate(maps):
        for a, letter in enumerate(letters):
            assert monoid.right[x, a] == number[tuple(letter[q] for q in images)]
            assert monoid.left[x, a] == number[tuple(images[q] for q in letter)]
    table = monoid.multiplication_table()
    for (x, first), (y, then) in itertools.product(enumerate(maps), repeat=2):
        assert table[x, y] == number[tuple(then[q] for q in first)]
    everything = np.arange(len(monoid))
    assert (monoid.products(everything[:, None], everything[None, :]) == table).all()
    assert monoid.product(len(monoid) - 1, 0) == len(monoid) - 1
    assert (monoid.is_idempotent == (np.diagonal(table) == everything)).all()


@pytest.mark.parametrize("seed", range(3))
def test_cayley_graphs_and_products(seed: int) -> None:
    for letters in build.some(12, 200 + seed, points=(1, 4), letters=(1, 4)):
        check_graphs_and_products(transition_monoid(letters))


@pytest.mark.parametrize("points", [7, 8, 9, 15, 16, 17, 24, 255, 256, 257, 300])
def test_any_number_of_points(points: int) -> None:
    # A permutation of order 6 on the first points, a constant map, and a map that moves the last point.
    turn = [1, 0, 3, 4, 2, *range(5, points)]
    last = [*range(points - 1), 5]
    letters = [turn, [points - 1] * points, last]
    monoid = transition_monoid(letters)
    assert [tuple(row) for row in monoid.elements.tolist()] == list(closure(letters))
    assert monoid.elements.dtype == (np.uint8 if points <= 256 else np.uint16)
    check_graphs_and_products(monoid)


def test_letters_that_do_the_same_are_one_letter() -> None:
    a, b = [1, 2, 0], [0, 0, 2]
    monoid = transition_monoid([b, a, b, a, a])
    assert monoid.letters.tolist() == [0, 1]
    assert monoid.column.tolist() == [0, 1, 0, 1, 1]
    assert monoid.right.shape == (len(monoid), 5)
    assert {letter for x in range(len(monoid)) for letter in monoid.word(x)} == {0, 1}
    assert monoid.element_of((3, 2, 4)) == monoid.element_of((1, 0, 1))
    check_graphs_and_products(monoid)


def test_a_letter_that_does_nothing() -> None:
    monoid = transition_monoid([[0, 1]])
    assert len(monoid) == 1
    assert monoid.word(0) == ()
    assert monoid.in_semigroup.tolist() == [True]


def test_no_letters() -> None:
    monoid = transition_monoid(np.empty((0, 3), dtype=np.int32))
    assert len(monoid) == 1
    assert monoid.in_semigroup.tolist() == [False]
    assert monoid.right.shape == monoid.left.shape == (1, 0)
    assert monoid.index_of([0, 1, 2]) == 0
    assert monoid.index_of([1, 0, 2]) is None


def test_the_identity_may_be_a_product() -> None:
    assert transition_monoid([[1, 2, 0]]).in_semigroup.tolist() == [True, True, True]
    assert transition_monoid([[0, 0]]).in_semigroup.tolist() == [False, True]


def test_maps_that_no_word_gives_are_not_found() -> None:
    for points in (3, 20):
        monoid = transition_monoid([[*range(1, points), 0]])
        assert monoid.index_of([0] * points) is None
        assert monoid.index_of([(x + 2) % points for x in range(points)]) == 2


@pytest.mark.parametrize("bad_seeds", [1, 3])
def test_a_hash_that_mixes_maps_up_is_found_out(bad_seeds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = build.counter(18)
    expected = closure(letters)
    honest = RowLayout.keys
    seeds = []

    def reseed(self: RowLayout, seed: int) -> None:
        seeds.append(seed)
        draw(self, seed)

    def keys(self: RowLayout, rows: Rows) -> Words:
        # Under the first hashes about one map in five shares its key with others.
        found = honest(self, rows)
        return found & np.uint64(0x3FF) if seeds[-1] < bad_seeds else found

    draw = RowLayout.reseed
    monkeypatch.setattr(RowLayout, "reseed", reseed)
    monkeypatch.setattr(RowLayout, "keys", keys)
    monoid = transition_monoid(letters)
    assert max(seeds) == bad_seeds
    assert [tuple(row) for row in monoid.elements.tolist()] == list(expected)
    assert [monoid.word(x) for x in range(len(monoid))] == list(expected.values())


def test_looking_up_compares_rows_where_keys_are_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monoid = transition_monoid(build.counter(18))
    monkeypatch.setattr(RowLayout, "keys", lambda _self, rows: np.repeat(monoid.index._keys[5], len(rows)))
    assert monoid.index_of(monoid.elements[5]) == 5
    assert monoid.index_of(monoid.elements[6]) is None


def test_the_elements_of_the_budget_are_kept() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        transition_monoid(build.full(6), Budget(elements=1000))
    assert caught.value.resource == "elements"
    assert 1000 < int(str(caught.value.known_so_far["elements found"])) <= 6**6
    assert len(transition_monoid(build.full(4), Budget(elements=256))) == 256


def test_the_bytes_of_the_budget_are_kept() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        transition_monoid(build.full(6), Budget(bytes=20_000))
    assert caught.value.resource == "bytes"
    with pytest.raises(BudgetExceeded):
        transition_monoid(build.full(5)).multiplication_table(Budget(bytes=1 << 20))


def test_the_seconds_of_the_budget_are_kept() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        transition_monoid(build.full(5), Budget(seconds=1e-9))
    assert caught.value.resource == "seconds"
    assert "elements found" in caught.value.known_so_far


@pytest.mark.parametrize("wrong", [[[0, 2]], [[-1, 0]], [[0.5, 1.0]], [0, 1], []])
def test_what_is_not_a_list_of_maps_is_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        transition_monoid(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [[0, 1], [0, 1, 3], [0, -1, 1], [0.0, 1.0, 2.0]])
def test_what_is_not_a_map_is_refused(wrong: list[int]) -> None:
    with pytest.raises(InputError):
        transition_monoid([[1, 2, 0]]).index_of(wrong)


def test_elements_cannot_be_changed() -> None:
    monoid = transition_monoid([[1, 2, 0]])
    with pytest.raises(ValueError, match="read-only"):
        monoid.elements[0, 0] = 1
    assert "3 maps of 3 points, 1 letters" in repr(monoid)
