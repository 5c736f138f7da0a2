"""Late loading: the names behind lazy doors, optional packages, drawings for notebooks.

The door of a large stage would load all of it for whoever needs one name: `nerode check` needs neither the
compiler nor the figures. A lazy door lists its imports under `if TYPE_CHECKING:`, where type checkers and the
import contracts read them, and once more in the table that it gives to `attach` (PEP 562). A test compares.

An optional package that is missing gets one sentence (`MissingExtra`), from one table.

A value with a rich display is `Shown`. The drawings are made in `report`, which is on top of everything; core
only knows that there are some: the package `nerode` names them, and they are loaded when a notebook first
asks. A value whose drawing fails is shown as text, with a warning that says why.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from nerode.core.errors import InputError

EXTRAS = {
    "torch": "torch",
    "jaxtyping": "torch",
    "safetensors": "torch",
    "onnx": "onnx",
    "ray": "ray",
    "submitit": "slurm",
    "tensorboard": "tensorboard",
    "wandb": "wandb",
    "matplotlib": "plots",
    "pandas": "frames",
    "starlette": "explore",
    "uvicorn": "explore",
}
"""Packages that are not always installed, with the extra of nerode that brings each."""


class MissingExtra(InputError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, *, hint: str = "") -> None:
        self.package = package
        super().__init__(
            f"this needs {package}: pip install 'nerode[{EXTRAS[package]}]'{'; ' + hint if hint else ''}"
        )


def missing_extra(error: ImportError) -> MissingExtra | None:
    """Returns the error to tell the user if an optional package is behind a failed import, None otherwise."""
    package = (error.name or "").partition(".")[0]
    return MissingExtra(package) if isinstance(error, ModuleNotFoundError) and package in EXTRAS else None


def load_extra(module: str, *, hint: str = "") -> ModuleType:
    """Returns a module of an optional package.

    Args:
        module: its full name.
        hint: what can be done without it.

    Raises:
        MissingExtra: if the package, or another optional one that it imports, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        raise MissingExtra(missing.package, hint=hint) from None


def to_frame(columns: Mapping[str, Sequence[object]]) -> Any:
    """Returns columns as a `pandas.DataFrame`.

    Raises:
        MissingExtra: if pandas is not installed.
    """
    pandas = load_extra("pandas", hint="columns() gives the same as plain lists")
    return pandas.DataFrame({name: list(values) for name, values in columns.items()})


def attach(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns `__getattr__`, `__dir__`, `__all__` of a package whose names are loaded when they are used.

    Args:
        package: `__name__` of the package.
        homes: modules, each with the names that it has, separated by spaces.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(importlib.import_module(home[name]), name)
        except ModuleNotFoundError as error:
            raise missing_extra(error) or error from None
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(home), sorted(home)


Draw = Callable[[object], str | None]


class Displays(NamedTuple):
    """Functions that draw any value, None where a value has no such drawing; and other forms by name."""

    html: Draw
    svg: Draw
    forms: Mapping[str, Callable[..., Any]] = MappingProxyType({})


def _of_package() -> Displays:
    """The displays of the package, asked for each time, so that the kernel can be imported alone."""
    found: Displays = sys.modules["nerode"]._displays()
    return found


_load: Callable[[], Displays] = _of_package


def in_form(name: str, value: object, **options: Any) -> Any:
    """Returns a value in a form that a later stage makes: "regex", "ltl", "monoid" or "draw"."""
    return _load().forms[name](value, **options)


class Shown:
    """A value with a rich display."""

    __slots__ = ()

    def shown(self) -> tuple[Sequence[str] | Mapping[str, Any], Shown | None]:
        """Returns sentences, or a plain answer, and the value whose picture stands under them."""
        return (), None

    def _repr_html_(self) -> str | None:
        """Returns what a notebook shows, None for plain text."""
        return _drawn("html", self)

    def _repr_svg_(self) -> str | None:
        """Returns a picture of the value alone, None if there is none."""
        return _drawn("svg", self)


def _drawn(form: str, value: Shown) -> str | None:
    try:
        draw: Draw = getattr(_load(), form)
        return draw(value)
    except Exception as error:
        warnings.warn(
            f"this {type(value).__name__} is shown as text, because drawing it failed: {error!r}",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
