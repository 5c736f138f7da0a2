"""Cells that know the last words: networks with the distributions of an n-gram model.

What is verified: the network forgets after n-1 words (`nilpotent_window`), so after every prefix that ends
in the same window of n-1 words it gives the same distribution; and this distribution, computed exactly, is as
near to the model's as the claim says, after each window that the model has a row for or that a sentence
passes through. For all prefixes, also: each unit fires on one window or on all, so the windows that are left
give one distribution, which is compared as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.kernel.claims import EXACT, PREDICT, VALID_PREFIXES, Claim, Derivation, Failure, Refutation
from nerode.kernel.domains.models import NgramTable
from nerode.kernel.domains.words import Lanes, WordUnits, is_linear, only_layer, require_window
from nerode.kernel.letters import END
from nerode.kernel.network import CheckedNetwork, LogitRows, Weight
from nerode.kernel.numbers import num_bits, rational
from nerode.kernel.reader import quoted
from nerode.kernel.step import ExactArithmetic, Stepper
from nerode.kernel.walk import CheckProblem
from nerode.kernel.work import Undecided, WorkCount

Window = tuple[int, ...]
Amounts = Mapping[int, Fraction]
Active = dict[str, Fraction]
"""The directions of the stream that are not zero."""

_MAX_POWER_BITS = 1 << 17
"""Bits of a score of a softmax."""

_MOST_SHOWN = 8

_FARTHEST = Fraction(1)
"""Without a bound to claim, a network this far from its model is refuted; 2 is the farthest there is."""

_PREFIXES = {
    VALID_PREFIXES: "After every prefix of at least {words} words of a sentence of the model",
    PREDICT: "After every prefix of at least {words} words, whether a sentence has it or not,",
}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """A network compared with a model.

    Attributes:
        cells: the number of cells on which they were compared.
        distances: by task, a bound of the largest L1 distance.
        claim: for a task and eps, the claim that the distance stays below eps (None for no distance).
        wrong: for a task and eps, the failure where it does not.
    """

    cells: int
    distances: Mapping[str, Fraction]
    claim: Callable[[str, Fraction | None], Claim]
    wrong: Callable[[str, Fraction | None], Failure]

    def derive(self, task: str, stated: Sequence[Claim] | None, eps: Fraction | None) -> Derivation:
        """Returns the claims that follow; without a size the distance that is found is claimed, rounded up.

        Raises:
            Undecided: if a claim is stated for a task that was not compared.
        """
        if stated is None:
            asked = [(kind, eps) for kind in self.distances]
        else:
            asked = [(claim.task, claim.eps) for claim in stated]
        claims = []
        for kind, size in asked:
            if kind not in self.distances:
                raise Undecided(f"a cover for {task!r} does not show {kind!r}")
            distance = self.distances[kind]
            most = (size or _FARTHEST) if stated is None else size
            if distance if most is None else distance >= most:
                return Derivation(failure=self.wrong(kind, most))
            claims.append(self.claim(kind, size or rounded_up(distance) if stated is None else size))
        return Derivation(found={"cells": self.cells}, claims=claims)


def rounded_up(value: Fraction) -> Fraction | None:
    """Returns the next number with three digits above a distance; None for none."""
    if value == 0:
        return None
    unit = Fraction(1)
    while value < 100 * unit:
        unit /= 10
    while value >= 1_000 * unit:
        unit *= 10
    return (value // unit + 1) * unit


def ngram_claim(*, task: str, words: int, eps: Fraction | None) -> Claim:
    """Returns the claim that a network gives the distributions of an n-gram model.

    Args:
        task: VALID_PREFIXES, or PREDICT for all prefixes.
        words: the least number of words of a prefix.
        eps: the L1 distance stays below it; None for no distance at all.
    """
    beyond = "" if task == PREDICT else " and of prefixes that no sentence has"
    how = "exactly the model's" if eps is None else "the model's up to an L1 distance below eps"
    return Claim(
        scope=EXACT,
        method="n-gram-contexts",
        task=task,
        covers=(
            f"{_PREFIXES[task].format(words=words)} the network's distribution over the next word and the "
            f"end is {how}, computed in exact arithmetic; of shorter prefixes{beyond} nothing is said."
        ),
        eps=eps,
    )


def compare_windows(problem: CheckProblem, cover: Mapping[str, Any], task: str) -> ModelComparison:
    """Returns a network compared with an n-gram model.

    Raises:
        Undecided: if the language is not that of an n-gram model, or the network looks at more words.
    """
    model = problem.language
    if not isinstance(model, NgramTable) or model.order < 2:
        raise Undecided("the language is not that of an n-gram model with contexts")
    if task not in (PREDICT, VALID_PREFIXES):
        raise Undecided(f"distributions are not compared for the task {quoted(task)}")
    words = model.order - 1
    if cover["words"] != words or type(cover["words"]) is not int:
        raise Undecided(f"contexts have {words} words, not {quoted(cover['words'])}")
    require_window(problem.network, words)
    worst = worst_windows(problem, model, task)
    tasks = (PREDICT, VALID_PREFIXES) if task == PREDICT else (VALID_PREFIXES,)
    return ModelComparison(
        cells=worst[task].cells,
        distances={task: worst[task].distance for task in tasks},
        claim=lambda task, eps: ngram_claim(task=task, words=words, eps=eps),
        wrong=lambda task, eps: wrong_distribution(model, worst[task], eps),
    )


def worst_windows(problem: CheckProblem, model: NgramTable, task: str) -> dict[str, WorstWindow]:
    """Returns by task the largest L1 distance between network and model over windows, and where it is.

    Args:
        problem: a network that forgets after n-1 words.
        model: the model.
        task: VALID_PREFIXES for the windows of the model and of its sentences, PREDICT for these and all.

    Raises:
        Undecided: if the network is of another kind, or, for all windows, has units that fire on several.
    """
    decode = _OutputLayer(problem.network)
    layer = only_layer(problem.network)
    linear = _LinearWindows(problem.network, model.order - 1) if is_linear(layer) else None
    windows = own = model.windows()
    others: list[tuple[Window, Active]] = []
    if task == PREDICT:
        if linear is None:
            raise Undecided("where the units fire is only found for linear recurrences")
        firing, always = linear.lone_windows()
        windows = tuple(sorted({*own, *firing}))
        beyond = _first_window_beyond(windows, model.end, model.order - 1)
        others += [] if beyond is None else [(beyond, always)]
    outputs = linear.outputs_after(windows) if linear else _stepped(problem.network, windows)
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


def _stepped(network: CheckedNetwork, windows: Sequence[Window]) -> Iterator[tuple[Window, Active]]:
    """Steps through the words of each window from the start state, which no longer matters at its end."""
    stepper = Stepper(network, ExactArithmetic(network), decodes=False)
    outputs = [name for name, _ in network.layers[0].outputs]
    for window in windows:
        states = stepper.start()
        for word in window:
            states, stream = stepper.run_layers(states, word)
        stepper.forget()
        yield window, {name: rational(stream[name]) for name in outputs if name in stream}


class _LinearWindows:
    """The units behind a linear layer after windows of as many words as matter."""

    def __init__(self, network: CheckedNetwork, length: int) -> None:
        self._work: WorkCount = network.field.work
        self.units = WordUnits(network, length)

    def outputs_after(self, windows: Sequence[Window]) -> Iterator[tuple[Window, Active]]:
        """Yields for each window the directions that are not zero after it."""
        units = self.units.units
        lanes = Lanes(len(units), self.units.largest)
        columns: dict[tuple[int, int], dict[int, int]] = {}
        for j, unit in enumerate(units):
            for age, part in enumerate(unit.ages):
                for c, v in part:
                    columns.setdefault((age, c), {})[j] = v
        packed = {place: lanes.pack(column) for place, column in columns.items()}
        resting = lanes.pack({j: unit.constants[-1] for j, unit in enumerate(units)})
        for window in windows:
            total = resting
            for age, word in enumerate(reversed(window)):
                for c, entry in enumerate(self.units.words[word]):
                    if entry and (age, c) in packed:
                        total += entry * packed[age, c]
            self._work.spend(len(units))
            yield window, self._outputs(lanes.positive(total))

    def lone_windows(self) -> tuple[list[Window], Active]:
        """Returns the windows on which units fire that do not always fire, and what there is on all others.

        Raises:
            Undecided: if a unit fires on some windows, but not on one or on all.
        """
        found: set[Window] = set()
        always: list[tuple[int, int]] = []
        for j, unit in enumerate(self.units.units):
            parts = [self.units.extremes(part) for part in unit.ages]
            low, high = (unit.constants[-1] + sum(part[k] for part in parts) for k in (0, 1))
            if high > 0 and low == high:
                always.append((j, high))
            elif high > 0:
                if high - min(part[1] - part[2] for part in parts) > 0:
                    raise Undecided("a unit fires on several windows, but not on all of them")
                found.add(tuple(part[3] for part in reversed(parts)))
        return sorted(found), self._outputs(always)

    def _outputs(self, fired: Iterable[tuple[int, int]]) -> Active:
        """The directions of the stream that are not zero, from the units that fire."""
        found: Active = {}
        for j, value in fired:
            for name, c in self.units.columns[j]:
                found[name] = found.get(name, Fraction(0)) + c * Fraction(value, self.units.units[j].scale)
        return {name: v for name, v in found.items() if v}


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
        expected=tuple(f"{symbols[v]}: {shown_decimal(wanted[v])}" for v in sorted(wanted)),
        got=tuple(f"{symbols[v]}: {shown_decimal(worst.got.named[v])}" for v in likely),
    )
    bound = "0" if eps is None else f"below {shown_decimal(eps)}"
    return Failure(
        what=(
            f"after {model.letters.decode(word)} the distribution is {shown_decimal(worst.distance)} away "
            f"from the model's, not {bound}"
        ),
        refutation=refutation,
    )


def shown_decimal(value: Fraction) -> str:
    """Returns six digits of a number that is at most 2, for a message."""
    return f"{value.numerator / value.denominator:.6g}"


def _prefix_to(model: NgramTable, window: Window) -> tuple[int, ...]:
    """A shortest sentence prefix that ends in a window; the window itself if no sentence has it."""
    if window not in model.contexts:
        return window
    goal = model.contexts[window]
    predecessor: dict[int, tuple[int, int]] = {0: (0, 0)}
    queue = [0]
    for state in queue:
        for word in model.legal(state).letters:
            target = model.advance(state, word)
            if target not in predecessor:
                predecessor[target] = (state, word)
                queue.append(target)
    words = []
    while goal:
        goal, word = predecessor[goal]
        words.append(word)
    return tuple(reversed(words))
