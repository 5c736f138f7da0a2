"""The table of float formats agrees with torch."""

from __future__ import annotations

import math

import pytest
import torch

from nerode.core import DTYPES


@pytest.mark.parametrize("name", DTYPES)
def test_a_format_is_the_one_of_torch(name: str) -> None:
    info, form = torch.finfo(getattr(torch, name)), DTYPES[name]
    assert info.eps == 2.0 ** (1 - form.bits)
    assert info.smallest_normal == 2.0**form.smallest
    assert math.frexp(info.max)[1] - 1 == form.largest
