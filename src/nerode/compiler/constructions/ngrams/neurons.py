"""Which neurons remember and which match, and the output weights that follow.

The first (n-2)·e neurons are a delay line: they keep the coordinates of the last n-2 inputs. To reach exactly
|P| neurons they must also serve as features: neuron (age, c) with its threshold fires exactly when the word on
axis c stands at that age, so it can stand for one context, its *leftover*, that has this word there and no
axis word elsewhere in the delay line. All other contexts have a match neuron; where a delay neuron also fires
on them, its contribution is taken off their weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.constructions.ngrams.targets import Context, Targets
from nerode.compiler.decoders import LogSum
from nerode.core.errors import NotCompilable


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Who does what.

    Attributes:
        axes: the words on the axes of the embedding.
        leftovers: `leftovers[age][c]` is the context that delay neuron (age, c) stands for.
        matched: the contexts with a match neuron, in order.
    """

    axes: tuple[int, ...]
    leftovers: tuple[tuple[Context, ...], ...]
    matched: tuple[Context, ...]


def make_plan(contexts: Sequence[Context], width: int, target: str) -> Plan:
    """Chooses the axis words and the leftovers.

    Raises:
        NotCompilable: if the contexts are too few or too tangled for this width.
    """
    ages = len(contexts[0]) - 1
    words = sorted({w for context in contexts for w in context})
    if len(words) < width:
        raise NotCompilable(
            target, [f"an embedding of width {width} needs {width} words, there are {len(words)}"]
        )
    if ages == 0:
        return Plan(axes=tuple(words[:width]), leftovers=(), matched=tuple(contexts))
    axes = _choose_axes(contexts, words, width, ages)
    if axes is None:
        raise NotCompilable(
            target, [f"no {width} words can serve on the axes of the embedding; give a smaller width"]
        )
    leftovers = tuple(tuple(_standing(contexts, axes, age, word)[0] for word in axes) for age in range(ages))
    taken = set(itertools.chain(*leftovers))
    return Plan(axes=axes, leftovers=leftovers, matched=tuple(c for c in contexts if c not in taken))


def _choose_axes(
    contexts: Sequence[Context], words: Sequence[int], width: int, ages: int
) -> tuple[int, ...] | None:
    """Adds words greedily as long as every delay neuron keeps a context of its own."""
    chosen: list[int] = []
    for word in words:
        trial = (*chosen, word)
        if all(_standing(contexts, trial, age, w) for age in range(ages) for w in trial):
            chosen.append(word)
        if len(chosen) == width:
            return tuple(chosen)
    return None


def _standing(contexts: Sequence[Context], axes: Sequence[int], age: int, word: int) -> list[Context]:
    """The contexts with `word` at this age and no axis word elsewhere in the delay line."""
    place = len(contexts[0]) - 1 - age
    others = [i for i in range(1, len(contexts[0])) if i != place]
    found = []
    for context in contexts:
        if context[place] == word and not any(context[i] in axes for i in others):
            found.append(context)
            break
    return found


def output_weights(
    targets: Targets, plan: Plan
) -> tuple[list[Mapping[int, LogSum]], Mapping[int, LogSum] | None]:
    """Returns, for each neuron in order (delay line, then matches), output -> weight, and for the constant.

    A weight is what the neuron adds to the score of an output when its value is 1.
    """
    scores = dict(zip(targets.contexts, targets.scores, strict=True))
    beyond = targets.unknown or {}
    softmax = targets.normaliser == "softmax"
    columns: list[Mapping[int, LogSum]] = []
    for group in plan.leftovers:
        columns.extend(_minus(scores[context], [beyond], softmax) for context in group)
    for context in plan.matched:
        fired = [
            _ratio(scores[group[plan.axes.index(word)]], beyond, softmax)
            for age, group in enumerate(plan.leftovers)
            if (word := context[len(context) - 1 - age]) in plan.axes
        ]
        columns.append(_minus(scores[context], [beyond, *fired], softmax))
    constant = None if targets.unknown is None else _minus(targets.unknown, [], softmax)
    return columns, constant


def _ratio(
    score: Mapping[int, Fraction], beyond: Mapping[int, Fraction], softmax: bool
) -> Mapping[int, Fraction]:
    """The score of a leftover as its neuron adds it: on top of the constant."""
    neutral = Fraction(1) if softmax else Fraction(0)
    outputs = {*score, *beyond}
    if softmax:
        return {v: score.get(v, neutral) / beyond.get(v, neutral) for v in outputs}
    return {v: score.get(v, neutral) - beyond.get(v, neutral) for v in outputs}


def _minus(
    score: Mapping[int, Fraction], others: Sequence[Mapping[int, Fraction]], softmax: bool
) -> Mapping[int, LogSum]:
    """The score less what the other neurons that fire along already add."""
    outputs = {*score, *itertools.chain(*others)}
    weights: dict[int, LogSum] = {}
    for v in sorted(outputs):
        if softmax:
            ratio = score.get(v, Fraction(1))
            for other in others:
                ratio /= other.get(v, Fraction(1))
            if ratio != 1:
                weights[v] = ((Fraction(1), ratio),)
        else:
            amount = score.get(v, Fraction(0)) - sum(o.get(v, Fraction(0)) for o in others)
            if amount:
                weights[v] = ((amount, Fraction(1)),)
    return weights
