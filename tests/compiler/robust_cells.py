"""The published cells that hold a bit against noise, and the one that holds two, as networks with intervals.

They are small enough to be checked by hand and serve the certifier as examples from outside. The cell for
two bits is also given as it was printed, where it does not work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.constructions.nonlinear_cells import cell_layer
from nerode.compiler.forms import DirectionForm, constant, direction
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.compiler.network_builder import state_layer
from nerode.compiler.thresholds import affine_rows
from nerode.core import Reference
from nerode.languages import Language, Legal, language_hash
from nerode.languages.bestiary import find_language
from nerode.network import Embedding, Layer, Network, Origin, Squashed

Interval = tuple[Fraction, Fraction]

_TANH_2 = Fraction(96402758, 100000000)
"""tanh 2 = 0.964027580…, to eight places: the intervals have room for the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustCell:
    """A published cell.

    Attributes:
        language: what it does.
        network: the cell with a decoder.
        intervals: for each coordinate of the state the intervals in which it is meant to stay.
    """

    language: Language
    network: Network
    intervals: tuple[tuple[Interval, ...], ...]


def elman_flip_flop() -> RobustCell:
    """Returns the tanh unit that holds a bit: h = tanh(2h + u), u = 4, -4, 0 for set, reset, hold.

    Implements: [Dankowiakowski2025]
    """
    language = find_language("set-reset")
    letters = _letters(language)
    row = 2 * direction("h") + 4 * direction("x=1") - 4 * direction("x=0")
    layer = state_layer(
        "bit",
        ["h"],
        start=[-1],
        recurrence=Squashed(activation="tanh", update=affine_rows([*letters, "h"], [row])),
        reads=letters,
    )
    low, high = Fraction("0.7616"), Fraction("1.1")
    return RobustCell(
        language=language,
        network=_network("elman-tanh", language, layer, lambda _: direction("h") + Fraction(1, 2)),
        intervals=(((-high, -low), (low, high)),),
    )


def slstm_flip_flop() -> RobustCell:
    """Returns the sLSTM cell that holds a bit in its output gate: l_o = u + 10h - 5, u = 8, -8, 0.

    Implements: [Dankowiakowski2025]
    """
    language = find_language("set-reset")
    output = 10 * direction("h") - 5 + 8 * direction("x=1") - 8 * direction("x=0")
    shown = _intervals(("-0.05", "0.2"), ("0.8", "1.05"))
    return RobustCell(
        language=language,
        network=_network("slstm", language, _constant_cell(language, output), lambda _: direction("h")),
        intervals=(shown, *_REST),
    )


def slstm_repeat(*, corrected: bool = True) -> RobustCell:
    """Returns the sLSTM cell that holds the last two bits: l_o = u + 10h/tanh 2 - 5, u = 8.1, -8.1.

    Its language: the last letter but one is an a. The intervals are those of (newest, previous) = (b,b),
    (b,a), (a,b), (a,a), times tanh 2. As printed, without tanh 2 in the weight and in the intervals, half of
    the transitions miss their interval.

    Implements: [Dankowiakowski2025]
    """
    language = find_language("last-but-1")
    scale = _TANH_2 if corrected else Fraction(1)
    shift = Fraction("8.1")
    output = 10 / scale * direction("h") - 5 + shift * direction("x=a") - shift * direction("x=b")
    printed = _intervals(("-0.01", "0.015"), ("0.02", "0.05"), ("0.95", "0.98"), ("0.985", "1.01"))
    return RobustCell(
        language=language,
        network=_network(
            "slstm", language, _constant_cell(language, output), lambda decoder: _previous_bit(decoder, scale)
        ),
        intervals=(tuple((scale * low, scale * high) for low, high in printed), *_REST),
    )


def _previous_bit(decoder: DecoderBuilder, scale: Fraction) -> DirectionForm:
    """Above 1/2 on the second and the fourth of the four intervals, below 0 or 0 on the others."""
    value = 1 / scale * direction("h")
    left = decoder.relu(value - Fraction("0.0175"))
    middle = decoder.relu(value - Fraction(1, 2))
    right = decoder.relu(value - Fraction("0.9825"))
    return 400 * left - 900 * middle + 40_000 * right


def _constant_cell(language: Language, output: DirectionForm) -> Layer:
    """An sLSTM cell whose cell and normaliser do not move; all that happens is in the output gate."""
    letters = _letters(language)
    gates = [constant(0), constant(-3), output, constant(2)]
    maps = [affine_rows([*letters, "h"], [gate]) for gate in gates]
    return cell_layer("slstm", ["h"], letters, maps, [0, Fraction("1.01202"), Fraction("1.04979")])


def _network(
    target: str, language: Language, layer: Layer, score: Callable[[DecoderBuilder], DirectionForm]
) -> Network:
    decoder = DecoderBuilder(layer.outputs, len(language.alphabet))
    legal = language.legal(language.initial())
    decoder.add_legal(Legal(frozenset(range(len(language.alphabet))), False), constant(1))
    decoder.add(len(language.alphabet), score(decoder))
    return Network(
        alphabet=language.alphabet,
        target=target,
        embedding=Embedding.one_hot(language.alphabet),
        layers=(layer,),
        decoder=decoder.build(legal),
        origin=Origin(
            language=language.name,
            language_hash=language_hash(language),
            construction="published-cell",
            route="one cell, with the published weights",
            reference=Reference("Dankowiakowski2025"),
        ),
    )


def _letters(language: Language) -> list[str]:
    return [f"x={symbol}" for symbol in language.alphabet]


def _intervals(*pairs: tuple[str, str]) -> tuple[Interval, ...]:
    return tuple((Fraction(low), Fraction(high)) for low, high in pairs)


_REST = (_intervals(("1.01", "1.014")), _intervals(("1.047", "1.052")))
"""Around c = tanh 2/(1 - σ(-3)) = 1.01202… and n = 1/(1 - σ(-3)) = 1.04979…"""
