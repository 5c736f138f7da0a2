"""One minimal automaton with what several class tests share, and the result of such a test.

`Elements` is the syntactic semigroup as the tests see it: idempotents, R- and L-classes, the sets eSf.

An identity is written as in the books: letters are variables that range over non-empty words, ω is the
power that makes an element idempotent, 1 is the empty word. "(xy)^ω x = (xy)^ω" is the identity of the
R-trivial monoids. A violation is an assignment of words to the variables for which the two sides act
differently on some state.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from nerode.algebra.components import (
    AccessTree,
    Numbers,
    Rows,
    component_labels,
    distinguishing_word,
    run,
)
from nerode.algebra.green_relations import cayley_components
from nerode.algebra.groups_inside import GroupSearch, find_counter, search_groups
from nerode.algebra.maps import Numbers as Labels
from nerode.algebra.monoid import TransitionMonoid, transition_monoid
from nerode.algebra.permutations import compose
from nerode.algebra.records import CounterWitness
from nerode.core import Budget, BudgetExceeded, charge, started
from nerode.languages import Dfa, Word

Map = tuple[int, ...]
"""A transformation of the states 0 … n-1 by its images. Words act from left to right."""

_EXPONENTS = {"ω": 0, "(ω+1)": 1, "(ω-1)": -1}


@dataclass(frozen=True, slots=True)
class Term:
    """A product of factors; a factor is a variable or a term, alone (None) or to the power ω + shift."""

    factors: tuple[tuple[str | Term, int | None], ...]

    @property
    def variables(self) -> frozenset[str]:
        """The variables that occur."""
        inner = (frozenset(f) if isinstance(f, str) else f.variables for f, _ in self.factors)
        return frozenset[str]().union(*inner) - {"1"}


@functools.cache
def parse_identity(text: str) -> tuple[tuple[tuple[str, Term], tuple[str, Term]], ...]:
    """Returns the pairs of sides, as (text, term), that an identity equates.

    Args:
        text: equations separated by commas; "l = m = r" stands for "l = m" and "m = r".
    """
    equations = []
    for chain in text.split(","):
        sides = [side.strip() for side in chain.split("=")]
        if len(sides) < 2:
            raise ValueError(f"{chain!r} is not an equation")
        terms = [(side, _parse_term(side)) for side in sides]
        equations += [(terms[i], terms[i + 1]) for i in range(len(terms) - 1)]
    return tuple(equations)


def _parse_term(text: str) -> Term:
    factors: list[tuple[str | Term, int | None]] = []
    rest = text.replace(" ", "")
    while rest:
        factor: str | Term
        if rest[0] == "(":
            end = _closing(rest)
            factor, rest = _parse_term(rest[1:end]), rest[end + 1 :]
        elif rest[0].isalpha() or rest[0] == "1":
            factor, rest = rest[0], rest[1:]
        else:
            raise ValueError(f"{rest!r} in the term {text!r} starts with no variable, 1 or bracket")
        shift = None
        if rest.startswith("^"):
            exponent = next((e for e in _EXPONENTS if rest.startswith(e, 1)), None)
            if exponent is None:
                raise ValueError(
                    f"the exponent in {rest!r} of the term {text!r} is none of {list(_EXPONENTS)}"
                )
            shift, rest = _EXPONENTS[exponent], rest[1 + len(exponent) :]
        factors.append((factor, shift))
    return Term(tuple(factors))


def _closing(text: str) -> int:
    depth = 0
    for i, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return i
    raise ValueError(f"the bracket at the start of {text!r} is not closed")


def evaluate(term: Term, values: Mapping[str, Map], degree: int) -> Map:
    """Returns the map of a term, given the maps of its variables."""
    result = tuple(range(degree))
    for factor, shift in term.factors:
        if factor == "1":
            continue
        value = values[factor] if isinstance(factor, str) else evaluate(factor, values, degree)
        result = compose(result, value if shift is None else omega_power(value, shift))
    return result


def omega_power(x: Map, shift: int = 0) -> Map:
    """Returns x^(ω + shift): the idempotent power of a map, or its neighbour in the same group."""
    return map_power(x, 2 * omega_exponent(x) + shift)


def omega_exponent(x: Map) -> int:
    """Returns some N > 0 for which x^N is idempotent; the least one that is not below the longest tail."""
    image, tail = set(x), 1
    while len(smaller := {x[q] for q in image}) < len(image):
        image, tail = smaller, tail + 1
    period = 1
    while image:
        q = first = image.pop()
        length = 1
        while (q := x[q]) != first:
            image.remove(q)
            length += 1
        period = math.lcm(period, length)
    return period * -(-tail // period)


def map_power(x: Map, exponent: int) -> Map:
    """Returns x composed with itself `exponent` times."""
    result = tuple(range(len(x)))
    while exponent:
        charge()
        if exponent & 1:
            result = compose(result, x)
        x = compose(x, x)
        exponent >>= 1
    return result


class Elements:
    """The elements of a transition monoid that non-empty words reach, by their numbers in the monoid."""

    def __init__(self, monoid: TransitionMonoid) -> None:
        self.monoid = monoid
        self.maps = monoid.elements
        self.right = monoid.distinct_right.astype(np.int64)
        self.inside = monoid.in_semigroup

    @functools.cached_property
    def left(self) -> Numbers:
        """`left[x, c]` is the letter of column c followed by x."""
        return self.monoid.distinct_left.astype(np.int64)

    def word(self, element: int) -> Word:
        """Returns a shortest non-empty word for an element of the semigroup."""
        return self.monoid.word(element) or self._word_for_identity

    @functools.cached_property
    def _word_for_identity(self) -> Word:
        # Only permutations lead back to the identity; from others all elements would be searched in vain.
        ways = [
            self.path(first, 0) if len(set(self.maps[first].tolist())) == self.maps.shape[1] else None
            for first in self.right[0].tolist()
        ]
        words = [(int(self.monoid.letters[c]), *way) for c, way in enumerate(ways) if way is not None]
        return min(words, key=len)

    def path(self, source: int, target: int) -> Word | None:
        """Returns a shortest word w, maybe empty, with source · w = target; None if there is none."""
        return self._way(self.right, source, target)

    def path_in_front(self, source: int, target: int) -> Word | None:
        """Returns a shortest word w, maybe empty, with w · source = target; None if there is none."""
        way = self._way(self.left, source, target)
        return None if way is None else way[::-1]

    def _way(self, graph: Numbers, source: int, target: int) -> Word | None:
        predecessor = {source: (source, -1)}
        for node in (order := [source]):
            if node == target:
                letters = []
                while node != source:
                    node, column = predecessor[node]
                    letters.append(int(self.monoid.letters[column]))
                return tuple(reversed(letters))
            for column, following in enumerate(graph[node].tolist()):
                if following not in predecessor:
                    predecessor[following] = (node, column)
                    order.append(following)
        return None

    @functools.cached_property
    def r_class(self) -> Labels:
        """For each element the number of its R-class."""
        return cayley_components(self.monoid.distinct_right)

    @functools.cached_property
    def l_class(self) -> Labels:
        """For each element the number of its L-class."""
        return cayley_components(self.monoid.distinct_left)

    @functools.cached_property
    def d_class(self) -> Labels:
        """For each element the number of its D-class."""
        return cayley_components(np.hstack([self.monoid.distinct_left, self.monoid.distinct_right]))

    @functools.cached_property
    def is_idempotent(self) -> npt.NDArray[np.bool_]:
        """For each element of the semigroup, whether it is its own square."""
        found: npt.NDArray[np.bool_] = self.monoid.is_idempotent & self.inside
        return found

    @functools.cached_property
    def representatives(self) -> list[int]:
        """One idempotent for each regular D-class.

        Idempotents of one D-class are isomorphic objects of the category whose arrows e → f are the
        elements of eSf, so conditions on that category need no more.
        """
        idempotents = np.flatnonzero(self.is_idempotent)
        _, first = np.unique(self.d_class[idempotents], return_index=True)
        found: list[int] = idempotents[np.sort(first)].tolist()
        return found

    def between(self, e: int, f: int) -> Numbers:
        """Returns the elements of eSf, for idempotents e and f."""
        fixed_by_f = np.zeros(self.maps.shape[1], dtype=np.bool_)
        fixed_by_f[self.maps[f]] = True
        ideal = self._right_ideal(e)
        return ideal[fixed_by_f[self.maps[ideal]].all(axis=1)]

    @functools.cache  # noqa: B019 - an object lives as long as one profile
    def _right_ideal(self, e: int) -> Numbers:
        """Returns the elements of eS."""
        reached = np.zeros(len(self.maps), dtype=np.bool_)
        frontier = np.array([e])
        while len(frontier):
            reached[frontier] = True
            frontier = np.unique(self.right[frontier])
            frontier = frontier[~reached[frontier]]
        return np.flatnonzero(reached & self.inside)


T = TypeVar("T")


def remembered(compute: Callable[[ExaminedLanguage], T]) -> Callable[[ExaminedLanguage], T]:
    """Makes a function of a subject compute its value once for each subject; failures are remembered too."""
    name = f"{compute.__module__}.{compute.__qualname__}"

    @functools.wraps(compute)
    def lookup(subject: ExaminedLanguage) -> T:
        return subject.once(name, lambda: compute(subject))

    return lookup


class ExaminedLanguage:
    """A minimal automaton under the class tests, with all that they share.

    Args:
        dfa: the minimal automaton.
        budget: bounds everything; its `elements` bound the semigroup.
    """

    def __init__(self, dfa: Dfa, budget: Budget | None = None) -> None:
        self.dfa = dfa
        self.budget = started(budget)
        self._found: dict[str, Any] = {}
        self._exceeded: dict[str, BudgetExceeded] = {}

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """Returns what `compute` returned, or raises what it raised, when this name was first asked for."""
        if name in self._exceeded:
            raise self._exceeded[name]
        if name not in self._found:
            try:
                self._found[name] = compute()
            except BudgetExceeded as exceeded:
                self._exceeded[name] = exceeded
                raise
        found: T = self._found[name]
        return found

    @functools.cached_property
    def rows(self) -> Rows:
        """The transition table as lists."""
        rows: Rows = self.dfa.transitions.tolist()
        return rows

    @functools.cached_property
    def accepting(self) -> list[bool]:
        """For each state, whether it accepts, as a list."""
        accepting: list[bool] = self.dfa.accepting.tolist()
        return accepting

    @functools.cached_property
    def letters(self) -> tuple[int, ...]:
        """One letter for each action on the states."""
        first: dict[bytes, int] = {}
        for letter in range(self.dfa.num_letters):
            first.setdefault(self.dfa.transitions[:, letter].tobytes(), letter)
        return tuple(first.values())

    @functools.cached_property
    def columns(self) -> npt.NDArray[np.int64]:
        """`columns[j]` is the action of letter `letters[j]`."""
        return np.ascontiguousarray(self.dfa.transitions[:, list(self.letters)].T, dtype=np.int64)

    @functools.cached_property
    def access(self) -> AccessTree:
        """Shortest words from the start."""
        return AccessTree(self.rows, self.dfa.start)

    @functools.cached_property
    def component(self) -> list[int]:
        """For each state the number of its strong component; edges lead to equal or smaller numbers."""
        return component_labels(self.rows)

    @functools.cached_property
    def component_sizes(self) -> list[int]:
        """The number of states of each component."""
        sizes = [0] * (max(self.component) + 1)
        for label in self.component:
            sizes[label] += 1
        return sizes

    def is_partially_ordered(self) -> bool:
        """Whether no word leads from a state to another one and back."""
        return len(self.component_sizes) == self.dfa.num_states

    @functools.cached_property
    def on_cycle(self) -> list[bool]:
        """For each state, whether some non-empty word fixes it."""
        return [self.component_sizes[self.component[q]] > 1 or q in row for q, row in enumerate(self.rows)]

    @property
    def counter(self) -> CounterWitness | None:
        """A counter of the language; None if it is star-free. May raise BudgetExceeded."""
        return self.once("counter", lambda: find_counter(self.dfa, self.budget))

    @property
    def known_counter(self) -> CounterWitness | None:
        """A counter if one was found; None also if the budget did not suffice."""
        try:
            return self.counter
        except BudgetExceeded:
            return None

    @functools.cached_property
    def groups(self) -> GroupSearch:
        """The groups inside the syntactic monoid, as far as the budget went."""
        try:
            star_free = self.counter is None
        except BudgetExceeded as stopped:
            return GroupSearch(groups=(), stopped_by=stopped)
        return search_groups(self.dfa, self.budget, star_free=star_free)

    @property
    def elements(self) -> Elements:
        """The syntactic semigroup. May raise BudgetExceeded."""
        return self.once("elements", lambda: Elements(transition_monoid(self.dfa, self.budget)))

    def action(self, word: Word) -> Map:
        """Returns the map that a word induces on the states."""
        return tuple(self.dfa.action(word).tolist())


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


def non_member(
    subject: ExaminedLanguage, witness: Mapping[str, Word], says: str, method: str = AUTOMATON
) -> Evidence:
    """Returns a "no": the words of a witness, and what they show."""
    explanation = f"{describe_words(subject, witness)}: {says}"
    return Evidence(holds=False, method=method, witness=witness, explanation=explanation)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """A state from which the two sides of an equation lead to different states."""

    state: int
    left: str
    right: str
    left_end: int
    right_end: int


def violates(subject: ExaminedLanguage, identity: str, assignment: Mapping[str, Word]) -> bool:
    """Whether these words for the variables violate the identity."""
    return _difference(subject, identity, assignment) is not None


def violation(
    subject: ExaminedLanguage, identity: str, assignment: Mapping[str, Word], method: str = AUTOMATON
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
    says = f"{between(inside, witness)} is in L, {between(outside, witness)} is not"
    return non_member(subject, witness, says, method)


def _difference(
    subject: ExaminedLanguage, identity: str, assignment: Mapping[str, Word]
) -> _Difference | None:
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


def describe_words(subject: ExaminedLanguage, words: Mapping[str, Word]) -> str:
    """Returns the words of a witness as text, empty contexts left out."""
    decode = subject.dfa.alphabet.decode
    shown = {role: word for role, word in words.items() if word or role not in ("before", "after")}
    return ", ".join(f"{role} = {decode(word)}" for role, word in shown.items())


def between(side: str, witness: Mapping[str, Word]) -> str:
    """Returns a side of an identity in its context as text, empty contexts left out."""
    parts = ["before"] * bool(witness["before"]) + [side] + ["after"] * bool(witness["after"])
    return " · ".join(parts)
