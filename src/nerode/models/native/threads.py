"""The number of threads that kernels use, and a region in which nothing depends on that number.

torch cuts an operation into as many parts as it has threads. Where a part ends, the last numbers are computed
by other instructions than the rest, and sums have another order: silu, sigmoid, gelu, products of complex
numbers, sums and matrix products differ in their last bits between two and three threads. So in a region of
`fixed_bits` each operation of torch runs on one thread. Threads are for the kernels of this project, whose
parts are fixed, and for parts of a batch, which are fixed too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_region = threading.local()


def num_threads() -> int:
    """Returns how many threads this one may use, itself included; as many as torch outside of a region."""
    wanted: int | None = getattr(_region, "threads", None)
    return torch.get_num_threads() if wanted is None else wanted


@contextmanager
def fixed_bits(threads: int) -> Iterator[None]:
    """Has torch's operations run on one thread for a while, and the kernels on so many."""
    before = torch.get_num_threads()
    with share_threads(threads):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@contextmanager
def share_threads(threads: int) -> Iterator[None]:
    """Has the kernels that this thread calls use so many threads, in a region that another one has begun."""
    outside: int | None = getattr(_region, "threads", None)
    _region.threads = threads
    try:
        yield
    finally:
        _region.threads = outside
