"""Real architectures that do a language: right at every length, bit for bit, in the format they run in."""

from __future__ import annotations

import pytest
import torch

from nerode.core import Budget, NotCompilable
from nerode.languages.bestiary import find_language
from nerode.models import find_kind
from nerode.proofs.find.closure import certify_module
from nerode.proofs.floats import make_architecture


def certified_length(name: str, architecture: str, dtype: str) -> int | str:
    language = find_language(name)
    model = make_architecture(language, architecture, dtype=getattr(torch, dtype), seconds=0).model
    assert all(layer.resolve()[0] is find_kind(architecture) for layer in model.config.layers)
    return certify_module(
        model,
        language,
        dtype=dtype,
        decode=lambda scores: scores > 0.5,
        empty=language.legal(language.initial()),
        budget=Budget(seconds=120),
    ).length


@pytest.mark.parametrize(
    ("name", "architecture", "dtype"),
    [
        ("tomita-4", "mamba", "float64"),
        ("tomita-4", "mamba", "float32"),
        ("tomita-4", "mamba", "float16"),
        pytest.param("tomita-4", "hgrn2", "bfloat16", marks=pytest.mark.slow),
        ("tomita-4", "griffin", "float32"),
        ("tomita-4", "gla", "float32"),
        ("tomita-4", "mlstm", "float32"),
        pytest.param("contains-abaab", "mamba", "float16", marks=pytest.mark.slow),
        pytest.param("dyck-2-5", "griffin", "bfloat16", marks=pytest.mark.slow),
        pytest.param("dyck-2-5", "mamba", "float32", marks=pytest.mark.slow),
        pytest.param("subsequence-abcdefgh", "mamba-2", "float32", marks=pytest.mark.slow),
        ("tomita-3", "deltanet-signed", "float32"),
        ("parity", "mamba-signed", "float32"),
        pytest.param("s3", "deltaproduct-signed", "bfloat16", marks=pytest.mark.slow),
        pytest.param("d-12", "gla", "float16", marks=pytest.mark.slow),
        ("flip-flop", "lstm", "float32"),
        ("tomita-3", "gru", "float16"),
    ],
)
def test_right_at_every_length(name, architecture, dtype):
    assert certified_length(name, architecture, dtype) == "all"


def test_what_an_architecture_cannot_do_is_refused():
    with pytest.raises(NotCompilable, match="star-free"):
        make_architecture(find_language("parity"), "mamba", seconds=0)
