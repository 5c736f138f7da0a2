"""Classes given by the groups inside: star-free, solvable, group and commutative languages, quasi-aperiodic.

A language is quasi-aperiodic (regular and in AC⁰) when no set of words of one length acts as a non-trivial
group. On a class of images, let H be the group of pairs (permutation of the root, length) of the words that
come back to it, a subgroup of G × ℤ. Words of one length act alike exactly when H has no element (g, 0) with
g ≠ 1, that is, when H has no torsion, that is, when H is cyclic. So it is enough to look at pairs of
generators, and the monoid is never needed.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from nerode.algebra.classes.evidence import AUTOMATON, Evidence, between, describe_words, member, violation
from nerode.algebra.classes.piecewise import APERIODIC
from nerode.algebra.classes.subject import Subject
from nerode.algebra.components import component_actions
from nerode.algebra.images import ImageClass, ImageOrbit
from nerode.algebra.permutations import Permutation, compose, invert, permutation_order, power
from nerode.algebra.records import GroupInside

STAR_FREE = APERIODIC
SOLVABLE = "every group inside is solvable"
GROUP_LANGUAGE = "x^ω = 1"
COMMUTATIVE = "xy = yx"


def star_free(subject: Subject) -> Evidence:
    """Decides whether the language is star-free.

    Implements: [Schutzenberger1965]
    """
    counter = subject.counter
    if counter is None:
        return member()
    witness = {"x": counter.loop, "before": counter.prefix, "after": counter.suffix}
    return Evidence(
        holds=False,
        method=AUTOMATON,
        witness=witness,
        explanation=f"{describe_words(subject, witness)}: {between('xⁿ', witness)} changes between in and "
        f"out of L with period {counter.period}",
    )


def solvable(subject: Subject) -> Evidence:
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


def _unsolvable(subject: Subject, group: GroupInside) -> Evidence:
    points = set(group.points)
    for word in group.generators:
        action = subject.action(word)
        if {action[q] for q in points} != points:
            raise AssertionError(f"the word {word} does not permute the states {group.points}")
    witness = {f"g{i}": word for i, word in enumerate(group.generators, start=1)}
    return Evidence(
        holds=False,
        method=AUTOMATON,
        witness=witness,
        explanation=f"{describe_words(subject, witness)}: these words permute the states "
        f"{', '.join(map(str, sorted(points)))} and generate {group.structure.name}, which is not solvable",
    )


def group_language(subject: Subject) -> Evidence:
    """Decides whether the syntactic monoid is a group: every letter permutes the states.

    Implements: [Pin1986]
    """
    n = subject.dfa.num_states
    for letter, column in zip(subject.letters, subject.columns, strict=True):
        if len(np.unique(column)) < n:
            return violation(subject, GROUP_LANGUAGE, {"x": (letter,)})
    return member()


def commutative(subject: Subject) -> Evidence:
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


def quasi_aperiodic(subject: Subject) -> Evidence:
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
