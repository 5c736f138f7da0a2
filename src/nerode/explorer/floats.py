"""Steps of a compiled network in floats, with noise on its states if that is asked for; needs torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nerode.explorer.traces import Number, Step, plain_numbers
from nerode.languages import Legal, Word
from nerode.models import TORCH_DTYPES
from nerode.models.network_module import CompiledLayer, CompiledRecurrence, Drive, load_model
from nerode.network import Network


class DisturbedRecurrence:
    """A recurrence that is disturbed after each step, and remembers what moved it.

    Args:
        inner: the recurrence.
        noise: the largest disturbance of each coordinate (of each part of a complex one).
        generator: of the disturbances.
    """

    def __init__(self, inner: CompiledRecurrence, *, noise: float, generator: torch.Generator) -> None:
        self.inner = inner
        self.noise = noise
        self.generator = generator
        self.seen: dict[str, list[Number]] = {}

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns what the inputs contribute."""
        return self.inner.drive(seen, letters)

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position, disturbed."""
        self.seen = {name: plain_numbers(v[0].tolist()) for name, v in self.shown(drive, state).items()}
        after = self.inner.advance(drive, state)
        return after + self._disturbance(after) if self.noise else after

    def shown(self, drive: Drive, state: Tensor) -> dict[str, Tensor]:
        """Returns what moves the state, by name."""
        return self.inner.shown(drive, state)

    def _disturbance(self, state: Tensor) -> Tensor:
        parts = torch.view_as_real(state) if state.is_complex() else state
        unit = torch.rand(parts.shape, generator=self.generator, dtype=torch.float64)
        moved = ((2 * unit - 1) * self.noise).to(parts.dtype)
        return torch.view_as_complex(moved) if state.is_complex() else moved


def float_steps(network: Network, word: Word, *, dtype: str, noise: float, seed: int) -> list[Step]:
    """Returns the states of all layers after each prefix, the empty one first.

    Every coordinate of every state is moved, after every letter, by a number that is uniform between
    -noise and noise; the readout sees the moved state, as in the certificates about noise.

    Args:
        network: what the compiler made.
        word: the letters.
        dtype: a float format.
        noise: the largest disturbance.
        seed: of the disturbances.

    Raises:
        InputError: if the network does not fit the format.
    """
    model = load_model(network, dtype=TORCH_DTYPES[dtype])
    generator = torch.Generator().manual_seed(seed)
    probes = []
    for layer in model.layers:
        assert isinstance(layer, CompiledLayer)
        probes.append(DisturbedRecurrence(layer.recurrence, noise=noise, generator=generator))
        layer.exact_step.recurrence = probes[-1]
    with torch.inference_mode():
        state = model.initial_state(1)
        steps = [Step(legal=_legal(model.empty), states=_states(state))]
        for letter in word:
            scores, state = model.step(torch.tensor([letter]), state)
            steps.append(
                Step(
                    legal=_legal(model.legal(scores)[0]),
                    states=_states(state),
                    drives=tuple(probe.seen for probe in probes),
                    scores=tuple(plain_numbers(scores[0].tolist())),
                )
            )
    return steps


def _states(state: Any) -> tuple[list[Number], ...]:
    return tuple(plain_numbers(values[0].tolist()) for values in state.values())


def _legal(flags: Tensor) -> Legal:
    *letters, end = flags.tolist()
    return Legal(frozenset(i for i, legal in enumerate(letters) if legal), bool(end))
