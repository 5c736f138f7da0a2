"""The stream before the first attention block: letters, position vectors, and recurrent blocks.

What stands there is a function of the letter and of a state: the position modulo the period, and the state
of recurrent blocks, if the model is a hybrid. The states are visited by running the blocks of the model
themselves, letter by letter, so that every number is the float that the model computes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nerode.core import Budget
from nerode.models import Model
from nerode.proofs.floats.attention.records import NotProved

Array = npt.NDArray[np.float64]

_AT_ONCE = 256
"""States that are advanced together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """The values that can stand on the stream before the first attention block.

    Attributes:
        blocks: number of recurrent blocks before it.
        values: for each state and letter the stream (states, letters + 1, width); the mark is the last
            letter, and stands in state 0 alone.
        after: for each state and letter the next state (states, letters + 1).
        phases: for each state the position modulo the period.
    """

    blocks: int
    values: Array
    after: npt.NDArray[np.int64]
    phases: npt.NDArray[np.int64]

    @property
    def letters(self) -> int:
        """Number of letters, without the mark."""
        return int(self.values.shape[1]) - 1

    def rows(self) -> tuple[Array, npt.NDArray[np.int64]]:
        """Returns all streams that occur, the one of the mark first, with their phases."""
        width = self.values.shape[2]
        letters = self.values[1:, :-1].reshape(-1, width)
        found = np.concatenate([self.values[0, -1:], letters])
        return found, np.concatenate([self.phases[:1], np.repeat(self.phases[1:], self.letters)])


@torch.no_grad()
def explore_streams(model: Model, budget: Budget) -> Streams:
    """Returns the streams of a model, by a search through all states before its first attention block.

    Raises:
        NotProved: if a recurrent block comes after an attention block.
        BudgetExceeded: if the states are too many.
    """
    names = [layer.resolve()[0].name for layer in model.config.layers]
    count = names.index("transformer") if "transformer" in names else len(names)
    if "transformer" not in names or set(names[count:]) != {"transformer"}:
        raise NotProved("the model is not recurrent blocks followed by attention")
    assert model.config.letters is not None
    letters = model.config.letters
    period = model.config.period if model.config.positions == "periodic" else 1
    search = _Search(model, count, period)
    blank = {name: value for name, value in model._blank(1).items() if search.belongs(name)}
    search.add([blank], [0])
    mark = search.advance([0], letters)
    frontier = mark[1]
    rows: dict[int, tuple[list[Array], list[int]]] = {0: ([mark[0][0]], [frontier[0]])}
    while frontier:
        budget.check("elements", len(search.states), states=len(search.states))
        budget.check_time(states=len(search.states))
        known = len(search.states)
        found = [search.advance(frontier, letter) for letter in range(letters)]
        for i, number in enumerate(frontier):
            rows[number] = ([f[0][i] for f in found], [f[1][i] for f in found])
        frontier = list(range(known, len(search.states)))
    width = len(rows[0][0][0])
    values = np.zeros((len(rows), letters + 1, width))
    after = np.zeros((len(rows), letters + 1), dtype=np.int64)
    for number, (streams, following) in rows.items():
        part = slice(letters, None) if number == 0 else slice(0, letters)
        values[number, part], after[number, part] = streams, following
    phases = np.array(search.phases, dtype=np.int64)
    return Streams(blocks=count, values=values, after=after, phases=phases)


class _Search:
    """States of the first blocks, each known by its bytes and its phase."""

    def __init__(self, model: Model, blocks: int, period: int) -> None:
        self.model, self.blocks, self.period = model, blocks, period
        self.states: list[dict[str, Tensor]] = []
        self.phases: list[int] = []
        self.known: dict[bytes, int] = {}

    def belongs(self, name: str) -> bool:
        """Whether a part of the state is that of a recurrent block."""
        number = name.partition(".")[0]
        return number.isdigit() and int(number) < self.blocks

    def add(self, states: list[dict[str, Tensor]], phases: list[int]) -> list[int]:
        """Returns the numbers of states, new ones if they were not known."""
        found = []
        for state, phase in zip(states, phases, strict=True):
            parts = [state[name].contiguous().view(torch.uint8).numpy().tobytes() for name in sorted(state)]
            # The state before the mark is no state after anything.
            key = b"".join([bytes([bool(self.states)]), phase.to_bytes(4, "big"), *parts])
            if key not in self.known:
                self.known[key] = len(self.states)
                self.states.append(state)
                self.phases.append(phase)
            found.append(self.known[key])
        return found

    def advance(self, numbers: list[int], letter: int) -> tuple[Array, list[int]]:
        """Returns the streams at a letter and the states after it, of some states."""
        streams, after = [], list[int]()
        for first in range(0, len(numbers), _AT_ONCE):
            part = numbers[first : first + _AT_ONCE]
            state = {name: torch.cat([self.states[n][name] for n in part]) for name in self.states[part[0]]}
            if self.model.config.positions != "none":
                state["position"] = torch.tensor([self.phases[n] for n in part])
            x = torch.full((len(part), 1), letter)
            stream, _ = self.model._embed(x, state)
            stream = stream[:, 0]
            following: dict[str, Tensor] = {}
            for number in range(self.blocks):
                inside = {
                    name.partition(".")[2]: value
                    for name, value in state.items()
                    if name.startswith(f"{number}.")
                }
                stream, moved = self.model.blocks[number].step(stream, inside)  # type: ignore[operator]
                following |= {f"{number}.{name}": value for name, value in moved.items()}
            streams.append(stream.double().numpy())
            states = [{name: value[i : i + 1] for name, value in following.items()} for i in range(len(part))]
            after += self.add(states, [(self.phases[n] + 1) % self.period for n in part])
        return np.concatenate(streams), after
