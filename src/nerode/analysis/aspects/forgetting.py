"""Survival of a written bit in flip-flops: measured after every ignored bit, settled bit for bit, predicted.

streams      a bit is written, then only bits to ignore follow: all opposite, all equal, or random
fixed points one ignored bit is repeated until the state comes back to itself, bit for bit: the answer
             there is the answer for every larger number of repetitions
prediction   the first repetitions say where the state will be after any number of them (`loops`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nerode.analysis.probes import plain
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, BudgetExceeded, InputError, started, stream
from nerode.models import Model
from nerode.proofs.floats import LoopWord, make_runner, nan_rows, predict_repetitions, to_rows
from nerode.records import AnalysisRow, Forgetting
from nerode.tasks import IGNORE, READ, STREAMS, WRITE, ZERO, FlipFlop, survey

EACH = 1_000
"""Up to so many ignored bits the bit is read after every one of them."""

_RANDOM = 8
"""Random streams for each bit."""

_SHOWN = 200
"""Margins of one stream that are kept, spread evenly on a logarithmic scale."""

State = dict[str, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCycle:
    """The states repeat: after `steps` repetitions they go around in `period`; 1 is a fixed point."""

    steps: int
    period: int


def find_cycle(
    advance: Callable[[State], State], start: State, *, most: int = 100_000, budget: Budget | None = None
) -> StateCycle | None:
    """Returns after how many repetitions the state comes back to itself, None if not within `most`.

    It needs the memory of two states, by Brent's way of finding cycles: the state is compared with one that
    was kept, and a new one is kept at each power of two.

    Implements: [Brent1980]

    Args:
        advance: what one repetition of the input does to a state; for a layer that reads features,
            `lambda state: layer.step(x, state)[1]`.
        start: the state before; any batch size, all of whose words have to repeat together.
        most: repetitions after which the search ends.
        budget: limits the time.

    Raises:
        InputError: if the state holds a NaN, or grows.
        BudgetExceeded: if the time is up.
    """
    budget = started(budget)
    kept, state, steps, power, period = _bits(start), advance(start), 1, 1, 1
    while _bits(state) != kept:
        if steps >= most:
            return None
        if power == period:
            kept, power, period = _bits(state), 2 * power, 0
        state, steps, period = advance(state), steps + 1, period + 1
        budget.check_time(repetitions=steps)
    ahead = start
    for _ in range(period):
        ahead = advance(ahead)
    behind, tail = start, 0
    while _bits(ahead) != _bits(behind):
        ahead, behind, tail = advance(ahead), advance(behind), tail + 1
        budget.check_time(repetitions=steps + tail)
    return StateCycle(steps=tail, period=period)


def _bits(state: State) -> tuple[bytes, ...]:
    batch = len(next(iter(state.values()))) if state else 1
    if nan_rows(state, batch).any():
        raise InputError("the state holds a NaN; it comes back to nothing")
    rows = to_rows(state, batch)
    return (str(rows.shape).encode(), rows.tobytes())


@torch.no_grad()
def forgetting(
    subject: LoadedNetwork,
    *,
    longest: int = 100_000,
    repetitions: int = 20_000,
    seed: int = 0,
    budget: Budget | None = None,
) -> Forgetting:
    """Returns how long a network that was trained on flip-flops remembers a bit.

    Args:
        subject: the network.
        longest: ignored bits at the end of a stream.
        repetitions: after so many the search for a fixed point ends.
        seed: of the random streams.
        budget: limits the time of the search for fixed points.

    Raises:
        InputError: if the network does not do flip-flops, or its state grows with the word.
    """
    model = subject.zoo_model
    if not isinstance(subject.task, FlipFlop):
        raise InputError(f"{subject.name} is not about flip-flops; their letters are needed")
    if model.grows:
        raise InputError(f"{subject.name} keeps all that it has read; its state has no horizon")
    points = fixed_points(model, repetitions=repetitions, budget=budget)
    streams = _streams(model, _predicted(model, subject.task), longest, seed)
    return Forgetting(streams=streams, fixed_points=points, latch=_is_latch(streams, points))


def _predicted(model: Model, task: FlipFlop) -> dict[tuple[int, int], int | None]:
    """By written and ignored bit the repetitions after which the bit should be lost; None if never."""
    question = task.question()
    runner = make_runner(model, question, reading=task.reading())

    def loop(written: int, ignored: int) -> LoopWord:
        repeated = (IGNORE, ZERO + ignored)
        return LoopWord(parts=(((WRITE, ZERO + written), False), (repeated, True), ((READ,), False)))

    return {
        (written, ignored): predict_repetitions(runner, question, loop(written, ignored))
        for written in (0, 1)
        for ignored in (0, 1)
    }


def ask(model: Model, state: State) -> Tensor:
    """Returns how much more the model says 1 than 0 when it is asked for the bit (batch,)."""
    batch = len(next(iter(state.values())))
    scores = model.step(torch.full((batch,), READ), state)[0].double()
    return scores[:, 1] - scores[:, 0]


def read_pair(model: Model, state: State, instruction: int, bits: Tensor) -> State:
    """Returns the state after an instruction and its bits."""
    _, state = model.step(torch.full_like(bits, instruction), state)
    return model.step(bits + ZERO, state)[1]


def _is_latch(streams: Sequence[AnalysisRow], points: Sequence[AnalysisRow]) -> bool | None:
    """Whether constant streams are read correctly at every length: one failure is enough for no."""
    if any(s.fails_at is not None for s in streams if s.stream != "random"):
        return False
    if any(p.always is False for p in points):
        return False
    return None if any(p.always is None for p in points) else True


@torch.no_grad()
def fixed_points(
    model: Model, *, repetitions: int = 20_000, budget: Budget | None = None
) -> tuple[AnalysisRow, ...]:
    """Returns where the state goes for each written bit and each ignored one.

    All four are read at once until each stands still; one that never does is then searched for a longer
    cycle. When the time is up, those not yet found are marked as not seen to find_cycle.
    """
    budget = started(budget)
    written, ignored = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 0, 1])
    start = read_pair(model, model.initial_state(4), WRITE, written)
    found: dict[int, AnalysisRow] = {}
    state = start
    least = torch.full((4,), torch.inf, dtype=torch.float64)
    try:
        for n in range(repetitions):
            after = read_pair(model, state, IGNORE, ignored)
            margins = ask(model, state) * (2 * written - 1)
            least = torch.minimum(least, margins)
            for row in range(4):
                if row not in found and _same_row(state, after, row):
                    ends = (n, 1, float(margins[row]), float(least[row]))
                    found[row] = _settled(int(written[row]), int(ignored[row]), *ends)
            if len(found) == 4:
                break
            state = after
            budget.check_time(repetitions=n)
        for row in set(range(4)) - set(found):
            found[row] = _cycle(model, int(written[row]), int(ignored[row]), repetitions, budget)
    except BudgetExceeded:
        pass
    return tuple(found.get(row) or _unknown(int(written[row]), int(ignored[row])) for row in range(4))


def _same_row(a: State, b: State, row: int) -> bool:
    return all(torch.equal(a[name][row], b[name][row]) for name in a)


def _settled(written: int, ignored: int, steps: int, period: int, margin: float, least: float) -> AnalysisRow:
    return AnalysisRow(
        written=written,
        ignored=ignored,
        steps=steps,
        period=period,
        right=margin > 0,
        margin=margin,
        always=least > 0,
    )


def _unknown(written: int, ignored: int) -> AnalysisRow:
    return AnalysisRow(
        written=written, ignored=ignored, steps=None, period=None, right=None, margin=None, always=None
    )


def _cycle(model: Model, written: int, ignored: int, most: int, budget: Budget) -> AnalysisRow:
    """The cycle of states under one ignored bit, for states that do not stand still."""

    def advance(state: Mapping[str, Tensor]) -> State:
        return read_pair(model, dict(state), IGNORE, torch.tensor([ignored]))

    state = start = read_pair(model, model.initial_state(1), WRITE, torch.tensor([written]))
    settled = find_cycle(advance, start, most=most, budget=budget)
    if settled is None:
        return _unknown(written, ignored)
    margins = []
    for _ in range(settled.steps + settled.period):
        margins.append(float(ask(model, state)[0]) * (1 if written else -1))
        state = advance(state)
    around = min(margins[settled.steps :])
    return _settled(written, ignored, settled.steps, settled.period, around, min(margins))


def _streams(
    model: Model, predicted: Mapping[tuple[int, int], int | None], longest: int, seed: int
) -> tuple[AnalysisRow, ...]:
    each = min(EACH, longest)
    near = _each_margin(model, each, stream(seed, "analysis", "ignored bits"))
    far = survey(_answer(model), stream(seed, "analysis", "streams"), longest=longest)
    kept = sorted({round(float(n)) for n in np.geomspace(1, each, _SHOWN)})
    found = []
    for row in far:
        kind, bit = row["stream"], row["bit"]
        worst = near[kind, bit]
        wrong = np.flatnonzero(~(worst > 0))
        later = [r for r in row["reads"] if r["ignored"] > each]
        fails = int(wrong[0]) + 1 if len(wrong) else None
        if fails is None:
            fails = next((r["ignored"] for r in later if not r["right"]), None)
        found.append(
            AnalysisRow(
                stream=kind,
                bit=bit,
                fails_at=fails,
                tested=longest,
                predicted=None if kind == "random" else predicted[bit, bit if kind == "same" else 1 - bit],
                margins=(
                    *((n, plain(worst[n - 1])) for n in kept),
                    *((r["ignored"], r["margin"]) for r in later),
                ),
            )
        )
    return tuple(found)


def _each_margin(model: Model, longest: int, rng: np.random.Generator) -> dict[tuple[str, int], Any]:
    """The margin after each number of ignored bits, for each kind of stream and bit; the worst of a kind."""
    kinds = [
        (kind, bit) for kind in STREAMS for bit in (0, 1) for _ in range(_RANDOM if kind == "random" else 1)
    ]
    written = torch.tensor([bit for _, bit in kinds])
    bits = torch.from_numpy(rng.integers(0, 2, (len(kinds), longest)))
    for row, (kind, bit) in enumerate(kinds):
        if kind != "random":
            bits[row] = bit if kind == "same" else 1 - bit
    state = read_pair(model, model.initial_state(len(kinds)), WRITE, written)
    margins = []
    for column in bits.unbind(1):
        state = read_pair(model, state, IGNORE, column)
        margins.append(ask(model, state) * (2 * written - 1))
    table = torch.stack(margins, dim=1).numpy()
    return {
        key: table[[row for row, k in enumerate(kinds) if k == key]].min(axis=0)
        for key in dict.fromkeys(kinds)
    }


def _answer(model: Model) -> Any:
    def answer(inputs: Tensor, state: State | None) -> tuple[Tensor, State]:
        scores, after = model(inputs, state)
        return scores, after

    return answer
