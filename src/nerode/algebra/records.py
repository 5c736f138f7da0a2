"""Records of the algebra of a language: its groups, its classes, its profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nerode.core import Reference, Shown
from nerode.languages import Alphabet, Word

COMPUTED = "computed"
"""The source of a profile that was computed from the automaton."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFactor:
    """A group of a known family, as a direct factor of another one.

    Attributes:
        family: "Z" cyclic of order n, "D" dihedral of a polygon of n ≥ 4 corners, "S" and "A" symmetric and
            alternating on n points, "Dic" dicyclic of order 4n, called "Q" with its order n where that is a
            power of two, "F" Frobenius of order n, "PSL" for PSL(2,n).
        number: n.
    """

    family: str
    number: int

    def __str__(self) -> str:
        return f"PSL(2,{self.number})" if self.family == "PSL" else f"{self.family}{self.number}"

    @property
    def is_dihedral(self) -> bool:
        """Whether this is the group of a polygon; the triangle's is called S3."""
        return self.family == "D" or (self.family == "S" and self.number == 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStructure:
    """The structure of a finite group, as far as it is known.

    Attributes:
        name: a usual name ("Z3", "A5", "D4", "Z2xZ2"), or "group of order n" where there is none.
        direct_factors: the factors of a direct product of known families; empty where there is no name.
        order: number of elements.
        degree: number of points of the faithful permutation representation it was found in.
        exponent: least e with g^e = 1 for every g; None if it was not computed.
        derived_length: length of the derived series if the group is solvable, else None.
        simple: whether the group was shown to be simple.
        factors: names of the composition factors ("Z2", "Z3", "A5"), sorted; empty for the trivial group.
            An entry "perfect group of order n" stands for factors of a large group that were not found.
    """

    name: str
    order: int
    degree: int
    cyclic: bool
    abelian: bool
    nilpotent: bool
    solvable: bool
    simple: bool
    derived_length: int | None
    exponent: int | None
    factors: tuple[str, ...]
    direct_factors: tuple[GroupFactor, ...] = ()

    @property
    def is_dihedral(self) -> bool:
        """Whether this is the group of a polygon of three or more corners."""
        return len(self.direct_factors) == 1 and self.direct_factors[0].is_dihedral

    @property
    def is_two_group(self) -> bool:
        """Whether the order is a power of two."""
        return self.order & (self.order - 1) == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterWitness:
    """Words u, v, x such that u vⁿ x changes between in and out of the language with a fixed period.

    `period` is at least 2: for every n, u vⁿ x is in L exactly when u v^(n+period) x is, and inside one
    period both answers occur.
    """

    prefix: Word
    loop: Word
    suffix: Word
    period: int

    def word(self, n: int) -> Word:
        """Returns u vⁿ x."""
        return self.prefix + self.loop * n + self.suffix

    def describe(self, alphabet: Alphabet) -> str:
        """The family as text that can be read and pasted."""
        u, v, x = (alphabet.decode(w) for w in (self.prefix, self.loop, self.suffix))
        return f"u = {u}, v = {v}, x = {x}: u vⁿ x is in L periodically in n with period {self.period}"

    def to_json(self, alphabet: Alphabet) -> dict[str, Any]:
        """The family with its words as text."""
        return {
            "u": alphabet.decode(self.prefix),
            "v": alphabet.decode(self.loop),
            "x": alphabet.decode(self.suffix),
            "period": self.period,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupInside:
    """A non-trivial group that divides the syntactic monoid, and where it sits.

    Attributes:
        structure: which group it is.
        points: the states that it permutes (of the minimal automaton).
        generators: words that permute `points` and generate the group.
        scope: "monoid" when `points` is an image of the whole state set, so that the group is a
            Schützenberger group of the monoid itself; "component" when it was found inside one strongly
            connected component, where it is a quotient of one.
    """

    structure: GroupStructure
    points: tuple[int, ...]
    generators: tuple[Word, ...]
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Whether a language belongs to one class, by which test, and what shows it.

    Attributes:
        name: kebab-case name of the class ("star-free", "locally-testable" …).
        holds: True, False, or None when the budget did not suffice.
        parameter: the least k for classes that have one (strictly k-local …), where it is cheap.
        identity: the identity or the condition that was tested, as text.
        method: how it was decided ("automaton" or "semigroup").
        witness: for a "no", words (by role) that violate the identity.
        explanation: the witness in one sentence; for None why it was not decided.
    """

    name: str
    holds: bool | None
    identity: str
    method: str
    reference: Reference
    parameter: int | None = None
    witness: Mapping[str, Word] = field(default_factory=dict, hash=False)
    explanation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Shown):
    """The algebra of one language, as far as it was found within the budget.

    Attributes:
        regular: whether the language is regular at all; if not, nothing else is filled.
        num_states: states of the minimal complete automaton.
        star_free: None only if the budget was used up before it was decided.
        counter: a family of words that shows a "no" to star-free.
        groups: the non-trivial groups inside, largest first, one for each isomorphism type.
        classes: memberships by name.
        monoid_size: size of the syntactic monoid, None if it was not enumerated.
        d_classes: number of its D-classes, None likewise.
        incomplete: what was not computed, and why.
        source: "computed", or the theorem from which a profile without an automaton was taken.
    """

    regular: bool
    num_states: int | None = None
    star_free: bool | None = None
    counter: CounterWitness | None = None
    groups: tuple[GroupInside, ...] = ()
    groups_complete: bool = True
    classes: Mapping[str, Membership] = field(default_factory=dict, hash=False)
    monoid_size: int | None = None
    d_classes: int | None = None
    incomplete: Mapping[str, str] = field(default_factory=dict, hash=False)
    source: str = COMPUTED

    def __repr__(self) -> str:
        if not self.regular:
            return "<profile: not regular>"
        known = {True: "star-free", False: "not star-free", None: "star-free not decided"}[self.star_free]
        return f"<profile: {self.num_states} states, {known}>"

    def holds(self, name: str) -> bool | None:
        """Membership in a class, None when it is not known."""
        if name == "star-free":
            return self.star_free
        membership = self.classes.get(name)
        return None if membership is None else membership.holds

    @property
    def solvable(self) -> bool | None:
        """Whether all groups inside are solvable, None when that is not known."""
        if any(not g.structure.solvable for g in self.groups):
            return False
        return True if self.groups_complete and self.star_free is not None else None
