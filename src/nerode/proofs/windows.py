"""Context windows, fragile words, and the neurons that memorising points on a line takes.

A window is the number of last letters that matter, exactly or up to eps. The kernel decides for a given
number of letters; the least one is found by doubling and halving.

A word is fragile if it brings two states h ≠ h' of a linear layer back to themselves, the layer's steps along
the word being the same for both: then A h + b = h and A h' + b = h', so A is the identity on h - h', and
whatever noise adds along this direction stays for ever. With ±eps per reading it is a random walk, which
leaves the half-way interval after (gap / 2 eps)² readings in expectation.

Along the line x = t·u the network is a sum of k functions c·relu(a t + b). Each neuron is active on the
points from some point on, or up to some point; for a choice of these sets and of the signs of c, the values
that the network can take at the points form a cone with two generators a neuron. Whether the alternating
values lie in one of these cones is decided exactly by the simplex method: by the ramps, or by a separating
vector for each choice.

The published proposition says that k < N neurons never suffice. For N = 2, 3 and 4 that is so. For N = 5 four
neurons do suffice, and for N = 6 again four: ramps that rise and ramps that fall together do what the proof
excludes. What the proof shows, k ≥ N - 2, is attained.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from nerode.core import Budget, InputError, started
from nerode.kernel import Certificate
from nerode.languages import Language, Word
from nerode.network import Interpreter, Network, NetworkState
from nerode.proofs.answers import breadth_first
from nerode.proofs.proving import Outcome, Prover, Unproved

MOST_LETTERS = 1_000_000
"""Longer windows are not looked for; the kernel reads no larger number of letters."""


def find_window(
    network: Network, language: Language, *, eps: Fraction | None = None, budget: Budget | None = None
) -> Outcome:
    """Returns a certificate with the least number of last letters that matter, or why there is none.

    Without eps every layer must forget by itself: a layer with a nilpotent transition of order n sees n
    letters, and layers on top of each other see the sum, less one for each but the first. With eps earlier
    letters may change what the decoder reads by less than eps, for one layer that contracts.

    Implements: [Nandakumar2024, Proposition 4.6]

    Raises:
        InputError: if eps is not above 0, or network and language have different alphabets.
        BudgetExceeded: if the time is up.
    """
    if eps is not None and eps <= 0:
        raise InputError(f"eps = {eps} is not above 0")
    prover = Prover(network, language, budget)

    def attempt(letters: int) -> Outcome:
        prover.budget.check_time(letters=letters)
        return prover.outcome(prover.prove("window", {"letters": letters}, eps=eps))

    found = attempt(MOST_LETTERS)
    if not isinstance(found, Certificate):
        return found
    too_few, enough = 0, 1
    while not isinstance(found := attempt(enough), Certificate):
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        tried = attempt(middle)
        if isinstance(tried, Certificate):
            enough, found = middle, tried
        else:
            too_few = middle
    return found


IDENTITY_WORD = "identity-word"

Reached = tuple[NetworkState, Hashable, Word]
"""The network's state, the language's configuration and the word that leads there."""

_CONFIGURATIONS = 1_000
_PAIRS = 40
_POWERS = 64
_MANY_LETTERS = 16
_DISTINGUISHING = 5_000


def find_fragile_words(
    network: Network, language: Language, *, sizes: Sequence[Fraction] = (), budget: Budget | None = None
) -> Outcome:
    """Returns a certificate that a linear layer repeats errors, or that the search finds no such layer.

    Words that repeat one letter or two are tried as identities, on pairs of the first configurations reached.

    Implements: [Chung2026]

    Args:
        network: a network in exact arithmetic.
        language: what it does.
        sizes: sizes of noise; for each the certificate says how soon it is fatal.
        budget: limits the time.
    """
    prover = Prover(network, language, budget)
    evidence = _find_evidence(network, language, prover.budget)
    if evidence is None:
        return Unproved(reason="no word was found that acts as the identity on two states of a linear layer")
    proofs = [prover.prove(IDENTITY_WORD, evidence, eps=eps) for eps in (None, *sizes)]
    found = prover.outcome(*proofs)
    if not isinstance(found, Certificate):
        return found
    return replace(found, claims=tuple(dict.fromkeys(found.claims)))


def _find_evidence(network: Network, language: Language, budget: Budget) -> dict[str, Any] | None:
    interpreter = Interpreter(network)
    if not interpreter.exact:
        return None
    reached = _reach(interpreter, language)
    for number, layer in enumerate(network.layers):
        if not layer.recurrence.linear:
            continue
        groups: dict[Hashable, list[Reached]] = {}
        for entry in reached:
            groups.setdefault(entry[0][:number], []).append(entry)
        for group in groups.values():
            for other in group[1 : _PAIRS + 1]:
                budget.check_time(layer=number + 1)
                found = _examine(interpreter, language, number, group[0], other)
                if found is not None:
                    return found
    return None


def _reach(interpreter: Interpreter, language: Language) -> list[Reached]:
    """The first joint configurations, each with its shortest word."""

    def successors(node: Reached) -> Iterator[Reached]:
        states, configuration, word = node
        for letter in range(len(language.alphabet)):
            target = language.advance(configuration, letter)
            yield interpreter.step(states, letter)[0], target, (*word, letter)

    start: Reached = (interpreter.start(), language.initial(), ())
    return list(breadth_first(start, successors, key=lambda node: node[:2], most=_CONFIGURATIONS))


def _examine(
    interpreter: Interpreter, language: Language, number: int, one: Reached, other: Reached
) -> dict[str, Any] | None:
    if one[0][number] == other[0][number] or one[1] == other[1]:
        return None
    identity = _identity_word(interpreter, (one[0], other[0]), number)
    apart = None if identity is None else _telling_word(language, one[1], other[1])
    if identity is None or apart is None:
        return None
    symbols = language.alphabet.symbols
    words = {"first": one[2], "second": other[2], "identity": identity, "apart": apart}
    spelt = {name: [symbols[a] for a in word] for name, word in words.items()}
    return {"layer": number + 1, **spelt}


def _identity_word(
    interpreter: Interpreter, pair: tuple[NetworkState, NetworkState], number: int
) -> Word | None:
    """The shortest power of one or two letters that brings both states back, lower layers included."""
    letters = range(len(interpreter.network.alphabet))
    pairs = itertools.product(letters, repeat=2) if len(letters) <= _MANY_LETTERS else ()
    best: Word | None = None
    for base in [*((a,) for a in letters), *pairs]:
        limit = _POWERS if best is None else (len(best) - 1) // len(base)
        current = pair
        for power in range(1, limit + 1):
            for letter in base:
                current = (interpreter.step(current[0], letter)[0], interpreter.step(current[1], letter)[0])
            if all(a[: number + 1] == b[: number + 1] for a, b in zip(current, pair, strict=True)):
                best = base * power
                break
    return best


def _telling_word(language: Language, one: Hashable, other: Hashable) -> Word | None:
    """The shortest word after which different things are legal."""
    Pair = tuple[Hashable, Hashable, Word]

    def successors(node: Pair) -> Iterator[Pair]:
        left, right, word = node
        for letter in range(len(language.alphabet)):
            yield language.advance(left, letter), language.advance(right, letter), (*word, letter)

    start: Pair = (one, other, ())
    pairs = breadth_first(start, successors, key=lambda node: node[:2], most=_DISTINGUISHING)
    return next((word for a, b, word in pairs if language.legal(a) != language.legal(b)), None)


Vector = Sequence[Fraction | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConeAnswer:
    """Weights that combine the generators to the target, or a vector that separates it from all of them.

    Exactly one of the two is given. A separator z has z·g ≤ 0 for every generator g and z·target > 0.
    """

    weights: tuple[Fraction, ...] | None
    separator: tuple[Fraction, ...] | None


def find_in_cone(generators: Sequence[Vector], target: Vector) -> ConeAnswer:
    """Returns non-negative weights with sum of weight · generator = target, or a separator.

    The first phase of the simplex method with the rule of Bland, which never cycles.

    Implements: [Bland1977]
    """
    height, count = len(target), len(generators)
    flips = [1 if t >= 0 else -1 for t in target]
    # Columns: the generators, one artificial unknown a row, the right-hand side.
    rows = [
        [
            *(Fraction(flips[i] * g[i]) for g in generators),
            *(Fraction(int(i == j)) for j in range(height)),
            Fraction(flips[i] * target[i]),
        ]
        for i in range(height)
    ]
    basis = [count + i for i in range(height)]
    # Reduced costs of minimising the sum of the artificial unknowns.
    costs = [-sum((row[j] for row in rows), Fraction(0)) for j in range(count + height + 1)]
    for j in range(count, count + height):
        costs[j] = Fraction(0)
    while True:
        entering = next((j for j in range(count) if costs[j] < 0), None)
        if entering is None:
            break
        leaving = _leaving_row(rows, basis, entering)
        assert leaving is not None, "a sum of non-negative unknowns is bounded below"
        _pivot(rows, costs, leaving, entering)
        basis[leaving] = entering
    if costs[-1] != 0:
        # The dual solution: 1 minus the reduced cost of each artificial unknown.
        separator = tuple(flips[i] * (1 - costs[count + i]) for i in range(height))
        return ConeAnswer(weights=None, separator=separator)
    weights = [Fraction(0)] * count
    for row, unknown in zip(rows, basis, strict=True):
        if unknown < count:
            weights[unknown] = row[-1]
    return ConeAnswer(weights=tuple(weights), separator=None)


def separates(separator: Vector, generators: Sequence[Vector], target: Vector) -> bool:
    """Whether a vector proves that the target is not in the cone."""
    return _dot(separator, target) > 0 and all(_dot(separator, g) <= 0 for g in generators)


def _leaving_row(rows: list[list[Fraction]], basis: list[int], entering: int) -> int | None:
    best: tuple[Fraction, int, int] | None = None
    for i, row in enumerate(rows):
        if row[entering] > 0:
            candidate = (row[-1] / row[entering], basis[i], i)
            best = candidate if best is None else min(best, candidate)
    return None if best is None else best[2]


def _pivot(rows: list[list[Fraction]], costs: list[Fraction], leaving: int, entering: int) -> None:
    divisor = rows[leaving][entering]
    rows[leaving] = [v / divisor for v in rows[leaving]]
    pivot = rows[leaving]
    for i, row in enumerate(rows):
        if i != leaving and row[entering]:
            factor = row[entering]
            rows[i] = [v - factor * p for v, p in zip(row, pivot, strict=True)]
    factor = costs[entering]
    costs[:] = [v - factor * p for v, p in zip(costs, pivot, strict=True)]


def _dot(left: Vector, right: Vector) -> Fraction:
    return sum((Fraction(a) * b for a, b in zip(left, right, strict=True)), Fraction(0))


Generator = tuple[Fraction, ...]
Neuron = tuple[Generator, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorisationBound:
    """The result of the search over all activation patterns.

    Attributes:
        points: N, the number of points t = 1 … N with the values (-1)^t.
        neurons: k, the number of neurons.
        possible: whether some network of this form takes all the values.
        patterns: how many choices of active sets and signs were examined.
        separators: the vectors that rule the choices out; each choice is ruled out by one of them.
        ramps: if it is possible, (a, b, c) of each neuron.
    """

    points: int
    neurons: int
    possible: bool
    patterns: int
    separators: tuple[tuple[Fraction, ...], ...]
    ramps: tuple[tuple[Fraction, Fraction, int], ...]


def memorisation_bound(points: int, neurons: int, *, budget: Budget | None = None) -> MemorisationBound:
    """Returns whether k ramps can take the alternating values at N points, with the proof.

    Implements: [Nandakumar2024, Proposition A.8]

    Raises:
        InputError: for fewer than two points or no neuron.
        BudgetExceeded: if there are too many activation patterns for the budget's time.
    """
    if points < 2 or neurons < 1:
        raise InputError(f"{points} points and {neurons} neurons make no question; give at least 2 and 1")
    budget = started(budget)
    target = [Fraction((-1) ** t) for t in range(1, points + 1)]
    kinds = [(sign, neuron) for neuron in _neurons(points) for sign in (1, -1)]
    separators: list[tuple[Fraction, ...]] = []
    patterns = 0
    for chosen in itertools.combinations_with_replacement(kinds, neurons):
        patterns += 1
        generators = [_scaled(g, sign) for sign, neuron in chosen for g in neuron]
        if any(separates(z, generators, target) for z in separators):
            continue
        budget.check_time(points=points, neurons=neurons, patterns=patterns)
        answer = find_in_cone(generators, target)
        if answer.weights is not None:
            return MemorisationBound(
                points=points,
                neurons=neurons,
                possible=True,
                patterns=patterns,
                separators=(),
                ramps=_ramps(chosen, answer.weights),
            )
        assert answer.separator is not None
        if not separates(answer.separator, generators, target):
            raise ArithmeticError("the simplex method returned a vector that separates nothing")
        separators.append(answer.separator)
    return MemorisationBound(
        points=points,
        neurons=neurons,
        possible=False,
        patterns=patterns,
        separators=tuple(separators),
        ramps=(),
    )


def fewest_ramps(points: int, *, budget: Budget | None = None) -> MemorisationBound:
    """Returns the smallest network of ramps that takes the alternating values at N points.

    Its patterns are those of one neuron less, all of which were ruled out.

    Raises:
        InputError: for fewer than two points.
        BudgetExceeded: if there are too many activation patterns for the time.
    """
    budget, patterns = started(budget), 0
    for neurons in itertools.count(1):
        bound = memorisation_bound(points, neurons, budget=budget)
        if bound.possible:
            break
        patterns = bound.patterns
    return replace(bound, patterns=patterns)


def _neurons(points: int) -> list[Neuron]:
    """For each active set, two functions whose non-negative combinations are all the ramps active there."""
    times = range(1, points + 1)
    rising = [
        _pair([max(t - s, 0) for t in times], [max(t - s + 1, 0) for t in times])
        for s in range(2, points + 1)
    ]
    falling = [
        _pair([max(s - t, 0) for t in times], [max(s - t + 1, 0) for t in times]) for s in range(1, points)
    ]
    everywhere = _pair([t - 1 for t in times], [points - t for t in times])
    return [everywhere, *rising, *falling]


def _pair(first: list[int], second: list[int]) -> Neuron:
    return tuple(map(Fraction, first)), tuple(map(Fraction, second))


def _scaled(generator: Generator, sign: int) -> Generator:
    return tuple(sign * v for v in generator)


def _ramps(
    chosen: tuple[tuple[int, Neuron], ...], weights: tuple[Fraction, ...]
) -> tuple[tuple[Fraction, Fraction, int], ...]:
    """The ramps c·relu(a t + b) of a solution, read off two points where each is active or just not."""
    found = []
    for k, (sign, neuron) in enumerate(chosen):
        p, q = weights[2 * k], weights[2 * k + 1]
        a, b = Fraction(0), Fraction(0)
        for weight, generator in ((p, neuron[0]), (q, neuron[1])):
            slope, offset = _line(generator)
            a, b = a + weight * slope, b + weight * offset
        found.append((a, b, sign))
    return tuple(found)


def _line(generator: Generator) -> tuple[Fraction, Fraction]:
    """Slope and offset of the line that a ramp is where it is positive; slopes of ramps are 1 or -1."""
    positive = [t for t, v in enumerate(generator, start=1) if v > 0]
    if not positive:
        return Fraction(0), Fraction(0)
    rising = generator[-1] > generator[0]
    slope = Fraction(1 if rising else -1)
    return slope, generator[positive[0] - 1] - slope * positive[0]
