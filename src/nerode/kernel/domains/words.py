"""The units of a layer that forgets, as functions of the last words.

If a layer forgets after n-1 words, its state is a fixed linear map of them and of the start: the word that
was read `age` words ago is multiplied by A^age B. So the argument of each unit is a constant plus a sum over
ages and directions of a coefficient times an entry of a word's embedding. Multiplied by a common denominator
all is whole, and `Lanes` compute it for all words or all units at once.

`after` evaluates windows, the last words one by one. `contexts` says of each unit on which prefixes it fires.
"""

from __future__ import annotations

import array
import functools
import math
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.kernel.domains.models import START
from nerode.kernel.domains.windows import nilpotent_window
from nerode.kernel.network import AffineMove, CheckedLayer, CheckedNetwork, now, seen_unit, split_rows
from nerode.kernel.numbers import Number, combined, rational
from nerode.kernel.work import Undecided

Vector = dict[int, Fraction]
Factors = Sequence[tuple[int, Fraction]]
Part = tuple[tuple[int, int], ...]
"""What a unit reads of one word: pairs (direction, coefficient)."""

Context = tuple[int, ...]
"""Words, the last one last, perhaps after the start mark."""

Active = dict[str, Fraction]
"""The directions of the stream that are not zero."""

_WHAT = "a proof about distributions"


def _only_layer(network: CheckedNetwork) -> CheckedLayer:
    """Returns the only layer of a network, of a kind that is read here.

    Raises:
        Undecided: if the network is of another kind.
    """
    if len(network.layers) != 1:
        raise Undecided(f"{_WHAT} is for one layer; the network has {len(network.layers)}")
    layer = network.layers[0]
    if layer.units or layer.complex_state or layer.exposes_previous:
        raise Undecided(f"{_WHAT} is for layers without units before the state, old states or complex states")
    move = layer.move
    if not isinstance(move, AffineMove) or move.chosen or move.activation not in ("", "relu"):
        raise Undecided("the recurrence is neither linear with one matrix nor made of ReLU units")
    return layer


class Lanes:
    """Vectors of whole numbers as one large integer each, Σ v_j · 2**(width·j), which is linear in v.

    So a sum of multiples of vectors is one of large integers, which Python computes quickly. Every result
    stays below 2**(width-1) in size; then adding 2**(width-1) to each lane makes it positive and readable.
    """

    def __init__(self, count: int, largest: int) -> None:
        bits = largest.bit_length() + 2
        self.bytes = 8 if bits <= 64 else (bits + 7) // 8
        self.width = 8 * self.bytes
        self.count = count
        self._ones = int.from_bytes((b"\x01" + b"\x00" * (self.bytes - 1)) * count, "little")
        self._middle = self._ones << (self.width - 1)

    def pack(self, vector: Mapping[int, int]) -> int:
        """Returns the large integer of a vector, given by its entries that are not zero."""
        up, down = bytearray(self.bytes * self.count), bytearray(self.bytes * self.count)
        for j, v in vector.items():
            part = up if v > 0 else down
            part[j * self.bytes : (j + 1) * self.bytes] = abs(v).to_bytes(self.bytes, "little")
        return int.from_bytes(up, "little") - int.from_bytes(down, "little")

    def unpack(self, packed: int) -> tuple[MutableSequence[int], int]:
        """Returns the vector of a large integer with a constant added to each entry, and the constant."""
        shifted = (packed + self._middle).to_bytes(self.bytes * self.count, "little")
        offset = 1 << (self.width - 1)
        if self.bytes == 8 and sys.byteorder == "little":
            return array.array("Q", shifted), offset
        parts = (shifted[j : j + self.bytes] for j in range(0, len(shifted), self.bytes))
        return [int.from_bytes(part, "little") for part in parts], offset

    def positive(self, packed: int) -> Iterator[tuple[int, int]]:
        """Yields the entries above 0, as (number, value): v - 1 ≥ 0 shows in a top bit."""
        tops = (packed + self._middle - self._ones) & self._middle
        lanes = tops.to_bytes(self.bytes * self.count, "little")
        j = lanes.find(b"\x80")
        while j >= 0:
            lane = j // self.bytes
            part = (packed + self._middle) >> (lane * self.width) & ((1 << self.width) - 1)
            yield lane, part - (1 << (self.width - 1))
            j = lanes.find(b"\x80", j + 1)


@dataclass(frozen=True, slots=True)
class WordUnit:
    """A unit before its ReLU: a constant, and what each of the last words adds to it.

    Attributes:
        scale: all other numbers are multiples of 1/scale.
        ages: for each age the coefficients of the word that was read so many words ago.
        constants: the constant, by the number of words that were read; the last one holds from n-1 words on.
        first: the value of the unit, after its ReLU, before the first word.
    """

    scale: int
    ages: tuple[Part, ...]
    constants: tuple[int, ...]
    first: Fraction


class WordUnits:
    """The units of a layer that forgets after so many words.

    Args:
        network: the network.
        length: as many words matter at most.
        spoken: the directions of the stream that the decoder weighs.

    Attributes:
        units: the units; the last one is always 1.
        columns: for each unit the spoken directions that it adds to, with coefficients.
        words: for each word what the layer reads of it.
        length: how many of the last words matter.
        largest: above the arguments of all units, whatever the words.

    Raises:
        Undecided: if more words matter, a unit reads anything but these, or a number is irrational.
    """

    def __init__(self, network: CheckedNetwork, length: int, spoken: Container[str]) -> None:
        layer = _only_layer(network)
        if not network.embedding:
            raise Undecided("there are no words")
        window = nilpotent_window(network)
        if window > length:
            raise Undecided(f"the network looks at {window} words, the model at {length}")
        self.length = length
        self._work = network.field.work
        self._extremes: dict[Part, tuple[int, int, int, int]] = {}
        reads = sorted(set(layer.reads))
        self._place = {name: c for c, name in enumerate(reads)}
        self.words = [[_whole(vector[name]) for name in reads] for vector in network.embedding]
        self._start = [rational(v, _WHAT) for v in layer.start]
        assert isinstance(layer.move, AffineMove)
        linear = not layer.move.activation
        matrix, rows = split_rows(layer.move.maps[0])
        self._held = [[(j, rational(c, _WHAT)) for j, c in row] for row in matrix]
        self._read = [self._inputs(terms) for _, terms in rows]
        self._biases = [rational(bias, _WHAT) for bias, _ in rows]
        self.units = self._after_linear(layer) if linear else self._rectified(layer)
        self.columns = _unit_columns(layer, seen_unit if linear else now, len(self.units), spoken)
        self.units.append(WordUnit(1, ((),) * length, (1,) * (length + 1), Fraction(1)))
        # Lanes hold entries and coefficients by themselves as well, also where all entries are 0.
        size = max([1, *(abs(v) for word in self.words for v in word)])
        self.largest = size + max(
            size * sum(abs(v) for age in unit.ages for _, v in age) + max(map(abs, unit.constants))
            for unit in self.units
        )

    def _after_linear(self, layer: CheckedLayer) -> list[WordUnit]:
        """The readout units of a linear layer."""
        blocks, starts = self._unrolled(self._held, self._read, self._biases)
        places = {now(i): i for i in range(len(layer.state))}
        found = []
        for bias, terms in layer.seen_units:
            if any(name not in places for name, _ in terms):
                raise Undecided("a readout unit reads something else than the state")
            factors = [(places[name], rational(c, _WHAT)) for name, c in terms]
            constants = [rational(bias, _WHAT) + _dot(factors, start) for start in starts]
            ages = [combined(factors, block) for block in blocks]
            found.append(_scaled(ages, constants, max(constants[0], Fraction(0))))
        return found

    def _rectified(self, layer: CheckedLayer) -> list[WordUnit]:
        """The units of a ReLU recurrence; those that others read must not be cut off by their ReLU."""
        if layer.seen_units:
            raise Undecided("a ReLU recurrence has readout units as well")
        biases, held, read = self._biases, self._held, self._read
        kept = {j for row in held for j, _ in row}
        low = high = {i: self._start[i] for i in kept}
        # When as many words were read as matter, the bounds no longer change.
        for _ in range(self.length):
            self._work.spend(2 * sum(map(len, held)))
            low, high = (
                {i: self._bound(i, 0, low, high) for i in kept},
                {i: self._bound(i, 1, high, low) for i in kept},
            )
            if any(value < 0 for value in low.values()):
                raise Undecided("a unit that others read may be cut off by its ReLU")
        matrix = [row if i in kept else [] for i, row in enumerate(held)]
        writes = [row if i in kept else {} for i, row in enumerate(read)]
        drift = [bias if i in kept else Fraction(0) for i, bias in enumerate(biases)]
        blocks, starts = self._unrolled(matrix, writes, drift)
        found = []
        for i, factors in enumerate(held):
            ages = [read[i], *(combined(factors, block) for block in blocks[:-1])]
            constants = [biases[i], *(biases[i] + _dot(factors, start) for start in starts[:-1])]
            found.append(_scaled(ages, constants, self._start[i]))
        return found

    def _bound(
        self, i: int, side: int, own: Mapping[int, Fraction], other: Mapping[int, Fraction]
    ) -> Fraction:
        """The least (side 0) or greatest (side 1) argument of a unit, given both bounds of those it reads."""
        held = (c * (own[j] if c > 0 else other[j]) for j, c in self._held[i])
        read = (c * self._entries[k][side if c > 0 else 1 - side] for k, c in self._read[i].items())
        return sum((*held, *read), self._biases[i])

    @functools.cached_property
    def _entries(self) -> list[tuple[int, int]]:
        """The least and the greatest entry of a word, by direction."""
        return [(min(column), max(column)) for column in zip(*self.words, strict=True)]

    def _inputs(self, terms: Iterable[tuple[str, Number]]) -> Vector:
        """The coefficients of what a row reads of the stream."""
        found: Vector = {}
        for name, c in terms:
            if name not in self._place:
                raise Undecided("a row reads something else than the embedding")
            found[self._place[name]] = found.get(self._place[name], Fraction(0)) + rational(c, _WHAT)
        return found

    def _unrolled(
        self, matrix: Sequence[Factors], writes: Sequence[Vector], drift: Sequence[Fraction]
    ) -> tuple[list[Sequence[Vector]], list[Sequence[Fraction]]]:
        """The share of a word in the state, by age, and all else in it, by the number of words."""
        blocks: list[Sequence[Vector]] = [writes]
        starts: list[Sequence[Fraction]] = [self._start]
        for _ in range(self.length):
            self._work.spend(sum(map(len, matrix)) * (1 + len(self._place)))
            blocks.append([combined(row, blocks[-1]) for row in matrix])
            starts.append([d + _dot(row, starts[-1]) for row, d in zip(matrix, drift, strict=True)])
        return blocks[: self.length], starts

    def after(self, windows: Sequence[Context]) -> Iterator[tuple[Context, Active]]:
        """Yields windows of as many words as matter with the directions that are not zero after them."""
        lanes = Lanes(len(self.units), self.largest)
        columns: dict[tuple[int, int], dict[int, int]] = {}
        for j, unit in enumerate(self.units):
            for age, part in enumerate(unit.ages):
                for c, v in part:
                    columns.setdefault((age, c), {})[j] = v
        packed = {place: lanes.pack(column) for place, column in columns.items()}
        resting = lanes.pack({j: unit.constants[-1] for j, unit in enumerate(self.units)})
        for window in windows:
            total = resting
            for age, word in enumerate(reversed(window)):
                for c, entry in enumerate(self.words[word]):
                    if entry and (age, c) in packed:
                        total += entry * packed[age, c]
            self._work.spend(len(self.units))
            active: Active = {}
            for j, value in lanes.positive(total):
                for name, factor in self.columns[j]:
                    share = factor * Fraction(value, self.units[j].scale)
                    active[name] = active.get(name, Fraction(0)) + share
            yield window, {name: v for name, v in active.items() if v}

    def contexts(self, *, from_start: bool) -> Iterator[tuple[int, Context, Fraction]]:
        """Yields the units that matter and fire at all: number, context and value.

        A unit fires on the prefixes that end in its context, always with the same value.

        Args:
            from_start: whether prefixes of all lengths count, which begin with the start mark; else only
                those of as many words as matter, or more.

        Raises:
            Undecided: if a unit fires on prefixes that do not all end in one context.
        """
        for j, unit in enumerate(self.units):
            if not self.columns[j]:
                continue
            self._work.spend(8 * self.length)
            parts = [self.extremes(part) if part else None for part in unit.ages]
            fired = {
                count: found
                for count in range(1 if from_start else self.length, self.length + 1)
                if (found := _fired_after(parts[:count], unit.constants[count], len(self.words)))
            }
            own = _one_context(fired, self.length, unit.first) if from_start else fired.get(self.length)
            if own is not None:
                yield j, own[0], Fraction(own[1], unit.scale)

    @functools.cached_property
    def _directions(self) -> tuple[Lanes, list[int]]:
        """The entries of all words, by direction."""
        lanes = Lanes(len(self.words), self.largest)
        columns = range(len(self._place))
        return lanes, [
            lanes.pack({w: word[c] for w, word in enumerate(self.words) if word[c]}) for c in columns
        ]

    def extremes(self, part: Part) -> tuple[int, int, int, int]:
        """Returns least and greatest value of a part over all words, second greatest, and the best word."""
        if part not in self._extremes:
            lanes, directions = self._directions
            values, offset = lanes.unpack(sum(v * directions[c] for c, v in part))
            self._work.spend(8 * len(values))
            low, high = min(values), max(values)
            best = values.index(high)
            values[best] = low
            self._extremes[part] = (low - offset, high - offset, max(values) - offset, best)
        return self._extremes[part]


def _scaled(ages: Sequence[Vector], constants: Sequence[Fraction], first: Fraction) -> WordUnit:
    scale = math.lcm(*(v.denominator for v in (*constants, *(c for age in ages for c in age.values()))))
    parts = tuple(tuple((k, int(v * scale)) for k, v in sorted(age.items()) if v) for age in ages)
    return WordUnit(scale, parts, tuple(int(v * scale) for v in constants), first * scale)


def _unit_columns(
    layer: CheckedLayer, name_of: Callable[[int], str], count: int, spoken: Container[str]
) -> list[list[tuple[str, Fraction]]]:
    """For each unit the spoken directions that it adds to, with coefficients; a last unit is always 1."""
    places = {name_of(j): j for j in range(count)}
    columns: list[list[tuple[str, Fraction]]] = [[] for _ in range(count + 1)]
    for name, (offset, terms) in layer.outputs:
        if offset != 0:
            columns[-1].append((name, rational(offset, _WHAT)))
        for source, c in terms:
            if source not in places:
                raise Undecided("an output reads something else than the units")
            columns[places[source]].append((name, rational(c, _WHAT)))
    return [[(name, c) for name, c in column if name in spoken] for column in columns]


def _dot(factors: Factors, values: Sequence[Fraction]) -> Fraction:
    return sum((c * values[j] for j, c in factors if values[j]), Fraction(0))


def _whole(value: Number) -> int:
    number = rational(value, _WHAT)
    if number.denominator != 1:
        raise Undecided("an embedding has an entry that is not a whole number")
    return number.numerator


def _fired_after(
    parts: Sequence[tuple[int, int, int, int] | None], constant: int, num_words: int
) -> tuple[Context, int] | None:
    """The context that a unit fires on after so many words, and its value there; None if it never fires.

    Args:
        parts: for each age the extremes over the words, None if the word of this age does not matter.
        constant: what does not depend on the words.
        num_words: size of the vocabulary.
    """
    seen = [(age, part) for age, part in enumerate(parts) if part is not None]
    chosen = [(age, part) for age, part in seen if part[0] < part[1] or num_words == 1]
    top = constant + sum(part[1] for _, part in seen)
    if top <= 0:
        return None
    if num_words > 1 and any(top - (high - second) > 0 for _, (_, high, second, _) in chosen):
        raise Undecided("a unit fires on several words at one place, but not on all of them")
    if [age for age, _ in chosen] != list(range(len(chosen))):
        raise Undecided("a unit fires on words that are not the last ones")
    return tuple(part[3] for _, part in reversed(chosen)), top


def _one_context(
    fired: Mapping[int, tuple[Context, int]], length: int, first: Fraction
) -> tuple[Context, Fraction | int] | None:
    """The one context that a unit fires on, and its value there; None if it never fires.

    Args:
        fired: the same by the number of words so far, where it fires.
        length: as many words matter.
        first: the value before the first word.
    """
    if length in fired:
        # Fires on a context wherever it stands, however many words there are before it.
        context, value = fired[length]
        same = dict.fromkeys(range(max(1, len(context)), length + 1), fired[length])
        if fired == same and first == (0 if context else value):
            return context, value
    elif first and not fired:
        return (START,), first
    elif not first and len(fired) == 1:
        ((count, (context, value)),) = fired.items()
        if len(context) == count:
            return (START, *context), value
    elif not first and not fired:
        return None
    raise Undecided("a unit fires on prefixes that do not all end in one context")
