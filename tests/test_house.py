"""The house: stages meet at doors. The measures themselves are those of the tree, not of a run."""

import ast
from pathlib import Path

import nerode

ROOT = Path(nerode.__file__).parent

INNER = {
    "nerode.cli.main": "the entry point of the command line",
    "nerode.network.decoders": "its classes share names with the modules that run them",
    "nerode.network.recurrences": "its classes share names with the modules that run them",
    "nerode.reproduce.measuring.run": "loads torch, which the rest of its stage does not",
}
"""Modules that other stages may import by themselves, with the reason."""


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("nerode", *path.relative_to(ROOT).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _stage(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _imported(tree: ast.AST, modules: dict[str, Path]) -> set[str]:
    """The modules of nerode that a file imports, late imports included."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inner if name in modules and modules[name].name != "__init__.py"}
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name in modules}


def test_stages_import_each_other_through_doors():
    modules = _modules()
    broken = []
    for module, path in modules.items():
        if not _stage(module):
            continue  # the names of the whole package
        for target in _imported(ast.parse(path.read_text()), modules):
            inside = modules[target].name != "__init__.py"
            if inside and _stage(target) != _stage(module) and target not in INNER:
                broken.append(f"{module} imports {target}; import from its package instead")
    assert not broken, "\n".join(sorted(broken))
