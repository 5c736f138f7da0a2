"""What the gates of a linear layer say about a state after any number of repetitions of one input.

If the same letters are repeated, each repetition does the same affine map to the state of a linear layer once
its windows are full: h ↦ G h + c. The state then fades towards the fixed point h* = (1 - G)⁻¹ c, and after n
more repetitions it is h* + Gⁿ (h - h*). Nothing has to be run to know it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nerode.analysis.probes import plain
from nerode.models import DiagonalTransition, Model, part_of
from nerode.tasks import IGNORE, READ, ZERO

FILLED = 8
"""Repetitions after which every convolution of the zoo has nothing else in its window."""

_FARTHEST = 10**9
"""Repetitions beyond which a failure is not looked for."""

State = dict[str, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fading:
    """How a written bit fades under one ignored bit, by the gates alone.

    Attributes:
        written: the bit that was written.
        ignored: the bit that is repeated.
        gate: the largest product of gates of one repetition, among the coordinates in which the states of a
            written 0 and a written 1 differ: what is left of the difference after each.
        half_life: repetitions in which the slowest part of the difference is halved.
        fails_at: the least number of repetitions after which the bit should be read wrongly; None for never.
        margins: numbers of repetitions and the margin that the right answer should have after them.
    """

    written: int
    ignored: int
    gate: float
    half_life: float | None
    fails_at: int | None
    margins: tuple[tuple[int, float | None], ...]


@torch.no_grad()
def predict_fading(model: Model, written: State) -> tuple[tuple[Fading, ...], str]:
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
    """Where the states of both bits go, from the repetition FILLED on.

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


def _fading(model: Model, course: _Course, bit: int, ignored: int) -> Fading:
    sign = 1 if bit else -1

    def margin(repetitions: int) -> float:
        scores = model.step(torch.full((2,), READ), course.after(repetitions))[0]
        return sign * float(scores[bit, 1] - scores[bit, 0])

    zero, one = course.state[course.name]
    differs = (zero - one).abs() > 0
    slowest = float(course.gate[bit].expand_as(zero)[differs].abs().max()) if bool(differs.any()) else 0.0
    return Fading(
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
