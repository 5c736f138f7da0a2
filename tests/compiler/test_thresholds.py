import itertools

import numpy as np
import pytest
from hypothesis import given

from nerode.compiler.thresholds import code_by_thresholds, preimages
from nerode.languages import Alphabet, Dfa
from nerode.languages.bestiary import find_language
from tests.strategies import dfas

NAMES = ["set-reset", "parity", "tomita-3", "flip-flop", "s3", "q8", "t3", "s4", "dyck-2-3", "first", "u2"]


def indicators(coding, bits):
    """How often each state is counted by the units."""
    counted = {}
    for unit, bit in zip(coding.units, bits, strict=True):
        counted[unit.state] = counted.get(unit.state, 0) + unit.sign * bit
    if coding.rest is not None:
        counted[coding.rest] = 1 - sum(counted.values())
    return counted


def assert_codes(dfa):
    coding = code_by_thresholds(dfa)
    before = indicators(coding, coding.start)
    assert {q for q, amount in before.items() if amount} == {dfa.start}
    for p, a in itertools.product(range(dfa.num_states), range(dfa.num_letters)):
        bits = [int(unit.ranks[p] + unit.levels[a] >= 0) for unit in coding.units]
        counted = indicators(coding, bits)
        assert {q for q, amount in counted.items() if amount} == {int(dfa.transitions[p, a])}
        assert set(counted.values()) <= {0, 1}
        for unit in coding.units:
            constant, coefficients = coding.feedback(unit)
            target = int(dfa.transitions[p, a])
            assert constant + sum(c * bits[j] for j, c in coefficients.items()) == unit.ranks[target]
        for state, on, off in coding.families:
            both = bits[on] == 1 and (off is None or bits[off] == 0)
            assert not both or state == dfa.transitions[p, a]


@pytest.mark.parametrize("name", NAMES)
def test_units_say_which_state_is_reached(name):
    assert_codes(find_language(name).dfa())


@given(dfas(max_states=8, max_letters=4))
def test_random_automata(dfa):
    assert_codes(dfa)


def test_random_automata_with_many_letters():
    rng = np.random.default_rng(3)
    for states, letters in ((9, 40), (14, 25)):
        dfa = Dfa(
            alphabet=Alphabet(tuple(f"a{i}" for i in range(letters))),
            transitions=rng.integers(0, states, (states, letters)),
            start=0,
            accepting=np.arange(states) == 0,
        )
        assert_codes(dfa)


@pytest.mark.parametrize(
    ("name", "width", "spread"),
    [
        ("set-reset", 1, 1),
        ("parity", 2, 2),
        ("ab-star", 2, 1),
        ("flip-flop", 8, 4),
        ("subsequence-abcdefgh", 9, 3),
        ("a5-generators", 120, 2),
        ("s4", 46, 288),
    ],
)
def test_known_sizes(name, width, spread):
    """One bit takes one unit, as in the published cell; a group with all its elements two units a state."""
    coding = code_by_thresholds(find_language(name).dfa())
    assert (len(coding.units), coding.spread) == (width, spread)


def widest_antichain(sets):
    """The largest number of sets none of which holds another."""
    return max(
        len(chosen)
        for size in range(len(sets) + 1)
        for chosen in itertools.combinations(sets, size)
        if not any(a < b or b < a for a, b in itertools.combinations(chosen, 2))
    )


@given(dfas(max_states=6, max_letters=5))
def test_no_smaller_cover_by_chains(dfa):
    """By Dilworth's theorem a state needs as many chains as it has pairwise incomparable preimages."""
    coding = code_by_thresholds(dfa)
    for q in set(range(dfa.num_states)) - {coding.rest}:
        units = [unit for unit in coding.units if unit.state == q and unit.name not in ("start", "idle")]
        assert len(units) == widest_antichain(list(preimages(dfa, q)))
