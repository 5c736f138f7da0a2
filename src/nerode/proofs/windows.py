"""Context windows: the number of last letters that matter, exactly or up to eps."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from nerode.core import Budget, Exact, InputError
from nerode.network import (
    Layer,
    Network,
    Row,
)
from nerode.proofs.certificate import Claim, window_claim

NILPOTENT = "nilpotent-window"
CONTRACTION = "contraction-window"

_MAX_WIDTH = 256
"""Widest matrix whose powers are multiplied out where its pattern alone is not nilpotent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWindow:
    """The number of last letters that matter.

    Attributes:
        letters: the number of letters.
        eps: earlier letters change what the decoder reads by less than this; None for not at all.
    """

    letters: int
    eps: Fraction | None

    @property
    def method(self) -> str:
        """How it is shown."""
        return NILPOTENT if self.eps is None else CONTRACTION

    @property
    def claim(self) -> Claim:
        """The claim for a certificate."""
        return window_claim(method=self.method, letters=self.letters, eps=self.eps)

    @property
    def evidence(self) -> dict[str, int]:
        """The evidence for a certificate."""
        return {"letters": self.letters}


def context_window(network: Network) -> ContextWindow | None:
    """Returns the number of letters that can matter at all, or None if some layer never forgets.

    A layer with a nilpotent transition of order n sees n letters; layers on top of each other see the sum,
    less one for each but the first.

    Implements: [Nandakumar2024, Proposition 4.6]
    """
    letters = 1
    for layer in network.layers:
        order = nilpotency_order(layer)
        if order is None:
            return None
        letters += max(order, 1) - 1 + int(layer.exposes_previous)
    return ContextWindow(letters=letters, eps=None)


def nilpotency_order(layer: Layer) -> int | None:
    """Returns the number of letters that a layer's state depends on, None for no bound."""
    sources = layer.recurrence.sources(layer.width)
    if sources is None:
        return None
    reached = set(range(layer.width))
    order = 0
    while reached:
        following = {i for i, reads in enumerate(sources) if not reads.isdisjoint(reached)}
        order += 1
        if len(following) == len(reached):
            break
        reached = following
    else:
        return order
    fixed = layer.recurrence.as_fixed()
    if fixed is not None and layer.width <= _MAX_WIDTH:
        return _vanishing_power(fixed.matrix)
    return None


def _vanishing_power(matrix: tuple[Row, ...]) -> int | None:
    """The least n for which the n-th power is zero, by what it does to each unit vector."""
    columns: list[dict[int, Exact]] = [{} for _ in matrix]
    for i, row in enumerate(matrix):
        for j, c in row:
            columns[j][i] = c
    longest = 0
    for start in range(len(matrix)):
        vector: dict[int, Exact] = {start: 1}
        steps = 0
        while vector:
            if steps == len(matrix):
                return None
            image: dict[int, Exact] = {}
            for j, v in vector.items():
                for i, c in columns[j].items():
                    image[i] = image.get(i, 0) + c * v
            vector = {i: v for i, v in image.items() if v != 0}
            steps += 1
        longest = max(longest, steps)
    return longest


def contraction_window(network: Network, eps: Fraction, *, budget: Budget | None = None) -> ContextWindow:
    """Returns after how many letters older ones change what the decoder reads by less than eps.

    Two runs of h = A h + w(letter) that share their last n letters differ by at most |A|ⁿ · 2R in every
    coordinate, where |A| is the largest sum of absolute values in a row and R bounds the states; the readout
    multiplies that by its slope. All numbers are exact.

    Raises:
        InputError: if the network has not one real layer with a fixed transition and |A| < 1, or eps ≤ 0.
        BudgetExceeded: if the number of letters is too large for the time.
    """
    if eps <= 0:
        raise InputError(f"eps = {eps} is not above 0")
    if network.depth != 1:
        raise InputError(f"the contraction bound is for one layer, this network has {network.depth}")
    layer = network.layers[0]
    norm = _contraction(layer)
    if norm >= 1 or layer.exposes_previous or layer.complex_state:
        raise InputError(
            f"the contraction bound needs a real layer with |A| < 1 and no old state; |A| = {norm}"
        )
    budget = budget or Budget()
    change = 2 * _radius(network, layer, norm) * _readout_slope(layer)
    letters = 0
    while change >= eps or letters == 0:
        change *= norm
        letters += 1
        if letters % 1000 == 0:
            budget.check_time(letters=letters)
    return ContextWindow(letters=letters, eps=eps)


def _contraction(layer: Layer) -> Fraction:
    fixed, gated = layer.recurrence.as_fixed(), layer.recurrence.as_gated()
    if fixed is not None:
        return max((_absolute([c for _, c in row]) for row in fixed.matrix), default=Fraction(0))
    if gated is not None and not any(gated.gate.rows):
        return max((abs(_rational(b)) for b in gated.gate.bias), default=Fraction(0))
    raise InputError("the contraction bound needs a transition that does not depend on the letter")


def _radius(network: Network, layer: Layer, norm: Fraction) -> Fraction:
    """A bound of every state coordinate."""
    largest = Fraction(0)
    for letter, vector in enumerate(network.embedding.vectors):
        stream = dict(zip(network.embedding.directions, vector, strict=True))
        reads = [stream[name] for name in layer.reads]
        units = [v if v > 0 else 0 for v in layer.units(reads)]
        moved = layer.recurrence.transition([*reads, *units], letter)
        assert moved is not None
        largest = max([largest, *(abs(_rational(w)) for w in moved[1])])
    return max([largest / (1 - norm), *(abs(_rational(s)) for s in layer.start)])


def _readout_slope(layer: Layer) -> Fraction:
    """How much an output changes when every state coordinate changes by 1."""
    first, last = len(layer.reads), len(layer.reads) + layer.width
    inner = [_absolute([c for j, c in row if first <= j < last]) for row in layer.readout_units.rows]
    slopes = [
        sum(
            (abs(_rational(c)) * (1 if j < last else inner[j - last]) for j, c in row if j >= first),
            Fraction(0),
        )
        for row in layer.readout.rows
    ]
    return max(slopes, default=Fraction(0))


def _absolute(values: list[Exact]) -> Fraction:
    return sum((abs(_rational(v)) for v in values), Fraction(0))


def _rational(value: Exact) -> Fraction:
    if not isinstance(value, int | Fraction):
        raise InputError(f"the contraction bound needs rational numbers, not {value}")
    return Fraction(value)
