"""The table of language classes: one row each; tests, profiles and pages loop over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from nerode.algebra.classes import attention, local, piecewise, semigroups
from nerode.algebra.classes.subject import Evidence, ExaminedLanguage
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
    decide: Callable[[ExaminedLanguage], Evidence]

    def membership(self, subject: ExaminedLanguage) -> Membership:
        """Returns whether the language belongs to the class; `holds` is None if it did not fit the budget."""
        try:
            subject.budget.check_time()
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
        semigroups.STAR_FREE,
        "Schutzenberger1965",
        semigroups.star_free,
    ),
    ("finite", "finitely many words", local.FINITE, "Pin1986", local.finite),
    ("definite", "the last k letters decide", local.DEFINITE, "PerlesRabinShamir1963", local.definite),
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
        piecewise.R_TRIVIAL,
        "BrzozowskiFich1980",
        piecewise.r_trivial,
    ),
    ("l-trivial", "the reversed language is r-trivial", piecewise.L_TRIVIAL, "Pin1986", piecewise.l_trivial),
    ("da", "two variables of first-order logic suffice", semigroups.DA, "TherienWilke1998", semigroups.da),
    (
        "dot-depth-one",
        "a Boolean combination of languages A* w₁ A* w₂ … A* with ends",
        semigroups.DOT_DEPTH_ONE,
        "Knast1983",
        semigroups.dot_depth_one,
    ),
    (
        "letter-constant",
        "the component of a state and the next letter determine the next state",
        attention.LETTER_CONSTANT,
        "NerodeTheory",
        attention.letter_constant,
    ),
    (
        "locally-r-trivial",
        "past temporal logic with yesterday and once defines it",
        attention.LOCALLY_R_TRIVIAL,
        "CohenPerrinPin1993",
        attention.locally_r_trivial,
    ),
    (
        "c-rasp",
        "comparisons of counts of letters decide at the last letter",
        attention.C_RASP,
        "Veseli2026",
        attention.c_rasp,
    ),
    (
        "commutative",
        "the order of the letters plays no part",
        semigroups.COMMUTATIVE,
        "Pin1986",
        semigroups.commutative,
    ),
    (
        "quasi-aperiodic",
        "the regular languages in AC⁰",
        semigroups.CONDITION,
        "BarringtonCompton1992",
        semigroups.quasi_aperiodic,
    ),
    (
        "solvable",
        "the regular languages in ACC⁰",
        semigroups.SOLVABLE,
        "BarringtonTherien1988",
        semigroups.solvable,
    ),
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
    ("finite", "strictly-local"),
    ("finite", "piecewise-testable"),
    ("definite", "locally-testable"),
    ("definite", "l-trivial"),
    ("strictly-local", "locally-testable"),
    ("locally-testable", "locally-threshold-testable"),
    ("locally-threshold-testable", "dot-depth-one"),
    ("strictly-piecewise", "piecewise-testable"),
    ("piecewise-testable", "r-trivial"),
    ("piecewise-testable", "l-trivial"),
    ("piecewise-testable", "dot-depth-one"),
    ("dot-depth-one", "star-free"),
    ("r-trivial", "da"),
    ("r-trivial", "letter-constant"),
    ("letter-constant", "locally-r-trivial"),
    ("dot-depth-one", "locally-r-trivial"),
    ("locally-r-trivial", "star-free"),
    ("l-trivial", "da"),
    ("da", "star-free"),
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
    return CLASSES[name].membership(ExaminedLanguage(dfa, budget))


def infer(memberships: Mapping[str, Membership]) -> dict[str, Membership]:
    """Returns the same memberships, undecided ones settled where a smaller or larger class settles them."""
    known = dict(memberships)
    changed = True
    while changed:
        changed = False
        for small, large in INCLUSIONS:
            lower, upper = known.get(small), known.get(large)
            if lower is None or upper is None:
                continue
            if lower.holds and upper.holds is None:
                known[large] = replace(
                    upper, holds=True, method="inclusion", explanation=f"every {small} language is {large}"
                )
                changed = True
            if upper.holds is False and lower.holds is None:
                known[small] = replace(
                    lower,
                    holds=False,
                    method="inclusion",
                    identity=upper.identity,
                    witness=upper.witness,
                    explanation=f"every {small} language is {large}, this one is not: {upper.explanation}",
                )
                changed = True
    return known
