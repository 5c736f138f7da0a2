"""Report draws: of the stages that compute it imports records and tables, and no function."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import nerode.report

COMPUTING = ("nerode.algebra", "nerode.verdict", "nerode.proofs", "nerode.kernel")


def _imported() -> set[tuple[str, str]]:
    found = set()
    for path in Path(nerode.report.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(COMPUTING):
                found |= {(str(node.module), alias.name) for alias in node.names}
    return found


def test_report_imports_records_only() -> None:
    imported = _imported()
    assert ("nerode.verdict", "VerdictTable") in imported
    functions = [
        f"{module}.{name}"
        for module, name in sorted(imported)
        if inspect.isroutine(getattr(importlib.import_module(module), name))
    ]
    assert functions == []
