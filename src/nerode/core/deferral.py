"""Parts of torch that its own start imports and that running a network does not use, put off.

`import torch` also imports what torch.compile and torch.export need: functions that tell shapes without
numbers, for the device "meta", and all of torch.export. With torch.distributions that is a quarter of its
time. None of them computes what a layer does on a CPU. An attribute of such a module loads it; so does the
import of a package that relies on it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_PUT_OFF = ("torch._meta_registrations", "torch.distributions", "torch.export")
_RELY = ("torch._dynamo", "torch._inductor", "torch._functorch.aot_autograd", "torch.onnx", "transformers")
"""Packages that use shapes without numbers, and do not say so by an attribute."""


class _Unloaded(Loader):
    """Loads a module when one of its attributes is first read."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Returns None, for an empty module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Puts a function in the place of all attributes."""

        def first(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            _load(module)
            return getattr(module, name)

        module.__getattr__ = first  # type: ignore[method-assign]


def _load(module: ModuleType) -> None:
    """Runs the code of a module that was put off."""
    assert module.__spec__ is not None
    loader = module.__spec__.loader
    if isinstance(loader, _Unloaded):
        del module.__getattr__
        module.__spec__.loader = module.__loader__ = loader.loader
        loader.loader.exec_module(module)


class _Deferral(MetaPathFinder):
    """Finds the modules that are put off, until a package relies on them."""

    over = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns a module that loads later; None for all others."""
        if name in _RELY and not self.over:
            self.over = True
            for own in _PUT_OFF:
                if own in sys.modules:
                    _load(sys.modules[own])
        found = PathFinder.find_spec(name, path, target) if name in _PUT_OFF and not self.over else None
        if found is not None and found.loader is not None:
            found.loader = _Unloaded(found.loader)
        return found


def defer_registrations() -> None:
    """Has the next `import torch` of this process leave out what a network on a CPU does not need."""
    if "torch" not in sys.modules and not any(isinstance(finder, _Deferral) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Deferral())
