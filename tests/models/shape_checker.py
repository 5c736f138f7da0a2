"""A small checker of types for jaxtyping: tensors have the axes that signatures say; all else passes."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from jaxtyping import AbstractArray

checked: set[str] = set()
"""The functions that were called with at least one tensor whose axes are annotated."""


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function with a look at what it is given and at what it returns."""
    signature = inspect.signature(function)
    hints = functools.cache(lambda: typing.get_type_hints(function))

    @functools.wraps(function)
    def checking(*arguments: Any, **options: Any) -> Any:
        given = signature.bind(*arguments, **options).arguments
        for name, value in given.items():
            _require(function, name, value, hints().get(name))
        result = function(*arguments, **options)
        _require(function, "return", result, hints().get("return"))
        return result

    return checking


def _require(function: Callable[..., Any], name: str, value: Any, wanted: Any) -> None:
    if not _is(value, wanted):
        raise TypeError(f"{function.__module__}.{function.__qualname__}: {name} is not {wanted}")
    if "jaxtyping" in str(wanted):
        checked.add(f"{function.__module__}.{function.__qualname__}")


def _is(value: Any, wanted: Any) -> bool:
    parts = typing.get_args(wanted)
    match typing.get_origin(wanted):
        case typing.Union | types.UnionType:
            return any(_is(value, part) for part in parts)
        case builtin if builtin is tuple and Ellipsis not in parts:
            return len(value) == len(parts) and all(map(_is, value, parts))
    if wanted is type(None):
        return value is None
    if isinstance(wanted, type) and issubclass(wanted, AbstractArray):
        return isinstance(value, wanted)
    return True
