"""The table of language classes: one row each; tests, profiles and pages loop over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nerode.algebra.classes import definite, groups, local, ordered, piecewise, quasi_aperiodic, semigroups
from nerode.algebra.classes.evidence import Evidence
from nerode.algebra.classes.subject import Subject
from nerode.algebra.records import Membership
from nerode.core import Budget, BudgetExceeded, Reference, Registry
from nerode.languages import Dfa


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageClass:
    """One class of regular languages and the test for it.

    Attributes:
        name: kebab-case.
        about: which languages belong to it, in one phrase.
        identity: what is tested, as text.
        reference: where the characterisation comes from.
        decide: the test; it may raise BudgetExceeded.
    """

    name: str
    about: str
    identity: str
    reference: Reference
    decide: Callable[[Subject], Evidence]

    def membership(self, subject: Subject) -> Membership:
        """Returns whether the language belongs to the class; `holds` is None if it did not fit the budget."""
        try:
            found = self.decide(subject)
        except BudgetExceeded as exceeded:
            return Membership(
                name=self.name,
                holds=None,
                identity=self.identity,
                method="undecided",
                reference=self.reference,
                explanation=str(exceeded),
            )
        return Membership(
            name=self.name,
            holds=found.holds,
            parameter=found.parameter,
            identity=self.identity,
            method=found.method,
            reference=self.reference,
            witness=found.witness,
            explanation=found.explanation,
        )


CLASSES: Registry[LanguageClass] = Registry("language class")
"""All classes by name, those that are cheap to decide first."""

_ROWS = (
    (
        "star-free",
        "given by an expression with Boolean operators and concatenation only",
        groups.STAR_FREE,
        "Schutzenberger1965",
        groups.star_free,
    ),
    ("finite", "finitely many words", definite.FINITE, "Pin1986", definite.finite),
    ("cofinite", "all words but finitely many", definite.COFINITE, "Pin1986", definite.cofinite),
    (
        "definite",
        "the last k letters decide",
        definite.DEFINITE,
        "PerlesRabinShamir1963",
        definite.definite,
    ),
    (
        "reverse-definite",
        "the first k letters decide",
        definite.REVERSE_DEFINITE,
        "Pin1986",
        definite.reverse_definite,
    ),
    (
        "generalised-definite",
        "the first k and the last k letters decide",
        definite.GENERALISED_DEFINITE,
        "Pin1986",
        definite.generalised_definite,
    ),
    (
        "strictly-local",
        "the allowed factors of length k, ends marked, define it",
        local.STRICTLY_LOCAL,
        "McNaughton1974",
        local.strictly_local,
    ),
    (
        "locally-testable",
        "the set of factors of length k, with the ends, decides",
        local.LOCALLY_TESTABLE,
        "BrzozowskiSimon1973",
        local.locally_testable,
    ),
    (
        "locally-threshold-testable",
        "the numbers of occurrences of factors of length k, counted up to t, decide",
        semigroups.LOCALLY_THRESHOLD_TESTABLE,
        "BeauquierPin1989",
        semigroups.locally_threshold_testable,
    ),
    (
        "strictly-piecewise",
        "forbidden subsequences define it",
        piecewise.STRICTLY_PIECEWISE,
        "Rogers2010",
        piecewise.strictly_piecewise,
    ),
    (
        "piecewise-testable",
        "the set of subsequences up to length k decides",
        piecewise.PIECEWISE_TESTABLE,
        "Simon1975",
        piecewise.piecewise_testable,
    ),
    (
        "r-trivial",
        "the minimal automaton has no cycles but loops",
        ordered.R_TRIVIAL,
        "BrzozowskiFich1980",
        ordered.r_trivial,
    ),
    (
        "l-trivial",
        "the reversed language is r-trivial",
        ordered.L_TRIVIAL,
        "Pin1986",
        ordered.l_trivial,
    ),
    (
        "da",
        "two variables of first-order logic suffice",
        semigroups.DA,
        "TherienWilke1998",
        semigroups.da,
    ),
    (
        "dot-depth-one",
        "a Boolean combination of languages A* w₁ A* w₂ … A* with ends",
        semigroups.DOT_DEPTH_ONE,
        "Knast1983",
        semigroups.dot_depth_one,
    ),
    (
        "r-infinity",
        "star-free, and no two idempotents share an R-class",
        ordered.R_INFINITY,
        "Stiffler1973",
        ordered.r_infinity,
    ),
    (
        "r-of-groups",
        "no two idempotents share an R-class",
        ordered.ONE_IDEMPOTENT_PER_R_CLASS,
        "Stiffler1973",
        ordered.one_idempotent_per_r_class,
    ),
    (
        "commutative",
        "the order of the letters plays no part",
        groups.COMMUTATIVE,
        "Pin1986",
        groups.commutative,
    ),
    (
        "group-language",
        "every letter permutes the states",
        groups.GROUP_LANGUAGE,
        "Pin1986",
        groups.group_language,
    ),
    (
        "quasi-aperiodic",
        "the regular languages in AC⁰",
        quasi_aperiodic.CONDITION,
        "BarringtonCompton1992",
        quasi_aperiodic.quasi_aperiodic,
    ),
    ("solvable", "the regular languages in ACC⁰", groups.SOLVABLE, "BarringtonTherien1988", groups.solvable),
)

for _name, _about, _identity, _key, _decide in _ROWS:
    CLASSES.add(
        _name,
        LanguageClass(
            name=_name, about=_about, identity=_identity, reference=Reference(_key), decide=_decide
        ),
    )

INCLUSIONS = (
    ("finite", "definite"),
    ("finite", "reverse-definite"),
    ("finite", "strictly-local"),
    ("finite", "piecewise-testable"),
    ("cofinite", "definite"),
    ("cofinite", "reverse-definite"),
    ("cofinite", "strictly-local"),
    ("cofinite", "piecewise-testable"),
    ("definite", "generalised-definite"),
    ("definite", "l-trivial"),
    ("reverse-definite", "generalised-definite"),
    ("reverse-definite", "r-trivial"),
    ("generalised-definite", "locally-testable"),
    ("strictly-local", "locally-testable"),
    ("locally-testable", "locally-threshold-testable"),
    ("locally-threshold-testable", "dot-depth-one"),
    ("strictly-piecewise", "piecewise-testable"),
    ("piecewise-testable", "r-trivial"),
    ("piecewise-testable", "l-trivial"),
    ("piecewise-testable", "dot-depth-one"),
    ("dot-depth-one", "star-free"),
    ("r-trivial", "da"),
    ("r-trivial", "r-infinity"),
    ("l-trivial", "da"),
    ("da", "star-free"),
    ("r-infinity", "star-free"),
    ("r-infinity", "r-of-groups"),
    ("group-language", "r-of-groups"),
    ("star-free", "quasi-aperiodic"),
    ("quasi-aperiodic", "solvable"),
    ("commutative", "solvable"),
)
"""Pairs (smaller class, larger class). A profile uses them where a test did not fit the budget."""


def decide_membership(name: str, dfa: Dfa, budget: Budget | None = None) -> Membership:
    """Returns whether the language of a minimal automaton belongs to a class.

    Raises:
        UnknownName: if there is no class of this name.
    """
    return CLASSES[name].membership(Subject(dfa, budget))
