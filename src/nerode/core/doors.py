"""Doors of stages that load a module when one of its names is used.

The door of a large stage would load all of it for whoever needs one name: `nerode check` needs neither the
compiler nor the figures. A lazy door lists its imports under `if TYPE_CHECKING:`, where type checkers and the
import contracts read them, and ends with

    __getattr__, __dir__ = lazy_door(__name__, __file__)

which reads the same list from the file, so that every name stands there once.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazy_door(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` of a package whose imports stand under `if TYPE_CHECKING:`.

    Args:
        package: `__name__` of the package.
        file: `__file__` of the package.
    """
    homes = _listed_imports(Path(file).read_text(encoding="utf-8"))

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(homes)


def _listed_imports(source: str) -> dict[str, str]:
    """Returns the names that a door imports for type checkers, each with its module."""
    blocks = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in imports if node.module for alias in node.names}
