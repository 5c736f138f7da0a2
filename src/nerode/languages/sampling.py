"""Counting words by length, and drawing them uniformly."""

from __future__ import annotations

import numpy as np

from nerode.core.errors import InputError
from nerode.languages.alphabet import Word
from nerode.languages.dfa import Dfa


def sample_accepted(dfa: Dfa, length: int, rng: np.random.Generator) -> Word:
    """Returns a uniformly random accepted word of exactly this length."""
    raise InputError("being written")
