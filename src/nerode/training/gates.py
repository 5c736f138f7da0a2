"""Models with exact gates while they are trained, and gates that lose their memory.

Float states multiply with the gates that keep memory. A network that is wide enough to learn a language has
many more of them than it needs, and gates without which it is correct at once are too few. So memory is taken
where it costs least, the network is trained on, and what it cannot do without is given back.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models import ExactGates, LayerBlock, Model, ModelConfig, SequenceLayer, ThreeValuedGates

_WITHOUT = {
    "two": "does not tell its gate scores",
    "three": "has no gates of three values",
    "rounded": "has no rounded memory",
}
"""Reasons why a layer without such gates is refused."""


def exact_forms(config: ModelConfig, gates: str) -> list[type[ExactGates]]:
    """Returns the exact form of each layer of a model.

    Args:
        config: of the model.
        gates: "two", "three" or "rounded".

    Raises:
        InputError: if a layer has no such form.
    """
    for layer in config.layers:
        if gates not in layer.resolve()[0].gates:
            raise InputError(f"{layer.name} {_WITHOUT[gates]}; exact gates are for layers that do")
    return [layer.resolve()[0].gates[gates] for layer in config.layers]


class ExactModel:
    """A model with exact gates.

    Args:
        model: fresh weights; its blocks are changed.
        forms: the exact form of each of its layers.
    """

    def __init__(self, model: Model, forms: Sequence[type[ExactGates]]) -> None:
        self.model = model
        self.gates: list[ExactGates] = []
        for block, form in zip(model.blocks, forms, strict=True):
            assert isinstance(block, LayerBlock)
            signed = bool(getattr(block.layer.settings, "signed", False))
            exact = form(block.layer, signed=signed)
            exact.begin()
            block.layer = exact  # type: ignore[assignment]
            self.gates.append(exact)
        first = self.gates[0]
        if len(self.gates) > 1 and isinstance(first, ThreeValuedGates):
            first.live[:] = False
            first.shows_window = True

    def spread(self, words: Tensor) -> None:
        """Spreads the scores of each layer in turn over some words."""
        for gates in self.gates:
            with torch.no_grad():
                self.model(words)
            gates.spread()

    def plain(self, words: Tensor) -> Model:
        """Returns a plain model with the decided gates, as they are on some words, written into it."""
        with torch.no_grad():
            self.model(words)
        found = copy.deepcopy(self.model)
        for block, gates in zip(found.blocks, self.gates, strict=True):
            assert isinstance(block, LayerBlock)
            layer: SequenceLayer = block.layer.layer  # type: ignore[assignment]
            gates.fold(layer)
            block.layer = layer
        return found.eval()


_PATIENCE = 6
"""Checks in which a network has to recover from a loss of memory, before what was lost is given back."""

_REST = 2
"""Checks after a failing word in which no memory is taken, that with the word included."""

_CHEAP = 0.3
"""The loss may grow by less than this for every further gate that loses its memory at the same check."""

_ENOUGH = 0.95
"""Share of correct words from which on gates lose their memory."""


@dataclass(slots=True, kw_only=True)
class PruningState:
    """The memory of a pruner between checks, but for tensors.

    Attributes:
        share: of the gates with memory that lose it at once; 0 for one at a time.
        taken: the gates that lost it last, as layer and number.
        needed: those that were given it back.
        waited: checks since the network was correct.
        rest: checks in which no memory is taken.
    """

    share: float = 0.0
    taken: tuple[tuple[int, int], ...] = ()
    needed: tuple[tuple[int, int], ...] = ()
    waited: int = 0
    rest: int = 0


class GatePruner:
    """Takes the memory from gates while a network is trained, as long as it recovers.

    Args:
        model: the network.
        gates: its gates.
        state: with the share of the gates with memory that lose it at once.
    """

    def __init__(self, model: nn.Module, gates: Sequence[ExactGates], state: PruningState) -> None:
        self._model, self._gates, self.state = model, gates, state
        self._before: dict[str, Tensor] = {}

    def memory(self) -> dict[str, Tensor]:
        """Returns which gates have memory, and the fixed scores of the others."""
        return {
            f"{name}.{number}": getattr(gates, name).clone()
            for number, gates in enumerate(self._gates)
            for name in ("live", "idle")
        }

    def restore(self, memory: Mapping[str, Tensor]) -> None:
        """Gives gates the memory that they had."""
        for number, gates in enumerate(self._gates):
            gates.live, gates.idle = memory[f"live.{number}"].clone(), memory[f"idle.{number}"].clone()

    def tensors(self) -> dict[str, Tensor]:
        """Returns what a checkpoint needs of it."""
        return {**self.memory(), **{f"before.{name}": value for name, value in self._before.items()}}

    def fill(self, tensors: Mapping[str, Tensor]) -> None:
        """Goes on from a checkpoint."""
        self.restore(tensors)
        self._before = {
            name.removeprefix("before."): value
            for name, value in tensors.items()
            if name.startswith("before.")
        }

    @torch.no_grad()
    def prune(self, is_correct: Callable[[], bool]) -> None:
        """Freezes gates whose memory is not needed: such a gate never writes, or else it always does."""
        if not is_correct():
            return
        for gates in self._gates:
            for gate in np.flatnonzero((gates.live | (gates.idle > 0)).numpy()).tolist():
                was_live = bool(gates.live[gate])
                gates.live[gate], gates.idle[gate] = False, -1.0
                if is_correct():
                    continue
                gates.idle[gate] = 1.0
                if was_live and not is_correct():
                    gates.live[gate], gates.idle[gate] = True, -1.0

    @torch.no_grad()
    def check(self, accuracy: float, loss: Callable[[], float], *, refuted: bool) -> None:
        """Takes memory where it costs least, or gives back what was taken last.

        Args:
            accuracy: share of the words that are correct.
            loss: of the network as it is, always on the same words.
            refuted: whether a search has just named a failing word; then no memory is taken.
        """
        state = self.state
        state.rest = _REST if refuted else max(0, state.rest - 1)
        if accuracy < _ENOUGH:
            state.waited += 1
            if self._before and state.waited >= _PATIENCE:
                self._give_back()
            return
        state.waited = 0
        if state.rest:
            return
        weights = {f"model.{name}": weight.clone() for name, weight in self._model.state_dict().items()}
        self._before = {**weights, **self.memory()}
        costs = self._costs(loss)
        most = max(1, int(state.share * sum(int(gates.live.sum()) for gates in self._gates)))
        state.taken = tuple(
            place for number, (cost, place) in enumerate(costs[:most]) if not number or cost < _CHEAP
        )
        for layer, gate in state.taken:
            self._gates[layer].live[gate] = False
            self._gates[layer].idle[gate] = -1.0

    def _costs(self, loss: Callable[[], float]) -> list[tuple[float, tuple[int, int]]]:
        """By how much the loss grows without the memory of each gate, the cheapest first."""
        now, costs = loss(), []
        for layer, gates in enumerate(self._gates):
            for gate in np.flatnonzero(gates.live.numpy()).tolist():
                if (layer, gate) not in self.state.needed:
                    gates.live[gate] = False
                    costs.append((loss() - now, (layer, gate)))
                    gates.live[gate] = True
        return sorted(costs)

    def _give_back(self) -> None:
        """Goes back to the weights before the last loss of memory, and then takes one gate at a time."""
        self._model.load_state_dict(
            {
                name.removeprefix("model."): value
                for name, value in self._before.items()
                if name.startswith("model.")
            }
        )
        self.restore(self._before)
        self.state.needed = (*self.state.needed, *self.state.taken)
        self.state.waited, self.state.share = 0, 0.0
