"""The result of a class test: the answer, and for a "no" words that were checked to violate the identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nerode.algebra.classes.subject import Subject
from nerode.algebra.components import distinguishing_word, run
from nerode.algebra.identities import evaluate, parse_identity
from nerode.languages import Word

AUTOMATON = "automaton"
SEMIGROUP = "semigroup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The outcome of one class test; see Membership for the meaning of the fields."""

    holds: bool
    method: str
    parameter: int | None = None
    witness: Mapping[str, Word] = field(default_factory=dict, hash=False)
    explanation: str = ""


def member(method: str = AUTOMATON, parameter: int | None = None, explanation: str = "") -> Evidence:
    """Returns a "yes"."""
    return Evidence(holds=True, method=method, parameter=parameter, explanation=explanation)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """A state from which the two sides of an equation lead to different states."""

    state: int
    left: str
    right: str
    left_end: int
    right_end: int


def violates(subject: Subject, identity: str, assignment: Mapping[str, Word]) -> bool:
    """Whether these words for the variables violate the identity."""
    return _difference(subject, identity, assignment) is not None


def violation(
    subject: Subject, identity: str, assignment: Mapping[str, Word], method: str = AUTOMATON
) -> Evidence:
    """Returns a "no", after checking that these words violate the identity.

    The witness has a word for each variable, and the words `before` and `after` that make the difference
    visible: one side of the identity between them gives a word of the language, the other side does not.
    """
    found = _difference(subject, identity, assignment)
    if found is None:
        raise AssertionError(f"the words {dict(assignment)} do not violate {identity} in {subject.dfa!r}")
    after = distinguishing_word(subject.dfa, subject.rows, found.left_end, found.right_end)
    if after is None:
        raise AssertionError(f"{subject.dfa!r} is not minimal")
    witness = {**assignment, "before": subject.access.word(found.state), "after": after}
    inside, outside = found.left, found.right
    if not subject.accepting[run(subject.rows, found.left_end, after)]:
        inside, outside = outside, inside
    return Evidence(
        holds=False,
        method=method,
        witness=witness,
        explanation=f"{describe_words(subject, witness)}: {between(inside, witness)} is in L, "
        f"{between(outside, witness)} is not",
    )


def _difference(subject: Subject, identity: str, assignment: Mapping[str, Word]) -> _Difference | None:
    """Returns the state nearest to the start at which an equation fails, of the first one that fails."""
    values = {variable: subject.action(word) for variable, word in assignment.items()}
    n = subject.dfa.num_states
    for (left_text, left), (right_text, right) in parse_identity(identity):
        if not left.variables | right.variables <= values.keys():
            continue
        here, there = evaluate(left, values, n), evaluate(right, values, n)
        for q in subject.access.order:
            if here[q] != there[q]:
                return _Difference(
                    state=q, left=left_text, right=right_text, left_end=here[q], right_end=there[q]
                )
    return None


def describe_words(subject: Subject, words: Mapping[str, Word]) -> str:
    """Returns the words of a witness as text, empty contexts left out."""
    decode = subject.dfa.alphabet.decode
    shown = {role: word for role, word in words.items() if word or role not in ("before", "after")}
    return ", ".join(f"{role} = {decode(word)}" for role, word in shown.items())


def between(side: str, witness: Mapping[str, Word]) -> str:
    """Returns a side of an identity in its context as text, empty contexts left out."""
    parts = ["before"] * bool(witness["before"]) + [side] + ["after"] * bool(witness["after"])
    return " · ".join(parts)
