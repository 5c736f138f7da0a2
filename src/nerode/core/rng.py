"""Named, independent random streams: one seed, one purpose, one generator."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, *purpose: str | int) -> np.random.Generator:
    """Returns the generator that belongs to `seed` and `purpose`.

    The same arguments give the same numbers on every machine and in every order of calls; different
    purposes give independent streams.
    """
    text = "\x1f".join([str(seed), *map(str, purpose)])
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
