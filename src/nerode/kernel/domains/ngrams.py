"""Networks with the distributions of an n-gram model, or of a back-off model.

What is verified: the network forgets after n-1 words (`WordUnits`), so what it says is a function of them.

An n-gram model has exact probabilities, and prefixes of at least n-1 words count. On each window of n-1 words
that the model has a row for or that a sentence passes through, the distribution is computed exactly. For all
prefixes, also: each unit fires on one context or always; so the prefixes whose longest known end is one
context have one distribution, which is computed on one of their windows.

A back-off model has logarithms, and all prefixes count. Those whose longest known end is one context have one
distribution in network and model. On them the score of a word less the logarithm of its probability lies
between two bounds, and the sum of the probabilities is enclosed. Both follow from those of the next shorter
context, because a context changes only the words that it has an n-gram or a weight for, and all others alike.
Bounds d apart make the softmax differ from the normalised probabilities by at most 10^d - 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.kernel.claims import EXACT, PREDICT, VALID_PREFIXES, Claim, Derivation, Failure, Refutation
from nerode.kernel.domains.models import START, BackoffTable, NgramTable
from nerode.kernel.domains.spans import ONE, PLACES, Span, divide, exp, multiply
from nerode.kernel.domains.words import Active, Context, WordUnits
from nerode.kernel.guard import PrefixGuard
from nerode.kernel.letters import END
from nerode.kernel.network import CheckedNetwork, LogitRows, Weight
from nerode.kernel.numbers import num_bits, plain
from nerode.kernel.reader import quoted
from nerode.kernel.walk import CheckProblem
from nerode.kernel.work import Undecided

METHOD = "n-gram-contexts"

Amounts = Mapping[int, Fraction]
Log = int | Fraction
"""A decimal logarithm in the unit of the model."""

_MAX_POWER_BITS = 1 << 17
"""Bits of a score of a softmax."""

_MOST_SHOWN = 8

_FARTHEST = Fraction(1)
"""Without a bound to claim, a network this far from its model is refuted; 2 is the farthest there is."""

_PREFIXES = {
    VALID_PREFIXES: "After every prefix of at least {words} words of a sentence of the model",
    PREDICT: "After every prefix of at least {words} words, whether a sentence has it or not,",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """A network compared with a model.

    Attributes:
        model: the model.
        cells: the number of windows or contexts on which they were compared.
        distances: by task, a bound of the largest L1 distance.
        wrong: for a task and eps (None for no distance), the failure where the distance is not below it.
    """

    model: NgramTable | BackoffTable
    cells: int
    distances: Mapping[str, Fraction]
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
            known = size or rounded_up(distance) if stated is None else size
            claims.append(ngram_claim(self.model, task=kind, eps=known))
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


def ngram_claim(model: NgramTable | BackoffTable, *, task: str, eps: Fraction | None) -> Claim:
    """Returns the claim that a network gives the distributions of a model.

    Args:
        model: the model.
        task: PREDICT for all prefixes, or VALID_PREFIXES.
        eps: the L1 distance stays below it; None for no distance at all.
    """
    how = "exactly the model's" if eps is None else "the model's up to an L1 distance below eps"
    says = f"the network's distribution over the next word and the end is {how}, computed in exact arithmetic"
    if isinstance(model, BackoffTable):
        share = ", divided by the sum over all words and the end" if model.normalised else ""
        covers = (
            f"After every prefix, the empty one included, {says}; the model gives a word 10 to the power of "
            f"its logarithm after the start mark and the prefix, back-off weights added{share}."
        )
    else:
        beyond = "" if task == PREDICT else " and of prefixes that no sentence has"
        where = _PREFIXES[task].format(words=model.order - 1)
        covers = f"{where} {says}; of shorter prefixes{beyond} nothing is said."
    return Claim(scope=EXACT, method=METHOD, task=task, covers=covers, eps=eps)


def compare(problem: CheckProblem, task: str) -> ModelComparison:
    """Returns a network compared with a model.

    Raises:
        Undecided: if the language is not that of a model, or the network of another kind.
    """
    model = problem.language
    if isinstance(model, BackoffTable):
        if task != PREDICT:
            raise Undecided(f"a back-off model is compared for {PREDICT!r}, not for {task!r}")
        return _compare_contexts(problem, model)
    if not isinstance(model, NgramTable) or model.order < 2:
        raise Undecided("the language is not that of an n-gram model with contexts")
    if task not in (PREDICT, VALID_PREFIXES):
        raise Undecided(f"distributions are not compared for the task {quoted(task)}")
    return _compare_windows(problem, model, task)


class KnownContexts:
    """Contexts with all their ends; a prefix lies in the cell of the longest one that it ends in.

    Attributes:
        cells: the contexts, the shorter ones first.
    """

    def __init__(self, contexts: Iterable[Context], num_words: int) -> None:
        self._known = {c[i:] for c in contexts for i in range(len(c) + 1)} | {()}
        self._num_words = num_words
        self.cells = sorted(self._known, key=lambda c: (len(c), c))

    def longer(self, context: Context) -> Context | None:
        """Returns a context with one more word in front that is not known, None if all are."""
        words = ((word, *context) for word in range(self._num_words))
        return next((longer for longer in words if longer not in self._known), None)

    def prefix(self, context: Context) -> Context | None:
        """Returns a prefix in the cell of a context, None if there is none."""
        if context[:1] == (START,):
            return context[1:]
        return context if (START, *context) not in self._known else self.longer(context)

    def windows(self, length: int) -> Iterator[Context]:
        """Yields one window of so many words in each cell that has any."""
        for context in self.cells:
            longer = context if len(context) == length else self.longer(context)
            if longer is not None:
                yield (0,) * (length - len(longer)) + longer


def _compare_windows(problem: CheckProblem, model: NgramTable, task: str) -> ModelComparison:
    """The largest L1 distance over the windows of a model, or over all."""
    length = model.order - 1
    decode = OutputLayer(problem.network)
    units = WordUnits(problem.network, length, decode.columns)
    own = model.windows()
    if not own:
        raise Undecided("the model has no window to compare")
    every = {VALID_PREFIXES: own}
    if task == PREDICT:
        fired = (context for _, context, _ in units.contexts(from_start=False))
        every[PREDICT] = tuple(KnownContexts((*own, *fired), model.end).windows(length))
    valid = frozenset(own)
    guard = PrefixGuard(problem.network, problem.work)
    worst: dict[str, tuple[Fraction, Context, Distribution]] = {}
    for window, active in units.after(every[task]):
        guard.require(window, dict.fromkeys(decode.columns, 0) | active, grows=True)
        got = decode(active)
        distance = got.distance(model.distribution(window), decode.num_outputs)
        problem.work.spend(4 * len(got.named) * (1 + num_bits(distance) // 64))
        for kind in every if window in valid else (PREDICT,):
            if kind not in worst or distance > worst[kind][0]:
                worst[kind] = distance, window, got

    def wrong(kind: str, eps: Fraction | None) -> Failure:
        distance, window, got = worst[kind]
        wanted = model.distribution(window)
        return _failure(model, model.prefix(window), distance, distance, eps, wanted, got.named)

    tasks = [kind for kind in (PREDICT, VALID_PREFIXES) if kind in every]
    return ModelComparison(
        model=model,
        cells=len(every[task]),
        distances={kind: worst[kind][0] for kind in tasks},
        wrong=wrong,
    )


def _compare_contexts(problem: CheckProblem, model: BackoffTable) -> ModelComparison:
    """A bound of the L1 distance to a back-off model after any prefix."""
    cells = ContextCells(problem, model)
    bound, context = cells.worst()
    return ModelComparison(
        model=model,
        cells=len(cells.known.cells),
        distances={PREDICT: bound},
        wrong=lambda _, eps: cells.wrong(bound, context, eps),
    )


def _failure(
    model: NgramTable | BackoffTable,
    prefix: Context | None,
    distance: Fraction,
    bound: Fraction,
    eps: Fraction | None,
    wanted: Amounts,
    got: Amounts,
) -> Failure:
    """The failure where a bound of the distance is not below eps, with a word where the distance is not."""
    shown = "?" if prefix is None else model.letters.decode(prefix)
    most = "0" if eps is None else f"below {_decimal(eps)}"
    if prefix is None or distance < (eps or 0):
        what = f"after {shown} the distance to the model is only known to be at most {_decimal(bound)}"
        return Failure(what=f"{what}, which is not {most}", entry=f"evidence.{METHOD}")

    def likely(amounts: Amounts) -> tuple[str, ...]:
        symbols = (*model.letters.symbols, END)
        first = sorted(amounts, key=lambda w: (-amounts[w], w))[:_MOST_SHOWN]
        return tuple(f"{symbols[w]}: {_decimal(amounts[w])}" for w in first)

    return Failure(
        what=f"after {shown} the distribution is {_decimal(distance)} away from the model's, not {most}",
        refutation=Refutation(
            word=tuple(model.letters.symbols[w] for w in prefix),
            at=len(prefix),
            expected=likely(wanted),
            got=likely(got),
        ),
    )


def _decimal(value: Fraction) -> str:
    """Six digits of a number that is at most 2, for a message."""
    return f"{value.numerator / value.denominator:.6g}"


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


def _decoder_columns(network: CheckedNetwork) -> tuple[LogitRows, dict[str, list[tuple[int, Weight]]]]:
    """The decoder, and for each direction that it weighs the outputs that it adds to."""
    decoder = network.decoder
    if not isinstance(decoder, LogitRows):
        raise Undecided("the decoder has no distribution")
    outputs = {name for layer in network.layers for name, _ in layer.outputs}
    if not outputs.issuperset(decoder.reads):
        raise Undecided("the decoder reads a direction that no layer puts out")
    columns: dict[str, list[tuple[int, Weight]]] = {}
    for output, row in enumerate(decoder.rows):
        for j, weight in row:
            columns.setdefault(decoder.reads[j], []).append((output, weight))
    return decoder, columns


class OutputLayer:
    """The decoder of a network by columns: from directions that are not zero to exact probabilities.

    Nothing is rounded: the scores of a softmax are whole powers of rationals wherever the weights were made
    for it, and anything else is refused. Outputs that no active direction speaks for have score 0.
    """

    def __init__(self, network: CheckedNetwork) -> None:
        decoder, self.columns = _decoder_columns(network)
        self.num_outputs = len(decoder.rows)
        self._normaliser = decoder.normaliser
        weights = (weight for column in self.columns.values() for _, weight in column)
        if decoder.normaliser != "softmax" and any(ratio != 1 for weight in weights for _, ratio in weight):
            raise Undecided(f"a weight of a {decoder.normaliser} is a logarithm, not a number")

    def __call__(self, active: Active) -> Distribution:
        """Returns the distribution where these directions are not zero."""
        powers: dict[int, dict[Fraction, Fraction]] = {}
        for name, value in active.items():
            for output, weight in self.columns.get(name, ()):
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


class ContextCells:
    """Network and back-off model on the cells of all contexts.

    Attributes:
        known: the contexts.

    Raises:
        Undecided: if the network is of another kind.
    """

    def __init__(self, problem: CheckProblem, model: BackoffTable) -> None:
        self._model = model
        self._work = problem.work
        logs = _logs(problem.network, model.unit)
        units = WordUnits(problem.network, max(1, model.order - 1), logs)
        self._guard, self._names = PrefixGuard(problem.network, problem.work), tuple(logs)
        self._stream: dict[Context, dict[str, Fraction]] = {}
        self._added: dict[Context, dict[int, Log]] = {}
        for j, context, value in units.contexts(from_start=True):
            added = self._added.setdefault(context, {})
            stream = self._stream.setdefault(context, {})
            for name, c in units.columns[j]:
                stream[name] = stream.get(name, Fraction(0)) + value * c
                for output, log in logs[name]:
                    added[output] = plain(added.get(output, 0) + value * c * log)
        self.known = KnownContexts((*self._added, *model.contexts()), model.end)
        problem.work.count_cells(len(self.known.cells))

    def worst(self) -> tuple[Fraction, Context]:
        """Returns the largest bound of the L1 distance, and the first cell that has it."""
        model = self._model
        weights: dict[Context, Log] = {}
        ranges: dict[Context, tuple[Log, Log]] = {}
        sums: dict[Context, Span] = {}
        worst: tuple[Fraction, Context] = (Fraction(-1), ())
        for c in self.known.cells:
            self._look(c)
            own, shorter = model.own(c), c[1:]
            touched = range(model.end + 1) if not c else {*own, *self._added.get(c, ())}
            self._work.spend(40 * (1 + len(touched)))
            weight = model.backoff(c)
            weights[c] = weight + (weights[shorter] if c else 0)
            offsets = [self._score(c, w) - model.log(c, w) + weights[c] for w in touched]
            ends = [*offsets, *(ranges[shorter] if c else ())]
            low, high = ranges[c] = min(ends), max(ends)
            total = _total(_ten_to(log, model.unit) for log in own.values())
            if c:
                taken = _total(_ten_to(model.log(shorter, w), model.unit) for w in own)
                left = sums[shorter][0] - taken[1], sums[shorter][1] - taken[0]
                share = left if weight == 0 else multiply(_ten_to(weight, model.unit), left)
                total = total[0] + share[0], total[1] + share[1]
            sums[c] = total
            bound = _ten_to(high - low, model.unit)[1] - ONE if high > low else 0
            if not model.normalised:
                bound += max(abs(total[0] - ONE), abs(total[1] - ONE))
            if Fraction(bound, ONE) > worst[0]:
                worst = (Fraction(bound, ONE), c)
        return worst

    def _look(self, context: Context) -> None:
        """Runs a prefix of a cell, for the guard."""
        prefix = self.known.prefix(context)
        if prefix:
            stated = dict.fromkeys(self._names, Fraction(0))
            for i in range(len(context) + 1):
                for name, value in self._stream.get(context[i:], {}).items():
                    stated[name] += value
            self._guard.require(prefix, stated, grows=False)

    def _score(self, context: Context, word: int) -> Log:
        """The score of a word: the sum over the units that fire."""
        parts = (self._added.get(context[i:]) for i in range(len(context) + 1))
        return sum(part.get(word, 0) for part in parts if part)

    def wrong(self, bound: Fraction, context: Context, eps: Fraction | None) -> Failure:
        """Returns the failure of a network whose bound is not below eps, with a prefix if one is wrong."""
        model = self._model
        scores = [self._score(context, w) for w in range(model.end + 1)]
        powers = [_ten_to(score - max(scores), model.unit) for score in scores]
        wanted = [_ten_to(model.log(context, w), model.unit) for w in range(model.end + 1)]
        got = [divide(power, _total(powers)) for power in powers]
        if model.normalised:
            wanted = [divide(p, _total(wanted)) for p in wanted]
        gaps = (max(0, a[0] - b[1], b[0] - a[1]) for a, b in zip(got, wanted, strict=True))
        shown = [{w: Fraction(p[0], ONE) for w, p in enumerate(spans)} for spans in (wanted, got)]
        prefix = self.known.prefix(context)
        return _failure(model, prefix, Fraction(sum(gaps), ONE), bound, eps, *shown)


def _total(spans: Iterable[Span]) -> Span:
    low = high = 0
    for a, b in spans:
        low, high = low + a, high + b
    return low, high


def _ten_to(log: Log, unit: int) -> Span:
    """A span around 10 to the power log/unit."""
    low, high = _logarithm_of_ten()
    a, b = (low, high) if log >= 0 else (high, low)
    below = unit * log.denominator
    return exp((log.numerator * a // below, -(-log.numerator * b // below)))


@functools.cache
def _logarithm_of_ten() -> Span:
    """Ln 10, by bisection of exp."""
    low, high = 2 * ONE, 3 * ONE
    for _ in range(PLACES):
        middle = (low + high) // 2
        a, b = exp((middle, middle))
        if b <= 10 * ONE:
            low = middle
        elif a >= 10 * ONE:
            high = middle
        else:
            break
    return low, high


def _logs(network: CheckedNetwork, unit: int) -> dict[str, list[tuple[int, Fraction]]]:
    """For each direction what a value of 1 adds to the decimal logarithm of each output's score."""
    decoder, columns = _decoder_columns(network)
    if decoder.normaliser != "softmax":
        raise Undecided("the decoder is no softmax")
    if any(ratio != 10 for column in columns.values() for _, weight in column for _, ratio in weight):
        raise Undecided("a weight of the decoder is not a multiple of ln 10")
    return {
        name: [(output, sum((scale for scale, _ in weight), Fraction(0)) * unit) for output, weight in column]
        for name, column in columns.items()
    }
