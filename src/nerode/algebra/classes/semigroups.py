"""Classes decided in the syntactic semigroup: by its groups, by thresholds, two variables, dot-depth one.

A language is quasi-aperiodic (regular and in AC⁰) when no set of words of one length acts as a non-trivial
group. On a class of images, let H be the group of pairs (permutation of the root, length) of the words that
come back to it, a subgroup of G × ℤ. Words of one length act alike exactly when H has no element (g, 0) with
g ≠ 1, that is, when H has no torsion, that is, when H is cyclic. So it is enough to look at pairs of
generators, and the monoid is never needed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from nerode.algebra.classes import local, piecewise
from nerode.algebra.classes.merging import joined_fixed_states, joining_word
from nerode.algebra.classes.subject import (
    SEMIGROUP,
    Elements,
    Evidence,
    ExaminedLanguage,
    between,
    member,
    non_member,
    violates,
    violation,
)
from nerode.algebra.components import Numbers, component_actions, run
from nerode.algebra.images import ImageClass, ImageOrbit
from nerode.algebra.maps import Numbers as Labels
from nerode.algebra.permutations import Permutation, compose, invert, permutation_order, power
from nerode.algebra.records import GroupInside
from nerode.core import BudgetExceeded
from nerode.languages import Word

APERIODIC = "x^(ω+1) = x^ω"
LOCALLY_THRESHOLD_TESTABLE = f"{APERIODIC}, x^ω p y^ω u x^ω q y^ω = x^ω q y^ω u x^ω p y^ω"
DA = "(xy)^ω x (xy)^ω = (xy)^ω"
DOT_DEPTH_ONE = (
    "(x^ω p y^ω q x^ω)^ω x^ω p y^ω s x^ω (x^ω r y^ω s x^ω)^ω = (x^ω p y^ω q x^ω)^ω (x^ω r y^ω s x^ω)^ω"
)

_MOST_WORK = 50_000_000
"""Points of products of two elements that one test may compare."""

_FEW_ELEMENTS = 50
"""Elements and idempotents to look at first."""

_MOST_DETOURS = 200
"""Pairs of a state and a letter from which a short violation is looked for."""

_PAIR_WORK = 2_000
"""What looking at one pair of idempotents costs on top, in the same unit."""


def da(subject: ExaminedLanguage) -> Evidence:
    """Decides whether two variables of first-order logic suffice.

    That is so exactly when an R-class with an idempotent has no other elements than idempotents. If s is
    not idempotent, e is, and e = st, then (st)^ω s (st)^ω = se, and se = e would make s idempotent.

    Implements: [Schutzenberger1976], [TherienWilke1998]
    """
    if subject.is_partially_ordered():
        return member()
    if subject.counter is not None:
        loop = subject.counter.loop
        return violation(subject, DA, {"x": loop, "y": loop})
    if (words := _two_letter_detour(subject)) is not None:
        return violation(subject, DA, words)
    elements = subject.elements
    idempotent = elements.is_idempotent
    has_idempotent = np.zeros(len(idempotent), dtype=np.bool_)
    has_idempotent[elements.r_class[idempotent]] = True
    others = np.flatnonzero(has_idempotent[elements.r_class] & ~idempotent & elements.inside)
    if not len(others):
        return member(SEMIGROUP)
    s = int(others[0])
    e = int(np.flatnonzero(idempotent & (elements.r_class == elements.r_class[s]))[0])
    return violation(subject, DA, {"x": elements.word(s), "y": _found(elements.path(s, e))}, SEMIGROUP)


def _two_letter_detour(subject: ExaminedLanguage) -> dict[str, Word] | None:
    """Returns a letter x and a word y that violate the identity, if one of some obvious choices does.

    From a state p the letter x leads to r and y, a shortest way, back to p. The identity fails if going on
    with xy from r ends elsewhere. This spares large automata the semigroup.
    """
    tries = 0
    for p in subject.access.order:
        for letter in subject.letters:
            r = subject.rows[p][letter]
            if r == p or subject.component[r] != subject.component[p]:
                continue
            tries += 1
            if tries > _MOST_DETOURS:
                return None
            back = joining_word(subject, r, p)
            while (following := run(subject.rows, r, (letter, *back))) != r:
                r = following
            if r != p:
                return {"x": (letter,), "y": back}
    return None


def locally_threshold_testable(subject: ExaminedLanguage) -> Evidence:
    """Decides whether counting factors of some length up to a threshold decides about every word.

    Two states of one component that a common word fixes exclude it, and local testability implies it;
    both are seen on the automaton.

    Implements: [BeauquierPin1989], [TherienWeiss1985]
    """
    if subject.counter is not None:
        return violation(subject, APERIODIC, {"x": subject.counter.loop})
    if (words := joined_fixed_states(subject)) is not None:
        x, p, q = words
        return violation(subject, LOCALLY_THRESHOLD_TESTABLE, {"x": x, "y": x, "p": p, "q": q, "u": x})
    if local.locally_testable(subject).holds:
        return member()
    elements = subject.elements
    spent = 0
    for e, f, most in _pairs(elements):
        there = elements.between(e, f)[:most]
        # Where e = f the condition says that eSe is commutative.
        back = np.array([e]) if e == f else elements.between(f, e)
        # Elements of eS are determined by what they do on the image of e.
        points = np.unique(elements.maps[e])
        spent += _PAIR_WORK + len(there) ** 2 * len(back) * len(points)
        _afford(subject, spent)
        if (found := _not_exchangeable(elements, there, back, points)) is not None:
            words_by_role = dict(zip("xypqu", map(elements.word, (e, f, *found)), strict=True))
            return violation(subject, LOCALLY_THRESHOLD_TESTABLE, words_by_role, SEMIGROUP)
    return member(SEMIGROUP)


def _pairs(elements: Elements) -> Iterator[tuple[int, int, int | None]]:
    """Yields the pairs of representatives, with how many elements to look at; None for all.

    Most violations show on short words and on equal idempotents, so these come first.
    """
    found = elements.representatives
    yield from ((e, e, _FEW_ELEMENTS) for e in found[:_FEW_ELEMENTS])
    yield from ((e, e, None) for e in found)
    yield from ((e, f, None) for e, f in itertools.permutations(found, 2))


def _not_exchangeable(
    elements: Elements, there: Numbers, back: Numbers, points: Numbers
) -> tuple[int, int, int] | None:
    """Returns p, q, u with p u q ≠ q u p, or None."""
    if len(there) < 2:
        return None
    for u in back.tolist():
        half = elements.maps[u][elements.maps[np.ix_(there, points)]]
        products = elements.maps[there][:, half]
        different = (products != products.transpose(1, 0, 2)).any(axis=2)
        if different.any():
            i, j = np.argwhere(different)[0].tolist()
            return int(there[i]), int(there[j]), u
    return None


def dot_depth_one(subject: ExaminedLanguage) -> Evidence:
    """Decides whether the language has dot-depth one.

    In the identity A = (epfqe)^ω and B = (erfse)^ω are idempotents of eSe, α = Ap ranges over the elements of
    eSf in the R-class of A, and β = sB over those of fSe in the L-class of B. So the condition is αβ = AB
    for all such α and β.

    Implements: [Knast1983]
    """
    if subject.counter is not None:
        return _counter_has_no_dot_depth_one(subject, subject.counter.loop)
    if piecewise.piecewise_testable(subject).holds or local.locally_testable(subject).holds:
        return member()
    elements = subject.elements
    spent = 0
    for e, f, most in _pairs(elements):
        idempotents = elements.between(e, e)
        idempotents = idempotents[elements.is_idempotent[idempotents]]
        A, alpha = _related(idempotents, elements.between(e, f)[:most], elements.r_class)
        B, beta = _related(idempotents, elements.between(f, e)[:most], elements.l_class)
        points = np.unique(elements.maps[e])
        spent += _PAIR_WORK + len(A) * len(B) * len(points)
        _afford(subject, spent)
        start, end = elements.maps[np.ix_(alpha, points)], elements.maps[np.ix_(A, points)]
        for j in range(len(B)):
            different = (elements.maps[beta[j]][start] != elements.maps[B[j]][end]).any(axis=1)
            if different.any():
                i = int(np.argmax(different))
                words = _knast_words(elements, e, f, (A[i], alpha[i]), (B[j], beta[j]))
                return violation(subject, DOT_DEPTH_ONE, words, SEMIGROUP)
    return member(SEMIGROUP)


def _related(idempotents: Numbers, arrows: Numbers, label: Labels) -> tuple[Numbers, Numbers]:
    """Returns all pairs of an idempotent and an arrow with equal labels, as two columns."""
    i, j = np.nonzero(label[idempotents][:, None] == label[arrows][None, :])
    return idempotents[i], arrows[j]


def _knast_words(
    elements: Elements, e: int, f: int, first: tuple[int, int], second: tuple[int, int]
) -> dict[str, Word]:
    A, alpha = map(int, first)
    B, beta = map(int, second)
    # q leads from α to A. If they are equal then A itself does, since then Af = A.
    q = _found(elements.path(alpha, A)) or elements.word(A)
    r = _found(elements.path_in_front(beta, B)) or elements.word(B)
    return {
        "x": elements.word(e),
        "y": elements.word(f),
        "p": elements.word(alpha),
        "q": q,
        "r": r,
        "s": elements.word(beta),
    }


def _counter_has_no_dot_depth_one(subject: ExaminedLanguage, loop: Word) -> Evidence:
    """With x = y = p = q = r = v the sides are v^ω p s and v^ω: s = v or s = vv tells them apart."""
    words = dict.fromkeys("xypqrs", loop)
    if not violates(subject, DOT_DEPTH_ONE, words):
        words["s"] = loop * 2
    return violation(subject, DOT_DEPTH_ONE, words)


def _found(word: Word | None) -> Word:
    if word is None:
        raise AssertionError("two elements of one R-class or L-class are not joined by a word")
    return word


def _afford(subject: ExaminedLanguage, work: int) -> None:
    subject.budget.check_time()
    if work > _MOST_WORK:
        raise BudgetExceeded("compared points", _MOST_WORK, remedy="the semigroup is too large for this test")


STAR_FREE = APERIODIC
SOLVABLE = "every group inside is solvable"
COMMUTATIVE = "xy = yx"


def star_free(subject: ExaminedLanguage) -> Evidence:
    """Decides whether the language is star-free.

    Implements: [Schutzenberger1965]
    """
    counter = subject.counter
    if counter is None:
        return member()
    witness = {"x": counter.loop, "before": counter.prefix, "after": counter.suffix}
    says = f"{between('xⁿ', witness)} changes between in and out of L with period {counter.period}"
    return non_member(subject, witness, says)


def solvable(subject: ExaminedLanguage) -> Evidence:
    """Decides whether all groups inside the syntactic monoid are solvable.

    Implements: [BarringtonTherien1988]
    """
    search = subject.groups
    for group in search.groups:
        if not group.structure.solvable:
            return _unsolvable(subject, group)
    if search.stopped_by is not None:
        raise search.stopped_by
    return member()


def _unsolvable(subject: ExaminedLanguage, group: GroupInside) -> Evidence:
    points = set(group.points)
    for word in group.generators:
        action = subject.action(word)
        if {action[q] for q in points} != points:
            raise AssertionError(f"the word {word} does not permute the states {group.points}")
    witness = {f"g{i}": word for i, word in enumerate(group.generators, start=1)}
    states = ", ".join(map(str, sorted(points)))
    says = (
        f"these words permute the states {states} and generate {group.structure.name}, which is not solvable"
    )
    return non_member(subject, witness, says)


def commutative(subject: ExaminedLanguage) -> Evidence:
    """Decides whether the order of the letters plays no part in membership.

    Implements: [Pin1986]
    """
    for (i, first), (j, second) in itertools.combinations(enumerate(subject.columns), 2):
        if not np.array_equal(second[first], first[second]):
            return violation(subject, COMMUTATIVE, {"x": (subject.letters[i],), "y": (subject.letters[j],)})
    return member()


QUASI_APERIODIC = "(x^(ω-1) y)^(ω+1) = (x^(ω-1) y)^ω"
CONDITION = f"{QUASI_APERIODIC} for words x and y of one length"

Circuit = tuple[tuple[int, ...], Permutation]


def quasi_aperiodic(subject: ExaminedLanguage) -> Evidence:
    """Decides whether words of one length never act as a non-trivial group.

    Implements: [BarringtonCompton1992]
    """
    if subject.counter is None:
        return member()
    for action in component_actions(subject.dfa):
        orbit = ImageOrbit(action, subject.budget)
        orbit.explore_affordable()
        for image_class in orbit.classes():
            if image_class.moving_edge() is not None and not _is_cyclic(image_class):
                x, y = _equal_lengths(image_class)
                return violation(subject, QUASI_APERIODIC, {"x": action.word(x), "y": action.word(y)})
    return member()


def _is_cyclic(image_class: ImageClass) -> bool:
    """Whether the group of pairs (permutation, length) of a class is cyclic."""
    depth = image_class.depth
    identity = tuple(range(image_class.degree))
    g, length = identity, 0
    for edge in image_class.edges():
        source, _, target = edge
        h, steps = image_class.generator(edge), depth[source] + 1 - depth[target]
        if steps < 0:
            h, steps = invert(h), -steps
        if steps == 0 or length == 0:
            if steps == 0 and h != identity:
                return False
            g, length = (h, steps) if length == 0 else (g, length)
            continue
        common, a, b = _bezout(length, steps)
        joint = compose(_integer_power(g, a), _integer_power(h, b))
        if power(joint, length // common) != g or power(joint, steps // common) != h:
            return False
        g, length = joint, common
    return True


def _bezout(a: int, b: int) -> tuple[int, int, int]:
    """Returns gcd(a, b) = g and coefficients s, t with s·a + t·b = g."""
    s, next_s, t, next_t = 1, 0, 0, 1
    while b:
        quotient = a // b
        a, b = b, a - quotient * b
        s, next_s = next_s, s - quotient * next_s
        t, next_t = next_t, t - quotient * next_t
    return a, s, t


def _integer_power(g: Permutation, exponent: int) -> Permutation:
    return power(g, exponent % permutation_order(g))


def _equal_lengths(image_class: ImageClass) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns two circuits of one length that permute the root differently.

    If two circuits do not commute, their two products will do. If all commute, then the group of pairs is
    cyclic as soon as each two circuits, brought to one length by the least powers, act alike: for each
    prime p compare with a circuit whose length has the fewest factors p.
    """
    circuits: list[Circuit] = []
    seen = set()
    for circuit in sorted(map(image_class.circuit, image_class.edges()), key=lambda c: (len(c[0]), c[0])):
        key = (len(circuit[0]), circuit[1])
        if key in seen:
            continue
        seen.add(key)
        for other in circuits:
            if (pair := _same_length(other, circuit)) is not None:
                return pair
        circuits.append(circuit)
    raise AssertionError("the group of pairs is not cyclic, but each two circuits of one length agree")


def _same_length(first: Circuit, second: Circuit) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    (v, g), (w, h) = first, second
    common = math.gcd(len(v), len(w))
    i, j = len(w) // common, len(v) // common
    if power(g, i) != power(h, j):
        return v * i, w * j
    if compose(g, h) != compose(h, g):
        return v + w, w + v
    return None
