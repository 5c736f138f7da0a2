"""The norm over time against mean and variance of everything so far."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.models.parts.timestep_norm import TimestepNorm


def norm(groups: int = 2) -> TimestepNorm:
    torch.manual_seed(0)
    made = TimestepNorm(6, groups).double()
    torch.nn.init.normal_(made.weight)
    torch.nn.init.normal_(made.bias)
    return made


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_mean_and_variance_of_the_past(offset: float) -> None:
    layer = norm()
    x = torch.randn(2, 9, 6, dtype=torch.float64) + offset
    y, count, mean, variance = layer(x, *layer.initial_state(2))
    assert count.tolist() == [9, 9]
    for t in range(9):
        for group in range(2):
            part = slice(3 * group, 3 * group + 3)
            past = x[:, : t + 1, part].reshape(2, -1).numpy()
            scaled = (x[:, t, part].numpy() - past.mean(1)[:, None]) / np.sqrt(past.var(1) + 1e-5)[:, None]
            wanted = scaled * layer.weight[part].detach().numpy() + layer.bias[part].detach().numpy()
            np.testing.assert_allclose(y[:, t, part].detach(), wanted, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(mean[:, 1], x[:, :, 3:].reshape(2, -1).mean(1), rtol=1e-12)
    np.testing.assert_allclose(variance[:, 1], past.var(1), rtol=1e-8)


def test_rows_of_a_batch_may_have_seen_different_numbers_of_positions() -> None:
    layer = norm(1)
    x = torch.randn(1, 7, 6, dtype=torch.float64)
    whole = layer(x, *layer.initial_state(1))[0]
    states = [layer(x[:, :k], *layer.initial_state(1))[1:] for k in (2, 4)]
    joined = [torch.cat(parts) for parts in zip(*states, strict=True)]
    y = layer(torch.cat([x[:, 2:5], x[:, 4:7]]), *joined)[0]
    torch.testing.assert_close(y, torch.cat([whole[:, 2:5], whole[:, 4:7]]), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("groups", [0, 4, 6])
def test_groups_have_two_features_or_more(groups: int) -> None:
    with pytest.raises(InputError, match="groups"):
        TimestepNorm(6, groups)
