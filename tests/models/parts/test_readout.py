from __future__ import annotations

import torch
from torch.nn.functional import gelu

from nerode.models.parts.readout import Readout


def test_linear_and_none() -> None:
    torch.manual_seed(0)
    y = torch.randn(2, 3, 4)
    linear = Readout(4, 5, activation=True, mixing="linear")
    torch.testing.assert_close(linear(y), gelu(y) @ linear.mixing.weight.T + linear.mixing.bias)
    nothing = Readout(4, 4, activation=False, mixing="none")
    assert torch.equal(nothing(y), y)
    assert not list(nothing.parameters())


def test_glu_multiplies_one_half_by_the_gates_of_the_other() -> None:
    torch.manual_seed(0)
    y = torch.randn(2, 3, 4)
    gated = Readout(4, 5, activation=False, mixing="glu")
    both = y @ gated.mixing[0].weight.T + gated.mixing[0].bias
    assert gated(y).shape == (2, 3, 5)
    torch.testing.assert_close(gated(y), both[..., :5] / (1 + torch.exp(-both[..., 5:])))
