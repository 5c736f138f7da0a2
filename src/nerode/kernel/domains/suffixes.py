"""Cells that know the longest context a prefix ends in: networks with the distributions of a back-off model.

What is verified:

1. The network forgets after n-1 words, and each unit fires on exactly the prefixes that end in one context,
   always with the same value (`unit_contexts`). A prefix begins with the start mark, which the start state
   stands for; so prefixes of fewer than n-1 words are cases of their own.
2. The cells are the contexts of units and of the model and all their ends. A prefix lies in the cell of the
   longest one that it ends in; all prefixes of a cell have the same scores and the same probabilities.
3. On each cell the score of a word less the logarithm of its probability lies between two bounds, and the sum
   of the probabilities is enclosed. Both follow from those of the next shorter context, because a context
   changes only the words that it has an n-gram or a weight for, and all others alike. Bounds d apart make the
   softmax differ from the normalised probabilities by at most 10^d - 1.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from nerode.kernel.claims import EXACT, PREDICT, Claim, Failure, Refutation
from nerode.kernel.domains.models import START, BackoffTable
from nerode.kernel.domains.ngrams import ModelComparison, shown_decimal
from nerode.kernel.domains.spans import ONE, PLACES, Span, divide, exp, multiply
from nerode.kernel.domains.words import WordUnits, require_window
from nerode.kernel.letters import END
from nerode.kernel.network import CheckedNetwork, LogitRows
from nerode.kernel.numbers import plain
from nerode.kernel.walk import CheckProblem
from nerode.kernel.work import Undecided, WorkCount

Context = tuple[int, ...]
Log = int | Fraction
"""A decimal logarithm in the unit of the model."""

_MOST_SHOWN = 8


def backoff_claim(*, normalised: bool, eps: Fraction | None) -> Claim:
    """Returns the claim that a network gives the distributions of a back-off model from the first word on.

    Args:
        normalised: whether the model's probabilities are divided by their sum.
        eps: the L1 distance stays below it; None for no distance at all.
    """
    how = "exactly the model's" if eps is None else "the model's up to an L1 distance below eps"
    share = ", divided by the sum over all words and the end" if normalised else ""
    return Claim(
        scope=EXACT,
        method="n-gram-suffixes",
        task=PREDICT,
        covers=(
            "After every prefix, the empty one included, the network's distribution over the next word and "
            f"the end is {how}, computed in exact arithmetic; the model gives a word 10 to the power of its "
            f"logarithm after the start mark and the prefix, back-off weights added{share}."
        ),
        eps=eps,
    )


def compare_contexts(problem: CheckProblem, cover: Mapping[str, Any], task: str) -> ModelComparison:
    """Returns a network compared with a back-off model.

    Raises:
        Undecided: if the language is not that of a back-off model, or the network of another kind.
    """
    if task != PREDICT:
        raise Undecided(f"a back-off model is compared for {PREDICT!r}, not for {task!r}")
    cells = ContextCells(problem)
    bound, context = cells.worst()
    return ModelComparison(
        cells=len(cells.cells),
        distances={PREDICT: bound},
        claim=lambda _, eps: backoff_claim(normalised=cells.model.normalised, eps=eps),
        wrong=lambda _, eps: cells.wrong(bound, context, eps or Fraction(0)),
    )


class ContextCells:
    """Network and model on the cells of all contexts.

    Args:
        problem: a network that forgets after n-1 words, and the language of a back-off model.

    Attributes:
        model: the model.
        cells: the contexts, the shorter ones first.

    Raises:
        Undecided: if network or language are of another kind.
    """

    def __init__(self, problem: CheckProblem) -> None:
        if not isinstance(problem.language, BackoffTable):
            raise Undecided("the language is not that of a back-off model")
        self.model = model = problem.language
        self._work = problem.work
        length = max(1, model.order - 1)
        require_window(problem.network, length)
        units = WordUnits(problem.network, length)
        columns = _columns(problem.network, units.columns, model.unit)
        self._added: dict[Context, dict[int, Log]] = {}
        for j, context, value in unit_contexts(units, problem.work):
            added = self._added.setdefault(context, {})
            for output, log in columns[j]:
                added[output] = plain(added.get(output, 0) + value * log)
        wanted = {c[i:] for c in (*self._added, *model.contexts()) for i in range(len(c) + 1)} | {()}
        self.cells = sorted(wanted, key=lambda c: (len(c), c))
        problem.work.count_cells(len(self.cells))

    def worst(self) -> tuple[Fraction, Context]:
        """Returns the largest bound of the L1 distance, and the first cell that has it."""
        model = self.model
        weights: dict[Context, Log] = {}
        ranges: dict[Context, tuple[Log, Log]] = {}
        sums: dict[Context, Span] = {}
        worst: tuple[Fraction, Context] = (Fraction(-1), ())
        for c in self.cells:
            own, shorter = model.own(c), c[1:]
            touched = range(model.end + 1) if not c else {*own, *self._added.get(c, ())}
            self._work.spend(40 * (1 + len(touched)))
            weight = model.backoff(c)
            weights[c] = weight + (weights[shorter] if c else 0)
            offsets = [self._score(c, w) - model.log(c, w) + weights[c] for w in touched]
            ranges[c] = _spread(offsets, ranges[shorter] if c else None)
            total = _total(_ten_to(log, model.unit) for log in own.values())
            if c:
                taken = _total(_ten_to(model.log(shorter, w), model.unit) for w in own)
                left = sums[shorter][0] - taken[1], sums[shorter][1] - taken[0]
                share = left if weight == 0 else multiply(_ten_to(weight, model.unit), left)
                total = total[0] + share[0], total[1] + share[1]
            sums[c] = total
            low, high = ranges[c]
            bound = _ten_to(high - low, model.unit)[1] - ONE if high > low else 0
            if not model.normalised:
                bound += max(abs(total[0] - ONE), abs(total[1] - ONE))
            if Fraction(bound, ONE) > worst[0]:
                worst = (Fraction(bound, ONE), c)
        return worst

    def _score(self, context: Context, word: int) -> Log:
        """The score of a word: the sum over the units that fire."""
        parts = (self._added.get(context[i:]) for i in range(len(context) + 1))
        return sum(part.get(word, 0) for part in parts if part)

    def wrong(self, bound: Fraction, context: Context, eps: Fraction) -> Failure:
        """Returns the failure of a network whose bound is not below eps, with a prefix if one is wrong."""
        model = self.model
        scores = [self._score(context, w) for w in range(model.end + 1)]
        top = max(scores)
        powers = [_ten_to(score - top, model.unit) for score in scores]
        wanted = [_ten_to(model.log(context, w), model.unit) for w in range(model.end + 1)]
        got = [divide(power, _total(powers)) for power in powers]
        if model.normalised:
            wanted = [divide(p, _total(wanted)) for p in wanted]
        gaps = (max(0, a[0] - b[1], b[0] - a[1]) for a, b in zip(got, wanted, strict=True))
        distance = Fraction(sum(gaps), ONE)
        prefix = self._prefix(context)
        shown = model.letters.decode(prefix) if prefix is not None else "?"
        if prefix is None or distance < eps:
            return Failure(
                what=f"after {shown} the distance to the model is only known to be at most "
                f"{shown_decimal(bound)}, which is not below {shown_decimal(eps)}",
                entry="evidence.n-gram-suffixes",
            )
        return Failure(
            what=f"after {shown} the distribution is {shown_decimal(distance)} away from the model's, not "
            f"below {shown_decimal(eps)}",
            refutation=Refutation(
                word=tuple(model.letters.symbols[w] for w in prefix),
                at=len(prefix),
                expected=self._likely(wanted),
                got=self._likely(got),
            ),
        )

    def _likely(self, amounts: Sequence[Span]) -> tuple[str, ...]:
        symbols = (*self.model.letters.symbols, END)
        likely = sorted(range(len(amounts)), key=lambda w: (-amounts[w][0], w))[:_MOST_SHOWN]
        return tuple(f"{symbols[w]}: {shown_decimal(Fraction(amounts[w][0], ONE))}" for w in likely)

    def _prefix(self, context: Context) -> Context | None:
        """A prefix in the cell of a context: no longer context of the cells is an end of it."""
        if context[:1] == (START,):
            return context[1:]
        known = set(self.cells)
        if (START, *context) not in known:
            return context
        others = (word for word in range(self.model.end) if (word, *context) not in known)
        word = next(others, None)
        return None if word is None else (word, *context)


def _spread(values: Iterable[Log], known: tuple[Log, Log] | None) -> tuple[Log, Log]:
    found = [*values, *(known or ())]
    return min(found), max(found)


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


def _columns(
    network: CheckedNetwork, outputs: Sequence[Sequence[tuple[str, Fraction]]], unit: int
) -> list[list[tuple[int, Log]]]:
    """For each unit what a value of 1 adds to the decimal logarithm of each output's score."""
    decoder = network.decoder
    if not isinstance(decoder, LogitRows) or decoder.normaliser != "softmax":
        raise Undecided("the decoder is no softmax")
    by_direction: dict[str, list[tuple[int, Fraction]]] = {}
    for output, row in enumerate(decoder.rows):
        for j, weight in row:
            if any(ratio != 10 for _, ratio in weight):
                raise Undecided("a weight of the decoder is not a multiple of ln 10")
            scale = sum((scale for scale, _ in weight), Fraction(0))
            by_direction.setdefault(decoder.reads[j], []).append((output, scale * unit))
    if not {name for layer in network.layers for name, _ in layer.outputs}.issuperset(by_direction):
        raise Undecided("the decoder reads a direction that no layer puts out")
    return [
        [(w, c * log) for name, c in column if c for w, log in by_direction.get(name, ())]
        for column in outputs
    ]


def unit_contexts(found: WordUnits, work: WorkCount) -> Iterator[tuple[int, Context, Fraction]]:
    """Yields the units that matter and fire at all: number, context and value.

    Raises:
        Undecided: if a unit fires on prefixes that do not all end in one context.
    """
    for j, unit in enumerate(found.units):
        if not found.columns[j]:
            continue
        work.spend(8 * found.length)
        parts = [found.extremes(part) if part else None for part in unit.ages]
        fired = _fired_on(parts, unit.constants, len(found.words), unit.first)
        if fired is not None:
            yield j, fired[0], Fraction(fired[1], unit.scale)


def _fired_on(
    parts: Sequence[tuple[int, int, int, int] | None],
    constants: Sequence[int],
    num_words: int,
    first: Fraction,
) -> tuple[Context, Log] | None:
    """The context that a unit fires on and its value there, None if it never fires.

    Args:
        parts: for each age the extremes over the words, None if the word of this age does not matter.
        constants: the constant, by the number of words so far.
        num_words: size of the vocabulary.
        first: the value before the first word.
    """
    length = len(parts)
    fired: dict[int, tuple[Context, Log]] = {}
    for count in range(1, length + 1):
        seen = [(age, part) for age, part in enumerate(parts[:count]) if part is not None]
        flat = [age for age, (low, high, _, _) in seen if low == high and num_words > 1]
        chosen = [(age, part) for age, part in seen if age not in flat]
        top = constants[count] + sum(part[1] for _, part in seen)
        if top <= 0:
            continue
        if num_words > 1 and any(top - (high - second) > 0 for _, (_, high, second, _) in chosen):
            raise Undecided("a unit fires on several words at one place, but not on all of them")
        if [age for age, _ in chosen] != list(range(len(chosen))):
            raise Undecided("a unit fires on words that are not the last ones")
        fired[count] = tuple(part[3] for _, part in reversed(chosen)), top
    if length in fired:
        # Fires on a context wherever it stands, however many words there are before it.
        context, value = fired[length]
        least = max(1, len(context))
        same = dict.fromkeys(range(least, length + 1), fired[length])
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
