"""What was found wrong or loose in the literature, shown. The words stand in docs/theory/corrections.md."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from nerode.algebra.cascades import Cascade, decompose
from nerode.languages.bestiary import find_language
from nerode.verdict import ALIASES, ARCHITECTURES, decide


def words(letters: int, longest: int) -> list[tuple[int, ...]]:
    return [w for n in range(longest + 1) for w in itertools.product(range(letters), repeat=n)]


def step_with_new_states(cascade: Cascade, before: tuple[int, ...], letter: int) -> tuple[int, ...]:
    """One letter, where each level sees the labels that the levels above it have after the letter."""
    labels = list(before)
    for i, level in enumerate(cascade.levels):
        command = cascade.commands(tuple(labels), letter)[i]
        labels[i] = command.apply(labels[i], level.num_labels)
    return tuple(labels)


@pytest.mark.parametrize("name", ["ab-star", "tomita-2", "flip-flop", "d-3"])
def test_cascades_are_right_with_old_states_and_wrong_with_new_ones(name: str) -> None:
    dfa = find_language(name).dfa()
    cascade = decompose(dfa)
    tried = words(dfa.num_letters, 5)
    assert all(cascade.run(word) == dfa.run(word) for word in tried)

    def run(word: Sequence[int]) -> int:
        at = cascade.initial()
        for letter in word:
            at = step_with_new_states(cascade, at, letter)
        return cascade.state_of(at)

    assert any(run(word) != dfa.run(word) for word in tried)


def test_a_level_that_sees_the_new_state_of_a_last_letter_memory_learns_nothing() -> None:
    """Do the last two letters agree? Level 1 keeps the last letter, level 2 compares it with the letter."""
    for word in itertools.product("ab", repeat=5):
        memory, old, new = word[0], True, True
        for letter in word[1:]:
            old = memory == letter
            memory = letter
            new = memory == letter
        assert old == (word[-1] == word[-2])
        assert new


def test_the_senses_of_precision_are_different_notions() -> None:
    counting = decide(find_language("dyck-1"), architectures=["gla"])
    assert counting["gla", "finite-precision"].status == "yes"
    assert counting["gla", "ieee"].status == "no"
    holding = decide(find_language("flip-flop"), architectures=["mamba"])
    assert holding["mamba", "finite-precision"].status == "yes"
    assert holding["mamba", "robust"].status == "no"


def legal_names(name: str, word: str) -> set[str]:
    language = find_language(name)
    return set(language.legal_along(word)[-1].names(language.alphabet))


def test_the_published_labels_of_012_star_02_star_forbid_ends_that_are_legal() -> None:
    """The rule: the word may end if it is in the language and its last letter is 2."""
    language = find_language("012-star-02-star")
    wrong = []
    for word in map("".join, itertools.product("012", repeat=4)):
        label = language.accepts(word) and word[-1] == "2"
        if label != ("$" in legal_names(language.name, word)):
            wrong.append(word)
    assert wrong == [word for word in map("".join, itertools.product("012", repeat=4)) if word[-1] == "0"]


def test_the_published_labels_of_tomita_3_forbid_letters_of_words_of_the_language() -> None:
    """The rule calls a prefix dead when an odd run of 1s is followed by an odd run of 0s so far."""

    def called_dead(word: str) -> bool:
        runs = [(letter, len(list(run))) for letter, run in itertools.groupby(word)]
        odd_pairs = [x[0] == "1" and x[1] % 2 and y[1] % 2 for x, y in itertools.pairwise(runs)]
        return any(odd_pairs)

    def published(word: str) -> set[str]:
        return {letter for letter in "01" if not called_dead(word + letter)}

    assert published("1") == {"1"}
    assert legal_names("tomita-3", "1") == {"0", "1", "$"}
    # 100 is in the language, and the rule forbids its second letter.
    assert find_language("tomita-3").accepts("100")
    disagree = [
        word
        for word in map("".join, itertools.product("01", repeat=4))
        if legal_names("tomita-3", word) and published(word) != legal_names("tomita-3", word) - {"$"}
    ]
    assert len(disagree) >= 3


def test_gates_with_a_fixed_angle_are_not_nonnegative() -> None:
    """HGRN of 2023 has λ(x) e^{iθ}: with λ = 1 and θ = π it tells even from odd lengths, as (aa)* asks."""
    gate = 1.0 * np.exp(1j * np.pi)
    state = np.cumprod(np.full(9, gate)).real
    assert (state > 0).tolist() == [n % 2 == 0 for n in range(1, 10)]
    assert decide(find_language("aa-star"), architectures=["hgrn2"])["hgrn2"].status == "no"
    # So the first HGRN has no row that says "nonnegative", and no alias leads there.
    assert "hgrn" not in ARCHITECTURES
    assert "hgrn" not in ALIASES


def test_products_taken_on_the_other_side_read_the_word_backwards() -> None:
    """The definition of IDS4 multiplies new matrices on the left; the released code, on the right."""
    language = find_language("S3")
    dfa = language.dfa()
    identity = np.eye(dfa.num_states, dtype=int)
    matrices = [identity[:, dfa.transitions[:, a]] for a in range(dfa.num_letters)]
    start = identity[:, dfa.start]
    differ = 0
    for word in itertools.product(range(dfa.num_letters), repeat=2):
        left, right = identity, identity
        for a in word:
            left, right = matrices[a] @ left, right @ matrices[a]
        assert int(np.argmax(left @ start)) == dfa.run(word)
        assert int(np.argmax(right @ start)) == dfa.run(word[::-1])
        differ += dfa.run(word) != dfa.run(word[::-1])
    assert differ == 18


def test_a_recurrence_without_a_write_and_without_a_start_stays_at_zero() -> None:
    """The released IDS4 has no B term; the construction puts the start state into B of a first symbol."""
    dfa = find_language("S3").dfa()
    identity = np.eye(dfa.num_states, dtype=int)
    h = np.zeros(dfa.num_states, dtype=int)
    for a in (1, 2, 3):
        h = identity[:, dfa.transitions[:, a]] @ h
    assert not h.any()


def added_by_mirrors(steps: Sequence[int], m: int, *, swapped: bool = False) -> int:
    """The sum modulo m by a parity and mirrors x → j - x of the plane, angles in units of π/m.

    After an odd number of letters the angle of the sum is seen in the mirror of j = 1.
    """
    angle, odd = 0, False
    for step in steps:
        odd = not odd
        mirror = 1 - 2 * step if odd != swapped else 1 + 2 * step
        angle = mirror - angle
    return (1 - angle if odd else angle) // 2 % m


@pytest.mark.parametrize("m", [2, 3, 5, 60])
def test_the_swapped_cases_of_the_printed_proof_are_wrong(m: int) -> None:
    """With the mirrors of odd and even positions exchanged, two layers of reflections subtract."""
    chosen = np.random.default_rng(m)
    for length in range(1, 30):
        steps = chosen.integers(0, m, length).tolist()
        assert added_by_mirrors(steps, m) == sum(steps) % m
        assert added_by_mirrors(steps, m, swapped=True) == -sum(steps) % m
