"""Finite groups and monoids by name, and the languages that ask for their products.

A name is a family with its numbers (Z60, S5, A5, D4 with 8 elements, Q8, T3, U1, U2, C(2,3)), or several
groups joined by x (A4xZ5). Case does not matter. The letters of a word problem are all elements; the
suffix `:generators` takes the generators only ("A5:generators").
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nerode.core import Budget, BudgetExceeded, InputError, UnknownName, started
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa
from nerode.languages.groups.families import FAMILIES, FiniteMonoid, MonoidFamily
from nerode.languages.language import RegularLanguage

Letters = Literal["elements", "generators"]

GENERATORS_SUFFIX = ":generators"

EXAMPLES = ("z60", "s5", "a5", "d4", "q8", "a4xz5", "t3", "u1", "u2", "cyclic-monoid-2-3")


@dataclass(frozen=True, slots=True)
class _Factor:
    """One family with its numbers: what can be said about a monoid before it is built."""

    family: MonoidFamily
    numbers: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.family.canonical(*self.numbers)

    @property
    def order(self) -> int:
        return self.family.order(*self.numbers)

    @property
    def note(self) -> str:
        return self.family.note(self.name, *self.numbers)


def is_monoid_name(name: str) -> bool:
    """Whether `name` is written like a group or monoid, with or without `:generators`."""
    plain, _ = split_letters(name)
    return all(_match(part) is not None for part in _parts(plain))


def canonical_name(name: str) -> str:
    """Returns a name as it is printed: "a4XZ5" is A4xZ5."""
    plain, over = split_letters(name)
    suffix = GENERATORS_SUFFIX if over == "generators" else ""
    return "x".join(factor.name for factor in _factors(plain)) + suffix


def monoid_order(name: str) -> int:
    """Returns the number of elements, without building any."""
    return math.prod(factor.order for factor in _factors(split_letters(name)[0]))


def finite_monoid(name: str, budget: Budget | None = None) -> FiniteMonoid:
    """Returns the group or monoid with this name.

    Raises:
        UnknownName: if there is none.
        BudgetExceeded: if it has too many elements.
    """
    started(budget).check("elements", monoid_order(name), order=monoid_order(name))
    factors = [factor.family.build(*factor.numbers) for factor in _factors(name)]
    return factors[0] if len(factors) == 1 else direct_product(factors)


def direct_product(factors: list[FiniteMonoid]) -> FiniteMonoid:
    """Returns the direct product of groups; an element is written as its coordinates, with commas."""
    if not all(factor.is_group for factor in factors):
        raise InputError("products are taken of groups only; leave out the factors that are not groups")
    numbers = tuple(itertools.product(*(range(factor.order) for factor in factors)))
    position = {coordinates: i for i, coordinates in enumerate(numbers)}
    ones = [0] * len(factors)
    generators = [
        position[(*ones[:i], g, *ones[i + 1 :])]
        for i, factor in enumerate(factors)
        for g in factor.generators
    ]
    return FiniteMonoid(
        name="x".join(factor.name for factor in factors),
        values=tuple(tuple(f.values[c] for f, c in zip(factors, n, strict=True)) for n in numbers),
        element_names=tuple(
            ",".join(f.element_names[c] for f, c in zip(factors, n, strict=True)) for n in numbers
        ),
        multiply=functools.partial(_componentwise, tuple(factor.multiply for factor in factors)),
        generators=tuple(generators),
        is_group=True,
    )


def word_problem(name: str, *, over: Letters = "elements", budget: Budget | None = None) -> RegularLanguage:
    """Returns the language of the words whose product is the identity.

    The letters of a word are multiplied from left to right; the state is the product so far, and reading
    a letter multiplies by it on the right.

    For a monoid that is not a group this language says little (only units can multiply to the identity),
    so another one is taken, whose syntactic monoid is the monoid: the words that take one point to
    another in its natural action. T_n: point 1 to point 1. U2: the store from 0 to 1, so that the last
    letter other than hold is set. U1: no letter is 0. C(m,n): the product is the last power of x.

    Args:
        name: as `finite_monoid` takes it.
        over: whether the alphabet is all elements or the generators only.
        budget: limits the states and the entries of the transition table (under `elements`).
    """
    budget = started(budget)
    order = monoid_order(name)
    _refuse_large(name, order, over, budget)
    monoid = finite_monoid(name, budget)
    letters = tuple(range(order)) if over == "elements" else monoid.generators
    automaton = _product_automaton(monoid, letters, budget) if monoid.is_group else _route(monoid, letters)
    return RegularLanguage(
        name=monoid.name + (GENERATORS_SUFFIX if over == "generators" else ""),
        automaton=automaton,
        convention=word_problem_convention(name, over=over),
        family="group-word-problem" if monoid.is_group else "monoid-word-problem",
        parameters={"order": order},
    )


def word_problem_convention(name: str, *, over: Letters = "elements") -> str:
    """Returns in words which language `word_problem` makes, without building it."""
    factors = _factors(name)
    canonical = "x".join(factor.name for factor in factors)
    letters = "elements" if over == "elements" else "generators"
    notes = "; ".join(dict.fromkeys(factor.note for factor in factors))
    start = f"words over the {letters} of {canonical}"
    if all(factor.family.is_group for factor in factors):
        return f"{start} whose product, read from left to right, is the identity; {notes}"
    question = {
        "T": "that map point 1 to point 1",
        "U1": "without the letter 0",
        "U2": "whose last letter other than hold exists and is set",
        "C": "whose product, read from left to right, is the last power of x",
    }
    key = canonical if canonical in question else canonical[0]
    return f"{start} {question[key]}; {notes}"


def split_letters(name: str) -> tuple[str, Letters]:
    """Returns a name without its `:generators` suffix, and what the letters are."""
    plain = name.strip()
    if plain.lower().endswith(GENERATORS_SUFFIX):
        return plain[: -len(GENERATORS_SUFFIX)], "generators"
    return plain, "elements"


def _refuse_large(name: str, order: int, over: Letters, budget: Budget) -> None:
    """Stops before anything is built when the automaton cannot fit."""
    if all(factor.family.is_group for factor in _factors(name)):
        budget.check("states", order, order=order)
    entries = order * order
    if over == "elements" and entries > budget.elements:
        raise BudgetExceeded(
            "elements",
            budget.elements,
            known_so_far={"order": order, "table entries": entries},
            remedy=f"ask for {canonical_name(name)}{GENERATORS_SUFFIX}, or raise it with --max-elements",
        )


def _product_automaton(group: FiniteMonoid, letters: tuple[int, ...], budget: Budget) -> Dfa:
    accepting = np.zeros(group.order, dtype=np.bool_)
    accepting[group.identity] = True
    return Dfa(
        alphabet=Alphabet(tuple(group.element_names[a] for a in letters)),
        transitions=group.times(letters, budget),
        start=group.identity,
        accepting=accepting,
    )


def _route(monoid: FiniteMonoid, letters: tuple[int, ...]) -> Dfa:
    """The action of a monoid of maps on its points, from the start of its route to the end."""
    assert monoid.route is not None
    start, goal = monoid.route
    images = np.array([monoid.values[a] for a in letters], dtype=np.int32).T
    accepting = np.zeros(len(images), dtype=np.bool_)
    accepting[goal] = True
    alphabet = Alphabet(tuple(monoid.element_names[a] for a in letters))
    return Dfa(alphabet=alphabet, transitions=images, start=start, accepting=accepting)


def _factors(name: str) -> list[_Factor]:
    """Reads a name, with its numbers checked."""
    parts = _parts(name)
    factors = [_factor(part, name) for part in parts]
    if len(factors) > 1 and not all(factor.family.is_group for factor in factors):
        raise InputError(
            f"{name!r} is a product with a factor that is not a group; products are taken of groups only"
        )
    return factors


def _parts(name: str) -> list[str]:
    return name.strip().lower().split("x")


def _factor(part: str, name: str) -> _Factor:
    found = _match(part)
    if found is None:
        raise UnknownName("group or monoid", name, EXAMPLES, hint="(names are like Z60, S5, A4xZ5 or T3)")
    family, numbers = found
    allowed = zip(numbers, family.smallest, family.largest, strict=True)
    for number, smallest, largest in allowed:
        if not smallest <= number <= largest:
            raise InputError(
                f"the number {number} in {part!r} is outside {smallest}…{largest:,}, for which "
                f"{family.canonical(*family.smallest)}, … are defined"
            )
    return _Factor(family, numbers)


def _match(part: str) -> tuple[MonoidFamily, tuple[int, ...]] | None:
    for family in FAMILIES:
        match = family.pattern.fullmatch(part)
        if match and all(len(text) <= 9 for text in match.groups() if text):
            return family, tuple(int(text) for text in match.groups() if text is not None)
    return None


def _componentwise(
    multiply: tuple[Callable[[Any, Any], Hashable], ...], x: tuple[Any, ...], y: tuple[Any, ...]
) -> tuple[Hashable, ...]:
    return tuple([f(a, b) for f, a, b in zip(multiply, x, y, strict=True)])
