"""The nearest of some points, found by ReLU units: what a head can do where a decoder compares products."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from nerode.core import to_complex
from nerode.models.compiled.carriers.forms import Form, combine
from nerode.models.compiled.decoder import legal_table
from nerode.network import PointDecoder


def point_head(decoder: PointDecoder, reads: Sequence[Form], letters: int) -> tuple[list[Form], Tensor]:
    """Returns hidden units, and the rows of the scores over them.

    The product with a point is its squared norm n² there and at most n² - gap at the others. Two units for
    each point make of it 1 above n² - gap/4 and 0 below n² - 3 gap/4.
    """
    points = np.array([[to_complex(e).real for e in point] for point in decoder.points])
    products = points @ points.T
    norm = float(products[0, 0])
    others = products[products < norm - 1e-9 * max(1.0, norm)]
    gap = norm - float(others.max()) if others.size else max(norm, 1.0)
    slope, threshold = 2 / gap, norm - 0.75 * gap
    rising, rows = [], []
    answers = legal_table(decoder.answers, letters).double()
    seen: set[tuple[float, ...]] = set()
    for point, answer in zip(points, answers, strict=True):
        key = tuple(np.round(point, 9) + 0.0)
        if key in seen:
            continue
        seen.add(key)
        parts = [(form, Fraction(slope * e)) for form, e in zip(reads, point.tolist(), strict=True)]
        rising.append(combine(parts, Fraction(-slope * threshold)))
        rows.append(answer)
    down = [form.plus(Form({}, -1)) for form in rising]
    upward = torch.stack(rows, dim=1)
    return [*rising, *down], torch.cat([upward, -upward], dim=1)
