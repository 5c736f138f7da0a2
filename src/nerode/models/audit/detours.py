"""Peers without their detours through float32.

Several libraries turn parts of a computation into float32, whatever the type of the weights. That is wise for
16-bit floats, but loses half the digits of float64. Without the detours one sees whether anything else
differs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor


@contextlib.contextmanager
def keep_float64() -> Iterator[None]:
    """Makes every request for float32 one for float64, in this process, until the block ends.

    This covers `.float()`, `.to(torch.float32)`, `.type(torch.float32)`, new tensors of the default type, and
    the names `torch.float32` and `torch.float` where they are looked up inside the block.
    """
    narrow, wide = torch.float32, torch.float64
    methods = {name: getattr(Tensor, name) for name in ("float", "to", "type")}
    default = torch.get_default_dtype()

    def widened(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(tensor: Tensor, *arguments: Any, **options: Any) -> Any:
            arguments = tuple(wide if given is narrow else given for given in arguments)
            options = {name: wide if given is narrow else given for name, given in options.items()}
            return method(tensor, *arguments, **options)

        return call

    try:
        _set(torch, float32=wide, float=wide)
        _set(Tensor, float=Tensor.double, to=widened(methods["to"]), type=widened(methods["type"]))
        torch.set_default_dtype(wide)
        yield
    finally:
        _set(torch, float32=narrow, float=narrow)
        _set(Tensor, **methods)
        torch.set_default_dtype(default)


def _set(owner: object, **values: object) -> None:
    for name, value in values.items():
        setattr(owner, name, value)
