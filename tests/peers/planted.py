"""Layers with a mistake on purpose."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from nerode.models.architectures.gru import Gru, GruSettings


class Planted(nn.Module):
    """A GRU whose outputs go wrong, by one per cent, at some positions.

    Args:
        wrong: these positions.
        forward: whether the outputs are wrong; otherwise only the gradients are.
        by: the factor of what is wrong.
    """

    def __init__(self, *wrong: int, forward: bool = True, by: float = 1.01) -> None:
        super().__init__()
        self.cell = gru()
        self.wrong = list(wrong)
        self.is_forward, self.by = forward, by

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        y, state = self.cell(x)
        factors = torch.ones(y.shape[1], 1, dtype=y.dtype)
        factors[[position for position in self.wrong if position < len(factors)]] = self.by
        changed = y * factors
        if not self.is_forward:
            # The value of y with the gradient of what was changed.
            changed = y.detach() + changed - changed.detach()
        return changed, state


def gru(dtype: torch.dtype = torch.float32) -> Gru:
    torch.manual_seed(0)
    return Gru(4, GruSettings(hidden=6)).to(dtype)


NAMES = {f"cell.{name}": name for name, _ in gru().named_parameters()}
