"""Threshold units as rows of a network: what they add up, and what a decoder makes of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from nerode.compiler.assembly import legal_sets
from nerode.compiler.forms import Form, constant, direction, total
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.compiler.threshold_coding import ThresholdCoding, ThresholdUnit
from nerode.core import Exact, simplify
from nerode.languages import Dfa
from nerode.network import Affine, AffineBuilder, ScoreDecoder

_GROWTH = Fraction(321, 250)
"""A number below e^(1/4)."""


def letter_sum(dfa: Dfa, amounts: Sequence[int]) -> Form:
    """Returns the amount of the current letter, read from one-hot letters."""
    return total(a * direction(f"x={s}") for s, a in zip(dfa.alphabet.symbols, amounts, strict=True) if a)


def unit_sum(dfa: Dfa, coding: ThresholdCoding, unit: ThresholdUnit, bits: Sequence[Form]) -> Form:
    """Returns a whole number that is 0 or more exactly where a unit has to be 1.

    Args:
        dfa: the automaton.
        coding: the coding of its states.
        unit: the unit.
        bits: the values, 0 or 1, of all units before the letter.
    """
    here, coefficients = coding.feedback(unit)
    state = total(c * bits[j] for j, c in coefficients.items())
    # One letter is always on, so the commonest level can go into the constant.
    common = statistics.mode(unit.levels) if unit.levels else 0
    return state + letter_sum(dfa, [level - common for level in unit.levels]) + here + common


def saturating_gain(spread: int) -> int:
    """Returns an even gain g such that tanh(g/8) is within 1/(4·spread) of 1.

    1 - tanh(g/8) < 2·e^(-g/4), and e^(g/4) is at least 8·spread.
    """
    gain = 2
    while _GROWTH**gain < 8 * spread:
        gain += 2
    return gain


def threshold_decoder(
    dfa: Dfa,
    coding: ThresholdCoding,
    stream: Sequence[str],
    indicator: Callable[[DecoderBuilder, int, int | None], Form],
) -> ScoreDecoder:
    """Returns the decoder that finds the state and says what is legal there.

    Args:
        dfa: the automaton.
        coding: the coding of its states.
        stream: the directions that may be read.
        indicator: from the number of a unit that must be on, and perhaps of one that must be off, what is
            above 1/2 where that is so and 0 elsewhere.
    """
    legal = legal_sets(dfa)
    decoder = DecoderBuilder(stream, dfa.num_letters)
    if coding.rest is not None:
        decoder.add_legal(legal[coding.rest], constant(1))
    for state, on, off in coding.families:
        found = indicator(decoder, on, off)
        decoder.add_legal(legal[state], found)
        if coding.rest is not None:
            decoder.add_legal(legal[coding.rest], -found)
    return decoder.build(legal[dfa.start])


def sign_indicator(
    names: Sequence[str], scale: Exact = 1
) -> Callable[[DecoderBuilder, int, int | None], Form]:
    """Returns the indicator for units whose values are near 1/scale when on and -1/scale when off.

    Four times a ReLU: exactly 0 for a unit that is off, and above 1/2 as long as a unit that is on keeps
    an eighth of its value.
    """

    def found(decoder: DecoderBuilder, on: int, off: int | None) -> Form:
        value = scale * direction(names[on])
        if off is not None:
            value = value - scale * direction(names[off]) - 1
        return 4 * decoder.relu(value)

    return found


def affine_rows(inputs: Sequence[str], forms: Iterable[Form]) -> Affine:
    """Returns the map with one row for each form."""
    builder = AffineBuilder(inputs)
    for number, form in enumerate(forms):
        terms = {name: simplify(c) for name, c in form.terms.items()}
        builder.row(str(number), terms, simplify(form.bias))
    return builder.build()
