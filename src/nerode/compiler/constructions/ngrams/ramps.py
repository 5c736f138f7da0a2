"""The n-gram SSM for an embedding of width one: ramps along a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from nerode.compiler.affine import zero_map
from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.assembly import (
    Rows,
    affine,
    logit_decoder,
    sparse_rows,
    thresholded,
)
from nerode.compiler.constructions.ngrams.targets import Context, Targets
from nerode.compiler.decoders import LogSum
from nerode.compiler.linear_algebra import independent_rows, invert
from nerode.compiler.network import Embedding, Layer, Network
from nerode.compiler.recurrences import TimeInvariant
from nerode.core.errors import NotCompilable
from nerode.core.refs import Reference
from nerode.languages.language import Legal

Combination = dict[int, Fraction]
"""A linear combination of the target scores of contexts: context number -> coefficient."""


def ramp_network(request: Request, targets: Targets, empty: Legal) -> Network:
    """Returns the one-layer SSM with one neuron for each context and a one-dimensional embedding.

    Words are whole numbers; the last n-1 of them make one code s, different for every context. A neuron is a
    ramp relu(s - θ) scaled to 1 on its own context, so the scores are a piecewise-linear function of s through
    prescribed points. The first n-2 neurons keep the last words; they fire on the largest word only and stand
    for n-2 contexts.

    Implements: [Nandakumar2024, Theorem 4.1]
    """
    alphabet = request.facts.language.alphabet
    contexts = targets.contexts
    ages = len(contexts[0]) - 1
    base = len(alphabet)
    top = _top_word(contexts, base)
    numbers = [base - 1 if w == top else top if w == base - 1 else w for w in range(base)]
    codes = {c: sum(numbers[w] * base**age for age, w in enumerate(reversed(c))) for c in contexts}
    features = [[Fraction(int(c[len(c) - 1 - age] == top)) for age in range(ages)] for c in contexts]
    order, leftovers = _split(contexts, codes, features, request.target.name)
    weights = _weights(contexts, codes, features, order, leftovers)
    matrix, write, bias = _recurrence(contexts, codes, order, ages, base)
    names = (
        *(f"delay {age}" for age in range(ages)),
        *(" ".join(alphabet.symbols[w] for w in contexts[i]) for i in order),
    )
    columns = [_column(targets, w) for w in weights]
    if targets.unknown is not None:
        raise NotCompilable(
            request.target.name,
            ["ramps do not vanish on unknown contexts; give an embedding of width 2 or more"],
        )
    units, readout = thresholded(1, len(names), bias)
    layer = Layer(
        name="contexts",
        reads=("e0",),
        state=names,
        start=(0,) * len(names),
        units=zero_map(1),
        recurrence=TimeInvariant(matrix=sparse_rows(matrix), write=affine(1, write)),
        readout_units=units,
        outputs=tuple(f"relu {name}" for name in names),
        readout=readout,
    )
    return Network(
        alphabet=alphabet,
        target=request.target.name,
        embedding=Embedding(directions=("e0",), vectors=tuple((number,) for number in numbers)),
        layers=(layer,),
        decoder=logit_decoder(
            layer.outputs,
            columns,
            num_outputs=targets.num_outputs,
            normaliser=targets.normaliser,
            empty=empty,
        ),
        origin=request.origin(
            construction="n-gram-ramps",
            route=f"one neuron for each of the {len(contexts)} contexts, ramps over a code of the last "
            f"{ages + 1} words; exact, but badly conditioned in floats; right after prefixes of at least "
            f"{ages + 1} words",
            reference=Reference("Nandakumar2024", "Theorem 4.1"),
        ),
    )


def _top_word(contexts: Sequence[Context], num_words: int) -> int:
    """The word that gets the largest number: one that stands at every age of the delay line somewhere."""
    places = range(1, len(contexts[0]))
    for word in range(num_words - 1, -1, -1):
        if all(any(c[place] == word for c in contexts) for place in places):
            return word
    return num_words - 1


def _split(
    contexts: Sequence[Context],
    codes: Mapping[Context, int],
    features: Sequence[Sequence[Fraction]],
    target: str,
) -> tuple[list[int], list[int]]:
    """Chooses the contexts for the delay neurons: their features must stay independent of the ramps."""
    by_code = sorted(range(len(contexts)), key=lambda i: codes[contexts[i]])
    ages = len(features[0])
    if ages == 0:
        return by_code, []
    # A ramp function interpolates between neighbours, so what a context adds is its feature less theirs.
    surprises = []
    for place, i in enumerate(by_code):
        row = list(features[i])
        if 0 < place < len(by_code) - 1:
            for neighbour, share in _neighbours(by_code, place, codes, contexts):
                row = [a - share * b for a, b in zip(row, features[neighbour], strict=True)]
        surprises.append(row)
    chosen = [by_code[p] for p in independent_rows(surprises, ages)]
    if len(chosen) < ages:
        raise NotCompilable(target, ["the contexts are too few for a one-dimensional embedding"])
    return [i for i in by_code if i not in chosen], chosen


def _neighbours(
    by_code: Sequence[int], place: int, codes: Mapping[Context, int], contexts: Sequence[Context]
) -> list[tuple[int, Fraction]]:
    low, here, high = (codes[contexts[by_code[p]]] for p in (place - 1, place, place + 1))
    share = Fraction(here - low, high - low)
    return [(by_code[place - 1], 1 - share), (by_code[place + 1], share)]


def _ramp_value(code: int, before: int, own: int) -> Fraction:
    return max(Fraction(code - before, own - before), Fraction(0))


def _starts(order: Sequence[int], codes: Sequence[int]) -> list[int]:
    """Where each ramp leaves zero: at the code before its own."""
    return [codes[order[0]] - 1, *(codes[i] for i in order[:-1])]


def _weights(
    contexts: Sequence[Context],
    code_of: Mapping[Context, int],
    features: Sequence[Sequence[Fraction]],
    order: Sequence[int],
    leftovers: Sequence[int],
) -> list[Combination]:
    """Returns for each neuron the combination of target scores that is its output weight."""
    codes = [code_of[c] for c in contexts]
    ramps = _ramp_weights(order, codes, {i: {i: Fraction(1)} for i in order})
    # What the ramps alone give at the leftovers, and what the features add there through the ramps.
    given = [_evaluate(ramps, order, codes, codes[i]) for i in leftovers]
    corrections = [
        _ramp_weights(order, codes, {i: {-1: features[i][age]} if features[i][age] else {} for i in order})
        for age in range(len(leftovers))
    ]
    system = [
        [
            features[i][age] - _evaluate(corrections[age], order, codes, codes[i]).get(-1, Fraction(0))
            for age in range(len(leftovers))
        ]
        for i in leftovers
    ]
    solution = invert(system) if leftovers else []
    if solution is None:
        raise NotCompilable("ssm", ["the delay neurons do not separate the contexts of this embedding"])
    delays: list[Combination] = []
    for age in range(len(leftovers)):
        total: Combination = {}
        for k, i in enumerate(leftovers):
            _add(total, {i: Fraction(1)}, solution[age][k])
            _add(total, given[k], -solution[age][k])
        delays.append(total)
    adjusted: dict[int, Combination] = {}
    for i in order:
        wanted: Combination = {i: Fraction(1)}
        for age, delay in enumerate(delays):
            if features[i][age]:
                _add(wanted, delay, -features[i][age])
        adjusted[i] = wanted
    return [*delays, *_ramp_weights(order, codes, adjusted)]


def _ramp_weights(
    order: Sequence[int], codes: Sequence[int], wanted: Mapping[int, Combination]
) -> list[Combination]:
    """The weights of ramps whose sum passes through the wanted value at each code: changes of slope."""
    starts = _starts(order, codes)
    weights: list[Combination] = []
    before: Combination = {}
    slope: Combination = {}
    for start, i in zip(starts, order, strict=True):
        width = codes[i] - start
        new_slope: Combination = {}
        _add(new_slope, wanted[i], Fraction(1, width))
        _add(new_slope, before, -Fraction(1, width))
        change: Combination = {}
        _add(change, new_slope, Fraction(width))
        _add(change, slope, -Fraction(width))
        weights.append(change)
        before, slope = wanted[i], new_slope
    return weights


def _evaluate(
    weights: Sequence[Combination], order: Sequence[int], codes: Sequence[int], code: int
) -> Combination:
    total: Combination = {}
    for weight, start, i in zip(weights, _starts(order, codes), order, strict=True):
        value = _ramp_value(code, start, codes[i])
        if value:
            _add(total, weight, value)
    return total


def _add(total: Combination, other: Mapping[int, Fraction], factor: Fraction) -> None:
    for key, value in other.items():
        new = total.get(key, Fraction(0)) + factor * value
        if new:
            total[key] = new
        else:
            total.pop(key, None)


def _recurrence(
    contexts: Sequence[Context], code_of: Mapping[Context, int], order: Sequence[int], ages: int, base: int
) -> tuple[Rows, Rows, list[Fraction]]:
    matrix: Rows = [{age - 1: 1} if age else {} for age in range(ages)]
    write: Rows = [{} if age else {0: 1} for age in range(ages)]
    bias = [Fraction(2 - base)] * ages
    codes = [code_of[c] for c in contexts]
    for start, i in zip(_starts(order, codes), order, strict=True):
        width = codes[i] - start
        write.append({0: Fraction(1, width)})
        matrix.append({age: Fraction(base ** (age + 1), width) for age in range(ages)})
        bias.append(Fraction(-start, width))
    return matrix, write, bias


def _column(targets: Targets, combination: Combination) -> Mapping[int, LogSum]:
    terms: dict[int, list[tuple[Fraction, Fraction]]] = {}
    for i, coefficient in sorted(combination.items()):
        for output, score in targets.scores[i].items():
            pair = (
                (coefficient, score)
                if targets.normaliser == "softmax"
                else (coefficient * score, Fraction(1))
            )
            terms.setdefault(output, []).append(pair)
    return {output: tuple(pairs) for output, pairs in terms.items()}
