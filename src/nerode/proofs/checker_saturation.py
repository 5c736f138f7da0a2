"""Tallies that only matter up to a cap: a finite search for networks whose flags are counted up for ever.

A time-invariant layer cannot set a flag once; it can only count the events. A coordinate that keeps its
value, never falls, and is read through ReLU units whose slopes cancel where all of them are on makes no
difference beyond the point where they are. There every larger value does the same, so the search may put
the cap in its place.

What is verified: the coordinate is held by a gate of exactly 1 and feeds no other coordinate; no step that
is searched lowers it; the output rows have no slope along it when its units are on; and at every step that
is searched with a value at the cap or above, all its units are on. Then the step from the cap stands for the
steps from all values above it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.core import InputError
from nerode.languages import Legal
from nerode.proofs.certificate import VALID_PREFIXES, Claim, language_claim
from nerode.proofs.checker_closure import word_to
from nerode.proofs.checker_evaluation import Evaluator, States
from nerode.proofs.checker_problem import (
    LANGUAGE_TASKS,
    Evidence,
    Failure,
    Problem,
    agrees,
    refuse_unless_implied,
    refute,
)
from nerode.proofs.checker_records import Fixed, Gated, Layer, Row, before, now, seen_unit

METHOD = "saturating-closure"


@dataclass(frozen=True, slots=True)
class _Tally:
    """A coordinate with its cap, and the units that read it after and before the letter."""

    layer: int
    coordinate: int
    cap: int
    units_now: tuple[Row, ...]
    units_before: tuple[Row, ...]


def verify_saturation(problem: Problem, evidence: Evidence, claims: Sequence[Claim]) -> Failure | None:
    """Checks claims that rest on a finite search with caps."""
    entry = f"evidence.{METHOD}"
    if (
        set(evidence) != {"task", "configurations", "digest", "caps"}
        or evidence["task"] not in LANGUAGE_TASKS
    ):
        return Failure(what="the evidence has not the keys task, configurations, digest, caps", entry=entry)
    caps = evidence["caps"] if isinstance(evidence["caps"], list) else []
    tallies = [_read_tally(problem, cap) for cap in caps]
    if not tallies or len({(t.layer, t.coordinate) for t in tallies}) != len(tallies):
        return Failure(what="the evidence names no coordinate, or one of them twice", entry=f"{entry}.caps")
    failure, configurations, digest = _search(problem, evidence["task"], tallies, evidence["configurations"])
    if failure is not None:
        return failure
    for key, found in (("configurations", configurations), ("digest", digest)):
        if evidence[key] != found:
            return Failure(
                what=f"the certificate says {evidence[key]}, the search {found}", entry=f"{entry}.{key}"
            )
    return refuse_unless_implied(claims, [language_claim(task=evidence["task"], method=METHOD)])


def _read_tally(problem: Problem, data: object) -> _Tally:
    if not (isinstance(data, list) and len(data) == 3 and all(type(v) is int for v in data)):
        raise InputError("a cap is not three whole numbers: layer, coordinate, value")
    number, i, cap = data
    layers = problem.network.layers
    if not (0 <= number < len(layers) and 0 <= i < len(layers[number].state) and cap >= 1):
        raise InputError(f"there is no coordinate {i} of layer {number}, or its cap {cap} is below 1")
    layer = layers[number]
    if layer.complex_state or not _is_held(layer, i) or not 0 <= _number(layer.start[i]) <= cap:
        raise InputError(f"coordinate {i} of layer {number} is not held by a gate of 1")
    return _Tally(number, i, cap, _units(layer, now(i)), _units(layer, before(i)))


def _is_held(layer: Layer, i: int) -> bool:
    """Whether the coordinate keeps its value and no other coordinate reads it."""
    match layer.moves:
        case Fixed():
            rows = layer.moves.matrix
            return rows[i] == ((i, 1),) and not any(
                j == i for k, row in enumerate(rows) if k != i for j, _ in row
            )
        case Gated():
            return layer.moves.gates[i] == (1, ())
        case _:
            return False


def _units(layer: Layer, name: str) -> tuple[Row, ...]:
    """The units that read a value; their slopes must be positive and cancel in every output."""
    slopes = {}
    for j, (_, terms) in enumerate(layer.seen_units):
        slope = sum((_number(c) for source, c in terms if source == name), Fraction(0))
        if slope < 0:
            raise InputError("a unit falls along a coordinate with a cap")
        if slope > 0:
            slopes[seen_unit(j)] = slope
    for _, (_, terms) in layer.outputs:
        if any(source == name for source, _ in terms):
            raise InputError("an output reads a coordinate with a cap directly")
        if sum((_number(c) * slopes[source] for source, c in terms if source in slopes), Fraction(0)) != 0:
            raise InputError("an output grows along a coordinate with a cap")
    return tuple(row for j, row in enumerate(layer.seen_units) if seen_unit(j) in slopes)


def _search(
    problem: Problem, task: str, tallies: Sequence[_Tally], claimed: object
) -> tuple[Failure | None, int, str]:
    language, evaluator = problem.language, Evaluator(problem.network)
    if type(claimed) is not int:
        raise InputError("the number of configurations is not a whole number")
    expected = language.legal(language.initial())
    if not agrees(task, expected, problem.network.empty):
        return refute(language.alphabet, (), expected, problem.network.empty), 1, ""
    start: tuple[States, Hashable] = (evaluator.start(), language.initial())
    number, order = {start: 0}, [start]
    came: list[tuple[int, int]] = [(-1, -1)]
    table = hashlib.sha256()
    for i, (states, configuration) in enumerate(order):
        row = []
        for letter in range(len(language.alphabet)):
            if task == VALID_PREFIXES and letter not in language.legal(configuration).symbols:
                row.append("-")
                continue
            new, answer = evaluator.step(states, letter)
            target = language.advance(configuration, letter)
            wanted: Legal = language.legal(target)
            if not agrees(task, wanted, answer):
                return refute(language.alphabet, (*word_to(came, i), letter), wanted, answer), len(order), ""
            _, stream = evaluator.run_layers(states, letter)
            reached = (_capped(problem, tallies, states, new, stream), target)
            if reached not in number:
                if len(order) >= claimed:
                    what = f"the certificate says {claimed} configurations, there are more"
                    return Failure(what=what, entry=f"evidence.{METHOD}.configurations"), len(order), ""
                number[reached] = len(order)
                order.append(reached)
                came.append((i, letter))
            row.append(str(number[reached]))
        table.update((" ".join(row) + "\n").encode())
        problem.budget.check_time(joint_configurations=len(order))
    return None, len(order), table.hexdigest()


def _capped(
    problem: Problem, tallies: Sequence[_Tally], old: States, new: States, stream: Mapping[str, object]
) -> States:
    """The new states with caps in place of larger values, after checking that this changes nothing."""
    states = [list(state) for state in new]
    for tally in tallies:
        was, value = (_number(s[tally.layer][tally.coordinate]) for s in (old, new))
        if value < was:
            raise InputError("a step lowers a coordinate with a cap")
        layer = problem.network.layers[tally.layer]
        if value >= tally.cap:
            _check_on(layer, tally.units_now, old, new, tally.layer, stream)
            states[tally.layer][tally.coordinate] = tally.cap
        if layer.exposes_previous and was >= tally.cap:
            _check_on(layer, tally.units_before, old, new, tally.layer, stream)
    return tuple(tuple(state) for state in states)


def _check_on(
    layer: Layer, units: Sequence[Row], old: States, new: States, number: int, stream: Mapping[str, object]
) -> None:
    values = {name: stream.get(name, 0) for name in layer.reads}
    values |= {now(i): v for i, v in enumerate(new[number])}
    values |= {before(i): v for i, v in enumerate(old[number])}
    for bias, terms in units:
        total = _number(bias) + sum((_number(c) * _number(values[name]) for name, c in terms), Fraction(0))
        if total < 0:
            raise InputError("a unit that reads a coordinate at its cap is off")


def _number(value: object) -> Fraction:
    if not isinstance(value, int | Fraction):
        raise InputError(f"{str(value)[:40]} is not rational; caps are for rational networks")
    return Fraction(value)
