"""Calls from torch tensors into the native library, and the number of threads that kernels use.

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
from contextvars import ContextVar
from ctypes import c_int64
from typing import Any

import torch
from torch import Tensor

from nerode.models.native.library import library

_REAL = (torch.float32, torch.float64)
_COMPLEX = (torch.complex64, torch.complex128)
_ENDINGS = {dtype: f"_{str(dtype).removeprefix('torch.')}" for dtype in (*_REAL, *_COMPLEX)}
"""The ends of the names of kernels."""


def runs_natively(*tensors: Tensor | None, complex_too: bool = False) -> bool:
    """Whether a native kernel takes these tensors: all on the CPU, all float32 or all float64.

    Anything else (a GPU, low precision, no library) takes the plain torch reference. On GPUs that path has
    not been measured.
    """
    given = [tensor for tensor in tensors if tensor is not None]
    dtype = given[0].dtype
    fits = dtype in _REAL or (complex_too and dtype in _COMPLEX)
    same = all(tensor.device.type == "cpu" and tensor.dtype == dtype for tensor in given)
    return fits and same and library() is not None


def dense(tensor: Tensor) -> Tensor:
    """The same values laid out row by row, with nothing (conjugation, sign) left to be applied."""
    return tensor.resolve_conj().resolve_neg().contiguous()


def apply(function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """Returns the value of a differentiable function on these arguments."""
    if not torch._C._are_functorch_transforms_active():
        # Straight to the engine: torch would bind the arguments by name first, which takes time.
        return super(torch.autograd.Function, function).apply(*arguments)  # type: ignore[misc]
    return function.apply(*arguments)  # type: ignore[no-untyped-call]


def call(kernel: str, *arguments: Tensor | int | None) -> None:
    """Calls a kernel; tensors become pointers, integers 64-bit integers, None a null pointer.

    The name of the first tensor's dtype completes the kernel's name, and the number of threads is the last
    argument.
    """
    found = library()
    first = arguments[0]
    if found is None or not isinstance(first, Tensor):
        raise RuntimeError("native kernels are called on tensors, after `runs_natively`")
    function = getattr(found, kernel + _ENDINGS[first.dtype])
    # Plain loops over exact classes: with the caches full of the last kernel's numbers, Python is slow here.
    given = [
        c_int64(x)
        if x.__class__ is int or x.__class__ is bool
        else c_int64(x.data_ptr() if x is not None else 0)  # type: ignore[union-attr]
        for x in arguments
    ]
    outcome = function(*given, c_int64(num_threads()))
    if outcome:
        raise MemoryError(f"no memory for the scratch space of {kernel}; use a smaller batch")


_coarse: ContextVar[bool] = ContextVar("coarse products", default=False)


@contextmanager
def coarse_products(on: bool = True) -> Iterator[None]:
    """Has linear maps, LSTM cells and attention multiply in bfloat16 for a while, where torch has that.

    Sums stay in float32, and weights and what comes out do; a step of training takes other numbers than
    without. For training alone: nothing is proved or tested in this way.
    """
    token = _coarse.set(on)
    try:
        yield
    finally:
        _coarse.reset(token)


def multiplies_coarsely(*tensors: Tensor | None) -> bool:
    """Whether products of these tensors are to be made in bfloat16: float32 ones, in such a region."""
    return _coarse.get() and all(x is None or x.dtype == torch.float32 for x in tensors)


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
