"""Right at every length under noise: intervals that every letter maps into intervals, with room to spare.

Each coordinate of the state lies in one of a few intervals; a cell is a choice of one for each coordinate. If
every letter maps every cell, moved by any noise up to eps, into a cell, and the decoder says one thing on
each image, then the network acts as a finite automaton whatever the noise does. That automaton is compared
with the language. The intervals are found here; `checker_boxes` proves again that they are closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import Language, Legal, Word, language_hash
from nerode.network import Interpreter, Network, network_hash
from nerode.proofs.box_partition import (
    Groups,
    Numbers,
    Partition,
    explore,
    group_choices,
    split_boxes,
)
from nerode.proofs.certificate import (
    PREDICT,
    RECOGNISE,
    SCOPES,
    VALID_PREFIXES,
    Certificate,
    Refutation,
    Unproved,
    content_hash,
    language_claim,
    noise_claim,
)
from nerode.proofs.interval_network import IntervalNetwork
from nerode.proofs.intervals import Floats, Intervals

METHOD = "boxes"

Json = Any

_RADII = (0.25, 2.0**-4, 2.0**-6, 2.0**-9)
_SMALLEST = 2.0**-24
"""Noise below this is not worth a certificate."""

_SWEEPS = 60
_FIRST_SWEEPS = 20
"""Sweeps after which the intervals have to be closed; fewer for the first try, with hardly any noise."""

_BITS = 5
"""Binary digits to which the largest noise is found; fewer where a sweep has many numbers."""

_LARGE = 100_000

_WORK = 300_000_000
"""Operations that one sweep over all cells and letters may take."""

_PER_NUMBER = 30
"""Operations that a nonlinear function takes."""

_PATIENCE = 2_000
"""Steps of the interpreter that are searched for a word on which the network fails."""

_MANY = 64
"""Above this number of coordinates they are not tried each with intervals of its own."""


@dataclass(frozen=True, kw_only=True)
class ClosedCells:
    """Cells that are closed under all letters and noise, with what the decoder says.

    Attributes:
        partition: the cells and how they move.
        low, high: the ends of each interval; multiples of a power of two.
        eps: the noise on every coordinate after every letter.
        answers: `answers[cell, letter]` is what the decoder says after the letter: for each symbol, and last
            for the end, whether it is legal.
    """

    partition: Partition
    low: Floats
    high: Floats
    eps: float
    answers: npt.NDArray[np.bool_]

    def evidence(self, task: str) -> dict[str, Json]:
        """Returns what the checker needs to prove it again."""
        found: dict[str, Json] = {"task": task, "eps": str(Fraction(self.eps)), "layers": self._layers()}
        return {**found, "digest": content_hash(found)}

    def _layers(self) -> Json:
        layers, group = [], 0
        for lengths in self.partition.groups:
            runs = []
            for length in lengths:
                members = np.flatnonzero(self.partition.group_of == group)
                order = members[np.argsort(self.low[members])]
                runs.append(
                    [length, [[str(Fraction(self.low[k])), str(Fraction(self.high[k]))] for k in order]]
                )
                group += 1
            layers.append(runs)
        return layers


def certify_boxes(
    network: Network, language: Language, *, task: str | None = None, budget: Budget | None = None
) -> Certificate | Refutation | Unproved:
    """Returns a certificate for all lengths under noise, a word on which the network fails, or neither.

    Args:
        network: a network with real states and a decoder of scores.
        language: the language that it should do.
        task: PREDICT, VALID_PREFIXES or RECOGNISE; None for the strongest that holds.
        budget: limits the time.

    Raises:
        InputError: if the network has a part that boxes are not made for.
    """
    budget = budget or Budget()
    if tuple(network.alphabet) != tuple(language.alphabet):
        raise InputError("network and language have different alphabets; certify a network with its language")
    try:
        cells = close_cells(network, budget=budget)
    except BudgetExceeded as stop:
        return Unproved(reason=str(stop))
    if cells is None:
        failure = _search_failure(network, language, task or PREDICT)
        return failure or Unproved(reason="no intervals were found that every letter maps into each other")
    tasks = [PREDICT, VALID_PREFIXES] if task is None else [task]
    failures = []
    for wanted in tasks:
        failure = compare_with_language(cells, language, wanted, network.decoder.empty)
        if failure is None:
            return _seal(network, language, cells, wanted)
        failures.append(failure)
    return failures[-1]


def with_noise(
    certificate: Certificate, network: Network, language: Language, *, budget: Budget | None = None
) -> Certificate:
    """Returns the certificate with a claim about noise in addition, if closed intervals are found."""
    try:
        cells = close_cells(network, budget=budget)
    except (BudgetExceeded, InputError):
        return certificate
    task = certificate.claims[0].task
    if cells is None or compare_with_language(cells, language, task, network.decoder.empty) is not None:
        return certificate
    claim = noise_claim(task=task, method=METHOD, eps=Fraction(cells.eps))
    claims = sorted((*certificate.claims, claim), key=lambda c: SCOPES.index(c.scope))
    evidence = {**certificate.evidence, METHOD: cells.evidence(task)}
    return replace(certificate, claims=tuple(claims), evidence=evidence)


def _seal(network: Network, language: Language, cells: ClosedCells, task: str) -> Certificate:
    return Certificate(
        network=network_hash(network),
        language=language_hash(language),
        claims=(
            language_claim(task=task, method=METHOD),
            noise_claim(task=task, method=METHOD, eps=Fraction(cells.eps)),
        ),
        evidence={METHOD: cells.evidence(task)},
    )


def close_cells(network: Network, *, budget: Budget | None = None) -> ClosedCells | None:
    """Returns closed cells with the largest noise that was found; None if there are none.

    Raises:
        InputError: if the network has a part that boxes are not made for.
    """
    budget = budget or Budget()
    steps = IntervalNetwork(network)
    most = max(16, _WORK // _work(network))
    for groups, radius in _attempts(network):
        partition = explore(steps, groups, radius=radius, most=most, budget=budget)
        if partition is not None:
            found = _largest_noise(steps, partition, budget)
            if found is not None:
                return found
    return None


def _attempts(network: Network) -> Iterator[tuple[Groups, float]]:
    for groups in group_choices(network):
        if sum(map(len, groups)) <= _MANY:
            for radius in _RADII:
                yield groups, radius


def _work(network: Network) -> int:
    """Operations on numbers for each cell, roughly: sums once, nonlinear functions for every letter."""
    widths = [layer.width for layer in network.layers]
    return 1 + sum(width * (width + _PER_NUMBER * len(network.alphabet)) for width in widths)


def _largest_noise(steps: IntervalNetwork, partition: Partition, budget: Budget) -> ClosedCells | None:
    """Returns the closure under the largest noise: the largest power of four, then a few binary digits."""
    best = _close(steps, partition, _SMALLEST, _SMALLEST / 16, budget, sweeps=_FIRST_SWEEPS)
    if best is None:
        return None
    try:
        eps = 0.5
        while (found := _close(steps, partition, eps, eps / 128, budget)) is None:
            eps /= 4
            if eps < _SMALLEST:
                return best
        best, grid, step = found, eps / 128, 2 * eps
        for _ in range(_BITS if partition.moves.size * partition.labels.shape[1] < _LARGE else 2):
            best = _close(steps, partition, best.eps + step, grid, budget, begin=best) or best
            step /= 2
    except BudgetExceeded:
        pass
    return best


def _close(
    steps: IntervalNetwork,
    partition: Partition,
    eps: float,
    grid: float,
    budget: Budget,
    *,
    begin: ClosedCells | None = None,
    sweeps: int = _SWEEPS,
) -> ClosedCells | None:
    """Widens the intervals until they are closed; None if they meet or a decision becomes doubtful."""
    low = np.floor((partition.low if begin is None else begin.low) / grid) * grid
    high = np.ceil((partition.high if begin is None else begin.high) / grid) * grid
    widths = [layer.width for layer in steps.network.layers]
    count, letters = partition.moves.shape
    labels, pairs = partition.labels, np.repeat(np.arange(count), letters)
    targets = partition.labels[partition.moves.ravel()]
    read = np.tile(np.arange(letters), count)
    noise = [np.full(width, eps) for width in widths]
    for _ in range(sweeps):
        budget.check_time(eps=eps)
        if not _apart(low, high, partition.group_of):
            return None
        boxes = split_boxes(Intervals(low[labels], high[labels]), widths)
        images, scores = steps.step(boxes, pairs, read, noise)
        sure = scores.low > 0.5
        if not bool((sure | (scores.high <= 0.5)).all()):
            return None
        new_low, new_high = low.copy(), high.copy()
        np.minimum.at(new_low, targets, np.concatenate([image.low for image in images], axis=1))
        np.maximum.at(new_high, targets, np.concatenate([image.high for image in images], axis=1))
        new_low, new_high = np.floor(new_low / grid) * grid, np.ceil(new_high / grid) * grid
        if bool((new_low == low).all()) and bool((new_high == high).all()):
            return ClosedCells(
                partition=partition,
                low=low,
                high=high,
                eps=eps,
                answers=sure.reshape(count, letters, letters + 1),
            )
        low, high = new_low, new_high
    return None


def _apart(low: Floats, high: Floats, group_of: Numbers) -> bool:
    """Whether no two intervals of one group meet."""
    order = np.lexsort((low, group_of))
    same = group_of[order][1:] == group_of[order][:-1]
    return bool((high[order][:-1][same] < low[order][1:][same]).all())


def compare_with_language(
    cells: ClosedCells, language: Language, task: str, empty: Legal
) -> Refutation | None:
    """Returns the shortest word after which the cells answer wrongly; None if there is none."""
    expected = language.legal(language.initial())
    if not _agrees(task, expected, empty):
        return _refutation(language, (), expected, empty)
    start = (0, language.initial())
    seen = {start}
    queue: list[tuple[tuple[int, Any], Word]] = [(start, ())]
    for (cell, configuration), word in queue:
        legal = language.legal(configuration).symbols
        for letter in range(len(language.alphabet)):
            if task == VALID_PREFIXES and letter not in legal:
                continue
            flags = cells.answers[cell, letter]
            target = language.advance(configuration, letter)
            got = Legal(frozenset(np.flatnonzero(flags[:-1]).tolist()), bool(flags[-1]))
            if not _agrees(task, language.legal(target), got):
                return _refutation(language, (*word, letter), language.legal(target), got)
            reached = (int(cells.partition.moves[cell, letter]), target)
            if reached not in seen:
                seen.add(reached)
                queue.append((reached, (*word, letter)))
    return None


def _search_failure(network: Network, language: Language, task: str) -> Refutation | None:
    """Looks for a short word on which the network fails, without noise, in the interpreter's arithmetic."""
    interpreter = Interpreter(network)
    expected = language.legal(language.initial())
    if not _agrees(task, expected, network.decoder.empty):
        return _refutation(language, (), expected, network.decoder.empty)
    start = (interpreter.start(), language.initial())
    seen = {start}
    queue: list[tuple[tuple[Any, Any], Word]] = [(start, ())]
    steps = 0
    for (state, configuration), word in queue:
        for letter in _followed(language, configuration, task):
            steps += 1
            target = language.advance(configuration, letter)
            new, answer = interpreter.step(state, letter)
            if not _agrees(task, language.legal(target), answer.legal):
                return _refutation(language, (*word, letter), language.legal(target), answer.legal)
            if (new, target) not in seen:
                seen.add((new, target))
                queue.append(((new, target), (*word, letter)))
        if steps > _PATIENCE:
            break
    return None


def _followed(language: Language, configuration: Any, task: str) -> Sequence[int]:
    if task == VALID_PREFIXES:
        return sorted(language.legal(configuration).symbols)
    return range(len(language.alphabet))


def _agrees(task: str, expected: Legal, got: Legal) -> bool:
    return expected.end == got.end if task == RECOGNISE else expected == got


def _refutation(language: Language, word: Word, expected: Legal, got: Legal) -> Refutation:
    alphabet = language.alphabet
    return Refutation(
        word=tuple(alphabet.symbols[a] for a in word),
        at=len(word),
        expected=tuple(expected.names(alphabet)),
        got=tuple(got.names(alphabet)),
    )
