"""Verdicts on random automata, against classes that are decided here by listing the whole monoid."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.languages import Alphabet, Dfa, RegularLanguage, minimise, resolve_language
from nerode.verdict.decision import decide

Map = tuple[int, ...]


def random_automaton(seed: int) -> Dfa:
    rng = np.random.default_rng(seed)
    states, letters = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    columns = [
        rng.permutation(states) if rng.random() < 0.5 else rng.integers(0, states, states)
        for _ in range(letters)
    ]
    return minimise(
        Dfa(
            alphabet=Alphabet(tuple("abc"[:letters])),
            transitions=np.stack(columns, axis=1).astype(np.int32),
            start=0,
            accepting=rng.random(states) < 0.5,
        )
    )


def letters_of(dfa: Dfa) -> list[Map]:
    return [tuple(int(q) for q in dfa.transitions[:, a]) for a in range(dfa.num_letters)]


def after(first: Map, second: Map) -> Map:
    return tuple(second[q] for q in first)


def has_a_group(maps: set[Map] | frozenset[Map]) -> bool:
    """Whether the powers of one of the maps come back with a period above 1."""
    for f in maps:
        powers = [f]
        while (following := after(powers[-1], f)) not in powers:
            powers.append(following)
        if len(powers) - powers.index(following) > 1:
            return True
    return False


def all_maps(dfa: Dfa) -> set[Map]:
    letters = letters_of(dfa)
    found, waiting = set(letters), list(letters)
    while waiting:
        f = waiting.pop()
        for g in letters:
            if (h := after(f, g)) not in found:
                found.add(h)
                waiting.append(h)
    return found


def stable_maps(dfa: Dfa) -> frozenset[Map]:
    """What words of length s do, for an s such that words of length 2s do the same."""
    letters = letters_of(dfa)
    by_length = [frozenset(letters)]
    while (longer := frozenset(after(f, g) for f in by_length[-1] for g in letters)) not in by_length:
        by_length.append(longer)
    begun = by_length.index(longer)
    period = len(by_length) - begun
    return by_length[-(-(begun + 1) // period) * period - 1]


def window_settles(dfa: Dfa, task: str) -> bool:
    """Whether every long word brings any two states together, or one of them (to predict) to a dead one."""
    live = dfa.legal.any(axis=1) | np.asarray(dfa.accepting)
    kept = range(dfa.num_states) if task == "recognise" else [q for q in range(dfa.num_states) if live[q]]
    apart = {(p, q) for p in kept for q in kept if p != q}
    while True:
        stay = {(p, q) for p, q in apart if any((f[p], f[q]) in apart for f in letters_of(dfa))}
        if stay == apart:
            return not apart
        apart = stay


AUTOMATA = [
    *map(random_automaton, range(50)),
    # Random automata seldom have a dead state, which prediction does not ask about.
    *(resolve_language(text).dfa() for text in ("(ab)*", "a*b*", "(aa)*b", "(ab|c)*", "b(ab*ab*)*")),
]


@pytest.mark.parametrize("task", ["predict", "recognise"])
@pytest.mark.parametrize("dfa", AUTOMATA)
def test_verdicts_follow_the_algebra(dfa: Dfa, task: str) -> None:
    table = decide(RegularLanguage(name="random", automaton=dfa, convention="random"), task=task)
    star_free = not has_a_group(all_maps(dfa))
    for sense in ("exact", "finite-precision", "ieee"):
        assert table["mamba", sense].status == ("yes" if star_free else "no")
    in_ac0 = not has_a_group(stable_maps(dfa))
    assert table["s4d-mamba"].status == ("yes" if in_ac0 else "no")
    assert table["transformer", "exact"].status == ("yes" if in_ac0 else "no")
    if not in_ac0:
        assert table["s4d"].status == "no"
    settled = "yes" if window_settles(dfa, task) else "no"
    for name in ("mamba", "s4d", "deltanet-signed", "ids4"):
        assert table[name, "robust"].status == settled
    for name in ("elman-tanh", "lstm"):
        assert table[name, "robust"].status == "yes"


def test_the_automata_are_of_all_sorts() -> None:
    assert {has_a_group(all_maps(dfa)) for dfa in AUTOMATA} == {False, True}
    assert any(has_a_group(all_maps(d)) and not has_a_group(stable_maps(d)) for d in AUTOMATA)
    assert {window_settles(dfa, "predict") for dfa in AUTOMATA} == {False, True}
    assert any(window_settles(d, "predict") and not window_settles(d, "recognise") for d in AUTOMATA)
