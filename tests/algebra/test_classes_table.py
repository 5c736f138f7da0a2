"""The table of classes: languages in and out of each, inclusions, witnesses run on the automaton."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from nerode.algebra.classes.subject import ExaminedLanguage, Term, parse_identity
from nerode.algebra.classes.table import CLASSES, INCLUSIONS, decide_membership, infer
from nerode.algebra.records import Membership
from nerode.core import Budget, UnknownName
from nerode.languages import Alphabet, Dfa, Word, minimise
from nerode.languages.bestiary import find_language
from nerode.languages.regex import regex_to_dfa
from tests.algebra.semigroups import random_dfa

IN_AND_OUT = {
    "star-free": ("(ab)*", "(aa)*"),
    "finite": ("ab|b", "a*"),
    "definite": ("(a|b)*ab", "a(a|b)*"),
    "strictly-local": ("(ab)*", "(a|b)*a(a|b)*"),
    "locally-testable": ("(a|b)*aa(a|b)*", "b*ab*"),
    "locally-threshold-testable": ("b*ab*", "c*ac*bc*"),
    "strictly-piecewise": ("a*b*", "(ab)*"),
    "piecewise-testable": ("(a|b)*a(a|b)*b(a|b)*", "(a|b)*a"),
    "r-trivial": ("a(a|b)*", "(a|b)*a"),
    "l-trivial": ("(a|b)*a", "a(a|b)*"),
    "da": ("(a|b)*a", "(ab)*"),
    "dot-depth-one": ("(ab)*", "(a(ab)*b)*"),
    "commutative": ("b*ab*", "ab"),
    "quasi-aperiodic": ("(abab)*", "(b*ab*a)*b*"),
    "letter-constant": ("(a|b)*b", "(ab)*"),
    "locally-r-trivial": ("(ab)*", "(a|b|c)*bc*"),
    "c-rasp": ("(a(ab)*b)*", "(a|b|c)*bc*"),
}


def test_every_class_but_solvable_has_an_example_here() -> None:
    assert set(IN_AND_OUT) | {"solvable"} == set(CLASSES)


@pytest.mark.parametrize("name", IN_AND_OUT)
def test_one_language_in_and_one_out(name: str) -> None:
    inside, outside = IN_AND_OUT[name]
    assert decide_membership(name, regex_to_dfa(inside)).holds is True
    no = decide_membership(name, regex_to_dfa(outside))
    assert no.holds is False
    assert no.witness
    assert no.explanation


@pytest.mark.parametrize(
    ("name", "solvable"), [("s3", True), ("s4", True), ("q8", True), ("a5", False), ("s5", False)]
)
def test_solvability_of_word_problems(name: str, solvable: bool) -> None:
    dfa = find_language(name).dfa()
    assert decide_membership("solvable", dfa).holds is solvable


@pytest.mark.parametrize(("n", "solvable"), [(4, True), (5, False)])
def test_solvability_of_full_transformation_monoids(n: int, solvable: bool) -> None:
    rows = [[(q + 1) % n, {0: 1, 1: 0}.get(q, q), 1 if q == 0 else q] for q in range(n)]
    dfa = Dfa(alphabet=Alphabet(("a", "b", "c")), transitions=rows, start=0, accepting=np.arange(n) == 0)
    found = decide_membership("solvable", dfa)
    assert found.holds is solvable
    if not solvable:
        assert "not solvable" in found.explanation


STAR_FREE = (
    "tomita-1 tomita-2 tomita-4 tomita-7 ab-star aab-star aabb-star d-2 d-3 d-4 d-12 aabbccddee "
    "012-star-02-star contains-abaab contains-fibonacci-22 subsequence-abcdefgh last-but-8 flip-flop "
    "dyck-2-2 dyck-2-3 dyck-2-4 dyck-2-5 dyck-3-3 dyck-4-3 dyck-8-3"
).split()
NOT_STAR_FREE = {
    # name: quasi-aperiodic?
    "aa-star": True,
    "abab-star": True,
    "tomita-3": True,
    "tomita-5": False,
    "tomita-6": False,
    "parity": False,
}


@pytest.mark.parametrize("name", STAR_FREE)
def test_named_star_free_languages(name: str) -> None:
    dfa = find_language(name).dfa()
    assert decide_membership("star-free", dfa).holds is True
    assert decide_membership("quasi-aperiodic", dfa).holds is True


@pytest.mark.parametrize("name", NOT_STAR_FREE)
def test_named_languages_with_groups(name: str) -> None:
    dfa = find_language(name).dfa()
    assert decide_membership("star-free", dfa).holds is False
    assert decide_membership("quasi-aperiodic", dfa).holds is NOT_STAR_FREE[name]


def test_strictly_local_orders_of_named_languages() -> None:
    expected = {"ab-star": 2, "aab-star": 3, "aabb-star": 3, "tomita-1": 1, "tomita-4": 3}
    found = {
        name: decide_membership("strictly-local", find_language(name).dfa()).parameter for name in expected
    }
    assert found == expected
    assert decide_membership("definite", find_language("last-but-8").dfa()).parameter == 9


def expand(term: Term, words: dict[str, Word], omega: int) -> Word:
    """Writes a term out as a word."""
    result: Word = ()
    for factor, shift in term.factors:
        word = (
            ()
            if factor == "1"
            else words[factor]
            if isinstance(factor, str)
            else expand(factor, words, omega)
        )
        result += word * (1 if shift is None else omega + shift)
    return result


def check_witness(dfa: Dfa, found: Membership) -> None:
    """Runs the words of a witness on the automaton, ω written out as a number that suits every small map."""
    words = dict(found.witness)
    if found.name == "strictly-local":
        for n in range(1, 6):
            loop = words["x"] * n
            assert dfa.accepts(words["u"] + loop + words["v"])
            assert dfa.accepts(words["u'"] + loop + words["v'"])
            assert not dfa.accepts(words["u"] + loop + words["v'"])
    elif found.name == "strictly-piecewise":
        assert dfa.accepts(words["u"] + words["y"] + words["v"])
        assert not dfa.accepts(words["u"] + words["v"])
    elif found.name == "finite":
        for n in range(6):
            assert dfa.accepts(words["before"] + words["x"] * n + words["after"])
        assert words["x"]
    elif found.name == "c-rasp":
        here = dfa.action(words["before"])[dfa.start]
        there = dfa.action(words["x"])[here]
        assert here != there
        assert dfa.action(words["y"])[there] == here
        ends = [bool(dfa.accepting[dfa.action(words["after"])[q]]) for q in (here, there)]
        assert ends[0] != ends[1]
    elif found.name == "star-free":
        answers = [dfa.accepts(words["before"] + words["x"] * n + words["after"]) for n in range(130)]
        assert len(set(answers[60:])) == 2
    else:
        check_identity(dfa, found, words)


def check_identity(dfa: Dfa, found: Membership, words: dict[str, Word]) -> None:
    omega = math.lcm(*range(1, dfa.num_states + 1))
    assert omega >= dfa.num_states - 1
    rows, accepting = dfa.transitions.tolist(), dfa.accepting.tolist()

    def accepts(word: Word) -> bool:
        state = dfa.start
        for letter in word:
            state = rows[state][letter]
        return bool(accepting[state])

    assert all(word for role, word in words.items() if len(role) == 1)
    differences = []
    for (_, left), (_, right) in parse_identity(found.identity.split(" for ")[0]):
        try:
            sides = [expand(side, words, omega) for side in (left, right)]
        except KeyError:
            continue
        first, second = (accepts(words["before"] + side + words["after"]) for side in sides)
        differences.append(first != second)
    assert any(differences)
    if found.name == "quasi-aperiodic":
        assert len(words["x"]) == len(words["y"])


def test_witnesses_and_inclusions_on_random_languages() -> None:
    rng = np.random.default_rng(21)
    seen: Counter[str] = Counter()
    for _ in range(400):
        dfa = random_dfa(rng, most_states=5)
        subject = ExaminedLanguage(dfa)
        found = {name: row.membership(subject) for name, row in CLASSES.items()}
        assert all(m.holds is not None for m in found.values())
        for small, large in INCLUSIONS:
            assert found[large].holds or not found[small].holds, (small, large, dfa.transitions.tolist())
        both = found["r-trivial"].holds and found["l-trivial"].holds
        assert both == found["piecewise-testable"].holds
        for membership in found.values():
            if not membership.holds and membership.name != "solvable":
                check_witness(dfa, membership)
                seen[membership.name] += 1
    assert set(seen) == set(CLASSES) - {"solvable"}


def test_witnesses_of_unsolvable_groups_permute_states() -> None:
    dfa = find_language("a5-generators").dfa()
    found = decide_membership("solvable", dfa)
    assert found.holds is False
    for word in found.witness.values():
        assert len(set(dfa.action(word).tolist())) == dfa.num_states


def test_inclusions_are_strict_and_known() -> None:
    assert all(small in CLASSES and large in CLASSES and small != large for small, large in INCLUSIONS)
    assert len(set(INCLUSIONS)) == len(INCLUSIONS)


def test_inference_fills_what_was_not_decided() -> None:
    subject = ExaminedLanguage(regex_to_dfa("(a|b)*ab"))
    found = {name: row.membership(subject) for name, row in CLASSES.items()}
    hidden = {
        name: m if name in ("definite", "piecewise-testable") else replace(m, holds=None, witness={})
        for name, m in found.items()
    }
    filled = infer(hidden)
    assert filled["locally-threshold-testable"].holds is True
    assert filled["locally-threshold-testable"].method == "inclusion"
    assert filled["solvable"].holds is True
    assert filled["strictly-piecewise"].holds is False
    assert filled["strictly-piecewise"].witness == found["piecewise-testable"].witness
    assert filled["strictly-piecewise"].identity == found["piecewise-testable"].identity
    assert filled["commutative"].holds is None
    assert filled["definite"] is found["definite"]


def test_what_does_not_fit_is_undecided_and_says_why() -> None:
    dfa = find_language("contains-abaab").dfa()
    for name in CLASSES:
        found = CLASSES[name].membership(ExaminedLanguage(dfa, Budget(elements=1, seconds=1e-9)))
        if found.holds is None:
            assert "budget" in found.explanation
            assert found.method == "undecided"
    assert CLASSES["star-free"].membership(ExaminedLanguage(dfa, Budget(seconds=1e-9))).holds is None


def test_many_states_before_the_cycles_do_not_hinder_local_testability() -> None:
    """The words aⁿ w b: the first n letters and the last one decide."""
    n = 3000
    rows = [[q + 1, n + 2] for q in range(n)] + [[n, n + 1], [n, n + 1], [n + 2, n + 2]]
    dfa = Dfa(alphabet=Alphabet(("a", "b")), transitions=rows, start=0, accepting=np.arange(n + 3) == n + 1)
    assert decide_membership("locally-testable", dfa).holds is True


def test_an_unknown_class_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="star-free"):
        decide_membership("starfree", regex_to_dfa("a"))


@pytest.mark.parametrize("letters", [0, 1, 2])
@pytest.mark.parametrize("accepting", [False, True])
def test_one_state_automata_belong_to_nearly_everything(letters: int, accepting: bool) -> None:
    dfa = Dfa(
        alphabet=Alphabet(tuple("ab"[:letters])),
        transitions=np.zeros((1, letters), dtype=int),
        start=0,
        accepting=[accepting],
    )
    subject = ExaminedLanguage(dfa)
    found = {name: row.membership(subject).holds for name, row in CLASSES.items()}
    assert found == dict.fromkeys(CLASSES, True) | {"finite": not (accepting and letters > 0)}


def test_all_languages_over_one_letter_with_few_states() -> None:
    """A word aⁿ is known by its length: everything star-free here is finite, or its complement is."""
    for tail, period in itertools.product(range(4), range(1, 4)):
        for accepting in itertools.product((False, True), repeat=tail + period):
            n = tail + period
            table = [[q + 1 if q + 1 < n else tail] for q in range(n)]
            dfa = Dfa(alphabet=Alphabet(("a",)), transitions=table, start=0, accepting=accepting)
            subject = ExaminedLanguage(minimise(dfa))
            found = {name: row.membership(subject).holds for name, row in CLASSES.items()}
            assert found["star-free"] == (len(set(accepting[tail:])) == 1)
            assert found["commutative"]
            assert found["quasi-aperiodic"]
            assert found["star-free"] == found["piecewise-testable"] == found["definite"]
