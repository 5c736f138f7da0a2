"""Checks of the lengths that settings of tasks give, and the positions that count."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from nerode.core import InputError

Labels = Literal["all", "last"]
"""An answer at each position where one is defined, or one at the end."""


def require_range(shortest: int, longest: int, *, least: int = 1) -> None:
    """Raises InputError unless the lengths of training are a range from `least` on."""
    if not least <= shortest <= longest:
        raise InputError(f"lengths from {shortest} to {longest} are not a range from {least} on")


def counted(labels: Labels, count: int, length: int) -> npt.NDArray[np.bool_]:
    """Returns the mask of all positions, or of the last."""
    mask = np.full((count, length), labels == "all", dtype=np.bool_)
    mask[:, -1] = True
    return mask
