"""What is examined: a way to build a sequence model, and inputs that it can read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from nerode.core import InputError

State = dict[str, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A model under examination.

    The model is an `nn.Module` with `initial_state(batch)`, `forward(x, state=None)` and `step(x, state)`,
    the last two returning outputs and state; a state is a dict of tensors whose first axis is the batch.
    Where it has them, `state_size`, `transition(x, state)` and `reference(x, state)` are examined too.

    Attributes:
        build: makes the model; called with nothing, under a fixed seed.
        letters: size of the vocabulary, for models that read letters.
        features: number of features, for models that read features.
        gates: where the eigenvalues of the transition must lie: "[0,1]", "[-1,1]", "unit disk"; None for
            no promise.
        tolerance: largest relative difference in float64 that is taken for rounding.
        longest: the longest sequence to try, for models that are slow.
    """

    build: Callable[[], nn.Module]
    letters: int | None = None
    features: int | None = None
    gates: str | None = None
    tolerance: float = 1e-9
    longest: int = 257

    def __post_init__(self) -> None:
        if (self.letters is None) == (self.features is None):
            raise InputError("say what the model reads: letters=… or features=…")
        if self.gates not in (None, "[0,1]", "[-1,1]", "unit disk"):
            raise InputError(f"gates is {self.gates!r}; allowed are [0,1], [-1,1], unit disk")

    def model(self, *, seed: int = 0, dtype: torch.dtype = torch.float64) -> Any:
        """Returns the model with weights drawn from a seed, in evaluation mode."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.build().to(dtype).eval()

    def inputs(self, batch: int, time: int, *, seed: int = 1, dtype: torch.dtype = torch.float64) -> Tensor:
        """Returns random letters (batch, time) or features (batch, time, features)."""
        generator = torch.Generator().manual_seed(seed)
        if self.letters is not None:
            return torch.randint(0, self.letters, (batch, time), generator=generator)
        assert self.features is not None
        drawn = torch.randn(batch, time, self.features, generator=generator, dtype=torch.float64)
        return drawn.to(dtype)


def detached(state: State) -> State:
    """Returns the state without its history, as copies."""
    return {name: value.detach().clone() for name, value in state.items()}


def by_steps(model: Any, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
    """Returns what `forward` must return, by one step after the other."""
    state = model.initial_state(len(x)) if state is None else state
    outputs = []
    for position in x.unbind(1):
        output, state = model.step(position, state)
        outputs.append(output)
    return torch.stack(outputs, dim=1), state
