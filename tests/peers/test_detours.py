"""Inside the block there is no float32; after it, all is as before."""

from __future__ import annotations

import pytest
import torch

from tests.peers.comparison import keep_float64


def test_every_way_to_float32_leads_to_float64() -> None:
    x = torch.ones(2, dtype=torch.float64)
    narrow = torch.float32
    with keep_float64():
        found = [
            x.float(),
            x.to(narrow),
            x.to(dtype=narrow),
            x.type(narrow),
            x.to(torch.float32),
            torch.zeros(1),
            torch.zeros(1, dtype=torch.float),
        ]
    assert {tensor.dtype for tensor in found} == {torch.float64}


def test_afterwards_all_is_as_before() -> None:
    methods = torch.Tensor.float, torch.Tensor.to, torch.Tensor.type
    names = torch.float32, torch.float
    with pytest.raises(KeyError), keep_float64():
        raise KeyError
    assert (torch.Tensor.float, torch.Tensor.to, torch.Tensor.type) == methods
    assert (torch.float32, torch.float) == names
    assert torch.zeros(1).dtype is torch.zeros(1).double().float().dtype is torch.float32
