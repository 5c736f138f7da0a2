"""Scans in chunks are the plain loops: odd lengths, signs, zeros, several writes, gradients, 16 bits."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from nerode.models.kernels import matrix_scan
from nerode.models.kernels.matrix_scan import (
    decay_in_chunks,
    decay_scan_reference,
    delta_in_chunks,
    delta_scan_reference,
)

Tensors = tuple[Any, ...]


def decays(time: int, *, vector: bool, signed: bool, dtype: torch.dtype = torch.float64) -> Tensors:
    torch.manual_seed(time)
    q, k = torch.randn(2, 2, time, 3, 5, dtype=dtype)
    v, start = torch.randn(2, time, 3, 4, dtype=dtype), torch.randn(2, 3, 5, 4, dtype=dtype)
    decay = torch.rand(2, time, 3, 5, dtype=dtype) * (2 if signed else 1) - (1 if signed else 0)
    decay[:, ::7] = 0
    return q, k, v, decay if vector else decay[..., 0].clone(), start


def deltas(time: int, writes: int, *, gated: bool, dtype: torch.dtype = torch.float64) -> Tensors:
    torch.manual_seed(time)
    q, start = torch.randn(2, time, 3, 5, dtype=dtype), torch.randn(2, 3, 5, 4, dtype=dtype)
    k = torch.nn.functional.normalize(torch.randn(2, time, writes, 3, 5, dtype=dtype), dim=-1)
    v, beta = torch.randn(2, time, writes, 3, 4, dtype=dtype), 2 * torch.rand(2, time, writes, 3, dtype=dtype)
    return q, k, v, beta, torch.rand(2, time, 3, dtype=dtype) if gated else None, start


def with_gradients(rule: Any, given: Tensors) -> list[Tensor]:
    leaves = [None if x is None else x.clone().requires_grad_() for x in given]
    y, last = rule(*leaves)
    loss = (y * torch.arange(y.numel(), dtype=y.dtype).view_as(y).sin()).sum() + last.square().sum()
    return [y, last, *torch.autograd.grad(loss, [x for x in leaves if x is not None])]


@pytest.mark.parametrize("time", [1, 16, 33, 70])
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("signed", [False, True])
def test_decays(time: int, vector: bool, signed: bool) -> None:
    given = decays(time, vector=vector, signed=signed)
    torch.testing.assert_close(
        with_gradients(decay_in_chunks, given), with_gradients(decay_scan_reference, given)
    )


@pytest.mark.parametrize("time", [1, 16, 33, 70])
@pytest.mark.parametrize("writes", [1, 2, 3])
@pytest.mark.parametrize("gated", [False, True])
def test_the_delta_rule(time: int, writes: int, gated: bool) -> None:
    given = deltas(time, writes, gated=gated)
    torch.testing.assert_close(
        with_gradients(delta_in_chunks, given), with_gradients(delta_scan_reference, given)
    )


def test_whole_numbers_are_exact_in_float32() -> None:
    q, k, v = torch.randint(-2, 3, (3, 1, 50, 2, 4)).float()
    decay = torch.randint(-1, 2, (1, 50, 2)).float()
    start = torch.randint(-2, 3, (1, 2, 4, 4)).float()
    for form in (decay, decay[..., None].expand(-1, -1, -1, 4).contiguous()):
        for ours, plain in zip(
            decay_in_chunks(q, k, v, form, start), decay_scan_reference(q, k, v, form, start), strict=True
        ):
            assert torch.equal(ours, plain)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("rule", ["decay", "delta"])
def test_training_without_a_kernel_goes_in_chunks_and_reading_does_not(
    rule: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_scan, "runs_natively", lambda *tensors: False)
    if rule == "decay":
        given = decays(40, vector=False, signed=True, dtype=dtype)
        scan, plain, chunked = matrix_scan.decay_scan, decay_scan_reference, decay_in_chunks
    else:
        given = deltas(40, 2, gated=True, dtype=dtype)
        scan, plain, chunked = matrix_scan.delta_scan, delta_scan_reference, delta_in_chunks
    read, _ = scan(*given)
    assert torch.equal(read, plain(*given)[0])
    trained, _ = scan(given[0].requires_grad_(), *given[1:])
    assert torch.equal(trained, (chunked if dtype == torch.float64 else plain)(*given)[0])


@pytest.mark.parametrize("rule", ["decay", "delta"])
def test_sixteen_bits_in_chunks_are_no_coarser_than_step_by_step(rule: str) -> None:
    if rule == "decay":
        given = decays(40, vector=False, signed=True, dtype=torch.bfloat16)
        plain, chunked = decay_scan_reference, decay_in_chunks
    else:
        given = deltas(40, 2, gated=True, dtype=torch.bfloat16)
        plain, chunked = delta_scan_reference, delta_in_chunks
    exact, found = plain(*(x.double() for x in given))[0], chunked(*given)[0]
    assert found.dtype == torch.bfloat16
    assert (found - exact).abs().max() <= 2 * (plain(*given)[0] - exact).abs().max()


def test_fla_is_called_with_logarithms_where_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """fla itself runs on GPUs only; here its place is taken by the loops."""
    called = []

    def decay(name: str) -> Any:
        def rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, **options: Any) -> tuple[Tensor, Tensor]:
            called.append(name)
            assert options["scale"] == 1
            assert options["output_final_state"]
            return decay_scan_reference(q, k, v, g.exp(), options["initial_state"])

        return rule

    def delta(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, **options: Any) -> Any:
        called.append("delta")
        tall = k[:, :, None], v[:, :, None], beta[:, :, None]
        return delta_scan_reference(q, *tall, g.exp(), options["initial_state"])

    rules = {
        "simple_gla": {"chunk_simple_gla": decay("scalar")},
        "gla": {"chunk_gla": decay("vector")},
        "gated_delta_rule": {"chunk_gated_delta_rule": delta},
    }
    for name, functions in rules.items():
        module = ModuleType(f"fla.ops.{name}")
        vars(module).update(functions)
        monkeypatch.setitem(sys.modules, f"fla.ops.{name}", module)
    monkeypatch.setattr(matrix_scan, "_on_cuda", lambda x: True)
    monkeypatch.setattr(matrix_scan.importlib.util, "find_spec", lambda name: object())
    for vector in (False, True):
        q, k, v, gate, start = decays(20, vector=vector, signed=False, dtype=torch.bfloat16)
        decay_in_chunks(q, k, v, gate.clamp_min(0.1), start)
        decay_in_chunks(q, k, v, gate, start)
    for writes in (1, 2):
        *given, gate, start = deltas(20, writes, gated=True, dtype=torch.bfloat16)
        delta_in_chunks(*given, gate.clamp_min(0.1), start)
    assert called == ["scalar", "vector", "delta"]
