"""A guard inside the checker: points of the cells of a cover, run by a second, plain step.

A walk computes with cells: forms over unknowns, intervals, columns that remember their sums. A fault there
accepts what is false. So points are drawn of the cells (the ends of intervals, values at and far beyond caps,
counters far away), a letter is read with the formulas of the network format as they are written, and

1. the start lies in the cell of the start;
2. the image of a point lies in one of the cells that the walk states;
3. the answer there is the one of the language.

What is refused here is no news about a network: it is a fault of the checker. A point depends on the content,
the cell and the letter alone; how many are drawn depends on the clock, since they take a share of the time of
a check (`_SHARE`). They are no part of a proof. Where distributions are compared, prefixes are run instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from nerode.kernel.claims import RECOGNISE, Failure
from nerode.kernel.letters import LanguageMachine, NextLetters
from nerode.kernel.network import (
    AffineMove,
    CellMove,
    CheckedLayer,
    CheckedNetwork,
    GatedMove,
    LogitRows,
    PointTable,
    Rows,
    before,
    now,
    seen_unit,
    unit,
)
from nerode.kernel.numbers import Number, conjugate, imaginary_part, plain, real_part, sign
from nerode.kernel.work import Undecided, WorkCount

_SHARE = 1 / 6
"""The guard takes so much of the seconds that the rest of a check takes, or waits for it."""

_WAIT = 8
"""Looks that are passed over where one would be too many: the clock costs as well."""

NEAR = 1e-6
"""Floats are off by less, in units of the largest number of a step."""

Values = Sequence[Any]


@dataclass(frozen=True, slots=True)
class CellPoint:
    """A point of a cell.

    Attributes:
        states: of all layers.
        configuration: of the language.
        counts: of the counters of a cover.
        sign: what counters and tallies are multiples of, 1 or -1.
    """

    states: tuple[tuple[Any, ...], ...]
    configuration: Any
    counts: tuple[int, ...] = ()
    sign: int = 1


class PlainStep:
    """One step of a network, formula by formula: exact numbers, or floats where there are tanh and exp.

    Args:
        network: with sets of letters as answers.
        floats: whether to compute in floats.
    """

    def __init__(self, network: CheckedNetwork, *, floats: bool) -> None:
        self.network = network
        self.floats = floats
        self.near = NEAR if floats else 0.0

    def start(self) -> tuple[tuple[Any, ...], ...]:
        """Returns the states before the first letter."""
        return tuple(tuple(map(self._number, layer.start)) for layer in self.network.layers)

    def run(
        self, states: Sequence[Values], letter: int, noise: Callable[[], float] | None = None
    ) -> tuple[tuple[tuple[Any, ...], ...], NextLetters | None]:
        """Returns the states after a letter and the answer; None where it hangs on a rounding or a tie."""
        after, stream = self.read(states, letter, noise)
        return after, self._answer(stream)

    def read(
        self, states: Sequence[Values], letter: int, noise: Callable[[], float] | None = None
    ) -> tuple[tuple[tuple[Any, ...], ...], Mapping[str, Any]]:
        """Returns the states after a letter, and what stands on the stream.

        Args:
            states: before it.
            letter: its number.
            noise: what is added to each coordinate.
        """
        stream = {name: self._number(v) for name, v in self.network.embedding[letter].items()}
        after = []
        self._size = 1.0
        for layer, state in zip(self.network.layers, states, strict=True):
            table = {name: stream[name] for name in layer.reads}
            table |= {unit(i): self._relu(v) for i, v in enumerate(self._rows(layer.units, table))}
            new = self._move(layer, table, state, letter)
            if noise is not None:
                new = [v + noise() for v in new]
            self._show(table, new, now, layer.complex_state)
            if layer.exposes_previous:
                self._show(table, state, before, layer.complex_state)
            table |= {seen_unit(i): self._relu(v) for i, v in enumerate(self._rows(layer.seen_units, table))}
            stream |= {name: self._rows([row], table)[0] for name, row in layer.outputs}
            after.append(tuple(new))
        return tuple(after), stream

    def _number(self, value: Number) -> Any:
        return float(value) if self.floats else value  # type: ignore[arg-type]

    def _rows(self, rows: Rows | Sequence[Any], table: Mapping[str, Any]) -> list[Any]:
        found = []
        for bias, terms in rows:
            total = self._number(bias)
            for name, c in terms:
                term = self._number(c) * table[name]
                total = total + term
                if self.floats:
                    self._size = max(self._size, abs(term))
            found.append(total if self.floats else plain(total))
        return found

    def _relu(self, value: Any) -> Any:
        return max(value, 0.0) if self.floats else value if sign(value) > 0 else 0

    def _show(self, table: dict[str, Any], state: Iterable[Any], name: Any, is_complex: bool) -> None:
        for i, value in enumerate(state):
            if is_complex:
                table[name(i, "re")], table[name(i, "im")] = real_part(value), imaginary_part(value)
            else:
                table[name(i)] = value

    def _move(self, layer: CheckedLayer, table: dict[str, Any], state: Values, letter: int) -> list[Any]:
        move = layer.move
        held = table | {before(i): v for i, v in enumerate(state)}
        match move:
            case GatedMove(gates, writes):
                pairs = zip(self._rows(gates, table), state, self._rows(writes, table), strict=True)
                return [a * h + w if self.floats else plain(a * h + w) for a, h, w in pairs]
            case AffineMove(maps, activation, chosen, selector):
                number = letter if chosen else 0
                if selector is not None:
                    number = next(i for i, v in enumerate(self._rows(selector, table)) if v != 0)
                squash = {"": lambda v: v, "relu": self._relu, "tanh": math.tanh, "clip": self._clip}
                return [squash[activation](v) for v in self._rows(maps[number], held)]
            case CellMove():
                return self._cell(move, held, state)

    def _clip(self, value: Any) -> Any:
        return self._relu(value) - self._relu(value - 1)

    def _cell(self, move: CellMove, held: dict[str, Any], state: Values) -> list[float]:
        width = len(move.gates[0])
        if move.cell == "gru":
            reset, update = ([_logistic(v) for v in self._rows(rows, held)] for rows in move.gates[:2])
            read = held | {before(i): r * h for i, (r, h) in enumerate(zip(reset, state, strict=True))}
            new = [math.tanh(v) for v in self._rows(move.gates[2], read)]
            cap = float(move.cap)
            return [h + (1 - cap * (1 - z)) * (v - h) for z, h, v in zip(update, state, new, strict=True)]
        write, forget, shown, inner = (self._rows(rows, held) for rows in move.gates)
        amounts = [_logistic(v) if move.cell == "lstm" else math.exp(v) for v in write]
        kept, gates = [_logistic(v) for v in forget], [_logistic(v) for v in shown]
        cells = [
            k * c + a * math.tanh(z)
            for k, c, a, z in zip(kept, state[width : 2 * width], amounts, inner, strict=True)
        ]
        if move.cell == "lstm":
            return [*(o * math.tanh(c) for o, c in zip(gates, cells, strict=True)), *cells]
        totals = [k * n + a for k, n, a in zip(kept, state[2 * width :], amounts, strict=True)]
        return [*(o * c / n for o, c, n in zip(gates, cells, totals, strict=True)), *cells, *totals]

    def _answer(self, stream: Mapping[str, Any]) -> NextLetters | None:
        decoder = self.network.decoder
        assert not isinstance(decoder, LogitRows)
        if isinstance(decoder, PointTable):
            points = [
                [(name, conjugate(c)) for name, c in zip(decoder.reads, p, strict=True)]
                for p in decoder.points
            ]
            products = self._rows([(0, terms) for terms in points], stream)
            products = products if self.floats else list(map(real_part, products))
            best = 0
            for i, product in enumerate(products):
                best = i if self._above(product - products[best]) else best
            leads = (products[best] - product for product in products)
            others = [
                lead
                for lead, said in zip(leads, decoder.answers, strict=True)
                if said != decoder.answers[best]
            ]
            return decoder.answers[best] if all(map(self._above, others)) else None
        units = {unit(i): self._relu(v) for i, v in enumerate(self._rows(decoder.units, stream))}
        scores = [
            v - (0.5 if self.floats else Fraction(1, 2))
            for v in self._rows(decoder.rows, {**stream, **units})
        ]
        if self.floats and any(abs(v) <= self.near * self._size for v in scores):
            return None
        *letters, end = (self._above(v) for v in scores)
        return NextLetters(frozenset(a for a, legal in enumerate(letters) if legal), end)

    def _above(self, value: Any) -> bool:
        return bool(value > self.near * self._size) if self.floats else sign(value) > 0


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0


def _content(network: CheckedNetwork) -> str:
    """Returns what draws depend on: the network, or some of it where there is much."""
    rows = [(layer.start[:16], layer.outputs[:16]) for layer in network.layers]
    return repr((network.alphabet.symbols[:16], network.embedding[:16], rows))


class _Share:
    """The share of the seconds of a check that is the guard's."""

    def __init__(self, work: WorkCount) -> None:
        self._work, self._wait, self._last, self._since = work, 0, 0.0, 0.0

    def take(self) -> bool:
        """Whether the guard may look once more, as long as the last time; the first look it always may."""
        if self._wait:
            self._wait -= 1
            return False
        self._since = self._work.elapsed()
        guarded = self._work.guarded
        if self._last and guarded + self._last > _SHARE * (self._since - guarded):
            self._wait = _WAIT
            return False
        return True

    def give_back(self) -> None:
        """Notes that the look is over."""
        self._last = self._work.elapsed() - self._since
        self._work.guarded += self._last


class PrefixGuard:
    """Runs prefixes beside a proof that knows of each prefix what stands on the stream.

    Args:
        network: the network.
        work: of the check; the guard works a share of it.
    """

    def __init__(self, network: CheckedNetwork, work: WorkCount) -> None:
        self._step, self._share, self._number = PlainStep(network, floats=False), _Share(work), 0
        self._letters, self._content = range(len(network.alphabet.symbols)), _content(network)

    def require(self, prefix: Sequence[int], stated: Mapping[str, Any], *, grows: bool) -> None:
        """Raises Undecided if the stream after a prefix is another one.

        Args:
            prefix: not empty.
            stated: by name; only these are compared.
            grows: whether any words may stand before it.
        """
        self._number += 1
        if not self._share.take():
            return
        choose = Random(f"{self._content} {self._number}")
        word = [*(choose.choices(self._letters, k=choose.randrange(3)) if grows else ()), *prefix]
        states = self._step.start()
        stream: Mapping[str, Any] = {}
        for letter in word:
            states, stream = self._step.read(states, letter)
        self._share.give_back()
        if any(stream[name] != value for name, value in stated.items()):
            raise Undecided(_fault("what stands on the stream after a prefix is another number").what)


class PointGuard:
    """Looks at points of cells beside a walk.

    Args:
        network: the network.
        language: the language.
        domain: the cells; `Domain` says what it has for a guard.
        task: of the walk.
        work: of the check; the guard works a share of it.
    """

    def __init__(
        self, network: CheckedNetwork, language: LanguageMachine, domain: Any, task: str, work: WorkCount
    ) -> None:
        self._language: Any = language
        self._domain, self._task = domain, task
        self._step = PlainStep(network, floats=domain.floats)
        self._share, self._content = _Share(work), _content(network)

    def at_start(self, cell: Any) -> Failure | None:
        """Returns why the start does not lie in its cell, None if it does."""
        first = CellPoint(self._step.start(), self._language.initial(), self._domain.first_counts())
        if self._domain.contains(cell, first):
            return None
        return _fault("the start of the network is not in the cell that it is said to be in")

    def look(self, number: int, cell: Any, letter: int, cells: Sequence[Any]) -> Failure | None:
        """Returns why a point of a cell goes elsewhere than the walk says, None if it does not.

        Args:
            number: of the cell.
            cell: the cell.
            letter: that is read.
            cells: where the walk says that it leads.
        """
        if not self._share.take():
            return None
        failure = self._look(cell, letter, cells, Random(f"{self._content} {number} {letter}"))
        self._share.give_back()
        return failure

    def _look(self, cell: Any, letter: int, cells: Sequence[Any], choose: Random) -> Failure | None:
        point = self._domain.draw(cell, choose)
        states, got = self._step.run(point.states, letter, self._domain.noise(choose))
        after = self._domain.moved(point, states, letter)
        if not any(self._domain.contains(cell, after) for cell in cells):
            return _fault("a point of a cell is led out of the cells that the walk states")
        expected = self._language.legal(after.configuration)
        if not (agrees(self._task, expected, got) if got is not None else self._step.floats):
            return _fault("at a point of a cell the answer is not that of the language")
        return None


def agrees(task: str, expected: NextLetters, got: NextLetters) -> bool:
    """Whether an answer is correct for a task."""
    return expected.end == got.end if task == RECOGNISE else expected == got


def _fault(what: str) -> Failure:
    return Failure(what=f"the checker contradicts itself: {what}; please report the folder", entry="evidence")
