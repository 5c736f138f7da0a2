"""Small modules with hand-set numbers: registers that hold or leak, counters, and planted errors."""

from __future__ import annotations

import torch
from torch import Tensor, nn

State = dict[str, Tensor]


class Register(nn.Module):
    """Reads 0 (write low), 1 (write high), 2 (hold); the word may end where the register is high.

    h = gate·h + write, the gate of a hold given; any letter may follow always.
    """

    def __init__(self, hold: float = 1.0, overwrite: float = 0.0, *, dtype=torch.float32, threshold=0.5):
        super().__init__()
        self.gates = nn.Parameter(torch.tensor([overwrite, overwrite, hold], dtype=dtype))
        self.writes = nn.Parameter(torch.tensor([0.0, 1.0, 0.0], dtype=dtype))
        self.threshold = threshold

    def initial_state(self, batch: int) -> State:
        return {"h": torch.zeros(batch, 1, dtype=self.gates.dtype)}

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        h = self.gates[x, None] * state["h"] + self.writes[x, None]
        return h, {"h": h}

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        state = self.initial_state(len(x)) if state is None else state
        scores = []
        for letters in x.unbind(1):
            score, state = self.step(letters, state)
            scores.append(score)
        return torch.stack(scores, dim=1), state

    def legal(self, scores: Tensor) -> Tensor:
        end = scores > self.threshold
        return torch.cat([torch.ones_like(end).expand(*end.shape[:-1], 3), end], dim=-1)


class TanhRegister(Register):
    """The robust Elman flip-flop: h = tanh(2h + u) with u = -4, 4, 0."""

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        inputs = torch.tensor([-4.0, 4.0, 0.0], dtype=self.gates.dtype)[x, None]
        h = (2 * state["h"] + inputs).tanh()
        return h, {"h": h}

    def initial_state(self, batch: int) -> State:
        return {"h": -torch.ones(batch, 1, dtype=self.gates.dtype)}


class DyckCounter(nn.Module):
    """Dyck-1: a counter, and a flag for a prefix that went below zero."""

    def __init__(self, *, dtype=torch.float32):
        super().__init__()
        self.steps = nn.Parameter(torch.tensor([1.0, -1.0], dtype=dtype))

    def initial_state(self, batch: int) -> State:
        return {"c": torch.zeros(batch, 2, dtype=self.steps.dtype)}

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        count, dead = state["c"].unbind(1)
        count = count + self.steps[x]
        dead = torch.maximum(dead, (-count).clamp(0, 1))
        live = 1 - dead
        scores = torch.stack([live, live * count.clamp(0, 1), live * (1 - count.clamp(0, 1))], dim=1)
        return scores, {"c": torch.stack([count, dead], dim=1)}

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """In one cumulative sum; only for prefixes that stay live."""
        state = self.initial_state(len(x)) if state is None else state
        counts = state["c"][:, :1] + self.steps[x].cumsum(1)
        dead = torch.maximum(state["c"][:, 1:], (-counts).clamp(0, 1).cummax(1).values)
        live = 1 - dead
        scores = torch.stack([live, live * counts.clamp(0, 1), live * (1 - counts.clamp(0, 1))], dim=2)
        return scores, {"c": torch.stack([counts[:, -1], dead[:, -1]], dim=1)}


class BatchDependent(Register):
    """Right for single words; in a batch what is written moves by one part in a million, once."""

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        scores, after = super().step(x, state)
        moved = torch.where(after["h"].abs() <= 1, after["h"] * (1 + 2.0**-20), after["h"])
        return scores, {"h": moved if len(x) > 1 else after["h"]}


class Growing(Register):
    """Keeps all letters, as attention does."""

    def initial_state(self, batch: int) -> State:
        return {"h": torch.zeros(batch, 1), "cache": torch.zeros(batch, 0, dtype=torch.int64)}

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        scores, after = super().step(x, state)
        return scores, {**after, "cache": torch.cat([state["cache"], x[:, None]], dim=1)}


class SignOfZero(Register):
    """The first letter makes a zero negative; a quotient shows it when the next letter is a hold.

    Whoever takes 0.0 and -0.0 for one state is back at the start after one letter, and finds nothing wrong.
    """

    def initial_state(self, batch: int) -> State:
        return {"h": torch.zeros(batch, 1), "z": torch.zeros(batch, 1)}

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        scores, after = super().step(x, state)
        wrong = (1 / state["z"] < 0) & (x[:, None] == 2)
        return torch.where(wrong, 1 - scores, scores), {**after, "z": -state["z"].abs()}


class Fading(nn.Module):
    """Tomita-1, 1*: every 1 moves a number towards a fixed point; the word is legal while it is above 1/2."""

    def __init__(self, gate: float, limit: float) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.tensor(gate))
        self.write = nn.Parameter(torch.tensor((1 - gate) * limit))

    def initial_state(self, batch: int) -> State:
        return {"h": torch.ones(batch, 1)}

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        h = torch.where(x[:, None] == 1, self.gate * state["h"] + self.write, 0.0)
        return h, {"h": h}

    def legal(self, scores: Tensor) -> Tensor:
        inside = scores > 0.5
        return torch.cat([torch.zeros_like(inside), inside, inside], dim=-1)
