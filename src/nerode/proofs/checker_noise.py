"""Linear layers that hold a state cannot correct errors: re-checking the word that shows it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from nerode.core import Cyclotomic, Exact, InputError
from nerode.languages import Word
from nerode.proofs.certificate import Claim, expected_readings, fragile_claim
from nerode.proofs.checker_columns import State
from nerode.proofs.checker_evaluation import Evaluator, States
from nerode.proofs.checker_problem import Evidence, Failure, Problem, refuse_unless_implied
from nerode.proofs.checker_records import ByLetter, Fixed, Gated

METHOD = "identity-word"

_MAX_LETTERS = 100_000


def verify_noise(problem: Problem, evidence: Evidence, claims: Sequence[Claim]) -> Failure | None:
    """Checks that one word acts as the identity on two states of a linear layer that matter.

    Implements: [Chung2026]
    """
    entry = f"evidence.{METHOD}"
    if set(evidence) != {"layer", "first", "second", "identity", "apart"}:
        return Failure(
            what="the evidence has not the keys layer, first, second, identity, apart", entry=entry
        )
    number = evidence["layer"]
    if type(number) is not int or not 1 <= number <= len(problem.network.layers):
        return Failure(what=f"there is no layer {str(number)[:40]}", entry=f"{entry}.layer")
    if not isinstance(problem.network.layers[number - 1].moves, Gated | Fixed | ByLetter):
        return Failure(what=f"layer {number} is not linear", entry=f"{entry}.layer")
    first, second, identity, apart = (
        _word(problem, evidence[k]) for k in ("first", "second", "identity", "apart")
    )
    if not identity:
        return Failure(what="the identity word is empty", entry=f"{entry}.identity")
    one, other = _run(problem, first), _run(problem, second)
    if one[: number - 1] != other[: number - 1]:
        return Failure(what="lower layers are in different states, so the layer's steps differ", entry=entry)
    for states in (one, other):
        if _run(problem, identity, states)[:number] != states[:number]:
            return Failure(what="the identity word changes a state", entry=f"{entry}.identity")
    gap = _distance(one[number - 1], other[number - 1])
    if gap == 0:
        return Failure(what="the two states of the layer are the same", entry=f"{entry}.second")
    language = problem.language
    if language.legal_along([*first, *apart])[-1] == language.legal_along([*second, *apart])[-1]:
        return Failure(what="the language does not tell the two prefixes apart", entry=f"{entry}.apart")
    shown = [fragile_claim(method=METHOD)]
    shown += [
        fragile_claim(method=METHOD, eps=claim.eps, readings=expected_readings(gap, claim.eps))
        for claim in claims
        if claim.eps is not None
    ]
    return refuse_unless_implied(claims, shown)


def _word(problem: Problem, symbols: object) -> Word:
    if not isinstance(symbols, list) or len(symbols) > _MAX_LETTERS:
        raise InputError(f"a word is a list of at most {_MAX_LETTERS} symbols")
    return problem.language.alphabet.encode([str(symbol) for symbol in symbols])


def _run(problem: Problem, word: Word, states: States | None = None) -> States:
    evaluator = Evaluator(problem.network)
    states = evaluator.start() if states is None else states
    for letter in word:
        states, _ = evaluator.step(states, letter)
    return states


def _distance(one: State, other: State) -> Fraction:
    """The largest difference of a coordinate, rounded up to a multiple of 2**-20 where it is irrational."""
    return max((_modulus(a - b) for a, b in zip(one, other, strict=True)), default=Fraction(0))  # type: ignore[arg-type]


def _modulus(value: Exact) -> Fraction:
    if not isinstance(value, Cyclotomic):
        return abs(Fraction(value))
    square = value * value.conjugate()
    low, high = 0, math.ceil(abs(complex(value)) * 2**20) + 2
    while low < high:
        middle = (low + high) // 2
        if Fraction(middle * middle, 2**40) >= square:
            high = middle
        else:
            low = middle + 1
    return Fraction(low, 2**20)
