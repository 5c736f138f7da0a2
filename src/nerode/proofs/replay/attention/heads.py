"""Lemmas about heads: what softmax returns in a float format, given what a head has seen.

docs/theory/attention.md has the proofs. The output of a head is a nominal value with the error that the lemma
allows; its summary is what it remembers of the positions so far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.proofs.replay.attention.records import UNDERFLOW, NotProved
from nerode.proofs.replay.attention.weights import DecoderHead, DecoderWeights


@dataclass(slots=True)
class Values:
    """Nominal values, a row for each case, and bounds of their errors; 1 as the last column.

    Errors of the stream may depend on each other: a soft head returns the greater part of what stands on the
    stream. So the errors of the places are `mix` times independent ones that are bounded by `error`.
    """

    nominal: Array
    error: Array
    mix: Array | None = None

    def off(self) -> Array:
        """Returns bounds of the errors of the places, each by itself."""
        return self.error if self.mix is None else self.error @ np.abs(self.mix).T

    def widen(self, error: Array) -> None:
        """Adds errors of places that do not depend on the others.

        What was read from a place before does not change with it: only an independent error that is that of
        one place alone may grow.
        """
        assert self.mix is not None
        for place in np.flatnonzero(error.any(axis=0)).tolist():
            alone = (self.mix[place] == 1) & (np.count_nonzero(self.mix, axis=0) == 1)
            if alone.any():
                self.error[:, int(alone.argmax())] += error[:, place]
                continue
            self.mix = np.hstack([self.mix, np.eye(len(self.mix))[:, [place]]])
            self.error = np.hstack([self.error, error[:, [place]]])


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rounding to a format; nominal values themselves are computed in float64.

    Attributes:
        bits: of a number.
        smallest: exponent of the smallest normal number; what is smaller may be lost.
        largest: exponent of the largest numbers.
    """

    bits: int
    smallest: int
    largest: int

    def room(self, terms: int) -> float:
        """Returns the size up to which so many products are summed up without overflow, in any order."""
        return float(2.0**self.largest * (2 - 2 * self.unit) * (1 + 2 * self.unit) ** -(terms + 1))

    @property
    def unit(self) -> float:
        """Half the distance of 1 to the next number."""
        return 2.0**-self.bits

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0**self.smallest

    @property
    def loose(self) -> float:
        """The same, with room for the float64 in which it is computed."""
        return self.unit * (1 + 2.0**-6) + 2.0**-53

    def apply(self, rows: Array, stream: Values) -> Values:
        """Returns an affine map of the stream; the last column of `rows` is the bias."""
        carried, rounding = self.errors(rows, stream)
        return Values(stream.nominal @ rows.T, carried + rounding)

    def errors(self, rows: Array, stream: Values) -> tuple[Array, Array]:
        """Returns the errors that a map carries on, and those of its own roundings.

        Whole numbers that are small enough for the format are added without any.
        """
        size, used, off = np.abs(rows), rows != 0, stream.off()
        carried = stream.error @ np.abs(rows if stream.mix is None else rows @ stream.mix).T
        total = (np.abs(stream.nominal) + off) @ size.T
        blurred = ((off > 0) | (stream.nominal != np.rint(stream.nominal))).astype(np.float64)
        terms = (blurred + (stream.nominal != 0)).clip(max=1) @ used.T
        exact = (blurred @ used.T == 0) & self.is_exact(rows, total)
        return carried, np.where(exact, 0.0, (terms + 2) * (self.loose * total + self.tiny))

    def is_exact(self, rows: Array, total: Array) -> npt.NDArray[np.bool_]:
        """Returns whether whole multiples of the numbers in rows, of `total` size, are added exactly."""
        grid = _grid(rows)
        found: npt.NDArray[np.bool_] = (total <= grid * 2.0**self.bits) & (grid >= self.tiny)
        return found

    def add(self, stream: Values, parts: list[Values]) -> None:
        """Adds vectors to the stream; whole numbers are added exactly."""
        for part in parts:
            nominal = stream.nominal[:, :-1] + part.nominal
            error = stream.off()[:, :-1] + part.error
            exact = (error == 0) & (nominal == np.rint(nominal)) & (np.abs(nominal) < 2.0**self.bits)
            touched = (part.nominal != 0) | (part.error > 0)
            rounding = np.where(exact | ~touched, 0.0, 2 * self.unit * (np.abs(nominal) + error))
            stream.nominal[:, :-1] = nominal
            stream.widen(part.error + rounding)


def padded(nominal: Array, error: Array) -> Values:
    """Returns values with a column of ones."""
    rows = len(nominal)
    return Values(np.hstack([nominal, np.ones((rows, 1))]), np.hstack([error, np.zeros((rows, 1))]))


_HELD = 53
"""Bits of the numbers that the lemmas themselves are computed with."""


def _width(values: Array) -> Array:
    """Numbers of bits, from the first to the last that is 1."""
    whole = np.rint(np.ldexp(np.frexp(values)[0], _HELD)).astype(np.int64)
    found: Array = _HELD - np.log2((whole & -whole).clip(min=1).astype(np.float64))
    return found


def _grid(rows: Array) -> Array:
    """For each row the largest power of two of which all its entries are multiples."""
    lowest = np.frexp(rows)[1] - _width(rows)
    found: Array = np.exp2(np.where(rows != 0, lowest, np.inf).min(axis=1, initial=500.0))
    return found


Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Keys:
    """Scores before the penalty, their errors, and which positions match, a number for each row."""

    scores: Array
    errors: Array
    matches: Mask

    @classmethod
    def none(cls, rows: int) -> Keys:
        """Returns scores of 0: every position matches."""
        return cls(np.zeros(rows), np.zeros(rows), np.ones(rows, dtype=np.bool_))


@dataclass(frozen=True, slots=True)
class HeadLemmas:
    """The lemmas in one format.

    Attributes:
        rounding: of the weights and the stream.
        scores: the format of scores and of sums over positions, "float32" or "float64".
        scoring: its rounding.
    """

    rounding: Rounding
    scores: str
    scoring: Rounding

    @property
    def bits(self) -> int:
        """Bits of a score."""
        return self.scoring.bits

    @property
    def underflow(self) -> int:
        """The number below whose negative exp is 0."""
        return UNDERFLOW[self.scores]

    def attend(
        self, head: DecoderHead, stream: Values, states: Values, is_mark: Mask
    ) -> tuple[Values, Array, Keys]:
        """Returns the output of a head that is no mean, its new summary, and its keys.

        Summaries in `states` may be unknown, by an error of theirs, in heads of the kind last alone.
        """
        values = self.rounding.apply(head.value, stream)
        old = states.nominal[:, head.columns]
        rows = len(is_mark)
        if head.kind == "parity":
            nominal = np.where(is_mark[:, None], values.nominal, old)
            return Values(nominal, np.zeros_like(nominal)), values.nominal, Keys.none(rows)
        if head.kind == "soft":
            return self._soft(head, values, old, is_mark), values.nominal, Keys.none(rows)
        query, key = self.rounding.apply(head.query, stream), self.rounding.apply(head.key, stream)
        if (query.nominal != query.nominal[0]).any() or query.error.any():
            raise NotProved(f"the queries of {head.where} differ")
        scores, errors = self.dots(query.nominal, key.nominal)
        errors = errors + (np.abs(query.nominal) * key.error).sum(axis=1)
        keys = Keys(scores, errors, scores == 0)
        if not keys.matches[is_mark].all():
            raise NotProved(f"the beginning mark does not match in {head.where}")
        if head.kind == "last":
            new = np.where(keys.matches[:, None], values.nominal, old)
            unknown = np.where(keys.matches[:, None], 0.0, states.error[:, head.columns])
            return Values(new, unknown), new, keys
        return self._once(head, values, old, is_mark, keys)

    def dots(self, queries: Array, keys: Array) -> tuple[Array, Array]:
        """Returns products of queries with keys, row by row, and how far their sums may be off.

        A product that is rounded, here or there, is not what a fused operation adds.
        """
        products = queries * keys
        total = np.abs(products).sum(axis=1)
        rounding = (products.shape[1] + 2) * 2.0 ** (1 - self.bits) * total
        exact = self.scoring.is_exact(products, total)
        exact &= ((products == 0) | (_width(queries) + _width(keys) <= _HELD)).all(axis=1)
        return products.sum(axis=1), np.where(exact, 0.0, rounding + self.scoring.tiny)

    def _once(
        self, head: DecoderHead, values: Values, old: Array, is_mark: Mask, keys: Keys
    ) -> tuple[Values, Array, Keys]:
        """k/(k+1) for k matches beside the mark; of k only 0, 1 and "more" are kept."""
        count = np.where(is_mark, 0, np.minimum(2, old[:, 0] + keys.matches))
        y = np.array([0.0, 1 / 2, 5 / 6])[count.astype(np.int64)]
        # Sums of up to DEEPEST_SUM additions, and scores of matches that are not quite 0.
        unsure = float(keys.errors[keys.matches].max(initial=0.0))
        if not unsure <= 2.0**-4:
            raise NotProved(f"matches of {head.where} do not score 0 closely enough")
        off = 1 / 64 + math.expm1(2 * unsure)
        wide = np.array([0.0, off / 2, 1 / 6 + off])[count.astype(np.int64)]
        if len(head.value) != 1 or (values.nominal[:, 0] != (keys.matches & ~is_mark)).any():
            raise NotProved(f"{head.where} averages values that are not 1 at its matches and 0 elsewhere")
        return Values(y[:, None], wide[:, None]), count[:, None], keys

    def _soft(self, head: DecoderHead, values: Values, old: Array, is_mark: Mask) -> Values:
        """Own value and the one before, with the weights of scores -slope · distance."""
        own, late, slack = self.soft_weights(head)
        if late == 0:
            return Values(values.nominal, np.zeros_like(values.nominal))
        terms = math.ceil(self.underflow / head.slope) + 1
        width = slack + (19 + 2 * terms) * 2.0**-self.bits + 2.0**-50
        bound = max(1.0, float(np.abs(values.nominal).max(initial=0)), float(np.abs(old).max(initial=0)))
        nominal = np.where(is_mark[:, None], values.nominal, own * values.nominal + late * old)
        return Values(nominal, np.where(is_mark[:, None], 0.0, np.full_like(nominal, width * bound)))

    def soft_weights(self, head: DecoderHead) -> tuple[float, float, float]:
        """Returns the weights of the own value and of the one before, and what both may be off.

        The own weight lies between 1 - r and 1/(1 + r), where r = exp(-slope); the next is r times that, and
        all older ones have r² together. From a slope on that underflows the own weight is all.
        """
        if head.slope < math.log(2):
            raise NotProved(f"the slope {head.slope:g} of {head.where} is too small")
        if head.slope >= self.underflow:
            return 1.0, 0.0, 0.0
        r = math.exp(-head.slope)
        own = (1 - r + 1 / (1 + r)) / 2
        return own, r * own, (1 / (1 + r) - (1 - r)) / 2 * (1 + r) + r * r

    def check_scores(self, head: DecoderHead, keys: Keys, weights: DecoderWeights) -> None:
        """Verifies what the lemma of a head asks of slope and scores, and keeps its gap and horizon.

        Raises:
            NotProved: with what the lemma misses.
        """
        power = math.frexp(head.slope)[0] in (0.0, 0.5)
        if head.kind in ("last", "once"):
            head.gap = float((-keys.scores - keys.errors)[~keys.matches].min(initial=math.inf))
        if head.kind == "last":
            if not power or head.slope < self.underflow:
                raise NotProved(
                    f"the slope {head.slope:g} of {head.where} is no power of two above {self.underflow}"
                )
            if keys.errors[keys.matches].any():
                raise NotProved(f"matches of {head.where} do not score exactly 0")
            if head.gap <= 0:
                raise NotProved(f"a position that does not match scores above 0 in {head.where}")
            # Beyond 2^bits distances are not exact; a gap without end belongs to a head that never holds.
            most = (head.gap * (1 - 4 * self.rounding.unit) - self.underflow) / head.slope
            head.horizon = 1 << self.bits if most > 1 << self.bits else math.floor(most)
            if head.horizon < 1:
                raise NotProved(f"the gap {head.gap:g} of {head.where} is too small for its slope")
        elif head.kind == "once":
            if head.gap - float(keys.errors[keys.matches].max(initial=0.0)) < self.underflow:
                raise NotProved(f"the gap {head.gap:g} of {head.where} is below {self.underflow}")
        elif head.kind == "parity":
            queries, found = weights.parities(head.query), weights.parities(head.key)
            assert queries is not None
            assert found is not None
            seen = padded(weights.seen, np.zeros_like(weights.seen))
            if any(self.rounding.errors(rows, seen)[1].any() for rows in (head.query, head.key)):
                raise NotProved(f"the queries or keys of {head.where} are rounded")
            same, off = self.dots(queries, found)
            head.gap = float((-same - off).min())
            other = np.abs(self.dots(queries, found[::-1])).sum(axis=0)
            if other.any() or head.gap < head.slope + self.underflow or 2 * head.slope < self.underflow:
                raise NotProved(f"{head.where} does not tell the two parities apart")
