"""Language models that are tables: the state is that of an automaton, the scores are its row."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nerode.languages import Dfa


class TableModel(nn.Module):
    """What may follow has the score 2, the rest -6, and a constant is added to all."""

    def __init__(self, dfa: Dfa, *, shift: float = 0.0) -> None:
        super().__init__()
        live = torch.tensor(dfa.live)
        moves = torch.tensor(dfa.transitions.tolist())
        allowed = torch.cat([live[moves], torch.tensor(dfa.accepting)[:, None]], dim=1)
        self.table = nn.Parameter(torch.where(allowed, 2.0, -6.0) + shift)
        self.register_buffer("moves", moves.contiguous())
        self.begin = int(dfa.start)

    def initial_state(self, batch: int) -> dict[str, Tensor]:
        return {"at": torch.full((batch,), self.begin)}

    def step(self, x: Tensor, state: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        at = self.moves[state["at"], x]
        return self.table[at], {"at": at}

    def forward(self, x: Tensor, state: dict[str, Tensor] | None = None):
        state = self.initial_state(len(x)) if state is None else state
        rows = []
        for letters in x.T:
            scores, state = self.step(letters, state)
            rows.append(scores)
        if not rows:
            return torch.zeros(len(x), 0, self.table.shape[1]), state
        return torch.stack(rows, dim=1), state


class Words(nn.Module):
    """The same model as a function of whole words: `forward(tokens)` and nothing else."""

    def __init__(self, inner: TableModel) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)[0]


class Carried(nn.Module):
    """The same model with a state as torch's cells have it: a tuple of tensors, the batch second."""

    def __init__(self, inner: TableModel) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor, state: tuple[Tensor, ...] | None = None):
        before = None if state is None else {"at": (state[0][0] + self.inner.begin) % len(self.inner.table)}
        scores, after = self.inner(x, before)
        return scores, ((after["at"] - self.inner.begin)[None] % len(self.inner.table),)
