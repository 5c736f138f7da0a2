"""Norms of whole sequences against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nerode.models.kernels import norms
from nerode.models.kernels.norms import CentredNorm, ScaledNorm, norm
from tests.models.kernels.agreement import (
    assert_agrees,
    assert_gradients_are_derivatives,
    assert_layout_does_not_matter,
    assert_threads_do_not_matter,
    generator,
)

SHAPES = ((1, 1, 1), (3, 7, 5), (2, 300, 17), (5, 259, 64))
EPSILON = 1e-5


def tensors(shape: tuple[int, ...], dtype: torch.dtype) -> list[Tensor]:
    source = generator()
    sizes = shape, shape[-1:], shape[-1:]
    return [torch.randn(size, generator=source, dtype=dtype) for size in sizes]


def centred(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor]:
    return (norm(x, weight, bias, EPSILON, centred=True),)


def scaled(x: Tensor, weight: Tensor) -> tuple[Tensor]:
    return (norm(x, weight, None, EPSILON, centred=False),)


def plain_centred(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor]:
    return (nn.functional.layer_norm(x, weight.shape, weight, bias, EPSILON),)


def plain_scaled(x: Tensor, weight: Tensor) -> tuple[Tensor]:
    return (nn.functional.rms_norm(x, weight.shape, weight, EPSILON),)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernel_is_the_norm(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    given = tensors(shape, dtype)
    assert_agrees(centred, plain_centred, given)
    assert_agrees(scaled, plain_scaled, given[:2])


def test_gradients_are_derivatives() -> None:
    given = tensors((2, 3, 4), torch.float64)
    assert_gradients_are_derivatives(centred, given)
    assert_gradients_are_derivatives(scaled, given[:2])


@pytest.mark.parametrize("shape", SHAPES)
def test_neither_layout_nor_threads_matter(shape: tuple[int, ...]) -> None:
    given = tensors(shape, torch.float32)
    assert_layout_does_not_matter(centred, given)
    assert_threads_do_not_matter(centred, given)
    assert_threads_do_not_matter(scaled, given[:2])


def test_the_modules_are_those_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(3, 20, 8, dtype=torch.float64, generator=generator())
    for ours, theirs in ((CentredNorm(8), nn.LayerNorm(8)), (ScaledNorm(8), nn.RMSNorm(8))):
        for least in (0, 10**9):
            monkeypatch.setattr(norms, "WORTH_A_CALL", least)
            torch.testing.assert_close(ours.double()(x), theirs.double()(x))
            torch.testing.assert_close(ours(x[0]), theirs(x[0]))
