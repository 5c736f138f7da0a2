"""Gates that give up their memory while a network is trained.

Float states multiply with the gates that keep memory. A network that is wide enough to learn a language has
many more of them than it needs, and gates without which it is correct at once are too few. So memory is taken
where it costs least, the network is trained on, and what it cannot do without is given back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from nerode.models import ExactGates

_PATIENCE = 6
"""Looks that a network has to recover from a loss of memory, before what was lost is given back."""

_REST = 2
"""Looks after a failing word in which no memory is taken, that with the word included."""

_CHEAP = 0.3
"""The loss may grow by less than this for every further gate that loses its memory at the same look."""


class Shedding:
    """Takes the memory from gates while a network is trained, as long as it recovers.

    Args:
        model: the network.
        gates: its gates.
        share: of the gates with memory that lose it at once.
        enough: share of the words that have to be correct before more is taken.
    """

    def __init__(self, model: nn.Module, gates: Sequence[ExactGates], *, share: float, enough: float) -> None:
        self._model, self._gates, self._share, self._enough = model, gates, share, enough
        self._before: tuple[dict[str, Tensor], list[tuple[Tensor, Tensor]]] | None = None
        self._taken: list[tuple[int, int]] = []
        self._needed: set[tuple[int, int]] = set()
        self._waited, self._rest = 0, 0

    def kept(self) -> list[tuple[Tensor, Tensor]]:
        """Which gates have memory, and the fixed scores of the others."""
        return [(gates.live.clone(), gates.idle.clone()) for gates in self._gates]

    def restore(self, kept: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Gives gates the memory that they had."""
        for gates, (live, idle) in zip(self._gates, kept, strict=True):
            gates.live, gates.idle = live.clone(), idle.clone()

    @torch.no_grad()
    def thin(self, is_correct: Callable[[], bool]) -> None:
        """Takes memory that is not needed: a gate then never writes, or else it always does."""
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
    def look(self, accuracy: float, loss: Callable[[], float], *, refuted: bool) -> None:
        """Takes memory where it costs least, or gives back what was taken last.

        Args:
            accuracy: share of the words that are correct.
            loss: of the network as it is, always on the same words.
            refuted: whether a search has just named a failing word; then the network is left in peace.
        """
        self._rest = _REST if refuted else max(0, self._rest - 1)
        if accuracy < self._enough:
            self._waited += 1
            if self._before is not None and self._waited >= _PATIENCE:
                self._give_back()
            return
        self._waited = 0
        if self._rest:
            return
        self._before = (
            {name: weight.clone() for name, weight in self._model.state_dict().items()},
            self.kept(),
        )
        costs = self._costs(loss)
        most = max(1, int(self._share * sum(int(gates.live.sum()) for gates in self._gates)))
        self._taken = [
            place for number, (cost, place) in enumerate(costs[:most]) if not number or cost < _CHEAP
        ]
        for layer, gate in self._taken:
            self._gates[layer].live[gate] = False
            self._gates[layer].idle[gate] = -1.0

    def _costs(self, loss: Callable[[], float]) -> list[tuple[float, tuple[int, int]]]:
        """By how much the loss grows without the memory of each gate, the cheapest first."""
        now, costs = loss(), []
        for layer, gates in enumerate(self._gates):
            for gate in np.flatnonzero(gates.live.numpy()).tolist():
                if (layer, gate) not in self._needed:
                    gates.live[gate] = False
                    costs.append((loss() - now, (layer, gate)))
                    gates.live[gate] = True
        return sorted(costs)

    def _give_back(self) -> None:
        """Goes back to the weights before the last loss of memory, and then takes one gate at a time."""
        assert self._before is not None
        weights, kept = self._before
        self._model.load_state_dict(weights)
        self.restore(kept)
        self._needed.update(self._taken)
        self._waited, self._share = 0, 0.0
