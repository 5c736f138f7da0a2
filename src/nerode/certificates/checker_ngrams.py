"""Networks with distributions: right on every context of an n-gram model, hence on the whole language.

A layer that forgets after n-1 letters says the same after every prefix that ends in the same n-1 words, so it
is enough to look at each context once. Nothing is sampled and nothing is rounded: scores are whole powers
of rationals wherever the weights were made for it, and anything else is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from nerode.certificates.certificate import EXACT, VALID_PREFIXES, Claim
from nerode.certificates.checker_problem import Evidence, Failure, Problem, refuse_unless_implied
from nerode.certificates.checker_records import (
    CheckedNetwork,
    Fixed,
    Layer,
    Logits,
    Row,
    Squashed,
    before,
    now,
    seen_unit,
)
from nerode.certificates.checker_windows import nilpotent_window
from nerode.core.errors import InputError
from nerode.core.exact import Exact
from nerode.languages.ngrams import BOS, NgramLanguage, NgramModel

METHOD = "n-gram-contexts"

_EXACT_FLOATS = 1 << 53
_ROWS_AT_ONCE = 512
_MOST_EXPONENT = 4096

Context = tuple[int, ...]
Values = dict[str, Fraction]
Sparse = dict[int, Fraction]


def ngram_claim(*, words: int, eps: Fraction) -> Claim:
    """Returns the claim that a network gives the distributions of an n-gram model up to eps."""
    return Claim(
        scope=EXACT,
        method=METHOD,
        task=VALID_PREFIXES,
        covers=(
            f"After every prefix of at least {words} words of a sentence of the model the network's "
            "distribution over the next word and the end is the model's up to an L1 distance below eps, "
            "computed in exact arithmetic; of shorter prefixes and of prefixes that no sentence has nothing "
            "is said."
        ),
        eps=eps,
    )


def verify_ngrams(problem: Problem, evidence: Evidence, claims: Sequence[Claim]) -> Failure | None:
    """Checks claims about the distributions of an n-gram model."""
    if set(evidence) != {"words"}:
        return Failure(
            what="the evidence is not the number of words of a context", entry=f"evidence.{METHOD}"
        )
    model = _model(problem)
    if evidence["words"] != model.order - 1:
        return Failure(
            what=f"contexts have {model.order - 1} words, not {evidence['words']}",
            entry=f"evidence.{METHOD}.words",
        )
    window = nilpotent_window(problem.network)
    if window > model.order - 1:
        return Failure(
            what=f"the network looks at {window} words, the model at {model.order - 1}", entry="network"
        )
    worst, where = worst_distance(problem)
    shown = []
    for eps in {claim.eps for claim in claims if claim.eps is not None}:
        if worst >= eps:
            shown_context = problem.language.alphabet.decode(where)
            return Failure(
                what=f"after {shown_context} the distribution is {float(worst):.3g} away, not below {eps}",
                entry="claims",
            )
        shown.append(ngram_claim(words=model.order - 1, eps=eps))
    return refuse_unless_implied(claims, shown)


def worst_distance(problem: Problem) -> tuple[Fraction, Context]:
    """Returns the largest L1 distance between network and model over all contexts, and where it is."""
    model = _model(problem)
    contexts = [context for context in model.contexts if BOS not in context]
    if not contexts:
        raise InputError("the model has no context to check")
    columns = _columns(problem.network)
    worst, where = Fraction(-1), contexts[0]
    for context, active in _active_outputs(problem.network, contexts):
        problem.budget.check_time(worst_so_far=float(worst))
        got, floor = _distribution(problem.network, columns, active)
        wanted = model.distribution(context)
        named = {*got, *wanted}
        distance = floor * (model.end + 1 - len(named))
        for v in named:
            distance += abs(got.get(v, floor) - wanted.get(v, 0))
        if distance > worst:
            worst, where = distance, context
    return worst, where


def _model(problem: Problem) -> NgramModel:
    language = problem.language
    if not isinstance(language, NgramLanguage) or not isinstance(language.model, NgramModel):
        raise InputError("the language is not an exact n-gram model")
    return language.model


def _columns(network: CheckedNetwork) -> dict[str, list[tuple[int, Any]]]:
    """For each direction that the decoder reads, the outputs that it speaks for, with weights."""
    if not isinstance(network.decoder, Logits):
        raise InputError("the decoder has no distribution")
    columns: dict[str, list[tuple[int, Any]]] = {name: [] for name in network.decoder.reads}
    for output, row in enumerate(network.decoder.rows):
        for j, weight in row:
            columns[network.decoder.reads[j]].append((output, weight))
    return columns


def _distribution(
    network: CheckedNetwork, columns: dict[str, list[tuple[int, Any]]], active: Values
) -> tuple[dict[int, Fraction], Fraction]:
    """The probability of each output that a unit speaks for, and that of each of the others."""
    decoder = network.decoder
    assert isinstance(decoder, Logits)
    exponents: dict[int, dict[Fraction, Fraction]] = {}
    for name, value in active.items():
        for output, weight in columns.get(name, ()):
            powers = exponents.setdefault(output, {})
            for scale, ratio in weight:
                powers[ratio] = powers.get(ratio, Fraction(0)) + scale * value
    outputs = len(decoder.rows)
    if decoder.normaliser == "softmax":
        scores = {v: _power(powers) for v, powers in exponents.items()}
        total = sum(scores.values(), Fraction(outputs - len(scores)))
        return {v: score / total for v, score in scores.items()}, 1 / total
    amounts = [sum(exponents.get(v, {}).values(), Fraction(0)) for v in range(outputs)]
    if decoder.normaliser == "hardmax":
        best = [v for v, amount in enumerate(amounts) if amount == max(amounts)]
        return dict.fromkeys(best, Fraction(1, len(best))), Fraction(0)
    return _projected(amounts), Fraction(0)


def _power(powers: dict[Fraction, Fraction]) -> Fraction:
    score = Fraction(1)
    for ratio, exponent in powers.items():
        if exponent.denominator != 1 or abs(exponent) > _MOST_EXPONENT:
            raise InputError(f"a score has the power {exponent}, which is not a small whole number")
        score *= ratio**exponent.numerator
    return score


def _projected(amounts: Sequence[Fraction]) -> dict[int, Fraction]:
    """The point of the simplex nearest to the scores: sparsemax."""
    support = sorted(range(len(amounts)), key=lambda v: amounts[v], reverse=True)
    while True:
        shift = (1 - sum((amounts[v] for v in support), Fraction(0))) / len(support)
        kept = [v for v in support if amounts[v] + shift > 0]
        if len(kept) == len(support):
            return {v: amounts[v] + shift for v in support}
        support = kept


def _active_outputs(network: CheckedNetwork, contexts: Sequence[Context]) -> Iterator[tuple[Context, Values]]:
    """Yields for each context the directions that are not zero after it."""
    if len(network.layers) != 1:
        raise InputError(f"the network has {len(network.layers)} layers; this method is for one")
    layer = network.layers[0]
    if layer.units or layer.complex_state or layer.exposes_previous:
        raise InputError("the layer has parts that this method does not read")
    if isinstance(layer.moves, Fixed):
        yield from _linear_outputs(network, layer, layer.moves, contexts)
    elif isinstance(layer.moves, Squashed) and layer.moves.activation == "relu":
        yield from _stepped_outputs(network, layer, layer.moves, contexts)
    else:
        raise InputError("the recurrence is neither linear with one matrix nor made of ReLU units")


def _linear_outputs(
    network: CheckedNetwork, layer: Layer, moves: Fixed, contexts: Sequence[Context]
) -> Iterator[tuple[Context, Values]]:
    """The state after a context is a fixed linear map of its words: sums of A^age B word."""
    ages = len(contexts[0])
    constant, states = _unrolled(layer, moves, ages)
    rows, bias = _unit_rows(layer, states, constant)
    scale = [
        math.lcm(b.denominator, *(v.denominator for v in row.values()))
        for row, b in zip(rows, bias, strict=True)
    ]
    whole = [
        [int(row[k] * s) if k in row else 0 for k in range(ages * len(layer.reads))]
        for row, s in zip(rows, scale, strict=True)
    ]
    offsets = [int(b * s) for b, s in zip(bias, scale, strict=True)]
    words = [[_whole(vector[name]) for name in layer.reads] for vector in network.embedding]
    size = max((abs(v) for vector in words for v in vector), default=0)
    bound = max(
        (sum(map(abs, row)) * size + abs(o) for row, o in zip(whole, offsets, strict=True)), default=0
    )
    speaks = _unit_columns(layer)
    dtype: Any = np.float64 if bound < _EXACT_FLOATS else object
    matrix = np.array(whole, dtype=dtype).T
    shift = np.array(offsets, dtype=dtype)
    table = np.array(words, dtype=dtype)
    for first in range(0, len(contexts), _ROWS_AT_ONCE):
        batch = contexts[first : first + _ROWS_AT_ONCE]
        # Newest word first: block `age` belongs to the word that was read `age` letters ago.
        inputs = np.hstack([table[[c[ages - 1 - age] for c in batch]] for age in range(ages)])
        values = inputs @ matrix + shift
        for context, line in zip(batch, values, strict=True):
            fired = {j: Fraction(int(line[j]), scale[j]) for j in np.flatnonzero(line > 0).tolist()}
            yield context, _outputs(speaks, fired)


def _unrolled(layer: Layer, moves: Fixed, ages: int) -> tuple[list[Fraction], list[Sparse]]:
    """The constant part of each coordinate and its coefficients of the window's words.

    The word that was read `age` letters ago is multiplied by A^age B; its coordinate c is input number
    age·width + c.
    """
    place = {name: c for c, name in enumerate(layer.reads)}
    block: list[Sparse] = [{place[name]: _rational(c) for name, c in terms} for _, terms in moves.writes]
    drift = [_rational(offset) for offset, _ in moves.writes]
    matrix = [[(j, _rational(c)) for j, c in row] for row in moves.matrix]
    constant = list(drift)
    states = [dict(row) for row in block]
    for age in range(1, ages):
        moved: list[Sparse] = []
        for row in matrix:
            total: Sparse = {}
            for j, c in row:
                for k, v in block[j].items():
                    total[k] = total.get(k, 0) + c * v
            moved.append(total)
        block = moved
        drift = [sum((c * drift[j] for j, c in row if drift[j]), Fraction(0)) for row in matrix]
        constant = [a + b for a, b in zip(constant, drift, strict=True)]
        for state, shifted in zip(states, block, strict=True):
            state.update((age * len(place) + k, v) for k, v in shifted.items())
    return constant, states


def _unit_rows(
    layer: Layer, states: list[Sparse], constant: list[Fraction]
) -> tuple[list[Sparse], list[Fraction]]:
    """The arguments of the readout units as linear maps of the words of the window."""
    places = {now(i): i for i in range(len(layer.state))}
    rows: list[Sparse] = []
    bias = []
    for offset, terms in layer.seen_units:
        row: Sparse = {}
        total = _rational(offset)
        for name, c in terms:
            if name not in places:
                raise InputError("a readout unit reads something else than the state")
            factor = _rational(c)
            total += factor * constant[places[name]]
            for k, v in states[places[name]].items():
                row[k] = row.get(k, 0) + factor * v
        rows.append(row)
        bias.append(total)
    return rows, bias


def _unit_columns(layer: Layer) -> list[list[tuple[str, Fraction]]]:
    """For each readout unit the directions that it adds to, with coefficients."""
    places = {seen_unit(j): j for j in range(len(layer.seen_units))}
    columns: list[list[tuple[str, Fraction]]] = [[] for _ in places]
    for name, (offset, terms) in layer.outputs:
        if offset != 0:
            raise InputError("an output is not zero where no unit fires")
        for source, c in terms:
            if source not in places:
                raise InputError("an output reads something else than the readout units")
            columns[places[source]].append((name, _rational(c)))
    return columns


def _outputs(columns: list[list[tuple[str, Fraction]]], fired: dict[int, Fraction]) -> Values:
    """The directions of the stream that are not zero, from the readout units that fire."""
    found: Values = {}
    for j, value in fired.items():
        for name, c in columns[j]:
            found[name] = found.get(name, Fraction(0)) + c * value
    return {name: v for name, v in found.items() if v}


def _stepped_outputs(
    network: CheckedNetwork, layer: Layer, moves: Squashed, contexts: Sequence[Context]
) -> Iterator[tuple[Context, Values]]:
    """ReLU units are stepped through the words; the window makes what came before irrelevant."""
    for context in contexts:
        state = [_rational(v) for v in layer.start]
        for word in context:
            table = {name: _rational(v) for name, v in network.embedding[word].items()}
            table.update((before(i), v) for i, v in enumerate(state))
            state = [max(_row_value(row, table), Fraction(0)) for row in moves.rows]
        table = {now(i): v for i, v in enumerate(state)}
        yield context, {name: v for name, row in layer.outputs if (v := _row_value(row, table))}


def _row_value(row: Row, table: dict[str, Fraction]) -> Fraction:
    return sum((_rational(c) * table[name] for name, c in row[1]), _rational(row[0]))


def _rational(value: Exact) -> Fraction:
    if not isinstance(value, int | Fraction):
        raise InputError(f"{value} is not rational; this method is for rational networks")
    return Fraction(value)


def _whole(value: Exact) -> int:
    number = _rational(value)
    if number.denominator != 1:
        raise InputError("an embedding has an entry that is not a whole number")
    return number.numerator
