"""Running a network on words without rounding: the oracle for every later stage.

Networks with rational or cyclotomic entries and ReLU or clip activations run in exact arithmetic. Networks
with tanh, sigmoid or exp run in decimal arithmetic of 50 digits; their guarantee comes from a certificate
with margins, not from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from nerode.core import Cyclotomic, Exact, imaginary_part, real_part, to_complex
from nerode.languages import Legal, WordLike
from nerode.network.decoders import LogitDecoder, LogSum, PointDecoder, ScoreDecoder
from nerode.network.record import Layer, Network
from nerode.network.recurrences import GatedCell, Squashed
from nerode.network.stepping import ExactMap, Number, Vector, relu, step_function

Configuration = tuple[Vector, ...]

_DIGITS = Context(prec=50)
_LARGEST_EXPONENT = 64
_MEMORY = 200_000
"""Steps that are remembered; networks with finitely many states then run at the speed of a table."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a network says after a prefix.

    Attributes:
        legal: the letters that may follow, and whether the word may end.
        distribution: for networks with logits, the probability of each output index (letters, then end).
        scores: the numbers that were compared, for printing.
    """

    legal: Legal
    distribution: Mapping[int, Fraction] | None = None
    scores: tuple[Number, ...] = field(default=(), compare=False)


class Interpreter:
    """Steps a network through words.

    Attributes:
        network: the network.
        exact: whether the arithmetic is exact.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.exact = all(_is_exact(layer) for layer in network.layers)
        self._number: Callable[[Exact], Number] = (lambda v: v) if self.exact else _to_decimal
        self._embedding = [tuple(self._number(e) for e in vector) for vector in network.embedding.vectors]
        self._layers = [_Stepper(layer, self._number, exact=self.exact) for layer in network.layers]
        self._reads, self._decoded = _read_positions(network)
        decoder = network.decoder
        maps = (decoder.units, decoder.scores) if isinstance(decoder, ScoreDecoder) else ()
        self._decoder_maps = [ExactMap(part, self._number) for part in maps]
        self._memory: dict[tuple[Configuration, int], tuple[Configuration, Answer]] = {}
        self._answers: dict[Vector, Answer] = {}

    def start(self) -> Configuration:
        """Returns the states of all layers before the first letter."""
        return tuple(tuple(self._number(e) for e in layer.start) for layer in self.network.layers)

    def empty_answer(self) -> Answer:
        """Returns the answer for the empty prefix."""
        return Answer(self.network.decoder.empty)

    def step(self, configuration: Configuration, letter: int) -> tuple[Configuration, Answer]:
        """Returns the states after one letter and what the network says there."""
        key = (configuration, letter)
        known = self._memory.get(key)
        if known is not None:
            return known
        with localcontext(_DIGITS):
            states, stream = self._step(configuration, letter)
            answer = self._answer(tuple(stream[i] for i in self._decoded))
        result = (states, answer)
        if len(self._memory) < _MEMORY:
            self._memory[key] = result
        return result

    def _answer(self, reads: Vector) -> Answer:
        """Returns what the decoder says; many steps of a finite network lead to the same few vectors."""
        known = self._answers.get(reads)
        if known is None:
            known = _decode(self.network, list(reads), self._decoder_maps)
            if len(self._answers) < _MEMORY:
                self._answers[reads] = known
        return known

    def stream(self, configuration: Configuration, letter: int) -> dict[str, Number]:
        """Returns the named directions of the stream at one position, for looking inside."""
        with localcontext(_DIGITS):
            _, values = self._step(configuration, letter)
        names = list(self.network.embedding.directions)
        for layer in self.network.layers:
            names.extend(layer.outputs)
        return dict(zip(names, values, strict=True))

    def _step(self, configuration: Configuration, letter: int) -> tuple[Configuration, list[Number]]:
        stream = list(self._embedding[letter])
        states = []
        for stepper, reads, state in zip(self._layers, self._reads, configuration, strict=True):
            new, outputs = stepper.step([stream[i] for i in reads], state, letter)
            states.append(new)
            stream.extend(outputs)
        return tuple(states), stream

    def run(self, word: WordLike) -> list[Answer]:
        """Returns the answers after each prefix of a word, the empty prefix first."""
        configuration = self.start()
        answers = [self.empty_answer()]
        for letter in self.network.alphabet.encode(word):
            configuration, answer = self.step(configuration, letter)
            answers.append(answer)
        return answers

    def accepts(self, word: WordLike) -> bool:
        """Whether the network says that the word may end where it ends."""
        return self.run(word)[-1].legal.end


class _Stepper:
    """One layer with its numbers converted once."""

    def __init__(self, layer: Layer, number: Callable[[Exact], Number], *, exact: bool) -> None:
        self.layer = layer
        self.units = ExactMap(layer.units, number)
        self.readout_units = ExactMap(layer.readout_units, number)
        self.readout = ExactMap(layer.readout, number)
        self.advance = step_function(layer.recurrence, number)
        self._by_letter = layer.recurrence.num_letters is not None
        self._memory: dict[tuple[int, Vector, Vector], tuple[Vector, list[Number]]] = {}

    def step(self, reads: list[Number], state: Vector, letter: int) -> tuple[Vector, list[Number]]:
        # In a cascade many configurations share the state of one layer, so layers remember by themselves.
        key = (letter if self._by_letter else -1, tuple(reads), state)
        known = self._memory.get(key)
        if known is None:
            known = self._compute(reads, state, letter)
            if len(self._memory) < _MEMORY:
                self._memory[key] = known
        return known

    def _compute(self, reads: list[Number], state: Vector, letter: int) -> tuple[Vector, list[Number]]:
        seen = reads + [relu(v) for v in self.units(reads)]
        new = self.advance(seen, state, letter)
        inside = reads + self._shown(new)
        if self.layer.exposes_previous:
            inside = inside + self._shown(state)
        outputs = self.readout(inside + [relu(v) for v in self.readout_units(inside)])
        return new, outputs

    def _shown(self, state: Vector) -> list[Number]:
        if not self.layer.complex_state:
            return list(state)
        return [real_part(v) for v in state] + [imaginary_part(v) for v in state]


def _decode(network: Network, reads: list[Number], maps: Sequence[ExactMap]) -> Answer:
    decoder = network.decoder
    num_letters = len(network.alphabet)
    match decoder:
        case ScoreDecoder():
            units, scoring = maps
            scores = scoring(reads + [relu(v) for v in units(reads)])
            legal = [2 * s > 1 for s in scores]
            return Answer(_legal(legal, num_letters), scores=tuple(scores))
        case PointDecoder():
            products = [_real_product(point, reads) for point in decoder.points]
            best = max(range(len(products)), key=products.__getitem__)
            return Answer(decoder.answers[best], scores=tuple(products))
        case LogitDecoder():
            return _decode_logits(decoder, reads, num_letters)


def _decode_logits(decoder: LogitDecoder, reads: list[Number], num_letters: int) -> Answer:
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


def _score(decoder: LogitDecoder, row: Sequence[tuple[int, LogSum]], reads: list[Number]) -> Fraction:
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


def _real_product(point: Sequence[Exact], reads: Sequence[Number]) -> Number:
    """The real part of the inner product; exact where everything is rational."""
    if all(isinstance(v, int | Fraction) for v in (*point, *reads)):
        return sum((p * v for p, v in zip(point, reads, strict=True)), 0)
    total = 0j
    for p, v in zip(point, reads, strict=True):
        left = to_complex(p)
        right = complex(v) if isinstance(v, Cyclotomic) else complex(float(v))
        total += left.conjugate() * right
    return total.real


def _read_positions(network: Network) -> tuple[list[list[int]], list[int]]:
    """Where each layer and the decoder find what they read on the stream."""
    position = {name: i for i, name in enumerate(network.embedding.directions)}
    found = []
    for layer in network.layers:
        found.append([position[name] for name in layer.reads])
        for name in layer.outputs:
            position[name] = len(position)
    return found, [position[name] for name in network.decoder.reads]


def _is_exact(layer: Layer) -> bool:
    recurrence = layer.recurrence
    if isinstance(recurrence, GatedCell):
        return False
    return not (isinstance(recurrence, Squashed) and recurrence.activation == "tanh")


def _to_decimal(value: Exact) -> Decimal:
    if isinstance(value, Cyclotomic):
        raise TypeError("a network with tanh or sigmoid units cannot have irrational weights")
    fraction = Fraction(value)
    return _DIGITS.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))
