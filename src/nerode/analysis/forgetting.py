"""How long a written bit survives: measured after every ignored bit, settled bit for bit, and predicted.

streams      a bit is written, then only bits to ignore follow: all opposite, all equal, or random
fixed points one ignored bit is repeated until the state comes back to itself, bit for bit: the answer
             there is the answer for every larger number of repetitions
prediction   where the only layer is linear, its gates alone say where the state will be after any number
             of repetitions; the reader is asked there, without running
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nerode.analysis.fading import Fading, predict_fading
from nerode.analysis.probes import plain
from nerode.analysis.subject import Subject
from nerode.core import Budget, BudgetExceeded, InputError, stream, to_mapping
from nerode.models import Model
from nerode.proofs.floats import settle
from nerode.tasks import IGNORE, READ, STREAMS, WRITE, ZERO, FlipFlop, survey

EACH = 1_000
"""Up to so many ignored bits the bit is read after every one of them."""

_RANDOM = 8
"""Random streams for each bit."""

_SHOWN = 200
"""Margins of one stream that are kept, spread evenly on a logarithmic scale."""

State = dict[str, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamHorizon:
    """How long a bit survives one kind of stream.

    Attributes:
        stream: "opposite", "same" or "random".
        bit: the written one.
        fails_at: the least number of ignored bits after which the bit is read wrongly, in the worst stream of
            this kind; above 1,000, the first checkpoint at which it is. None if it was always read rightly.
        tested: the largest number of ignored bits.
        predicted: `fails_at` by the gates alone; None if nothing was predicted, or that it never fails.
        margins: numbers of ignored bits and the margin of the right answer after them, the worst of its kind.
        expected: the same by the gates alone; empty if nothing was predicted.
    """

    stream: str
    bit: int
    fails_at: int | None
    tested: int
    predicted: int | None
    margins: tuple[tuple[int, float | None], ...]
    expected: tuple[tuple[int, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoint:
    """Where the state goes when one ignored bit is repeated.

    Attributes:
        written: the bit that was written.
        ignored: the bit that is repeated.
        steps: repetitions until the states go around in a cycle, bit for bit; None if they were not seen to.
        period: of the cycle; 1 for a fixed point.
        right: whether the written bit is read rightly everywhere on the cycle; None if there is none.
        margin: the least margin of the right answer on the cycle.
        always: whether it is read rightly after every number of repetitions, from none on; None if unknown.
    """

    written: int
    ignored: int
    steps: int | None
    period: int | None
    right: bool | None
    margin: float | None
    always: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """How long a written bit survives.

    Attributes:
        streams: by kind of stream and bit.
        fixed_points: by written and ignored bit.
        latch: whether every constant stream is read rightly at every length, which the fixed points prove for
            the floats of this machine and the four streams read side by side (sums in other batches may be
            rounded otherwise); None if some state was not seen to come back to itself.
        prediction: how the gates let the state fade, by written and ignored bit; empty where no prediction
            is made.
        unpredicted: why there is no prediction; empty if there is one.
    """

    streams: tuple[StreamHorizon, ...]
    fixed_points: tuple[FixedPoint, ...]
    latch: bool | None
    prediction: tuple[Fading, ...]
    unpredicted: str

    def to_json(self) -> dict[str, Any]:
        """Returns the record as plain values."""
        return to_mapping(self)


@torch.no_grad()
def forgetting(
    subject: Subject,
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
    fadings, why = predict_fading(model, written_states(model))
    expected = {(f.written, f.ignored): f for f in fadings}
    points = fixed_points(model, repetitions=repetitions, budget=budget)
    streams = _streams(model, expected, longest, seed)
    return Forgetting(
        streams=streams,
        fixed_points=points,
        latch=_is_latch(streams, points),
        prediction=fadings,
        unpredicted=why,
    )


def ask(model: Model, state: State) -> Tensor:
    """Returns how much more the model says 1 than 0 when it is asked for the bit (batch,)."""
    batch = len(next(iter(state.values())))
    scores = model.step(torch.full((batch,), READ), state)[0].double()
    return scores[:, 1] - scores[:, 0]


def read_pair(model: Model, state: State, instruction: int, bits: Tensor) -> State:
    """Returns the state after an instruction and its bits."""
    _, state = model.step(torch.full_like(bits, instruction), state)
    return model.step(bits + ZERO, state)[1]


def _is_latch(streams: Sequence[StreamHorizon], points: Sequence[FixedPoint]) -> bool | None:
    """Whether constant streams are read rightly at every length: one failure is enough for no."""
    if any(s.fails_at is not None for s in streams if s.stream != "random"):
        return False
    if any(p.always is False for p in points):
        return False
    return None if any(p.always is None for p in points) else True


@torch.no_grad()
def written_states(model: Model) -> State:
    """Returns the states after a written 0 and a written 1."""
    return read_pair(model, model.initial_state(2), WRITE, torch.tensor([0, 1]))


@torch.no_grad()
def fixed_points(
    model: Model, *, repetitions: int = 20_000, budget: Budget | None = None
) -> tuple[FixedPoint, ...]:
    """Returns where the state goes for each written bit and each ignored one.

    All four are read at once until each stands still; one that never does is then searched for a longer
    cycle. When the time is up, those not yet found are marked as not seen to settle.
    """
    budget = (budget or Budget()).start()
    written, ignored = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 0, 1])
    start = read_pair(model, model.initial_state(4), WRITE, written)
    found: dict[int, FixedPoint] = {}
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


def _settled(written: int, ignored: int, steps: int, period: int, margin: float, least: float) -> FixedPoint:
    return FixedPoint(
        written=written,
        ignored=ignored,
        steps=steps,
        period=period,
        right=margin > 0,
        margin=margin,
        always=least > 0,
    )


def _unknown(written: int, ignored: int) -> FixedPoint:
    return FixedPoint(
        written=written, ignored=ignored, steps=None, period=None, right=None, margin=None, always=None
    )


def _cycle(model: Model, written: int, ignored: int, most: int, budget: Budget) -> FixedPoint:
    """The cycle of states under one ignored bit, for states that do not stand still."""

    def advance(state: Mapping[str, Tensor]) -> State:
        return read_pair(model, dict(state), IGNORE, torch.tensor([ignored]))

    state = start = read_pair(model, model.initial_state(1), WRITE, torch.tensor([written]))
    settled = settle(advance, start, most=most, budget=budget)
    if settled is None:
        return _unknown(written, ignored)
    margins = []
    for _ in range(settled.steps + settled.period):
        margins.append(float(ask(model, state)[0]) * (1 if written else -1))
        state = advance(state)
    around = min(margins[settled.steps :])
    return _settled(written, ignored, settled.steps, settled.period, around, min(margins))


def _streams(
    model: Model, expected: Mapping[tuple[int, int], Fading], longest: int, seed: int
) -> tuple[StreamHorizon, ...]:
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
        fading = None if kind == "random" else expected.get((bit, bit if kind == "same" else 1 - bit))
        found.append(
            StreamHorizon(
                stream=kind,
                bit=bit,
                fails_at=fails,
                tested=longest,
                predicted=None if fading is None else fading.fails_at,
                margins=(
                    *((n, plain(worst[n - 1])) for n in kept),
                    *((r["ignored"], r["margin"]) for r in later),
                ),
                expected=() if fading is None else fading.margins,
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
