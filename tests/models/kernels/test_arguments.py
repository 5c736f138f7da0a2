"""Cells with an axis of members, and under torch.vmap, against the same cells one by one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from tests.models.kernels.agreement import (
    assert_gradients_are_derivatives,
    assert_same_bits,
    assert_threads_do_not_matter,
    outputs_and_gradients,
)
from tests.models.kernels.test_cells import FAST, tensors


def members(name: str, count: int = 3, **sizes: int) -> list[list[Tensor]]:
    given = tensors(name, **{"batch": 4, "time": 6, "hidden": 5, **sizes})
    return [[t + 0.1 * k for t in given] for k in range(count)]


def stacked(each: list[list[Tensor]]) -> list[Tensor]:
    return [torch.stack(ts) for ts in zip(*each, strict=True)]


@pytest.mark.parametrize("name", FAST)
def test_members_are_the_cells_one_by_one(name: str) -> None:
    each = members(name)
    together = FAST[name](*stacked(each))
    for k, member in enumerate(each):
        assert_same_bits([t[k] for t in together], FAST[name](*member))


@pytest.mark.parametrize("name", FAST)
def test_gradients_of_members_are_derivatives(name: str) -> None:
    assert_gradients_are_derivatives(FAST[name], stacked(members(name, 2, batch=1, time=2, hidden=2)))


@pytest.mark.parametrize("name", FAST)
def test_threads_do_not_matter(name: str) -> None:
    fixed = [t.float() for t in stacked(members(name, 5, batch=20, time=20, hidden=30))]
    assert_threads_do_not_matter(lambda x: FAST[name](x, *fixed[1:]), fixed[:1])


@pytest.mark.parametrize("name", FAST)
def test_vmap_maps_over_members(name: str) -> None:
    given = stacked(members(name))
    expected = outputs_and_gradients(FAST[name], given)
    found = outputs_and_gradients(torch.vmap(FAST[name]), given)
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FAST)
def test_vmap_shares_what_is_not_mapped(name: str) -> None:
    given = stacked(members(name))
    shared = [given[0][0], *given[1:]]
    dims = (None, *(0 for _ in given[1:]))
    found = outputs_and_gradients(torch.vmap(FAST[name], in_dims=dims), shared)
    many = outputs_and_gradients(FAST[name], [given[0][:1].expand_as(given[0]), *given[1:]])
    outputs = len(found) - len(given)
    many[outputs] = many[outputs].sum(0)
    for mine, other in zip(found, many, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FAST)
def test_in_low_precision_members_are_computed_one_by_one(name: str) -> None:
    each = [[t.bfloat16() for t in member] for member in members(name)]
    together = FAST[name](*stacked(each))
    for k, member in enumerate(each):
        assert_same_bits([t[k] for t in together], FAST[name](*member))


@pytest.mark.parametrize("name", FAST)
def test_members_that_do_not_fit_are_refused(name: str) -> None:
    good = stacked(members(name))
    for position in range(1, len(good)):
        wrong = list(good)
        wrong[position] = wrong[position][:2]
        with pytest.raises(InputError, match="has the shape"):
            FAST[name](*wrong)
