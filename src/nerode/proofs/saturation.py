"""Proofs for networks with tallies: which coordinates saturate, and the search with their caps."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable
from fractions import Fraction

from nerode.core import Budget
from nerode.languages import Language, Legal, Word, language_hash
from nerode.network import (
    Affine,
    Interpreter,
    Layer,
    Network,
    NetworkState,
    network_hash,
)
from nerode.proofs.certificate import (
    PREDICT,
    RECOGNISE,
    VALID_PREFIXES,
    Certificate,
    Refutation,
    Unproved,
    language_claim,
)
from nerode.proofs.checker_saturation import METHOD

Caps = dict[tuple[int, int], int]


def find_caps(network: Network) -> Caps:
    """Returns (layer, coordinate) -> cap for the coordinates that only matter up to a cap.

    A cap is where every unit that reads the coordinate is on as long as what else it reads is between
    -1 and 1; the checker looks at the actual values.
    """
    caps: Caps = {}
    for number, layer in enumerate(network.layers):
        if layer.complex_state:
            continue
        for i in range(layer.width):
            cap = _cap(layer, i) if _is_held(layer, i) else None
            if cap is not None:
                caps[number, i] = cap
    return caps


def _is_held(layer: Layer, i: int) -> bool:
    fixed, gated = layer.recurrence.as_fixed(), layer.recurrence.as_gated()
    if fixed is not None:
        others = any(j == i for k, row in enumerate(fixed.matrix) if k != i for j, _ in row)
        return fixed.matrix[i] == ((i, 1),) and not others
    return gated is not None and gated.gate.bias[i] == 1 and not gated.gate.rows[i]


def _cap(layer: Layer, i: int) -> int | None:
    """The cap of a coordinate, None if some output grows along it."""
    columns = [len(layer.reads) + i]
    if layer.exposes_previous:
        columns.append(len(layer.reads) + layer.width + i)
    first_unit = layer.readout_units.num_inputs
    needed = Fraction(1)
    for column in columns:
        slopes = {
            first_unit + j: c for j, row in enumerate(layer.readout_units.rows) for k, c in row if k == column
        }
        if any(not isinstance(c, int | Fraction) or c <= 0 for c in slopes.values()):
            return None
        for row in layer.readout.rows:
            entries = dict(row)
            if column in entries or sum((entries[u] * s for u, s in slopes.items() if u in entries), 0) != 0:
                return None
        for j, slope in slopes.items():
            needed = max(needed, _reach(layer.readout_units, j - first_unit, column) / Fraction(slope))  # type: ignore[arg-type]
    return math.ceil(needed) + 1


def _reach(units: Affine, j: int, column: int) -> Fraction:
    """How far below zero the other terms of a unit can pull it, for inputs between -1 and 1."""
    rest = [abs(Fraction(c)) for k, c in units.rows[j] if k != column and isinstance(c, int | Fraction)]
    bias = units.bias[j]
    return sum(rest, Fraction(0)) - (Fraction(bias) if isinstance(bias, int | Fraction) else 0)


def certify_saturating(
    network: Network, language: Language, *, budget: Budget | None = None
) -> Certificate | Refutation | Unproved:
    """Returns a certificate for all lengths in exact arithmetic, the shortest failing word, or neither."""
    budget = budget or Budget()
    caps = find_caps(network)
    if not caps:
        return Unproved(reason="no coordinate of the network saturates")
    best = _certify(network, language, PREDICT, caps, budget)
    if isinstance(best, Certificate):
        return best
    weaker = _certify(network, language, VALID_PREFIXES, caps, budget)
    return weaker if isinstance(weaker, Certificate) else best


def _certify(
    network: Network, language: Language, task: str, caps: Caps, budget: Budget
) -> Certificate | Refutation:
    interpreter = Interpreter(network)
    first: tuple[NetworkState, Hashable] = (interpreter.start(), language.initial())
    refutation = _wrong(language, (), interpreter.empty_answer().legal, language.legal(first[1]), task)
    if refutation is not None:
        return refutation
    number, order, words = {first: 0}, [first], [()]
    table = hashlib.sha256()
    for (states, configuration), word in zip(order, words, strict=True):
        row = []
        for letter in range(len(language.alphabet)):
            if task == VALID_PREFIXES and letter not in language.legal(configuration).symbols:
                row.append("-")
                continue
            new, answer = interpreter.step(states, letter)
            target = language.advance(configuration, letter)
            longer: Word = (*word, letter)
            refutation = _wrong(language, longer, answer.legal, language.legal(target), task)
            if refutation is not None:
                return refutation
            reached = (_clamp(new, caps), target)
            if reached not in number:
                number[reached] = len(order)
                order.append(reached)
                words.append(longer)  # type: ignore[arg-type]
                budget.check("elements", len(order), joint_configurations=len(order))
            row.append(str(number[reached]))
        table.update((" ".join(row) + "\n").encode())
    evidence = {
        "task": task,
        "configurations": len(order),
        "digest": table.hexdigest(),
        "caps": [[layer, i, cap] for (layer, i), cap in sorted(caps.items())],
    }
    return Certificate(
        network=network_hash(network),
        language=language_hash(language, budget),
        claims=(language_claim(task=task, method=METHOD),),
        evidence={METHOD: evidence},
    )


def _clamp(states: NetworkState, caps: Caps) -> NetworkState:
    clamped = [list(state) for state in states]
    for (layer, i), cap in caps.items():
        if clamped[layer][i] > cap:
            clamped[layer][i] = cap
    return tuple(tuple(state) for state in clamped)


def _wrong(language: Language, word: Word, got: Legal, expected: Legal, task: str) -> Refutation | None:
    if got == expected or (task == RECOGNISE and got.end == expected.end):
        return None
    names = language.alphabet
    return Refutation(
        word=tuple(names.symbols[a] for a in word),
        at=len(word),
        expected=tuple(expected.names(names)),
        got=tuple(got.names(names)),
    )
