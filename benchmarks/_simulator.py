"""A simulator of networks in plain fractions, for judging what a proof checker accepts.

It reads `network.json` by itself and shares no code with the kernel, the interpreter or the models. Roots of
unity are rounded to 60 digits, tanh of units to 120, sigmoid and exp are those of floats; a comparison that
hangs on that is settled with a tolerance. Everything else is exact.
"""

from __future__ import annotations

import functools
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

Json = Any
Number = Any
"""An int, a Fraction, a Complex, or in networks with gated cells a float."""

_DIGITS = 120
"""Digits of tanh."""

States = list[list[Number]]
Answer = tuple[frozenset[str], bool]
"""The letters that may follow, and whether the word may end."""

DIGITS = 60
_ONE = 10**DIGITS
CLOSE = Fraction(1, 10**45)
"""Numbers that are nearer to each other than this are taken for equal where roots of unity occur."""

FLOAT_CLOSE = 1e-9

FORMATS = {
    "float64": (53, -1022, 1023),
    "float32": (24, -126, 127),
    "bfloat16": (8, -126, 127),
    "float16": (11, -14, 15),
}
"""Bits of the significand, smallest and largest exponent."""


class Complex:
    """A complex number with both parts rounded to 60 digits."""

    __slots__ = ("im", "re")

    def __init__(self, re: Fraction, im: Fraction) -> None:
        self.re, self.im = _cut(re), _cut(im)

    def __add__(self, other: Number) -> Complex:
        other = as_complex(other)
        return Complex(self.re + other.re, self.im + other.im)

    def __mul__(self, other: Number) -> Complex:
        other = as_complex(other)
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Complex) and (self.re, self.im) == (other.re, other.im)

    def __hash__(self) -> int:
        return hash((self.re, self.im))

    __radd__ = __add__
    __rmul__ = __mul__


def _cut(value: Fraction) -> Fraction:
    return value if value.denominator <= _ONE else Fraction(math.floor(value * _ONE), _ONE)


def _inverse(value: Number) -> Number:
    if not isinstance(value, Complex):
        return 1 / Fraction(value)
    size = value.re**2 + value.im**2
    return Complex(value.re / size, -value.im / size)


def as_complex(value: Number) -> Complex:
    """Returns a number as a complex one."""
    return value if isinstance(value, Complex) else Complex(Fraction(value), Fraction(0))


def real(value: Number) -> Number:
    """Returns the real part."""
    return value.re if isinstance(value, Complex) else value


def imaginary(value: Number) -> Number:
    """Returns the imaginary part."""
    return value.im if isinstance(value, Complex) else 0


_TERM = re.compile(r"([+-]?)(?:(\d+(?:/\d+)?)(?:\*e\((\d+)/(\d+)\))?|e\((\d+)/(\d+)\))")


def read_number(text: Json) -> Number:
    """Returns the number of a written form such as 3, "-3/4" or "1/2*e(1/8)-1"."""
    if isinstance(text, int):
        return text
    total: Number = Fraction(0)
    position = 0
    while position < len(text):
        match = _TERM.match(text, position)
        if match is None or match.end() == position:
            raise ValueError(f"not a number: {text[:40]}")
        sign, amount, k1, m1, k2, m2 = match.groups()
        term: Number = Fraction(amount or 1) * (-1 if sign == "-" else 1)
        if k1 or k2:
            term = _root(int(k1 or k2), int(m1 or m2)) * term
        total = total + term if not isinstance(term, Complex) else term + total
        position = match.end()
    return total.numerator if isinstance(total, Fraction) and total.denominator == 1 else total


@functools.cache
def _root(k: int, m: int) -> Complex:
    """exp(2πi k/m)."""
    return Complex(_cosine(Fraction(k, m) % 1), _cosine((Fraction(k, m) - Fraction(1, 4)) % 1))


@functools.cache
def _pi() -> Fraction:
    """By Machin's formula, to more digits than are kept."""

    def inverse_tangent(n: int) -> Fraction:
        unit = 10 ** (DIGITS + 20)
        total, power, k = 0, unit // n, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power //= n * n
            k += 2
        return Fraction(total, unit)

    return 4 * (4 * inverse_tangent(5) - inverse_tangent(239))


def _cosine(turns: Fraction) -> Fraction:
    """cos(2π · turns) for turns in [0,1)."""
    if (4 * turns).denominator == 1:
        return Fraction((1, 0, -1, 0)[int(4 * turns)])
    x = 2 * _pi() * (turns if turns <= Fraction(1, 2) else 1 - turns)
    total, term = Fraction(0), Fraction(1)
    for n in range(1, 200):
        total += term
        term = -term * x * x / ((2 * n - 1) * (2 * n))
        if abs(term) * 10 ** (DIGITS + 10) < 1:
            break
    return total


@dataclass
class Watch:
    """Looks whether every product and every partial sum, in random orders, is a number of a format."""

    formats: list[str]
    choose: random.Random
    broken: set[str] = field(default_factory=set)

    def see(self, terms: Sequence[Number]) -> None:
        """Notes the formats that do not hold some partial sum."""
        order = list(terms)
        self.choose.shuffle(order)
        total: Number = 0
        for term in order:
            total = total + term
            for value in (term, total):
                for part in (real(value), imaginary(value)):
                    self.broken.update(f for f in self.formats if f not in self.broken and not fits(part, f))


@functools.lru_cache(maxsize=1 << 16)
def fits(value: Fraction | int, name: str) -> bool:
    """Whether a format holds a number."""
    bits, smallest, largest = FORMATS[name]
    value = Fraction(value)
    if value == 0:
        return True
    odd = abs(value.numerator)
    if value.denominator & (value.denominator - 1):
        return False
    exponent = odd.bit_length() - value.denominator.bit_length()
    while odd % 2 == 0:
        odd //= 2
    return odd.bit_length() <= bits and smallest <= exponent <= largest


class Simulator:
    """Runs the network of a `network.json`, letter by letter.

    Attributes:
        letters: the alphabet.
        approximate: whether roots of unity, tanh, sigmoid or exp occur, so that ties cannot be told.
    """

    def __init__(self, data: Json, *, watch: Watch | None = None) -> None:
        self.letters: list[str] = data["alphabet"]
        self.data = data
        self.watch = watch
        kinds = [layer["recurrence"] for layer in data["layers"]]
        self.floats = any(k["kind"] == "gated-cell" for k in kinds)
        squashed = any(k["kind"] == "elman" and k["activation"] == "tanh" for k in kinds)
        text = str(data["layers"]) + str(data["decoder"]) + str(data["embedding"])
        self.approximate = self.floats or squashed or "e(" in text
        self._close: Number = FLOAT_CLOSE if self.floats else CLOSE if self.approximate else 0
        self.vectors = [self._numbers(v) for v in data["embedding"]["vectors"]]
        self.layers = [_Layer(self, layer) for layer in data["layers"]]
        decoder = data["decoder"]
        self._units = self._map(decoder["units"]) if decoder["kind"] == "scores" else None
        self._scores = self._map(decoder["scores"]) if decoder["kind"] == "scores" else None
        self._points = [self._numbers(p) for p in decoder.get("points", [])]
        self.empty = read_answer(decoder["empty"])
        self._answers = [read_answer(names) for names in decoder.get("answers", [])]
        self._known: dict[Any, tuple[States, list[Number]]] = {}
        self._said: dict[Any, Answer | None] = {}

    def number(self, text: Json) -> Number:
        """Returns a number of the file; a float in networks that need floats."""
        value = read_number(text)
        return float(real(value)) if self.floats else value

    def _numbers(self, texts: Json) -> list[Number]:
        return [self.number(text) for text in texts]

    def _map(self, data: Json) -> tuple[list[Number], list[list[tuple[int, Number]]]]:
        rows = [[(j, self.number(c)) for j, c in row] for row in data["rows"]]
        return self._numbers(data["bias"]), rows

    def total(self, terms: Sequence[Number]) -> Number:
        """Returns a sum."""
        if self.watch is not None:
            self.watch.see(terms)
        found: Number = 0
        for term in terms:
            found = term + found if isinstance(term, Complex) else found + term
        return found

    def image(
        self, affine: tuple[list[Number], list[list[tuple[int, Number]]]], x: Sequence[Number]
    ) -> list[Number]:
        """Returns the image under an affine map."""
        return [
            self.total([b, *(x[j] * c if isinstance(x[j], Complex) else c * x[j] for j, c in row)])
            for b, row in zip(*affine, strict=True)
        ]

    def start(self) -> States:
        """Returns the states before the first letter."""
        return [list(layer.start) for layer in self.layers]

    def step(
        self, states: States, letter: int, noise: random.Random | None = None, eps: float = 0.0
    ) -> tuple[States, list[Number]]:
        """Returns the states after a letter, and what the decoder reads.

        Args:
            states: the states before.
            letter: its number.
            noise: where given, every coordinate is moved by -eps, 0 or eps after the letter.
            eps: see there.
        """
        key = (letter, *map(tuple, states))
        if noise is None and key in self._known:
            return self._known[key]
        found = self._step(states, letter, noise, eps)
        if noise is None:
            self._known[key] = found
        return found

    def _step(
        self, states: States, letter: int, noise: random.Random | None, eps: float
    ) -> tuple[States, list[Number]]:
        stream = dict(zip(self.data["embedding"]["directions"], self.vectors[letter], strict=True))
        after = []
        for layer, state in zip(self.layers, states, strict=True):
            new, outputs = layer.step(
                [stream[name] for name in layer.data["reads"]], state, letter, noise, eps
            )
            after.append(new)
            stream.update(zip(layer.data["outputs"], outputs, strict=True))
        return after, [stream[name] for name in self.data["decoder"]["reads"]]

    def start_reads(self) -> list[Number]:
        """Returns what the decoder reads before the first letter: start states, with zeros for the letter."""
        stream: dict[str, Number] = dict.fromkeys(self.data["embedding"]["directions"], Fraction(0))
        for layer in self.layers:
            inside = [*(stream[name] for name in layer.data["reads"]), *layer._shown(layer.start)]
            if layer.data["exposes_previous"]:
                inside += layer._shown(layer.start)
            units = layer.seen_units(inside)
            stream.update(
                zip(layer.data["outputs"], self.image(layer.readout, [*inside, *units]), strict=True)
            )
        return [stream[name] for name in self.data["decoder"]["reads"]]

    def answer(self, reads: list[Number]) -> Answer | None:
        """Returns the answer of the decoder; None if two nearest points disagree."""
        key = tuple(reads)
        if key not in self._said:
            self._said[key] = self._answer(reads)
        return self._said[key]

    def _answer(self, reads: list[Number]) -> Answer | None:
        if self._scores is not None and self._units is not None:
            units = [relu(v) for v in self.image(self._units, reads)]
            half = 0.5 if self.floats else Fraction(1, 2)
            above = [real(v) > half + self._close for v in self.image(self._scores, [*reads, *units])]
            return frozenset(a for a, legal in zip(self.letters, above, strict=False) if legal), above[-1]
        products = [
            real(
                self.total(
                    [a * b if isinstance(a, Complex) else b * a for a, b in zip(p, reads, strict=True)]
                )
            )
            for p in self._points
        ]
        best = max(products)
        found = {a for a, v in zip(self._answers, products, strict=True) if v >= best - self._close}
        return found.pop() if len(found) == 1 else None

    def distribution(self, reads: list[Number]) -> list[float]:
        """Returns the distribution of a decoder of logits, in floats."""
        decoder = self.data["decoder"]
        plain = decoder["normaliser"] != "softmax"
        scores = []
        for row in decoder["rows"]:
            total: Number = 0
            for j, weight in row:
                read = real(reads[j])
                if plain:
                    total += read * sum(Fraction(s) for s, _ in weight)
                else:
                    total += float(read) * sum(float(Fraction(s)) * _log(Fraction(r)) for s, r in weight)
            scores.append(total)
        if decoder["normaliser"] == "softmax":
            top = max(scores)
            shares = [math.exp(s - top) for s in scores]
            return [s / sum(shares) for s in shares]
        if decoder["normaliser"] == "hardmax":
            best = [s >= max(scores) - FLOAT_CLOSE for s in scores]
            return [b / sum(best) for b in best]
        total, threshold = Fraction(0), Fraction(0)
        for k, v in enumerate(sorted(scores, reverse=True), start=1):
            total += v
            threshold = (total - 1) / k if 1 + k * v > total else threshold
        return [float(max(v - threshold, 0)) for v in scores]


def _attended(kind: str, hold: Number, value: Number, summary: Number) -> Number:
    """The summary of a head after one more position.

    Raises:
        ValueError: if no head of this kind has such keys and values.
    """
    hold, value = (v.re if isinstance(v, Complex) and v.im == 0 else v for v in (hold, value))
    wanted = {"mean": (1,), "previous": (0,)}.get(kind, (0, 1))
    if hold not in wanted or (kind == "once" and value != 1 - hold) or (kind == "last" and hold and value):
        raise ValueError(f"no head of the kind {kind}")
    if kind == "mean":
        return summary + value
    return summary if hold else value


class _Layer:
    def __init__(self, simulator: Simulator, data: Json) -> None:
        self.simulator, self.data, self.move = simulator, data, data["recurrence"]
        number = simulator.number
        self.start = [number(v) for v in data["start"]]
        self.units, self.readout_units, self.readout = (
            simulator._map(data[name]) for name in ("units", "readout_units", "readout")
        )
        self.maps = {
            name: simulator._map(self.move[name])
            for name in ("gate", "write", "update", "selector", "hold", "values")
            if name in self.move
        }
        self.gates = [simulator._map(gate) for gate in self.move.get("gates", [])]
        self.matrix = [[(j, number(c)) for j, c in row] for row in self.move.get("matrix", [])]
        self.matrices = [
            [[(j, number(c)) for j, c in row] for row in matrix] for matrix in self.move.get("matrices", [])
        ]
        self.writes = [[number(v) for v in vector] for vector in self.move.get("writes", [])]

    def step(
        self, reads: list[Number], state: list[Number], letter: int, noise: random.Random | None, eps: float
    ) -> tuple[list[Number], list[Number]]:
        """Returns the new state and the outputs."""
        image = self.simulator.image
        new = self._advance([*reads, *map(relu, image(self.units, reads))], state, letter)
        if noise is not None:
            new = [v + eps * noise.choice((-1, 0, 1)) for v in new]
        inside = [*reads, *self._shown(new)]
        if self.data["exposes_previous"]:
            inside += self._shown(state)
        return new, image(self.readout, [*inside, *self.seen_units(inside)])

    def seen_units(self, inside: list[Number]) -> list[Number]:
        """Returns the readout units."""
        return [relu(v) for v in self.simulator.image(self.readout_units, inside)]

    def _shown(self, state: list[Number]) -> list[Number]:
        if not self.data["complex_state"]:
            return state
        return [*map(real, state), *map(imaginary, state)]

    def _advance(self, seen: list[Number], h: list[Number], letter: int) -> list[Number]:
        total, image = self.simulator.total, self.simulator.image
        match self.move["kind"]:
            case "diagonal":
                gates, writes = image(self.maps["gate"], seen), image(self.maps["write"], seen)
                return [total([w, times(g, v)]) for g, v, w in zip(gates, h, writes, strict=True)]
            case "attention":
                holds, values = image(self.maps["hold"], seen), image(self.maps["values"], seen)
                heads = zip(self.move["heads"], holds, values, h, strict=True)
                return [_attended(*head) for head in heads]
            case "time-invariant":
                return self._applied(self.matrix, h, image(self.maps["write"], seen))
            case "letter-matrices":
                choice = self._chosen(seen, letter)
                return self._applied(self.matrices[choice], h, self.writes[choice])
            case "permutation-diagonal":
                moved: list[list[Number]] = [[w] for w in self.writes[letter]]
                for j, i in enumerate(self.move["images"][letter]):
                    moved[i].append(times(self.simulator.number(self.move["diagonals"][letter][j]), h[j]))
                return [total(terms) for terms in moved]
            case "householder":
                return self._reflected(seen, h, letter)
            case "elman":
                values = image(self.maps["update"], [*seen, *h])
                return [_squash(self.move["activation"], v) for v in values]
            case "gated-cell":
                return self._cell(seen, h)
            case other:
                raise ValueError(other)

    def _applied(
        self, rows: list[list[tuple[int, Number]]], h: list[Number], b: list[Number]
    ) -> list[Number]:
        return [
            self.simulator.total([w, *(times(c, h[j]) for j, c in row)])
            for w, row in zip(b, rows, strict=True)
        ]

    def _chosen(self, seen: list[Number], letter: int) -> int:
        if "selector" not in self.maps:
            return letter
        chosen = self.simulator.image(self.maps["selector"], seen)
        if sorted(chosen) != [0] * (len(chosen) - 1) + [1]:
            raise ValueError("a selector is not one-hot")
        return chosen.index(1)

    def _reflected(self, seen: list[Number], h: list[Number], letter: int) -> list[Number]:
        choice = self._chosen(seen, letter)
        values = list(h)
        total, number = self.simulator.total, self.simulator.number
        for factor in self.move["factors"][choice]:
            vector = [number(e) for e in factor["vector"]]
            square = sum((e * e for e in vector), Fraction(0))
            scale = number(factor["beta"]) * _inverse(square)
            amount = total([scale * total([times(e, v) for e, v in zip(vector, values, strict=True) if e])])
            values = [total([v, -e * amount]) if e else v for e, v in zip(vector, values, strict=True)]
        return [total([w, v]) for w, v in zip(self.writes[choice], values, strict=True)]

    def _cell(self, seen: list[float], state: list[float]) -> list[float]:
        image, kind = self.simulator.image, self.move["cell"]
        width = len(state) // {"gru": 1, "lstm": 2, "slstm": 3}[kind]
        h = state[:width]
        if kind == "gru":
            reset, update = ([_sigmoid(v) for v in image(gate, [*seen, *h])] for gate in self.gates[:2])
            inner = [r * v for r, v in zip(reset, h, strict=True)]
            new = [math.tanh(v) for v in image(self.gates[2], [*seen, *inner])]
            cap = float(Fraction(self.move.get("cap", 1)))
            shares = [1 - cap * (1 - u) for u in update]
            return [(1 - s) * a + s * b for s, a, b in zip(shares, h, new, strict=True)]
        write, forget, shown, inner = (image(gate, [*seen, *h]) for gate in self.gates)
        c = state[width : 2 * width]
        amounts = [_sigmoid(v) if kind == "lstm" else math.exp(min(v, 700.0)) for v in write]
        new = [
            _sigmoid(f) * old + a * math.tanh(z)
            for f, old, a, z in zip(forget, c, amounts, inner, strict=True)
        ]
        if kind == "lstm":
            return [_sigmoid(o) * math.tanh(v) for o, v in zip(shown, new, strict=True)] + new
        norm = [_sigmoid(f) * n + a for f, n, a in zip(forget, state[2 * width :], amounts, strict=True)]
        return [_sigmoid(o) * v / n for o, v, n in zip(shown, new, norm, strict=True)] + new + norm


def read_answer(names: Json) -> Answer:
    """Returns the answer of a list of letters, with "$" for the end."""
    return frozenset(name for name in names if name != "$"), "$" in names


def times(left: Number, right: Number) -> Number:
    """Returns a product."""
    return left * right if isinstance(left, Complex) else right * left


def relu(value: Number) -> Number:
    """Returns the value, or 0 if it is negative."""
    return value if real(value) > 0 else 0


def words_to(length: int, letters: int) -> Iterator[tuple[int, ...]]:
    """Yields all words up to a length, each after its prefixes."""
    level: list[tuple[int, ...]] = [()]
    for _ in range(length):
        level = [(*word, a) for word in level for a in range(letters)]
        yield from level


def _squash(activation: str, value: Number) -> Number:
    if activation == "tanh":
        if imaginary(value) != 0:
            raise ValueError("tanh of a number that is not real")
        value = real(value)
        with localcontext(prec=_DIGITS):
            twice = (Decimal(2 * value.numerator) / Decimal(value.denominator)).exp()
            return Fraction((twice - 1) / (twice + 1))
    positive = relu(value)
    return min(positive, 1) if activation == "clip" else positive


def _sigmoid(value: float) -> float:
    return 0.5 + 0.5 * math.tanh(value / 2)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
