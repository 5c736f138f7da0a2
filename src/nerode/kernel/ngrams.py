"""Cells that know the last words: networks with the distributions of an n-gram model.

What is verified: the network forgets after n-1 words (`nilpotent_window`), so after every prefix that ends
in the same window of n-1 words it gives the same distribution; and this distribution, computed exactly, is as
near to the model's as the claim says, after each window that the model has a row for or that a sentence
passes through. For all prefixes, also: each unit fires on one window or on all, so the windows that are left
give one distribution, which is compared as well.
"""

from __future__ import annotations

import array
import functools
import itertools
import math
import sys
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.kernel.claims import PREDICT, VALID_PREFIXES, Failure, Refutation
from nerode.kernel.languages import END, NgramTable
from nerode.kernel.network import (
    CheckedLayer,
    CheckedNetwork,
    FixedMove,
    LogitRows,
    Row,
    SquashedMove,
    Weight,
    before,
    now,
    seen_unit,
)
from nerode.kernel.numbers import num_bits, rational
from nerode.kernel.walk import CheckProblem
from nerode.kernel.work import Undecided, WorkCount

Window = tuple[int, ...]
Amounts = Mapping[int, Fraction]
Active = dict[str, Fraction]
"""The directions of the stream that are not zero."""

_MAX_POWER_BITS = 1 << 17
"""Bits of a score of a softmax."""

_MOST_SHOWN = 8
_WHAT = "a proof about distributions"


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


@dataclass(frozen=True, slots=True)
class WorstWindow:
    """The place where a network is farthest from a model.

    Attributes:
        distance: the L1 distance there.
        window: the last words.
        got: what the network says there.
        cells: the number of windows that were compared; one stands for all others.
    """

    distance: Fraction
    window: Window
    got: Distribution
    cells: int


def worst_windows(problem: CheckProblem, model: NgramTable, task: str) -> dict[str, WorstWindow]:
    """Returns by task the largest L1 distance between network and model over windows, and where it is.

    Args:
        problem: a network that forgets after n-1 words.
        model: the model.
        task: VALID_PREFIXES for the windows of the model and of its sentences, PREDICT for these and all.

    Raises:
        Undecided: if the network is of another kind, or, for all windows, has units that fire on several.
    """
    layer = only_layer(problem.network)
    decode = _OutputLayer(problem.network)
    linear = _LinearWindows(problem, layer, model.order - 1) if isinstance(layer.move, FixedMove) else None
    windows = own = model.windows()
    others: list[tuple[Window, Active]] = []
    if task == PREDICT:
        if linear is None:
            raise Undecided("where the units fire is only found for linear recurrences")
        firing, always = linear.lone_windows()
        windows = tuple(sorted({*own, *firing}))
        beyond = _first_window_beyond(windows, model.end, model.order - 1)
        others += [] if beyond is None else [(beyond, always)]
    outputs = linear.outputs_after(windows) if linear else _stepped(problem.network, layer, windows)
    found: dict[str, WorstWindow] = {}
    counts = {VALID_PREFIXES: len(own), PREDICT: len(windows) + len(others)}
    valid = frozenset(own)
    for window, active in itertools.chain(others, outputs):
        got = decode(active)
        distance = got.distance(model.distribution(window), decode.num_outputs)
        problem.work.spend(4 * len(got.named) * (1 + num_bits(distance) // 64))
        for kind in (PREDICT, VALID_PREFIXES) if window in valid else (PREDICT,):
            if kind not in found or distance > found[kind].distance:
                found[kind] = WorstWindow(distance, window, got, counts[kind])
    if VALID_PREFIXES not in found:
        raise Undecided("the model has no window to compare")
    return found


def only_layer(network: CheckedNetwork) -> CheckedLayer:
    """Returns the only layer of a network, of a kind that is read here.

    Raises:
        Undecided: if the network is of another kind.
    """
    if len(network.layers) != 1:
        raise Undecided(f"{_WHAT} is for one layer; the network has {len(network.layers)}")
    layer = network.layers[0]
    if layer.units or layer.complex_state or layer.exposes_previous:
        raise Undecided(f"{_WHAT} is for layers without units before the state, old states or complex states")
    if not isinstance(layer.move, FixedMove) and not (
        isinstance(layer.move, SquashedMove) and layer.move.activation == "relu"
    ):
        raise Undecided("the recurrence is neither linear with one matrix nor made of ReLU units")
    return layer


def _first_window_beyond(windows: Sequence[Window], num_words: int, length: int) -> Window | None:
    """The first window that is not among these (sorted), None if they are all there are."""
    if len(windows) >= num_words**length:
        return None
    for number in range(len(windows) + 1):
        digits, rest = [], number
        for _ in range(length):
            rest, digit = divmod(rest, num_words)
            digits.append(digit)
        expected = tuple(reversed(digits))
        if number == len(windows) or windows[number] != expected:
            return expected
    return None


def _stepped(
    network: CheckedNetwork, layer: CheckedLayer, windows: Sequence[Window]
) -> Iterator[tuple[Window, Active]]:
    """Steps through the words of each window from the start state, which no longer matters at its end."""
    move_rows = layer.move.rows if isinstance(layer.move, SquashedMove) else ()
    rows, units = [_terms(row) for row in move_rows], [_terms(row) for row in layer.seen_units]
    outputs = [(name, _terms(row)) for name, row in layer.outputs]
    embedding = [{name: rational(v, _WHAT) for name, v in letter.items()} for letter in network.embedding]
    start = {before(i): rational(v, _WHAT) for i, v in enumerate(layer.start)}
    # Before the last word only the coordinates that others read have to be known.
    read = {name for _, terms in rows for name, _ in terms}
    kept = [i for i in range(len(rows)) if before(i) in read]
    size = sum(1 + len(terms) for _, terms in (*rows, *units, *(row for _, row in outputs)))
    for window in windows:
        network.field.work.spend(4 * size * len(window))
        table = {**embedding[window[0]], **start}
        for word in window[1:]:
            table = {**embedding[word], **{before(i): _relu(rows[i], table) for i in kept}}
        seen = dict(embedding[window[-1]])
        seen.update({now(i): _relu(row, table) for i, row in enumerate(rows)})
        seen.update({seen_unit(j): _relu(row, seen) for j, row in enumerate(units)})
        yield window, {name: v for name, row in outputs if (v := _value(row, seen))}


_Terms = tuple[Fraction, list[tuple[str, Fraction]]]


def _terms(row: Row) -> _Terms:
    return rational(row[0], _WHAT), [(name, rational(c, _WHAT)) for name, c in row[1]]


def _relu(row: _Terms, table: Mapping[str, Fraction]) -> Fraction:
    return max(_value(row, table), Fraction(0))


def _value(row: _Terms, table: Mapping[str, Fraction]) -> Fraction:
    total = row[0]
    for name, c in row[1]:
        if table[name]:
            total += c * table[name]
    return total


class _Lanes:
    """Vectors of whole numbers as one large integer each, Σ v_j · 2**(width·j), which is linear in v.

    So a sum of multiples of vectors is one of large integers, which Python computes quickly. Every result
    stays below 2**(width-1) in size; then adding 2**(width-1) to each lane makes it positive and readable.
    """

    def __init__(self, count: int, largest: int) -> None:
        bits = largest.bit_length() + 2
        self.bytes = 8 if bits <= 64 else (bits + 7) // 8
        self.width = 8 * self.bytes
        self.count = count
        ones = int.from_bytes((b"\x01" + b"\x00" * (self.bytes - 1)) * count, "little")
        self._middle = ones << (self.width - 1)
        self._tops = self._middle
        self._ones = ones

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
        tops = (packed + self._middle - self._ones) & self._tops
        lanes = tops.to_bytes(self.bytes * self.count, "little")
        j = lanes.find(b"\x80")
        while j >= 0:
            lane = j // self.bytes
            part = (packed + self._middle) >> (lane * self.width) & ((1 << self.width) - 1)
            yield lane, part - (1 << (self.width - 1))
            j = lanes.find(b"\x80", j + 1)


class _LinearWindows:
    """The units behind a linear layer as functions of the last words, in whole numbers.

    If A^length = 0, the state is a fixed linear map of the window: the word that was read `age` words ago is
    multiplied by A^age B. So the argument of each unit is a constant plus a sum over ages and directions of a
    coefficient times an entry of a word's embedding; multiplied by a common denominator all is whole.
    """

    def __init__(self, problem: CheckProblem, layer: CheckedLayer, length: int) -> None:
        self._work: WorkCount = problem.work
        self._length = length
        reads = sorted(set(layer.reads))
        self._width = len(reads)
        rows, bias = _unit_arguments(layer, reads, length, self._work)
        self._scale = [
            math.lcm(b.denominator, *(v.denominator for v in row.values()))
            for row, b in zip(rows, bias, strict=True)
        ]
        self._rows = [
            {k: int(v * s) for k, v in row.items() if v} for row, s in zip(rows, self._scale, strict=True)
        ]
        self._offsets = [int(b * s) for b, s in zip(bias, self._scale, strict=True)]
        self._words = [[_whole(vector[name]) for name in reads] for vector in problem.network.embedding]
        self._columns = _unit_columns(layer)
        size = max((abs(v) for word in self._words for v in word), default=0)
        sums = [
            sum(map(abs, row.values())) * size + abs(offset)
            for row, offset in zip(self._rows, self._offsets, strict=True)
        ]
        self._largest = max(sums, default=0) + 1

    def outputs_after(self, windows: Sequence[Window]) -> Iterator[tuple[Window, Active]]:
        """Yields for each window the directions that are not zero after it."""
        units = _Lanes(len(self._rows), self._largest)
        columns: dict[int, dict[int, int]] = {}
        for j, row in enumerate(self._rows):
            for k, v in row.items():
                columns.setdefault(k, {})[j] = v
        packed = {k: units.pack(column) for k, column in columns.items()}
        resting = units.pack(dict(enumerate(self._offsets)))
        for window in windows:
            total = resting
            for age in range(self._length):
                for c, entry in enumerate(self._words[window[-1 - age]]):
                    if entry and age * self._width + c in packed:
                        total += entry * packed[age * self._width + c]
            self._work.spend(len(self._rows))
            yield window, self._outputs(units.positive(total))

    def lone_windows(self) -> tuple[list[Window], Active]:
        """Returns the windows on which units fire that do not always fire, and what there is on all others.

        Raises:
            Undecided: if a unit fires on some windows, but not on one or on all.
        """
        found: set[Window] = set()
        always: list[tuple[int, int]] = []
        lanes = _Lanes(len(self._words), self._largest)
        directions = [
            lanes.pack({w: word[c] for w, word in enumerate(self._words) if word[c]})
            for c in range(self._width)
        ]

        @functools.cache
        def extremes(part: tuple[tuple[int, int], ...]) -> tuple[int, int, int, int]:
            """Least and greatest value of a part over all words, second greatest, and the best word."""
            values, offset = lanes.unpack(sum(v * directions[c] for c, v in part))
            self._work.spend(8 * len(values))
            low, high = min(values), max(values)
            best = values.index(high)
            values[best] = low
            return low - offset, high - offset, max(values) - offset, best

        for j, row in enumerate(self._rows):
            parts = []
            for age in range(self._length):
                first = age * self._width
                part = tuple(
                    (k - first, v) for k, v in sorted(row.items()) if first <= k < first + self._width
                )
                parts.append(extremes(part))
            low = self._offsets[j] + sum(part[0] for part in parts)
            high = self._offsets[j] + sum(part[1] for part in parts)
            if high > 0 and low == high:
                always.append((j, high))
            elif high > 0:
                if high - min(part[1] - part[2] for part in parts) > 0:
                    raise Undecided("a unit fires on several windows, but not on all of them")
                found.add(tuple(part[3] for part in reversed(parts)))
        return sorted(found), self._outputs(always)

    def _outputs(self, fired: Iterator[tuple[int, int]] | Sequence[tuple[int, int]]) -> Active:
        """The directions of the stream that are not zero, from the units that fire."""
        found: Active = {}
        for j, value in fired:
            for name, c in self._columns[j]:
                found[name] = found.get(name, Fraction(0)) + c * Fraction(value, self._scale[j])
        return {name: v for name, v in found.items() if v}


def _unit_arguments(
    layer: CheckedLayer, reads: list[str], length: int, work: WorkCount
) -> tuple[list[dict[int, Fraction]], list[Fraction]]:
    """The arguments of the readout units: coefficients and constants.

    Coordinate c of the word that was read `age` words ago is input number age · (number of reads) + c.
    """
    assert isinstance(layer.move, FixedMove)
    place = {name: c for c, name in enumerate(reads)}
    block: list[dict[int, Fraction]] = []
    for _, terms in layer.move.writes:
        row: dict[int, Fraction] = {}
        for name, c in terms:
            row[place[name]] = row.get(place[name], Fraction(0)) + rational(c, _WHAT)
        block.append(row)
    drift = [rational(offset, _WHAT) for offset, _ in layer.move.writes]
    matrix = [[(j, rational(c, _WHAT)) for j, c in row] for row in layer.move.matrix]
    constant, states = list(drift), [dict(row) for row in block]
    for age in range(1, length):
        block = [_combined(row, block) for row in matrix]
        drift = [sum((c * drift[j] for j, c in row if drift[j]), Fraction(0)) for row in matrix]
        work.spend(sum(len(row) for row in matrix) * (1 + len(reads)))
        constant = [a + b for a, b in zip(constant, drift, strict=True)]
        for state, row in zip(states, block, strict=True):
            state.update((age * len(reads) + k, v) for k, v in row.items())
    places = {now(i): i for i in range(len(layer.state))}
    rows, bias = [], []
    for offset, terms in layer.seen_units:
        if any(name not in places for name, _ in terms):
            raise Undecided("a readout unit reads something else than the state")
        factors = [(places[name], rational(c, _WHAT)) for name, c in terms]
        rows.append(_combined(factors, states))
        bias.append(rational(offset, _WHAT) + sum((c * constant[i] for i, c in factors), Fraction(0)))
    return rows, bias


def _combined(
    factors: Sequence[tuple[int, Fraction]], vectors: Sequence[Mapping[int, Fraction]]
) -> dict[int, Fraction]:
    """The sum of multiples of sparse vectors."""
    if len(factors) == 1 and factors[0][1] == 1:
        return dict(vectors[factors[0][0]])
    total: dict[int, Fraction] = {}
    for j, c in factors:
        for k, v in vectors[j].items():
            total[k] = total.get(k, Fraction(0)) + c * v
    return {k: v for k, v in total.items() if v}


def _unit_columns(layer: CheckedLayer) -> list[list[tuple[str, Fraction]]]:
    """For each readout unit the directions that it adds to, with coefficients."""
    places = {seen_unit(j): j for j in range(len(layer.seen_units))}
    columns: list[list[tuple[str, Fraction]]] = [[] for _ in places]
    for name, (offset, terms) in layer.outputs:
        if offset != 0:
            raise Undecided("an output is not zero where no unit fires")
        for source, c in terms:
            if source not in places:
                raise Undecided("an output reads something else than the readout units")
            columns[places[source]].append((name, rational(c, _WHAT)))
    return columns


def _whole(value: object) -> int:
    number = rational(value, _WHAT)
    if number.denominator != 1:
        raise Undecided("an embedding has an entry that is not a whole number")
    return number.numerator


class _OutputLayer:
    """The decoder of a network by columns: from directions that are not zero to exact probabilities.

    Nothing is rounded: the scores of a softmax are whole powers of rationals wherever the weights were made
    for it, and anything else is refused. Outputs that no active direction speaks for have score 0.
    """

    def __init__(self, network: CheckedNetwork) -> None:
        decoder = network.decoder
        if not isinstance(decoder, LogitRows):
            raise Undecided("the decoder has no distribution")
        outputs = {name for layer in network.layers for name, _ in layer.outputs}
        if not outputs.issuperset(decoder.reads):
            raise Undecided("the decoder reads a direction that no layer puts out")
        self.num_outputs = len(decoder.rows)
        self._normaliser = decoder.normaliser
        self._columns: dict[str, list[tuple[int, Weight]]] = {name: [] for name in decoder.reads}
        for output, row in enumerate(decoder.rows):
            for j, weight in row:
                if decoder.normaliser != "softmax" and any(ratio != 1 for _, ratio in weight):
                    raise Undecided(f"a weight of a {decoder.normaliser} is a logarithm, not a number")
                self._columns[decoder.reads[j]].append((output, weight))

    def __call__(self, active: Mapping[str, Fraction]) -> Distribution:
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
    score, bits = Fraction(1), 0
    for ratio, exponent in exponents.items():
        bits += abs(exponent.numerator) * num_bits(ratio)
        if exponent.denominator != 1 or bits > _MAX_POWER_BITS:
            raise Undecided("a score is a power that is not whole, or too large")
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


def wrong_distribution(model: NgramTable, worst: WorstWindow, eps: Fraction | None) -> Failure:
    """Returns the failure of a network after a window, with a shortest prefix that ends in it."""
    word = _prefix_to(model, worst.window)
    wanted = model.distribution(worst.window)
    likely = sorted(worst.got.named, key=lambda v: (-worst.got.named[v], v))[:_MOST_SHOWN]
    symbols = (*model.letters.symbols, END)
    refutation = Refutation(
        word=tuple(symbols[w] for w in word),
        at=len(word),
        expected=tuple(f"{symbols[v]}: {_decimal(wanted[v])}" for v in sorted(wanted)),
        got=tuple(f"{symbols[v]}: {_decimal(worst.got.named[v])}" for v in likely),
    )
    bound = "0" if eps is None else f"below {_decimal(eps)}"
    return Failure(
        what=(
            f"after {model.letters.decode(word)} the distribution is {_decimal(worst.distance)} away "
            f"from the model's, not {bound}"
        ),
        refutation=refutation,
    )


def _decimal(value: Fraction) -> str:
    """Six digits of a number that is at most 2, for a message."""
    return f"{value.numerator / value.denominator:.6g}"


def _prefix_to(model: NgramTable, window: Window) -> tuple[int, ...]:
    """A shortest sentence prefix that ends in a window; the window itself if no sentence has it."""
    if window not in model.contexts:
        return window
    goal = model.contexts.index(window)
    came: dict[int, tuple[int, int]] = {0: (0, 0)}
    queue = [0]
    for state in queue:
        for word in model.legal(state).letters:
            target = model.advance(state, word)
            if target not in came:
                came[target] = (state, word)
                queue.append(target)
    words = []
    while goal:
        goal, word = came[goal]
        words.append(word)
    return tuple(reversed(words))
