"""R-trivial and L-trivial languages, and those with at most one idempotent in each R-class."""

from __future__ import annotations

from operator import itemgetter

from nerode.algebra.classes.evidence import Evidence, member, violation
from nerode.algebra.classes.merging import joining_word
from nerode.algebra.classes.subject import Subject
from nerode.algebra.components import component_labels
from nerode.core import BudgetExceeded
from nerode.languages import Word

R_TRIVIAL = "(xy)^ω x = (xy)^ω"
L_TRIVIAL = "y (xy)^ω = (xy)^ω"
ONE_IDEMPOTENT_PER_R_CLASS = "(x^ω y^ω)^ω x^ω = (x^ω y^ω)^ω"
APERIODIC = "x^(ω+1) = x^ω"
R_INFINITY = f"{APERIODIC}, {ONE_IDEMPOTENT_PER_R_CLASS}"

_MOST_REVERSED_STATES = 20_000


def r_trivial(subject: Subject) -> Evidence:
    """Decides whether the syntactic monoid is R-trivial: the minimal automaton has no cycles but loops.

    Implements: [BrzozowskiFich1980]
    """
    if (words := joined_states(subject)) is not None:
        return violation(subject, R_TRIVIAL, words)
    return member()


def joined_states(subject: Subject) -> dict[str, Word] | None:
    """Returns words x and y that lead from some state to another one and back; None if there are none."""
    for q in subject.access.order:
        for letter, target in enumerate(subject.rows[q]):
            if target != q and subject.component[target] == subject.component[q]:
                return {"x": (letter,), "y": joining_word(subject, target, q)}
    return None


def l_trivial(subject: Subject) -> Evidence:
    """Decides whether the syntactic monoid is L-trivial: the reversed language is R-trivial.

    The states of the automaton of the reversed language are the sets of states from which one word is
    accepted. They are as many as that automaton has states.

    Implements: [Pin1986]
    """
    if (counter := subject.known_counter) is not None:
        return violation(subject, L_TRIVIAL, {"x": counter.loop, "y": counter.loop})
    sets, edges = _accepted_from(subject)
    labels = component_labels(edges)
    if len(set(labels)) == len(sets):
        return member()
    for source, targets in enumerate(edges):
        for j, target in enumerate(targets):
            if target != source and labels[target] == labels[source]:
                # Reading backwards: the letter y is put in front, then x leads back to the same set.
                back = _path(edges, target, source)
                x = tuple(subject.letters[i] for i in reversed(back))
                return violation(subject, L_TRIVIAL, {"x": x, "y": (subject.letters[j],)})
    raise AssertionError("a component of two sets has no edge inside")


def _accepted_from(subject: Subject) -> tuple[list[int], list[list[int]]]:
    """Returns the sets {q : qw accepts} as bitmasks, and where putting a letter in front of w leads."""
    n = subject.dfa.num_states
    before = [[0] * n for _ in subject.letters]
    for j, column in enumerate(subject.columns.tolist()):
        for q, target in enumerate(column):
            before[j][target] |= 1 << q
    start = sum(1 << q for q, accepts in enumerate(subject.accepting) if accepts)
    number = {start: 0}
    sets = [start]
    edges: list[list[int]] = []
    limit = min(_MOST_REVERSED_STATES, subject.budget.states)
    for mask in sets:
        if len(sets) > limit:
            raise BudgetExceeded(
                "states", limit, known_so_far={"states of the reversed automaton": len(sets)}
            )
        subject.budget.check_time()
        members = [q for q, bit in enumerate(reversed(f"{mask:b}")) if bit == "1"]
        row = []
        for table in before:
            # Preimages of distinct states are disjoint: their sum is their union.
            image = sum(itemgetter(*members)(table)) if len(members) > 1 else sum(table[q] for q in members)
            if image not in number:
                number[image] = len(sets)
                sets.append(image)
            row.append(number[image])
        edges.append(row)
    return sets, edges


def _path(edges: list[list[int]], source: int, target: int) -> list[int]:
    came_from = {source: (source, -1)}
    for node in (order := [source]):
        for j, following in enumerate(edges[node]):
            if following not in came_from:
                came_from[following] = (node, j)
                order.append(following)
    way = []
    while target != source:
        target, j = came_from[target]
        way.append(j)
    return way[::-1]


def one_idempotent_per_r_class(subject: Subject) -> Evidence:
    """Decides whether no two idempotents of the syntactic semigroup share an R-class.

    That is so exactly when each letter is injective on the states of a component that it keeps inside.
    If two states meet, words lead from the meeting point back to each of them: two idempotents of one
    R-class. Conversely the images of a state under two such idempotents lie in one component and meet.
    """
    if (words := _meeting(subject)) is not None:
        return violation(subject, ONE_IDEMPOTENT_PER_R_CLASS, words)
    return member()


def r_infinity(subject: Subject) -> Evidence:
    """Decides whether the language is star-free and no two idempotents share an R-class."""
    if (words := _meeting(subject)) is not None:
        return violation(subject, R_INFINITY, {**words})
    if subject.counter is not None:
        return violation(subject, APERIODIC, {"x": subject.counter.loop})
    return member()


def _meeting(subject: Subject) -> dict[str, Word] | None:
    component = subject.component
    for letter in subject.letters:
        source_of: dict[int, int] = {}
        for q in subject.access.order:
            target = subject.rows[q][letter]
            if component[target] != component[q]:
                continue
            other = source_of.setdefault(target, q)
            if other != q:
                return {
                    "x": (letter, *joining_word(subject, target, other)),
                    "y": (letter, *joining_word(subject, target, q)),
                }
    return None
