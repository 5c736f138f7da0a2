"""Nothing draws by luck: global generators are seeded for each test, own generators are given a seed."""

import ast
import random
from pathlib import Path

import numpy as np
import torch

from tests.conftest import seed_everything

ROOT = Path(__file__).parent.parent

UNSEEDED = {"default_rng", "Random", "RandomState"}
"""Generators that draw from the clock unless they are given a seed."""

DRAWS = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "normal", "choice", "shuffle"}


def _calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _module_level(tree: ast.Module) -> list[ast.Call]:
    """Calls that run when the file is imported, before any test is seeded."""
    return [
        call
        for node in tree.body
        if not isinstance(node, ast.FunctionDef | ast.ClassDef)
        for call in _calls(node)
    ]


def find_unseeded(source: str) -> list[int]:
    """Returns the lines of a file that draw from a generator nobody has seeded."""
    if not any(name in source for name in UNSEEDED | DRAWS):
        return []
    tree = ast.parse(source)
    found = [
        call.lineno for call in _calls(tree) if _name(call) in UNSEEDED and not (call.args or call.keywords)
    ]
    for call in _module_level(tree):
        keywords = {keyword.arg for keyword in call.keywords}
        if _name(call) in DRAWS and "generator" not in keywords and isinstance(call.func, ast.Attribute):
            found.append(call.lineno)
    return sorted(found)


def test_no_file_draws_without_a_seed():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("tests", "src", "benchmarks", "docs")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in find_unseeded(path.read_text())
    ]
    assert not found, f"give these generators a seed: {found}"


def test_the_check_finds_unseeded_draws():
    assert find_unseeded("rng = np.random.default_rng()\n") == [1]
    assert find_unseeded("def test():\n    rng = random.Random()\n") == [2]
    assert find_unseeded("X = torch.randn(3)\n") == [1]
    assert find_unseeded("def test():\n    x = torch.randn(3)\n    rng = np.random.default_rng(1)\n") == []


def _draws() -> list[float]:
    return [random.random(), float(np.random.rand()), torch.rand(()).item()]


def test_global_draws_are_the_same_in_every_run(request):
    drawn = _draws()
    seed_everything(request.node.nodeid)
    assert drawn == _draws()


def test_global_draws_differ_between_tests():
    here = _draws()
    seed_everything("another test")
    assert all(one != other for one, other in zip(here, _draws(), strict=True))
