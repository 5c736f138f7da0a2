"""Survival of a written bit in flip-flops: measured after every ignored bit, settled bit for bit, predicted.

streams      a bit is written, then only bits to ignore follow: all opposite, all equal, or random
fixed points one ignored bit is repeated until the state comes back to itself, bit for bit: the answer
             there is the answer for every larger number of repetitions
prediction   where the only layer is linear, its gates alone say where the state will be after any number
             of repetitions; the reader is asked there, without running

For the prediction: if the same letters are repeated, each repetition does the same affine map to the state of
a linear layer once its windows are full, h ↦ G h + c. The state then fades towards the fixed point
h* = (1 - G)⁻¹ c, and after n more repetitions it is h* + Gⁿ (h - h*).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nerode.analysis.probes import plain
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, BudgetExceeded, InputError, started, stream
from nerode.models import DiagonalTransition, Model, part_of
from nerode.proofs.floats import nan_rows, to_rows
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


def _is_latch(streams: Sequence[AnalysisRow], points: Sequence[AnalysisRow]) -> bool | None:
    """Whether constant streams are read correctly at every length: one failure is enough for no."""
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
    model: Model, expected: Mapping[tuple[int, int], AnalysisRow], longest: int, seed: int
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
        fading = None if kind == "random" else expected.get((bit, bit if kind == "same" else 1 - bit))
        found.append(
            AnalysisRow(
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


FILLED = 8
"""Repetitions after which every convolution of the zoo has nothing else in its window."""

_FARTHEST = 10**9
"""Repetitions beyond which a failure is not looked for."""


@torch.no_grad()
def predict_fading(model: Model, written: State) -> tuple[tuple[AnalysisRow, ...], str]:
    """Returns how bits fade, or nothing and the reason why nothing can be said.

    A prediction is made in double precision for a model with one layer whose transition multiplies each
    coordinate by a gate that depends on the inputs alone.

    Args:
        model: a model of the flip-flop task.
        written: the states after a written 0 and a written 1, in a batch.
    """
    if len(model.layers) != 1:
        return (
            (),
            f"the model has {len(model.layers)} layers; what the second reads is not the same each time",
        )
    layer = model.layers[0]
    letters = torch.tensor([[IGNORE, ZERO]])
    transition = layer.transition(model.inputs_of(0, letters))
    if transition is None:
        return (), "the state moves nonlinearly; it may be held by an attractor, which the fixed points show"
    if not isinstance(transition, DiagonalTransition) or transition.gate.is_complex():
        return (), "the transition mixes coordinates; only gates are followed"
    name = f"0.{transition.state}"
    fine = _doubled(model)
    states = {key: value.double() if value.is_floating_point() else value for key, value in written.items()}
    found = []
    for ignored in (0, 1):
        course = _course(fine, states, name, ignored)
        if course is None:
            return (), "what is repeated does not do the same each time; more than the gates moves the state"
        found += [_fading(fine, course, bit, ignored) for bit in (0, 1)]
    return tuple(sorted(found, key=lambda f: (f.written, f.ignored))), ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """The course of the states of both bits, from the repetition FILLED on.

    Attributes:
        state: the states there; the part `name` of it moves.
        name: the part that the gates are about.
        gate: of one repetition.
        push: what one repetition adds.
    """

    state: State
    name: str
    gate: Tensor
    push: Tensor

    def after(self, repetitions: int) -> State:
        """Returns the states after some repetitions, counted from the first of all."""
        n = repetitions - FILLED
        h = self.state[self.name]
        # A coordinate whose gate is 1 does not fade: it is pushed by as much each time.
        holds = self.gate == 1
        limit = self.push / torch.where(holds, torch.ones_like(self.gate), 1 - self.gate)
        moved = torch.where(holds, h + n * self.push, limit + self.gate**n * (h - limit))
        return {**self.state, self.name: moved}


def _course(model: Model, written: State, name: str, ignored: int) -> _Course | None:
    """The course of both bits under one ignored bit, None if repetitions do not all do the same."""
    pair = torch.tensor([[IGNORE, ZERO + ignored]]).expand(2, 2)
    state = written
    for _ in range(FILLED):
        state = model.run(pair, state)[1]
    gate = _gate(model, pair, state)
    later = model.run(pair, state)[1]
    found = _Course(state=state, name=name, gate=gate, push=later[name] - gate * state[name])
    for n in range(FILLED + 1, FILLED + 4):
        state = model.run(pair, state)[1]
        expected = found.after(n)
        if any(not torch.allclose(state[key].double(), expected[key].double(), rtol=1e-6) for key in state):
            return None
    return found


def _fading(model: Model, course: _Course, bit: int, ignored: int) -> AnalysisRow:
    sign = 1 if bit else -1

    def margin(repetitions: int) -> float:
        scores = model.step(torch.full((2,), READ), course.after(repetitions))[0]
        return sign * float(scores[bit, 1] - scores[bit, 0])

    zero, one = course.state[course.name]
    differs = (zero - one).abs() > 0
    slowest = float(course.gate[bit].expand_as(zero)[differs].abs().max()) if bool(differs.any()) else 0.0
    return AnalysisRow(
        written=bit,
        ignored=ignored,
        gate=slowest,
        half_life=plain(math.log(2) / -math.log(slowest)) if 0 < slowest < 1 else None,
        fails_at=_first_failure(margin),
        margins=tuple((n, plain(margin(n))) for n in _shown()),
    )


def _gate(model: Model, pair: Tensor, state: State) -> Tensor:
    """The product of the gates of one repetition (batch, …)."""
    layer = model.layers[0]
    transition = layer.transition(model.inputs_of(0, pair, state), part_of(state, 0))
    assert isinstance(transition, DiagonalTransition)
    return transition.gate.prod(dim=1)


def _first_failure(margin: Callable[[int], float]) -> int | None:
    """The least number of repetitions with a margin that is not positive, on a grid and then exactly."""
    grid = sorted({round(float(n)) for n in np.geomspace(FILLED, _FARTHEST, 200)})
    if not margin(FILLED) > 0:
        return FILLED
    good = FILLED
    bad: int | None = None
    for n in grid:
        if not margin(n) > 0:
            bad = n
            break
        good = n
    if bad is None:
        return None
    while bad - good > 1:
        middle = (good + bad) // 2
        if margin(middle) > 0:
            good = middle
        else:
            bad = middle
    return bad


def _shown() -> list[int]:
    return sorted({round(float(n)) for n in np.geomspace(FILLED, 10_000, 100)})


def _doubled(model: Model) -> Model:
    fine = Model(model.config).double()
    fine.load_state_dict(
        {k: v.double() if v.is_floating_point() else v for k, v in model.state_dict().items()}
    )
    return fine.eval()
