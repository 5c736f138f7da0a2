"""A row of the bestiary: a named language, its convention, its source and what it is there to break."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nerode.core import Budget, Reference
from nerode.languages.dfa import Dfa
from nerode.languages.language import Language, RegularLanguage

Builder = Callable[[Budget | None], Language]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A named language: how to make it, which words belong to it, what it is there to break.

    Attributes:
        name: kebab-case; the name printed with the language may differ in case (a5 is printed A5).
        builder: makes the language; nothing is built before it is called.
        convention: in words, which words belong to it.
        source: where the language comes from.
        breaks: in one sentence, which wrong idea it is there to break.
        suites: the published test suites that it belongs to.
    """

    name: str
    builder: Builder = field(repr=False)
    convention: str
    source: Reference
    breaks: str
    suites: tuple[str, ...] = ()

    def language(self, budget: Budget | None = None) -> Language:
        """Returns the language.

        Raises:
            BudgetExceeded: if its automaton has to be built and is too large.
        """
        return self.builder(budget)


def regular_row(
    name: str,
    automaton: Callable[[], Dfa],
    *,
    convention: str,
    source: Reference,
    breaks: str,
    suites: tuple[str, ...] = (),
    family: str = "regular",
    parameters: Mapping[str, int] | None = None,
) -> Row:
    """Returns the row of a regular language that is given by a function that makes its automaton."""

    def build(budget: Budget | None) -> Language:
        return RegularLanguage(
            name=name,
            automaton=automaton(),
            convention=convention,
            family=family,
            parameters=dict(parameters or {}),
        )

    return Row(name=name, builder=build, convention=convention, source=source, breaks=breaks, suites=suites)
