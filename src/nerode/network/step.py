"""One step of a network, in any numbers: the definition that all other modules use.

The interpreter steps in exact or decimal numbers, the modules of `models` in torch, ONNX graphs in nodes, the
finders of proofs in boxes. `record.py` says in formulas what is computed here. To the network a layer is
something that reads the stream, keeps a state of its own, and gives outputs. Heads of attention are such
layers, too (`attention.py`): their state is what they have seen of the past.

The interpreter is the oracle for every later stage. Networks with rational or cyclotomic entries and ReLU or
clip activations run in exact arithmetic. Networks with tanh, sigmoid or exp run in decimal arithmetic of 50
digits; their guarantee comes from a certificate with margins, not from here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import localcontext
from fractions import Fraction
from typing import Any, Generic

from nerode.core import Cyclotomic, Exact, charge, is_rational, to_complex
from nerode.languages import Legal, WordLike
from nerode.network.numbers import DIGITS, DecimalNumbers, ExactNumbers, Numbers, Scalar, Scalars, Vector
from nerode.network.record import Layer, LogitDecoder, LogSum, Network, PointDecoder, ScoreDecoder


class LayerStep(Generic[Vector]):
    """One layer with its numbers converted once.

    Attributes:
        seen: from what the layer reads to that and its units.
        recurrence: the step of its recurrence.
    """

    def __init__(self, layer: Layer, numbers: Numbers[Vector]) -> None:
        self._numbers = numbers
        self._exposes_previous, self._is_complex = layer.exposes_previous, layer.complex_state
        self.seen = numbers.with_units(layer.units, "units")
        self.recurrence = numbers.recurrence(layer.recurrence, is_complex=layer.complex_state)
        self._inside = numbers.with_units(layer.readout_units, "readout_units")
        self._readout = numbers.map(layer.readout, "readout")

    def step(self, reads: Vector, letter: Any, state: Vector) -> tuple[Vector, Vector]:
        """Returns the state after the letter and the outputs."""
        recurrence = self.recurrence
        new = recurrence.advance(recurrence.drive(self.seen(reads), letter), state)
        return new, self.read_out(reads, new, state)

    def read_out(self, reads: Vector, state: Vector, before: Vector) -> Vector:
        """Returns the outputs for a state and the one before it."""
        shown = [state, before] if self._exposes_previous else [state]
        if self._is_complex:
            shown = [part for values in shown for part in self._numbers.parts(values)]
        return self._readout(self._inside(self._numbers.join([reads, *shown])))


class NetworkStep(Generic[Vector]):
    """A network with its numbers converted once: the stream from the embedding to the decoder.

    Args:
        network: the network.
        numbers: the arithmetic.
        layers: the layers, if they are made already.
    """

    def __init__(
        self, network: Network, numbers: Numbers[Vector], layers: Sequence[LayerStep[Vector]] | None = None
    ) -> None:
        self.layers = [LayerStep(layer, numbers) for layer in network.layers] if layers is None else layers
        self._numbers = numbers
        self._embedding = numbers.vectors(network.embedding.vectors, "embedding")
        reads, decoded = read_positions(network)
        self._reads = [numbers.picks(places, f"reads_{number}") for number, places in enumerate(reads)]
        self._decoded = numbers.picks(decoded, "reads_decoder")

    def stream(self, letter: Any, visit: Callable[[int, Vector], Vector]) -> Vector:
        """Returns the whole stream at one position.

        Args:
            letter: the letter.
            visit: called for each layer with its number and what it reads; returns its outputs.
        """
        stream = self._embedding(letter)
        for number, reads in enumerate(self._reads):
            stream = self._numbers.join([stream, visit(number, reads(stream))])
        return stream

    def step(self, states: Sequence[Vector], letter: Any) -> tuple[list[Vector], Vector]:
        """Returns the states after a letter and the stream."""
        after: list[Vector] = []

        def visit(number: int, reads: Vector) -> Vector:
            new, outputs = self.layers[number].step(reads, letter, states[number])
            after.append(new)
            return outputs

        return after, self.stream(letter, visit)

    def at_start(self, nothing: Vector, states: Sequence[Vector]) -> Vector:
        """Returns the stream before the first letter: the start states, with zeros for the letter."""
        stream = nothing
        for layer, reads, state in zip(self.layers, self._reads, states, strict=True):
            stream = self._numbers.join([stream, layer.read_out(reads(stream), state, state)])
        return stream

    def decoded(self, stream: Vector) -> Vector:
        """Returns what the decoder reads."""
        return self._decoded(stream)


def read_positions(network: Network) -> tuple[list[list[int]], list[int]]:
    """Returns the positions on the stream of what each layer and the decoder read."""
    position = {name: i for i, name in enumerate(network.embedding.directions)}
    found = []
    for layer in network.layers:
        found.append([position[name] for name in layer.reads])
        for name in layer.outputs:
            position[name] = len(position)
    return found, [position[name] for name in network.decoder.reads]


NetworkState = tuple[tuple[Scalar, ...], ...]
"""The states of all layers after a prefix."""

_LARGEST_EXPONENT = 64
_MEMORY = 200_000
"""Steps that are remembered; networks with finitely many states then run at the speed of a table."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a network after a prefix.

    Attributes:
        legal: the letters that may follow, and whether the word may end.
        distribution: for networks with logits, the probability of each output index (letters, then end).
        scores: the numbers that were compared, for printing.
    """

    legal: Legal
    distribution: Mapping[int, Fraction] | None = None
    scores: tuple[Scalar, ...] = field(default=(), compare=False)


class Interpreter:
    """Steps a network through words.

    Attributes:
        network: the network.
        exact: whether the arithmetic is exact.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.exact = network.exact
        self._numbers = ExactNumbers() if self.exact else DecimalNumbers()
        layers = [_MemorisedLayer(layer, self._numbers) for layer in network.layers]
        self._step = NetworkStep(network, self._numbers, layers)
        self._decode = _make_decoder(network, self._numbers)
        self._memory: dict[tuple[NetworkState, int], tuple[NetworkState, Answer]] = {}
        self._answers: dict[tuple[Scalar, ...], Answer] = {}

    def start(self) -> NetworkState:
        """Returns the states of all layers before the first letter."""
        return tuple(tuple(map(self._numbers.number, layer.start)) for layer in self.network.layers)

    def empty_answer(self) -> Answer:
        """Returns the answer for the empty prefix, for a network with logits with its distribution there."""
        decoder = self.network.decoder
        if not isinstance(decoder, LogitDecoder):
            return Answer(decoder.empty)
        with localcontext(DIGITS):
            nothing = [0] * len(self.network.embedding.directions)
            stream = self._step.at_start(nothing, self.start())
            found = self._answer(tuple(self._step.decoded(stream)))
        return Answer(decoder.empty, distribution=found.distribution)

    def step(self, states: NetworkState, letter: int) -> tuple[NetworkState, Answer]:
        """Returns the states after one letter and what the network says there."""
        charge()
        key = (states, letter)
        known = self._memory.get(key)
        if known is None:
            with localcontext(DIGITS):
                after, stream = self._step.step(states, letter)
                known = (tuple(map(tuple, after)), self._answer(tuple(self._step.decoded(stream))))
            if len(self._memory) < _MEMORY:
                self._memory[key] = known
        return known

    def _answer(self, reads: tuple[Scalar, ...]) -> Answer:
        """Returns what the decoder says; many steps of a finite network lead to the same few vectors."""
        known = self._answers.get(reads)
        if known is None:
            known = self._decode(reads)
            if len(self._answers) < _MEMORY:
                self._answers[reads] = known
        return known

    def stream(self, states: NetworkState, letter: int) -> dict[str, Scalar]:
        """Returns the named directions of the stream at one position, for looking inside."""
        with localcontext(DIGITS):
            _, values = self._step.step(states, letter)
        names = list(self.network.embedding.directions)
        for layer in self.network.layers:
            names.extend(layer.outputs)
        return dict(zip(names, values, strict=True))

    def drives(self, states: NetworkState, letter: int) -> list[dict[str, Scalars]]:
        """Returns for each layer what moves its state at a letter, by name: gates, writes, sums."""
        found = []

        def visit(number: int, reads: Scalars) -> Scalars:
            layer, state = self._step.layers[number], states[number]
            found.append(layer.recurrence.shown(layer.recurrence.drive(layer.seen(reads), letter), state))
            return layer.step(reads, letter, state)[1]

        with localcontext(DIGITS):
            self._step.stream(letter, visit)
        return found

    def run(self, word: WordLike) -> list[Answer]:
        """Returns the answers after each prefix of a word, the empty prefix first."""
        states = self.start()
        answers = [self.empty_answer()]
        for letter in self.network.alphabet.encode(word):
            states, answer = self.step(states, letter)
            answers.append(answer)
        return answers

    def accepts(self, word: WordLike) -> bool:
        """Whether the network says that the word may end where it ends."""
        return self.run(word)[-1].legal.end


class _MemorisedLayer(LayerStep[Scalars]):
    """A layer that remembers its steps: in a cascade many configurations share the state of one layer."""

    def __init__(self, layer: Layer, numbers: ExactNumbers | DecimalNumbers) -> None:
        super().__init__(layer, numbers)
        self._by_letter = layer.recurrence.num_letters is not None
        self._memory: dict[tuple[int, tuple[Scalar, ...], Scalars], tuple[Scalars, Scalars]] = {}

    def step(self, reads: Scalars, letter: int, state: Scalars) -> tuple[Scalars, Scalars]:
        key = (letter if self._by_letter else -1, tuple(reads), state)
        known = self._memory.get(key)
        if known is None:
            new, outputs = super().step(reads, letter, state)
            known = (tuple(new), outputs)
            if len(self._memory) < _MEMORY:
                self._memory[key] = known
        return known


def _make_decoder(network: Network, numbers: ExactNumbers | DecimalNumbers) -> Callable[[Scalars], Answer]:
    """Returns the map from what the decoder reads to the answer."""
    decoder = network.decoder
    num_letters = len(network.alphabet)
    match decoder:
        case ScoreDecoder():
            units = numbers.with_units(decoder.units, "decoder units")
            scoring = numbers.map(decoder.scores, "decoder scores")

            def by_scores(reads: Scalars) -> Answer:
                scores = scoring(units(reads))
                return Answer(_legal([2 * s > 1 for s in scores], num_letters), scores=tuple(scores))

            return by_scores
        case PointDecoder():
            rational = all(is_rational(e) for point in decoder.points for e in point)

            def by_points(reads: Scalars) -> Answer:
                exact = rational and all(isinstance(v, int | Fraction) for v in reads)
                product = _product if exact else _real_product
                products = [product(point, reads) for point in decoder.points]
                best = max(range(len(products)), key=products.__getitem__)
                return Answer(decoder.answers[best], scores=tuple(products))

            return by_points
        case LogitDecoder():
            return lambda reads: _decode_logits(decoder, reads, num_letters)


def _decode_logits(decoder: LogitDecoder, reads: Scalars, num_letters: int) -> Answer:
    values = [_score(decoder, row, reads) for row in decoder.rows]
    if decoder.normaliser == "hardmax":
        top = max(values)
        values = [Fraction(int(v == top)) for v in values]
    elif decoder.normaliser == "sparsemax":
        values = _sparsemax(values)
    total = sum(values)
    distribution = {i: v / total for i, v in enumerate(values) if v} if total else {}
    # A softmax never gives zero: what it means to allow is what it puts above the floor of score 0.
    floor = 1 if decoder.normaliser == "softmax" else 0
    return Answer(_legal([v > floor for v in values], num_letters), distribution=distribution)


def _score(decoder: LogitDecoder, row: Sequence[tuple[int, LogSum]], reads: Scalars) -> Fraction:
    """The score of one output: exp of it for a softmax, the number itself otherwise."""
    exponents: dict[Fraction, Fraction] = {}
    for j, weight in row:
        if reads[j]:
            for scale, ratio in weight:
                exponents[ratio] = exponents.get(ratio, Fraction(0)) + scale * Fraction(reads[j])
    if decoder.normaliser != "softmax":
        return sum(exponents.values(), Fraction(0))
    score = Fraction(1)
    rest = 0.0
    for ratio, exponent in exponents.items():
        if exponent.denominator == 1 and abs(exponent.numerator) <= _LARGEST_EXPONENT:
            score *= ratio**exponent.numerator
        else:
            rest += float(exponent) * (math.log(ratio.numerator) - math.log(ratio.denominator))
    # Off the contexts that the weights were made for the score is irrational; a float will do there.
    return score * Fraction(math.exp(max(-700.0, min(700.0, rest)))) if rest else score


def _sparsemax(values: list[Fraction]) -> list[Fraction]:
    """The Euclidean projection onto the probability simplex."""
    ordered = sorted(values, reverse=True)
    total = Fraction(0)
    threshold = Fraction(0)
    for k, v in enumerate(ordered, start=1):
        total += v
        if 1 + k * v > total:
            threshold = (total - 1) / k
    return [max(v - threshold, Fraction(0)) for v in values]


def _legal(flags: Sequence[bool], num_letters: int) -> Legal:
    return Legal(frozenset(i for i in range(num_letters) if flags[i]), bool(flags[num_letters]))


def _product(point: Sequence[Exact], reads: Scalars) -> Scalar:
    return sum(map(operator.mul, point, reads))


def _real_product(point: Sequence[Exact], reads: Scalars) -> Scalar:
    """The real part of the inner product, in floats."""
    total = 0j
    for p, v in zip(point, reads, strict=True):
        right = complex(v) if isinstance(v, Cyclotomic) else complex(float(v))
        total += to_complex(p).conjugate() * right
    return total.real
