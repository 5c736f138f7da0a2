"""Features in heads: norms and block maps against plain formulas."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from nerode.core import InputError
from nerode.models.base import require_positive
from nerode.models.parts.linear_attention import (
    BlockLinear,
    HeadNorm,
    require_divisible,
    split_heads,
)


def test_heads_are_neighbouring_features() -> None:
    x = torch.arange(12.0).reshape(2, 6)
    assert split_heads(x, 3)[1].tolist() == [[6, 7], [8, 9], [10, 11]]


def test_a_layer_norm_of_heads_is_a_group_norm() -> None:
    norm = HeadNorm(3, 12, "layer", bias=True)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    x = torch.randn(5, 12)
    expected = torch.nn.functional.group_norm(x, 3, norm.weight, norm.bias)
    torch.testing.assert_close(norm(split_heads(x, 3)), expected)


def test_an_rms_norm_makes_mean_squares_one() -> None:
    y = HeadNorm(2, 6, "rms", eps=0.0)(torch.randn(4, 2, 3))
    torch.testing.assert_close(split_heads(y, 2).square().mean(-1), torch.ones(4, 2))


def test_no_norm_has_no_weights() -> None:
    norm = HeadNorm(2, 6, "none", bias=True)
    x = torch.randn(4, 2, 3)
    assert torch.equal(norm(x), x.flatten(-2))
    assert not list(norm.parameters())


def test_a_block_map_is_a_block_diagonal_matrix() -> None:
    part = BlockLinear(6, 2)
    matrix = torch.block_diag(*part.weight)
    x = torch.randn(3, 4, 6)
    torch.testing.assert_close(part(x), x @ matrix.T)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="heads is 0"):
        require_divisible("keys", 4, 0)
    with pytest.raises(InputError, match="5 keys cannot be shared by 2 heads"):
        require_divisible("keys", 5, 2)
    with pytest.raises(InputError, match="blocks of 4"):
        BlockLinear(6, 4)
    with pytest.raises(InputError, match="size is -1"):
        require_positive(SimpleNamespace(other=None, size=-1), "other", "size")
