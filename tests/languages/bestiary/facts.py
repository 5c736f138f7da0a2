"""Facts about the rows of the bestiary known from elsewhere: expectations for tests, with their reasons.

Nothing here was computed by nerode's own algebra. A value comes from the literature, from an argument that
fits into a line, or from libsemigroups; `groups` are the isomorphism types of the maximal subgroups of the
syntactic monoid that are not trivial, largest first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """A value and why it is correct."""

    value: T
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """Facts about one row; None where nothing is stated.

    Attributes:
        regular: whether the language is regular.
        num_states: states of the minimal complete automaton, the dead one included.
        monoid_size: elements of the syntactic monoid.
        star_free: whether the language is star-free.
        groups: names of the maximal subgroups of the syntactic monoid.
    """

    regular: Fact[bool]
    num_states: Fact[int] | None = None
    monoid_size: Fact[int] | None = None
    star_free: Fact[bool] | None = None
    groups: Fact[tuple[str, ...]] | None = None


_AUTOMATON = "its finite automaton is given"
_ORACLE = "counted with libsemigroups 1.4.4 on the minimal automaton"
_LISTED = "listed so by Bhattamishra et al. 2020"
_APERIODIC = "star-free languages have aperiodic monoids, whose subgroups are trivial (Schützenberger 1965)"


def _star_free(
    states: int, why: str, monoid: int, why_monoid: str = _ORACLE, proof: str = _LISTED
) -> RowFacts:
    return RowFacts(
        regular=Fact(True, _AUTOMATON),
        num_states=Fact(states, why),
        monoid_size=Fact(monoid, why_monoid),
        star_free=Fact(True, proof),
        groups=Fact((), _APERIODIC),
    )


def _with_groups(
    states: int, why: str, monoid: int, groups: tuple[str, ...], why_groups: str, why_monoid: str = _ORACLE
) -> RowFacts:
    return RowFacts(
        regular=Fact(True, _AUTOMATON),
        num_states=Fact(states, why),
        monoid_size=Fact(monoid, why_monoid),
        star_free=Fact(False, f"a group is inside: {why_groups}"),
        groups=Fact(groups, why_groups),
    )


def _word_problem(order: int, group: str) -> RowFacts:
    return _with_groups(
        order,
        "one state for each product; inverses tell them apart",
        order,
        (group,),
        "the letters act as the group acts on itself",
        "the letters act as the group acts on itself, which is faithful",
    )


def _bounded_dyck(k: int, depth: int) -> RowFacts:
    """RowFacts about Dyck(k, depth).

    A word that is not zero pops a word of i kinds, pushes a word of j kinds and rises at most u above where
    it began, with max(0, j-i) <= u <= depth - i; these data and nothing else decide how it acts.
    """
    states = sum(k**d for d in range(depth + 1)) + 1
    both = range(depth + 1)
    monoid = 1 + sum(k ** (i + j) * (depth + 1 - max(i, j)) for i in both for j in both)
    return _star_free(
        states,
        "one state for each stack of at most that depth, and a dead one",
        monoid,
        "zero, and what is popped, what is pushed and how high it rises (see _bounded_dyck)",
        "a word that changes the depth has a power that is zero; any other is idempotent or squares to zero",
    )


def _not_regular(why: str) -> RowFacts:
    return RowFacts(regular=Fact(False, why))


_TOMITA_DEFINITION = "by hand, from the definition"
_CHAIN = "one state for each place in the word, and a dead one"
_LOCAL = "strictly local: a window decides (McNaughton and Papert 1971)"
_DEFINITE = "definite: the last letters decide (Perles, Rabin and Shamir 1963)"
_PUMP = "n opening letters ask for n closing ones, for every n: there are infinitely many residuals"

FACTS: Mapping[str, RowFacts] = {
    "tomita-1": _star_free(2, _TOMITA_DEFINITION, 2, "1 acts as the identity, 0 as zero"),
    "tomita-2": _star_free(3, _CHAIN, 6),
    "tomita-3": _with_groups(5, _TOMITA_DEFINITION, 26, ("Z2",), "1 swaps the parities of a run of 1s"),
    "tomita-4": _star_free(4, "the number of 0s at the end, and a dead state", 12),
    "tomita-5": _with_groups(
        4, "two parities", 4, ("Z2xZ2",), "0 and 1 flip independent bits", "all four pairs of flips"
    ),
    "tomita-6": _with_groups(
        3, "the difference modulo 3", 3, ("Z3",), "0 and 1 are rotations", "the three rotations"
    ),
    "tomita-7": _star_free(5, "four blocks and a dead state", 9),
    "aabbccddee": _star_free(
        7, "five blocks, the start and a dead state", 17, "identity, zero, and 15 intervals of letters"
    ),
    "ab-star-d-bc-star": _star_free(
        3, "before d, after d, dead", 5, "a, c, d, zero and the neutral letter b"
    ),
    "012-star-02-star": _star_free(2, "may end or not", 3, "0 sets, 1 resets, 2 holds"),
    "parity": _with_groups(2, "even or odd", 2, ("Z2",), "1 swaps the states", "identity and swap"),
    "aa-star": _with_groups(2, "even or odd", 2, ("Z2",), "a swaps the states", "identity and swap"),
    "aaaa-star": _with_groups(
        4, "the length modulo 4", 4, ("Z4",), "a is a 4-cycle", "the four powers of a 4-cycle"
    ),
    "abab-star": _with_groups(5, _CHAIN, 10, ("Z2",), "ab swaps the beginnings of the two halves"),
    "flip-flop": _star_free(
        9,
        "start, after w, and for each stored bit: idle, after r, after i; and a dead state",
        81,
        proof="Sarrof et al. 2024: two layers with gates in [0,1] model it",
    ),
    "odd-parity": _with_groups(2, "even or odd", 2, ("Z2",), "1 swaps the states", "identity and swap"),
    "even-pairs": _star_free(
        5,
        "the empty word, and each pair of first and last letter",
        5,
        "identity, and each pair of first and last letter",
        "0{0,1}*0 and the like are star-free, and so is their union",
    ),
    "cycle-navigation": _with_groups(
        5, "the five places", 5, ("Z5",), "> is a 5-cycle", "the five rotations"
    ),
    "cycle-navigation-announced": _with_groups(
        7,
        "the five places, the end and a dead state",
        12,
        ("Z5",),
        "> is a 5-cycle of the places",
        "identity, five rotations (which kill the end), five digits up to rotation, zero",
    ),
    "modular-arithmetic": _with_groups(
        51,
        "sum and term (25) before an operator, the same before a digit, and a dead state",
        518,
        ("Z5", "Z4"),
        "+1 adds to the sum when the term is 1, *2 has order 4; found with libsemigroups",
    ),
    "modular-arithmetic-simple": _with_groups(
        25,
        "five values before an operator, after +, after -, after * and after =, the end, a dead state; but "
        "0+ is 1*, and 0- is 4*",
        685,
        ("F20",),
        "x+b and x*a for a ≠ 0 are the affine maps modulo 5; found with libsemigroups",
    ),
    "repeat-01": _star_free(3, _CHAIN, 6, proof=_LOCAL),
    "first": _star_free(
        3, "nothing read, 1 first, 0 first", 3, "identity and two left zeros", "the first letter decides"
    ),
    "ab-star": _star_free(3, _CHAIN, 6, proof=_LOCAL),
    "aab-star": _star_free(4, _CHAIN, 12, proof=_LOCAL),
    "aabb-star": _star_free(5, _CHAIN, 20, proof=_LOCAL),
    "contains-abaab": _star_free(6, "one for each prefix", 32, proof="{a,b}* abaab {a,b}*, {a,b}* = ∅ᶜ"),
    "contains-fibonacci-22": _star_free(
        23, "one for each prefix", 605, proof="a product of ∅ᶜ, letters and ∅ᶜ"
    ),
    "subsequence-abcdefgh": _star_free(
        9,
        "one for each prefix",
        4862,
        "the letters generate the Catalan monoid of 9 points: order-preserving maps with q ≤ q·w",
        "piecewise testable (Simon 1975)",
    ),
    "last-letter": _star_free(2, "ends with a or not", 3, "identity and two right zeros", _DEFINITE),
    "set-reset": _star_free(
        2, "the bit", 3, "hold, set, reset", "its monoid is U2, in which every element is idempotent"
    ),
    "last-but-8": _star_free(
        512, "the last 9 letters", 1023, "the words of at most 9 letters: 2⁰ + … + 2⁹", _DEFINITE
    ),
    "offset-counting-10": _star_free(
        12,
        "ready for 0 only, at rest, 1 to 9 letters into a burst, dead",
        132,
        "1ᵏ for k ≤ 10, zero, and words with a 0 by the 1s before and after it: 11 + 1 + 11² - 1",
        _LOCAL,
    ),
    "d-2": _bounded_dyck(1, 2),
    "d-3": _bounded_dyck(1, 3),
    "d-4": _bounded_dyck(1, 4),
    "d-12": _bounded_dyck(1, 12),
    "dyck-2-3": _bounded_dyck(2, 3),
    "dyck-2-5": _bounded_dyck(2, 5),
    "dyck-8-10": _bounded_dyck(8, 10),
    "dyck-1": _not_regular(_PUMP),
    "dyck-2": _not_regular(_PUMP),
    "shuffle-2": _not_regular(_PUMP),
    "shuffle-4": _not_regular(_PUMP),
    "shuffle-6": _not_regular(_PUMP),
    "boolean-3": _not_regular("n operators + ask for n+1 operands, for every n"),
    "boolean-5": _not_regular("n operators + ask for n+1 operands, for every n"),
    "anbn": _not_regular(_PUMP),
    "anbncn": _not_regular(_PUMP),
    "anbncndn": _not_regular(_PUMP),
    "majority": _not_regular("0ⁿ needs n+1 further 1s, for every n"),
    "ngram-seed": _star_free(
        35,
        "places in the sentences: start, 13 and 19 inside the templates, end, dead",
        312,
        proof="a finite language is star-free",
    ),
    "z2": _word_problem(2, "Z2"),
    "z3": _word_problem(3, "Z3"),
    "z2xz2": _word_problem(4, "Z2xZ2"),
    "z60": _word_problem(60, "Z60"),
    "a4xz5": _word_problem(60, "A4xZ5"),
    "a5": _word_problem(60, "A5"),
    "s3": _word_problem(6, "S3"),
    "s4": _word_problem(24, "S4"),
    "s5": _word_problem(120, "S5"),
    "q8": _word_problem(8, "Q8"),
    "d4": _word_problem(8, "D4"),
    "s5-generators": _word_problem(120, "S5"),
    "a5-generators": _word_problem(60, "A5"),
    "t3": _with_groups(
        3,
        "the three points",
        27,
        ("S3", "Z2"),
        "permutations of three points, and of the two points of an image",
        "all maps of three points: 3³",
    ),
    "u1": _star_free(2, "no 0 yet, or one", 2, "1 and 0", "both elements are idempotent"),
    "u2": _star_free(2, "the bit", 3, "hold, set, reset", "every element is idempotent"),
    "cyclic-monoid-2-3": _with_groups(
        5, "the five powers of x", 5, ("Z3",), "x³, x⁴ and x² rotate", "the five powers of x"
    ),
}
"""RowFacts by the name of the row."""
