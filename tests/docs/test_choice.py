"""What the page on choosing an architecture says is what the theorem table says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nerode.languages import resolve_language
from nerode.verdict import decide

PAGE = (Path(__file__).parents[2] / "docs" / "which-architecture.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| you need")
]
NAMES = {
    "SSM of the n-gram paper": "ssm",
    "Mamba with signed gates": "mamba-signed",
    "DeltaNet with β in [0,2]": "deltanet-signed",
    "DeltaProduct with β in [0,2]": "deltaproduct-signed",
    "complex-diagonal SSM": "complex-diagonal",
    "Mamba, several layers": "mamba",
    "RWKV-7 with the removal doubled": "rwkv-7-signed",
    "Elman": "elman-tanh",
    "tanh-RNN": "elman-tanh",
}
REAL_DIAGONAL = ["mamba", "gla", "griffin", "hgrn2", "mamba-signed"]
TIME_INVARIANT = ["s4d", "s4", "lru", "ssm"]
NEGATIVE = {
    "time-invariant layers (with rational angles)": ("no", TIME_INVARIANT),
    "gates in [0,1]; time-invariant layers": ("no", ["mamba", "gla", "griffin", "hgrn2", *TIME_INVARIANT]),
    "real diagonal gates, unless n is a power of two": ("no", REAL_DIAGONAL),
    "real diagonal gates": ("no", REAL_DIAGONAL),
    "every diagonal layer, transformers (unless TC⁰ = NC¹)": (
        "no",
        [*REAL_DIAGONAL, "complex-diagonal", "transformer", "transformer-nope"],
    ),
    "GRU, tanh-RNN, RetNet": ("no", ["gru", "elman-tanh", "retnet"]),
    "every linear recurrence that has to remember": ("no", ["mamba", "s4d", "deltanet-signed", "ids4"]),
}
LANGUAGES = [
    *("(a|b)*abb", "flip-flop", "tomita-7", "dyck-2-5", "parity"),
    *("z6", "s3", "s5", "dyck-1", "parity"),
]


@pytest.mark.parametrize(("row", "language"), list(zip(ROWS, LANGUAGES, strict=True)))
def test_a_row_of_the_page(row: list[str], language: str) -> None:
    need, _, examples, cannot = row
    sense = "robust" if "noise" in need else "finite-precision"
    table = decide(resolve_language(language))
    whole = examples if examples in NAMES else ""
    for title in [whole] if whole else re.split(r", (?![0-9])", examples):
        name = NAMES.get(title, title.lower())
        assert table[name, sense].status == "yes", f"{language} on {name}"
    if cannot == "–":
        return
    wanted, names = NEGATIVE[cannot]
    for name in names:
        assert table[name, sense].status == wanted, f"{language} on {name}"


def test_the_page_says_how_mamba_counts() -> None:
    assert decide(resolve_language("dyck-1"))["mamba"].theorem == "counters-slow-decay"
    assert "e^a" in PAGE
