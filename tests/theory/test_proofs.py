"""Every row that is derived here has its proof in the documents, and the polygons of the floats turn."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from nerode.verdict.records import Provenance
from nerode.verdict.theorems import THEOREMS
from nerode.verdict.theorems.floats import is_permuted, turns_exactly

THEORY = Path(__file__).parents[2] / "docs" / "theory"


def test_every_derived_row_has_its_proof() -> None:
    headings = {
        word
        for page in THEORY.glob("*.md")
        for heading in re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        for word in heading.replace(",", " ").split()
    }
    derived = [row.name for row in THEOREMS.values() if row.provenance is Provenance.DERIVED]
    assert len(derived) > 25
    assert not [name for name in derived if name not in headings]


def test_subnormal_polygons_turn_in_numpy_floats() -> None:
    least = np.float32(2.0**-149)
    for m, radius in ((3, 12), (5, 23), (7, 484)):
        assert is_permuted(m, radius, 24)
        angles = 2 * np.pi * np.arange(m) / m
        corners = [(round(radius * np.cos(a)), round(radius * np.sin(a))) for a in angles]
        for j in range(m):
            c, s = np.float32(np.cos(angles[j])), np.float32(np.sin(angles[j]))
            for i, (x, y) in enumerate(corners):
                a, b = np.float32(x) * least, np.float32(y) * least
                turned = (np.float32(c * a) - np.float32(s * b), np.float32(s * a) + np.float32(c * b))
                wanted = corners[(i + j) % m]
                assert turned == (np.float32(wanted[0]) * least, np.float32(wanted[1]) * least)


def test_a_polygon_that_does_not_turn_is_refused() -> None:
    assert not is_permuted(3, 13, 24)
    assert not is_permuted(7, 484, 8)
    assert turns_exactly(12, "float32")
    assert turns_exactly(60, "bfloat16")
    assert not turns_exactly(13, "float32")
