from __future__ import annotations

import pytest
import torch

from nerode.models.parts.precision import as_complex, widened


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bits_become_32(dtype: torch.dtype) -> None:
    values = torch.tensor([[1.5, -2.0]], dtype=dtype)
    assert widened(values).dtype == torch.float32
    assert as_complex(values).tolist() == [1.5 - 2j]
    assert as_complex(values).dtype == torch.complex64


def test_others_stay() -> None:
    values = torch.rand(3, 2, dtype=torch.float64)
    assert widened(values) is values
    assert as_complex(values).dtype == torch.complex128
