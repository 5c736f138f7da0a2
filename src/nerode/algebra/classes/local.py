"""Local languages, decided on pairs of states: strictly local, locally testable, definite, finite ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nerode.algebra.classes.merging import (
    IGNORED,
    check_pairs,
    joined_fixed_states,
    joining_word,
    merging,
    row_classes,
)
from nerode.algebra.classes.subject import (
    Evidence,
    ExaminedLanguage,
    between,
    member,
    non_member,
    omega_power,
    remembered,
    violates,
    violation,
)
from nerode.algebra.components import (
    Numbers,
    PartialAction,
    distinguishing_word,
    loop_word,
    run,
    tuple_path,
    word_with_answer,
)
from nerode.algebra.groups_inside import pair_labels
from nerode.languages import Word

STRICTLY_LOCAL = "if u x^ω v and u' x^ω v' are in L, so is u x^ω v'"
LOCALLY_TESTABLE = "x^ω y x^ω y x^ω = x^ω y x^ω, x^ω y x^ω z x^ω = x^ω z x^ω y x^ω"

Pair = tuple[int, int]
Flags = npt.NDArray[np.bool_]


def strictly_local(subject: ExaminedLanguage) -> Evidence:
    """Decides whether the factors of some length k, with both ends marked, decide about every word.

    That is so exactly when any k-1 letters merge all states that they keep alive: what may follow then
    depends on these letters only. The least k ≥ 1 is the parameter.

    Implements: [McNaughton1974], [Caron2000]
    """
    found = merging(subject, np.where(subject.dfa.live, 0, IGNORED))
    if found.length is not None:
        return member(parameter=found.length + 1)
    if found.stuck is None:
        raise AssertionError("pairs that never merge, but none is stuck")
    return _no_substitution(subject, found.stuck, found.loop)


def _no_substitution(subject: ExaminedLanguage, pair: Pair, loop: Word) -> Evidence:
    p, q = pair
    last = distinguishing_word(subject.dfa, subject.rows, p, q)
    if last is None:
        raise AssertionError(f"{subject.dfa!r} is not minimal")
    if subject.accepting[run(subject.rows, p, last)]:
        p, q = q, p
    first = word_with_answer(subject.dfa, subject.rows, p, True)
    if first is None:
        raise AssertionError(f"state {p} of {subject.dfa!r} is not live")
    witness = {
        "x": loop,
        "u": subject.access.word(p),
        "v": first,
        "u'": subject.access.word(q),
        "v'": last,
    }
    answers = [
        subject.dfa.accepts(witness[before] + witness["x"] * n + witness[after])
        for n in (1, 2)
        for before, after in (("u", "v"), ("u'", "v'"), ("u", "v'"))
    ]
    if answers != [True, True, False] * 2:
        raise AssertionError(f"the words {witness} do not show that {subject.dfa!r} is not strictly local")
    says = "u xⁿ v and u' xⁿ v' are in L for every n, u xⁿ v' for none"
    return non_member(subject, witness, says)


@remembered
def locally_testable(subject: ExaminedLanguage) -> Evidence:
    """Decides whether the set of factors of some length k, with the two ends, decides about every word.

    Two conditions on pairs (p, q) of distinct states that some non-empty word fixes: p and q lie in
    different components; and if p reaches q, then the words that keep p able to reach q are the words
    that keep q inside its component. Where no letter leads away from a cycle, the first one is enough.

    Implements: [KimMcNaughtonMcCloskey1991], in the form of [Trahtman2001]
    """
    n = subject.dfa.num_states
    if (fixed := joined_fixed_states(subject)) is not None:
        x, forth, back = fixed
        words = {"x": x, "y": forth, "z": back}
        if not violates(subject, LOCALLY_TESTABLE, words):
            words = {"x": x, "y": back, "z": forth}
        return violation(subject, LOCALLY_TESTABLE, words)
    component = np.array(subject.component)
    on_cycle = np.array(subject.on_cycle)
    if (component[subject.columns[:, on_cycle]] == component[on_cycle]).all():
        return member()
    check_pairs(len(subject.letters), n * n)
    reaches = _reachability(subject)
    sources = _fixed_pairs(subject) & reaches & (component[:, None] != component[None, :])
    pair = _pair_with_unequal_spans(subject, reaches, component, sources)
    if pair is None:
        return member()
    return violation(subject, LOCALLY_TESTABLE, _unequal_words(subject, reaches, *pair))


def _reachability(subject: ExaminedLanguage) -> Flags:
    """Returns `reaches[p, q]`: whether some word, maybe empty, leads from p to q."""
    labels = subject.component
    found = np.zeros((len(subject.component_sizes),) * 2, dtype=np.bool_)
    by_component: list[set[int]] = [set() for _ in subject.component_sizes]
    for q, row in enumerate(subject.rows):
        by_component[labels[q]].update(labels[target] for target in row)
    for label, targets in enumerate(by_component):
        for target in targets - {label}:
            found[label] |= found[target]
        found[label, label] = True
    return found[np.ix_(labels, labels)]


def _fixed_pairs(subject: ExaminedLanguage) -> Flags:
    """Returns which ordered pairs of distinct states some non-empty word fixes."""
    n = subject.dfa.num_states
    maps = tuple(tuple(column) for column in subject.columns.tolist())
    action = PartialAction(states=tuple(range(n)), letters=subject.letters, maps=maps)
    labels = pair_labels(action)
    fixed = np.bincount(labels.ravel(), minlength=n * n)[labels] > 1
    for column in subject.columns:
        loops = column == np.arange(n)
        fixed |= loops[:, None] & loops[None, :]
    np.fill_diagonal(fixed, False)
    return fixed


def _pair_with_unequal_spans(
    subject: ExaminedLanguage, reaches: Flags, component: npt.NDArray[np.int64], sources: Flags
) -> Pair | None:
    """Returns a source (p, q) for which some word keeps exactly one of p and q able to reach q; or None.

    All sources are followed at once: while a pair (x, y) on the way is of interest, y is still in the
    component of its source, so that the pair itself says what has to be reached.
    """
    n = len(reaches)
    origin = np.full(n * n, -1, dtype=np.int64)
    frontier = np.flatnonzero(sources)
    origin[frontier] = frontier
    while len(frontier):
        found = []
        for column in subject.columns:
            x, y = column[frontier // n], column[frontier % n]
            old = frontier % n
            first, second = reaches[x, old], component[y] == component[old]
            if (first != second).any():
                p, q = divmod(int(origin[frontier[np.argmax(first != second)]]), n)
                return p, q
            going_on = np.flatnonzero(first & (x != y))
            target = (x * n + y)[going_on]
            new = origin[target] < 0
            origin[target[new]] = origin[frontier[going_on[new]]]
            found.append(target[new])
        frontier = np.unique(np.concatenate(found))
    return None


def _unequal_words(subject: ExaminedLanguage, reaches: Flags, p: int, q: int) -> dict[str, Word]:
    """Returns words that violate local testability at a fixed pair with unequal spans.

    A word s that takes exactly one of p and q to a place from which q can be reached is extended to a
    return to q. If q returns, "go to q" and "go round" do not commute at p. If p does, going there once
    and going there twice differ.
    """
    can_reach = reaches[:, q].tolist()
    s = tuple_path(subject.rows, (p, q), lambda pair: can_reach[pair[0]] != can_reach[pair[1]])
    loop = loop_word(subject.rows, (p, q))
    if s is None or loop is None:
        raise AssertionError(f"the states {p}, {q} of {subject.dfa!r} are no fixed pair with unequal spans")
    end_p, end_q = run(subject.rows, p, s), run(subject.rows, q, s)
    if can_reach[end_q]:
        around = s + joining_word(subject, end_q, q)
        return {"x": loop, "y": joining_word(subject, p, q), "z": around}
    there = s + joining_word(subject, end_p, q)
    return {"x": loop, "y": there, "z": there}


DEFINITE = "y x^ω = x^ω"
FINITE = "no accepting state is reachable from a cycle"


def definite(subject: ExaminedLanguage) -> Evidence:
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


def _never_merged(subject: ExaminedLanguage, labels: Numbers) -> Evidence:
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


def finite(subject: ExaminedLanguage) -> Evidence:
    """Decides whether the language has finitely many words."""
    for q in subject.access.order:
        if not subject.on_cycle[q]:
            continue
        after = word_with_answer(subject.dfa, subject.rows, q, True)
        if after is None:
            continue
        witness = {"x": _loop(subject, q), "before": subject.access.word(q), "after": after}
        if (
            run(subject.rows, q, witness["x"]) != q
            or run(subject.rows, subject.dfa.start, witness["before"]) != q
        ):
            raise AssertionError(f"the loop {witness} does not hold in {subject.dfa!r}")
        return non_member(subject, witness, f"{between('xⁿ', witness)} is in L for every n")
    return member()


def _loop(subject: ExaminedLanguage, *states: int) -> Word:
    loop = loop_word(subject.rows, states)
    if loop is None:
        raise AssertionError(f"no word fixes the states {states} of {subject.dfa!r}")
    return loop
