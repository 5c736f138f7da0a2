"""Fine-tuning that prepares a proof: noise on the state, and units that are pushed to where they saturate.

Words are drawn from the automaton, and some leave the language, so that the dead state is learnt as well. A
second head names the state of the automaton; it is thrown away at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from nerode.analysis.proofs.goals import Goal
from nerode.core import InputError
from nerode.models import Model, State

Integers = npt.NDArray[np.int64]

_FIRST_LENGTH = 3
_NOISY = ("h", "c")
"""Parts of a state that noise is put on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuning:
    """Settings of the fine-tuning.

    Attributes:
        steps: updates.
        rate: of Adam.
        batch: words of one update.
        longest: longest word; the first half of the updates begins with short ones.
        noise: standard deviation of the noise on the state after each letter.
        saturation: weight of the mean of 1 - |h|, for Elman networks.
        states: weight of the head that names states.
        stray: how much less likely a letter into the dead state is than another.
    """

    steps: int = 300
    rate: float = 3e-3
    batch: int = 64
    longest: int = 30
    noise: float = 0.1
    saturation: float = 0.3
    states: float = 0.3
    stray: float = 0.03

    def __post_init__(self) -> None:
        if self.steps < 0 or self.batch < 1 or self.longest < _FIRST_LENGTH or self.rate <= 0:
            raise InputError(
                f"fine-tuning of {self.steps} steps on {self.batch} words of up to {self.longest} letters at "
                f"a rate of {self.rate} makes no sense; give 0 steps or more, 1 word or more, "
                f"{_FIRST_LENGTH} letters or more and a rate above 0"
            )


def draw_words(
    goal: Goal, count: int, length: int, rng: np.random.Generator, *, stray: float
) -> tuple[Integers, Integers]:
    """Returns words (count, length) and the states (count, length + 1) that they pass, the start first."""
    table, dead = np.asarray(goal.dfa.transitions, dtype=np.int64), goal.dead
    weights = np.where(dead[table] & ~dead[:, None], stray, 1.0)
    shares = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    words = np.empty((count, length), dtype=np.int64)
    states = np.full((count, length + 1), goal.dfa.start, dtype=np.int64)
    for t in range(length):
        words[:, t] = (rng.random((count, 1)) > shares[states[:, t]]).sum(axis=1)
        states[:, t + 1] = table[states[:, t], words[:, t]]
    return words, states


def run_states(
    model: Model, words: Tensor, *, noise: float = 0.0, generator: torch.Generator | None = None
) -> list[State]:
    """Returns the states of the cell along words, the start first, with noise after each letter."""
    layer = model.layers[0]
    state = layer.initial_state(len(words))
    found = [state]
    vectors = model.embedding(words) if model.embedding is not None else _one_hot(model, words)
    for x in vectors.unbind(1):
        _, state = layer.step(x, state)
        if noise:
            state = {
                name: v + noise * torch.randn(v.shape, generator=generator) if name in _NOISY else v
                for name, v in state.items()
            }
        found.append(state)
    return found


def fine_tune(
    model: Model, goal: Goal, states_head: nn.Linear, settings: FineTuning, *, rng: np.random.Generator
) -> None:
    """Changes the weights of a model, and of the head that names states."""
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    weights = [*model.parameters(), *states_head.parameters()]
    optimiser = torch.optim.Adam(weights, settings.rate)
    grows = max(1, settings.steps // 2)
    for step in range(settings.steps):
        longest = _FIRST_LENGTH + (settings.longest - _FIRST_LENGTH) * min(step, grows) // grows
        length = int(rng.integers(1, longest + 1))
        words, passed = draw_words(goal, settings.batch, length, rng, stray=settings.stray)
        run = run_states(model, torch.from_numpy(words), noise=settings.noise, generator=generator)
        h = torch.stack([state["h"] for state in run], dim=1)
        states = torch.from_numpy(passed)
        loss = task_loss(model.head(h), states, goal)
        loss = loss + settings.states * functional.cross_entropy(
            states_head(h).flatten(0, 1), states.flatten()
        )
        if model.layers[0].squashed_recurrence() is not None:
            loss = loss + settings.saturation * (1 - h.abs().clamp(max=1)).mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()


def task_loss(scores: Tensor, states: Tensor, goal: Goal) -> Tensor:
    """Returns the mean loss of what the model says in states of the automaton."""
    if goal.classes is None:
        return functional.binary_cross_entropy_with_logits(
            scores, torch.from_numpy(goal.bits)[states].float()
        )
    classes = torch.from_numpy(goal.classes)[states]
    return functional.cross_entropy(scores.flatten(0, -2), classes.flatten())


def accuracy(
    model: Model, goal: Goal, *, words: int, length: int, rng: np.random.Generator, stray: float = 0.03
) -> float:
    """Returns the share of positions that a model answers correctly on random words."""
    drawn, states = draw_words(goal, words, length, rng, stray=stray)
    with torch.no_grad():
        run = run_states(model, torch.from_numpy(drawn))
        scores = model.head(torch.stack([state["h"] for state in run], dim=1))
    if goal.classes is None:
        return float(((scores > 0).numpy() == goal.bits[states]).all(axis=-1).mean())
    return float((scores.argmax(-1).numpy() == goal.classes[states]).mean())


def _one_hot(model: Model, words: Tensor) -> Tensor:
    letters = model.config.letters
    assert letters is not None
    return functional.one_hot(words, letters).float()
