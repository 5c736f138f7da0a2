"""Classes given by the groups inside: star-free, solvable, group languages; and the commutative ones."""

from __future__ import annotations

import itertools

import numpy as np

from nerode.algebra.classes.evidence import AUTOMATON, Evidence, between, describe_words, member, violation
from nerode.algebra.classes.ordered import APERIODIC
from nerode.algebra.classes.subject import Subject
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
