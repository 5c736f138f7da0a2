"""Re-checking intervals that are closed under every letter and under noise.

The evidence says in which intervals the coordinates live:

    task      what is shown
    eps       the noise: after every letter every coordinate may be moved by this much
    layers    for each layer runs of neighbouring coordinates: [how many, their intervals]
    digest    SHA-256 of the other three

A cell is a choice of an interval for each coordinate. From the cell of the start all cells are visited that
the letters lead to; the image of each, with the noise added, has to lie in one interval for each coordinate,
and the decoder has to say one thing on all of it, the right one for every prefix that leads there.

Implements: [Dankowiakowski2025, Theorem 1]
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.core import InputError
from nerode.languages import Legal, Word
from nerode.proofs.certificate import Claim, content_hash, language_claim, noise_claim
from nerode.proofs.checker_problem import (
    LANGUAGE_TASKS,
    Evidence,
    Failure,
    Problem,
    agrees,
    followed_letters,
    refuse_unless_implied,
    refute,
)
from nerode.proofs.checker_records import Layer
from nerode.proofs.checker_span_network import LayerState, SpanNetwork
from nerode.proofs.checker_spans import ONE, Span, inner, outer, read_rational

METHOD = "boxes"

_MAX_INTERVALS = 10_000
_PATIENCE = 2_000
"""Steps without noise that are searched for a word on which the network fails."""

Json = Any
Cell = tuple[tuple[int, ...], ...]
"""For each layer the number of the interval of each coordinate."""


class _Escape(Exception):
    """A coordinate is not known to be in one of its intervals."""


@dataclass(frozen=True, slots=True)
class _Places:
    """The intervals of each coordinate of each layer: rounded outward to start from, inward to arrive in."""

    outside: tuple[tuple[tuple[Span, ...], ...], ...]
    inside: tuple[tuple[tuple[Span, ...], ...], ...]

    def boxes(self, cell: Cell) -> list[LayerState]:
        """Returns the spans of a cell."""
        return [
            tuple(intervals[k] for intervals, k in zip(layer, labels, strict=True))
            for layer, labels in zip(self.outside, cell, strict=True)
        ]

    def cell(self, states: Sequence[LayerState]) -> Cell:
        """Returns the cell in which states lie."""
        return tuple(
            tuple(self._find(number, i, span) for i, span in enumerate(state))
            for number, state in enumerate(states)
        )

    def _find(self, layer: int, coordinate: int, span: Span) -> int:
        for k, (low, high) in enumerate(self.inside[layer][coordinate]):
            if low <= span[0] and span[1] <= high:
                return k
        shown = ", ".join(f"{float(Fraction(end, ONE)):.6g}" for end in span)
        raise _Escape(f"coordinate {coordinate + 1} of layer {layer + 1} to [{shown}]")


def verify_boxes(problem: Problem, evidence: Evidence, claims: Sequence[Claim]) -> Failure | None:
    """Checks claims that rest on closed intervals."""
    entry = f"evidence.{METHOD}"
    if set(evidence) != {"task", "eps", "layers", "digest"}:
        return Failure(what="the evidence has not the keys task, eps, layers, digest", entry=entry)
    stated = {key: evidence[key] for key in ("task", "eps", "layers")}
    if evidence["digest"] != content_hash(stated):
        return Failure(what="the digest is not that of task, eps and layers", entry=f"{entry}.digest")
    task = evidence["task"]
    if task not in LANGUAGE_TASKS:
        return Failure(what=f"this method does not show the task {str(task)[:40]!r}", entry=f"{entry}.task")
    eps = read_rational(evidence["eps"], "the noise")
    if eps <= 0:
        return Failure(what=f"the noise {eps} is not above 0", entry=f"{entry}.eps")
    places = _read_places(evidence["layers"], problem.network.layers)
    failure = _search(problem, SpanNetwork(problem.network), places, eps, task)
    if failure is not None:
        return failure
    shown = [language_claim(task=task, method=METHOD), noise_claim(task=task, method=METHOD, eps=eps)]
    return refuse_unless_implied(claims, shown)


def _search(
    problem: Problem, steps: SpanNetwork, places: _Places, eps: Fraction, task: str
) -> Failure | None:
    """Visits all cells together with what the language says there."""
    language = problem.language
    expected = language.legal(language.initial())
    if not agrees(task, expected, problem.network.empty):
        return refute(language.alphabet, (), expected, problem.network.empty)
    entry = f"evidence.{METHOD}.layers"
    noise = outer(eps, eps)[1]
    moves: dict[tuple[Cell, int], tuple[Cell, Legal | None]] = {}
    try:
        start = (places.cell(steps.start()), language.initial())
    except _Escape:
        return Failure(what="the start is in none of the intervals", entry=entry)
    seen: set[tuple[Cell, Hashable]] = {start}
    queue: list[tuple[Cell, Hashable, Word]] = [(*start, ())]
    for cell, configuration, word in queue:
        for letter in followed_letters(language, configuration, task):
            if (cell, letter) not in moves:
                problem.budget.check("elements", len(seen), cells=len(seen))
                images, answer = steps.step(places.boxes(cell), letter, noise)
                try:
                    moves[cell, letter] = places.cell(images), answer
                except _Escape as escape:
                    how = f"moves {escape}, outside the intervals"
                    return explain_escape(problem, steps, task, (*word, letter), how, entry=entry)
            new, got = moves[cell, letter]
            target = language.advance(configuration, letter)
            if got is None:
                how = "leaves a score on both sides of 1/2"
                return explain_escape(problem, steps, task, (*word, letter), how, entry=entry)
            if not agrees(task, language.legal(target), got):
                return refute(language.alphabet, (*word, letter), language.legal(target), got)
            if (new, target) not in seen:
                seen.add((new, target))
                queue.append((new, target, (*word, letter)))
    return None


def explain_escape(
    problem: Problem, steps: SpanNetwork, task: str, word: Word, how: str, *, entry: str
) -> Failure:
    """Returns a word on which the network fails even without noise, or where states get out of hand.

    Args:
        problem: network, language and budget.
        steps: the network on spans.
        task: what is shown.
        word: leads to the states, its last letter out of hand.
        how: what the last letter does.
        entry: the entry of the certificate that says otherwise.
    """
    failure = _fails_without_noise(problem, steps, task)
    if failure is not None:
        return failure
    alphabet = problem.language.alphabet
    before = alphabet.decode(word[:-1]) if len(word) > 1 else "the start"
    return Failure(
        what=f"after {before} the letter {alphabet.symbols[word[-1]]}, with noise, {how}", entry=entry
    )


def _fails_without_noise(problem: Problem, steps: SpanNetwork, task: str) -> Failure | None:
    """A failure on a short word, after which the answer is settled and wrong; None if there was no time."""
    language, budget = problem.language, problem.budget
    queue: list[tuple[list[LayerState], Hashable, Word]] = [(steps.start(), language.initial(), ())]
    for states, configuration, word in queue:
        if budget.elapsed() > budget.seconds:
            return None
        for letter in followed_letters(language, configuration, task):
            target = language.advance(configuration, letter)
            new, got = steps.step(states, letter, 0)
            if got is not None and not agrees(task, language.legal(target), got):
                return refute(language.alphabet, (*word, letter), language.legal(target), got)
            if len(queue) < _PATIENCE:
                queue.append((new, target, (*word, letter)))
    return None


def _read_places(data: Json, layers: Sequence[Layer]) -> _Places:
    if not isinstance(data, list) or len(data) != len(layers):
        raise InputError(f"the intervals are not those of {len(layers)} layers")
    outside, inside = [], []
    for number, (runs, layer) in enumerate(zip(data, layers, strict=True), start=1):
        starts: list[tuple[Span, ...]] = []
        ends: list[tuple[Span, ...]] = []
        if not isinstance(runs, list):
            raise InputError(f"the intervals of layer {number} are not a list of runs")
        for run in runs:
            count, intervals = _read_run(run, number)
            if len(starts) + count > len(layer.state):
                raise InputError(f"layer {number} has {len(layer.state)} coordinates, its runs have more")
            starts += [tuple(outer(low, high) for low, high in intervals)] * count
            ends += [tuple(inner(low, high) for low, high in intervals)] * count
        if len(starts) != len(layer.state):
            raise InputError(
                f"layer {number} has {len(layer.state)} coordinates, its runs have {len(starts)}"
            )
        outside.append(tuple(starts))
        inside.append(tuple(ends))
    return _Places(tuple(outside), tuple(inside))


def _read_run(run: Json, layer: int) -> tuple[int, list[tuple[Fraction, Fraction]]]:
    if not isinstance(run, list) or len(run) != 2 or type(run[0]) is not int or run[0] < 1:
        raise InputError(f"a run of layer {layer} is not [how many coordinates, their intervals]")
    count, data = run
    if not isinstance(data, list) or not 1 <= len(data) <= _MAX_INTERVALS:
        raise InputError(f"a run of layer {layer} has not between 1 and {_MAX_INTERVALS} intervals")
    intervals = []
    for pair in data:
        if not isinstance(pair, list) or len(pair) != 2:
            raise InputError(f"an interval of layer {layer} is not a pair")
        low, high = (read_rational(end, f"an interval of layer {layer}") for end in pair)
        if low > high:
            raise InputError(f"an interval of layer {layer} ends at {high} before it begins at {low}")
        intervals.append((low, high))
    return count, intervals
