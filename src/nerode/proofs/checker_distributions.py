"""From the directions that a layer puts out to exact probabilities: softmax, sparsemax, hardmax.

Nothing is rounded: the scores of a softmax are whole powers of rationals wherever the weights were made for
it, and anything else is refused. Outputs that no active direction speaks for all have score 0 and are kept
together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from nerode.core import InputError
from nerode.proofs.checker_records import CheckedNetwork, Logits, Weight

_MOST_EXPONENT = 4096

Amounts = Mapping[int, Fraction]


@dataclass(frozen=True, slots=True)
class Distribution:
    """The probabilities of some outputs by number, and the one that each of the others has."""

    named: Amounts
    floor: Fraction

    def distance(self, wanted: Amounts, num_outputs: int) -> Fraction:
        """Returns the L1 distance to another distribution; outputs that it does not name have 0 there."""
        named = {*self.named, *wanted}
        rest = self.floor * (num_outputs - len(named))
        return rest + sum((abs(self.named.get(v, self.floor) - wanted.get(v, 0)) for v in named), Fraction(0))


class OutputLayer:
    """The decoder of a network by columns: what each direction adds to which output.

    Attributes:
        num_outputs: letters and the end.
    """

    def __init__(self, network: CheckedNetwork) -> None:
        decoder = network.decoder
        if not isinstance(decoder, Logits):
            raise InputError("the decoder has no distribution")
        outputs = {name for layer in network.layers for name, _ in layer.outputs}
        strange = [name for name in decoder.reads if name not in outputs]
        if strange:
            raise InputError(f"the decoder reads {strange[0]!r}, which no layer puts out")
        self.num_outputs = len(decoder.rows)
        self._normaliser = decoder.normaliser
        self._columns: dict[str, list[tuple[int, Weight]]] = {name: [] for name in decoder.reads}
        for output, row in enumerate(decoder.rows):
            for j, weight in row:
                if decoder.normaliser != "softmax" and any(ratio != 1 for _, ratio in weight):
                    raise InputError(f"a weight of a {decoder.normaliser} is a logarithm, not a number")
                self._columns[decoder.reads[j]].append((output, weight))

    def distribution(self, active: Mapping[str, Fraction]) -> Distribution:
        """Returns the distribution where these directions are not zero."""
        powers: dict[int, dict[Fraction, Fraction]] = {}
        for name, value in active.items():
            for output, weight in self._columns.get(name, ()):
                exponents = powers.setdefault(output, {})
                for scale, ratio in weight:
                    exponents[ratio] = exponents.get(ratio, Fraction(0)) + scale * value
        others = self.num_outputs - len(powers)
        if self._normaliser == "softmax":
            return _softmax({v: _score(exponents) for v, exponents in powers.items()}, others)
        amounts = {v: sum(exponents.values(), Fraction(0)) for v, exponents in powers.items()}
        return _hardmax(amounts, others) if self._normaliser == "hardmax" else _sparsemax(amounts, others)


def _score(exponents: Mapping[Fraction, Fraction]) -> Fraction:
    score = Fraction(1)
    for ratio, exponent in exponents.items():
        if exponent.denominator != 1 or abs(exponent) > _MOST_EXPONENT:
            raise InputError(f"a score has the power {exponent}, which is not a small whole number")
        score *= ratio**exponent.numerator
    return score


def _softmax(scores: Amounts, others: int) -> Distribution:
    total = sum(scores.values(), Fraction(others))
    return Distribution({v: score / total for v, score in scores.items()}, 1 / total)


def _hardmax(amounts: Amounts, others: int) -> Distribution:
    """Equal shares for the outputs with the largest score."""
    top = max([*amounts.values(), *([Fraction(0)] if others else [])])
    silent = others if top == 0 else 0
    share = Fraction(1, sum(amount == top for amount in amounts.values()) + silent)
    named = {v: share if amount == top else Fraction(0) for v, amount in amounts.items()}
    return Distribution(named, share if silent else Fraction(0))


def _sparsemax(amounts: Amounts, others: int) -> Distribution:
    """The point of the simplex nearest to the scores: all are shifted alike, and none falls below zero.

    Implements: [MartinsAstudillo2016]
    """
    support = dict(amounts)
    while True:
        shift = (1 - sum(support.values(), Fraction(0))) / (len(support) + others)
        kept = {v: amount for v, amount in support.items() if amount + shift > 0}
        if len(kept) == len(support) and (shift > 0 or not others):
            break
        support = kept
        others = others if shift > 0 else 0
    named = {v: max(amount + shift, Fraction(0)) for v, amount in amounts.items()}
    return Distribution(named, shift if others else Fraction(0))
