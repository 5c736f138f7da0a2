"""Definite, reverse definite and generalised definite languages, finite and cofinite ones."""

from __future__ import annotations

import numpy as np

from nerode.algebra.classes.evidence import AUTOMATON, Evidence, between, describe_words, member, violation
from nerode.algebra.classes.merging import Numbers, joined_fixed_states, row_classes
from nerode.algebra.classes.subject import Subject
from nerode.algebra.identities import omega_power
from nerode.algebra.paths import loop_word, run, word_with_answer
from nerode.languages import Word

DEFINITE = "y x^ω = x^ω"
REVERSE_DEFINITE = "x^ω y = x^ω"
GENERALISED_DEFINITE = "x^ω y x^ω = x^ω"
FINITE = "no accepting state is reachable from a cycle"
COFINITE = "no rejecting state is reachable from a cycle"


def definite(subject: Subject) -> Evidence:
    """Decides whether the last k letters decide about every word of at least k letters.

    That is so exactly when all words of length k take all states to one; the least k is the parameter.
    States that all words of length i merge form the classes of a partition, and the partition for i + 1
    is read off from that for i.

    Implements: [PerlesRabinShamir1963]
    """
    labels = np.arange(subject.dfa.num_states)
    length = 0
    while labels.max() > 0:
        coarser = row_classes(labels[subject.columns])
        if coarser.max() == labels.max():
            return _never_merged(subject, labels)
        labels, length = coarser, length + 1
    return member(parameter=length)


def _never_merged(subject: Subject, labels: Numbers) -> Evidence:
    """Returns the words that fix two states, found by walking along pairs of different classes."""
    other = int(np.flatnonzero(labels != labels[0])[0])
    pair: tuple[int, int] = (0, other)
    seen = set()
    while pair not in seen:
        seen.add(pair)
        targets = zip(subject.rows[pair[0]], subject.rows[pair[1]], strict=True)
        pair = next((p, q) for p, q in targets if labels[p] != labels[q])
    loop = _loop(subject, *pair)
    home = omega_power(subject.action(loop))[subject.dfa.start]
    apart = next(q for q in pair if q != home)
    return violation(subject, DEFINITE, {"x": loop, "y": subject.access.word(apart)})


def reverse_definite(subject: Subject) -> Evidence:
    """Decides whether the first k letters decide about every word of at least k letters.

    That is so exactly when every state on a cycle is fixed by all letters; k is the longest way there.

    Implements: [Pin1986]
    """
    for q in subject.access.order:
        if subject.on_cycle[q] and not subject.sink[q]:
            leaving = next(letter for letter, target in enumerate(subject.rows[q]) if target != q)
            return violation(subject, REVERSE_DEFINITE, {"x": _loop(subject, q), "y": (leaving,)})
    longest = [0] * subject.dfa.num_states
    for q in sorted(range(len(longest)), key=subject.component.__getitem__):
        if not subject.sink[q]:
            longest[q] = 1 + max(longest[target] for target in subject.rows[q])
    return member(parameter=longest[subject.dfa.start])


def generalised_definite(subject: Subject) -> Evidence:
    """Decides whether the first k and the last k letters decide about every word of at least 2k letters.

    That is so exactly when no word leads away from a cycle for good, and long words merge the states of
    each component.

    Implements: [Pin1986]
    """
    component = subject.component
    for q in subject.access.order:
        if subject.on_cycle[q]:
            for letter, target in enumerate(subject.rows[q]):
                if component[target] != component[q]:
                    return violation(subject, GENERALISED_DEFINITE, {"x": _loop(subject, q), "y": (letter,)})
    if (words := joined_fixed_states(subject)) is None:
        return member()
    fixing, forth, _ = words
    return violation(subject, GENERALISED_DEFINITE, {"x": fixing, "y": forth})


def finite(subject: Subject) -> Evidence:
    """Decides whether the language has finitely many words."""
    return _bounded(subject, accepted=True)


def cofinite(subject: Subject) -> Evidence:
    """Decides whether the complement has finitely many words."""
    return _bounded(subject, accepted=False)


def _bounded(subject: Subject, *, accepted: bool) -> Evidence:
    for q in subject.access.order:
        if not subject.on_cycle[q]:
            continue
        after = word_with_answer(subject.dfa, subject.rows, q, accepted)
        if after is None:
            continue
        witness = {"x": _loop(subject, q), "before": subject.access.word(q), "after": after}
        if (
            run(subject.rows, q, witness["x"]) != q
            or run(subject.rows, subject.dfa.start, witness["before"]) != q
        ):
            raise AssertionError(f"the loop {witness} does not hold in {subject.dfa!r}")
        return Evidence(
            holds=False,
            method=AUTOMATON,
            witness=witness,
            explanation=f"{describe_words(subject, witness)}: {between('xⁿ', witness)} is "
            f"{'in L' if accepted else 'outside L'} for every n",
        )
    return member()


def _loop(subject: Subject, *states: int) -> Word:
    loop = loop_word(subject.rows, states)
    if loop is None:
        raise AssertionError(f"no word fixes the states {states} of {subject.dfa!r}")
    return loop
