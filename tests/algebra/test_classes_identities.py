"""Class tests against brute force: every identity checked for every assignment, on thousands of automata."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from nerode.algebra.classes.piecewise import R_TRIVIAL
from nerode.algebra.classes.subject import Elements, ExaminedLanguage, violation
from nerode.algebra.classes.table import CLASSES
from nerode.algebra.green_relations import green
from nerode.algebra.monoid import transition_monoid
from nerode.languages import Dfa
from tests.algebra.semigroups import is_quasi_aperiodic, random_dfa, satisfies, semigroup

# Variables that occur only as x^ω range over idempotents, which makes longer identities affordable.
WITH_IDEMPOTENTS = {
    "definite": ("y x = x", "x"),
    "locally-testable": ("x y x y x = x y x, x y x z x = x z x y x", "x"),
}
SMALL_ONLY = {
    "locally-threshold-testable": (14, "x p y u x q y = x q y u x p y", "xy"),
    "dot-depth-one": (9, "(x p y q x)^ω x p y s x (x r y s x)^ω = (x p y q x)^ω (x r y s x)^ω", "xy"),
}
PLAIN = ("star-free", "r-trivial", "l-trivial", "da", "piecewise-testable", "commutative")


def test_every_test_agrees_with_its_identity() -> None:
    rng = np.random.default_rng(11)
    seen: Counter[tuple[str, bool]] = Counter()
    number = 0
    while number < 1200:
        dfa = random_dfa(rng)
        s = semigroup(dfa, 26)
        if s is None:
            continue
        number += 1
        subject = ExaminedLanguage(dfa)
        expected = {name: satisfies(s, CLASSES[name].identity) for name in PLAIN}
        expected |= {name: satisfies(s, *identity) for name, identity in WITH_IDEMPOTENTS.items()}
        expected["quasi-aperiodic"] = is_quasi_aperiodic(s)
        for name, (limit, *identity) in SMALL_ONLY.items():
            if s.size <= limit:
                expected[name] = expected["star-free"] and satisfies(s, *identity)
        for name, holds in expected.items():
            found = CLASSES[name].decide(subject).holds
            assert found == holds, (name, dfa.transitions.tolist(), dfa.accepting.tolist())
            seen[name, holds] += 1
    for name in {name for name, _ in seen}:
        assert min(seen[name, True], seen[name, False]) >= 20, name


def test_green_relations_of_the_class_tests_are_those_of_green() -> None:
    rng = np.random.default_rng(12)
    for _ in range(60):
        dfa = random_dfa(rng, most_states=4)
        monoid = transition_monoid(dfa)
        elements, relations = Elements(monoid), green(monoid)
        for mine, theirs in (
            (elements.r_class, relations.r_class),
            (elements.l_class, relations.l_class),
            (elements.d_class, relations.d_class),
        ):
            assert len(set(zip(mine.tolist(), theirs.tolist(), strict=True))) == len(set(theirs.tolist()))
            assert len(set(mine.tolist())) == len(set(theirs.tolist()))


def test_sets_between_idempotents_and_words_of_elements() -> None:
    rng = np.random.default_rng(13)
    for _ in range(40):
        dfa = random_dfa(rng, most_states=4)
        monoid = transition_monoid(dfa)
        elements = Elements(monoid)
        inside = np.flatnonzero(elements.inside)
        for x in inside.tolist():
            assert elements.word(x)
            assert monoid.element_of(elements.word(x)) == x
        for e in elements.representatives:
            for f in elements.representatives:
                expected = {monoid.product(monoid.product(e, int(s)), f) for s in inside}
                assert set(elements.between(e, f).tolist()) == expected
            for target in range(len(monoid)):
                if (after := elements.path(e, target)) is not None:
                    assert monoid.product(e, monoid.element_of(after)) == target
                if (before := elements.path_in_front(e, target)) is not None:
                    assert monoid.product(monoid.element_of(before), e) == target


def test_a_planted_wrong_witness_is_refused() -> None:
    dfa = Dfa.build("ab", {0: {"a": 1}, 1: {"b": 0}}, start=0, accept=[0])
    subject = ExaminedLanguage(dfa)
    assert violation(subject, R_TRIVIAL, {"x": (0,), "y": (1,)}).holds is False
    with pytest.raises(AssertionError, match="do not violate"):
        violation(subject, R_TRIVIAL, {"x": (0,), "y": (0,)})
