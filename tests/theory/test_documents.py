"""The documents name tests and files that exist, and every test of this folder is named by one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")}


def named_tests() -> set[tuple[str, str]]:
    return {found for path in DOCUMENTS for found in TEST.findall(path.read_text(encoding="utf-8"))}


def test_tests_that_documents_name_exist() -> None:
    named = named_tests()
    assert len(named) > 20
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / file).is_file() or test not in functions_of(ROOT / file)
    ]
    assert not missing


def test_every_correction_that_is_tested_is_told() -> None:
    # Two tests are about the tests themselves: that of rounding, and this file.
    told = {test for _, test in named_tests()} | {"test_bfloat16_is_rounded_as_it_should_be"}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path != Path(__file__):
            assert functions_of(path) <= told, path.name


def test_links_between_documents_lead_somewhere() -> None:
    broken = [
        f"{path.name}: {target}"
        for path in DOCUMENTS
        for target in LINK.findall(path.read_text(encoding="utf-8"))
        if not target.startswith(("http://", "https://")) and not (path.parent / target).exists()
    ]
    assert not broken


def test_all_entries_are_there() -> None:
    text = (ROOT / "docs/theory/corrections.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\d+)\. (?:to (\d+)\. )?", text, re.MULTILINE)
    numbers = [n for first, last in headings for n in range(int(first), int(last or first) + 1)]
    assert numbers == list(range(1, 19))
