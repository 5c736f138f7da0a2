"""The house: stages meet at doors, nothing is imported in a circle, one name means one thing."""

import ast
import functools
import importlib
import re
from collections import Counter
from pathlib import Path

import nerode

ROOT = Path(nerode.__file__).parent

INNER = {
    "nerode.cli.main": "the entry point of the command line",
    "nerode.models.streaming": "reads words without torch, and knows networks, which training must not",
    "nerode.proofs.artefacts": "loads torch for weights only, which the rest of its door does not",
    "nerode.reproduce.measuring": "loads torch, which the rest of its stage does not",
}
"""Modules that other stages may import by themselves, with the reason."""

LINES = {
    ".": 140,
    "algebra": 9_199,
    "analysis": 9_963,
    "cli": 6_701,
    "compiler": 8_783,
    "conformance": 454,
    "core": 2_717,
    "explorer": 1_956,
    "kernel": 8_308,
    "languages": 12_413,
    "models": 23_319,
    "network": 2_829,
    "proofs": 13_652,
    "records": 3_349,
    "report": 8_277,
    "reproduce": 3_233,
    "study": 2_413,
    "sweeps": 1_083,
    "tasks": 3_737,
    "training": 3_388,
    "verdict": 5_435,
}
"""Lines per stage. A deletion lowers its number; a rise is a commit of its own that says what it replaces."""

SLACK = 40
"""How far a stage may fall below its number before the number must be lowered with it."""


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def _nodes(path: Path) -> list[ast.AST]:
    """The nodes of a file that some test asks about."""
    asked = (
        ast.Import | ast.ImportFrom | ast.MatchClass | ast.Call | ast.Module | ast.ClassDef | ast.FunctionDef
    )
    return [node for node in ast.walk(_tree(path)) if isinstance(node, asked)]


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("nerode", *path.relative_to(ROOT).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _stage(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _imported(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of nerode that a file imports, late imports included."""
    found = set()
    for node in _nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in modules else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name in modules}


def test_stages_import_each_other_through_doors():
    modules = _modules()
    broken = []
    for module, path in modules.items():
        if not _stage(module):
            continue  # the names of the whole package
        for target in _imported(path, modules):
            inside = modules[target].name != "__init__.py"
            if inside and _stage(target) != _stage(module) and target not in INNER:
                broken.append(f"{module} imports {target}; import from its package instead")
    assert not broken, "\n".join(sorted(broken))


def test_doors_hold_no_logic():
    """The package itself has the hooks of late loading."""
    holding = [
        f"{module}.{node.name}"
        for module, path in _modules().items()
        if path.name == "__init__.py" and module != "nerode"
        for node in _tree(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    assert not holding, f"move these into a module of their package: {holding}"


def test_no_module_imports_itself_in_a_circle():
    modules = _modules()
    edges = {name: _imported(path, modules) - {name} for name, path in modules.items()}
    pending = {name: set(targets) for name, targets in edges.items()}
    free = [name for name, targets in pending.items() if not targets]
    while free:
        done = free.pop()
        del pending[done]
        for name, targets in pending.items():
            if done in targets:
                targets.remove(done)
                if not targets:
                    free.append(name)
    assert not pending, f"late imports counted, these modules import each other: {sorted(pending)}"


def test_stages_do_not_grow():
    counted = Counter(dict.fromkeys(LINES, 0))
    for path in _modules().values():
        parts = path.relative_to(ROOT).parts
        counted[parts[0] if len(parts) > 1 else "."] += len(path.read_text().splitlines())
    grown = {stage: f"{LINES.get(stage, 0)} → {n}" for stage, n in counted.items() if n > LINES.get(stage, 0)}
    assert not grown, (
        f"delete what the new code replaces, or raise the number in a commit of its own: {grown}"
    )
    stale = {stage: n for stage, n in counted.items() if n < LINES[stage] - SLACK}
    assert not stale, f"these stages fell: lower their numbers in LINES, so that they stay there: {stale}"


def test_a_public_class_name_means_one_thing():
    names = Counter(
        node.name
        for path in _modules().values()
        for node in _tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not [name for name, count in names.items() if count > 1]


def test_few_modules_ask_for_the_kind_of_a_recurrence():
    kinds = {"Gated", "Fixed", "ByChoice", "Squashed", "GatedCell"}
    asking = []
    for module, path in _modules().items():
        asked = set()
        for node in _nodes(path):
            if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
                asked.add(node.cls.id)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                asked |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        if asked & kinds:
            asking.append(module)
    assert sorted(asking) == ["nerode.models.lower.stream", "nerode.models.network_module.model"]


def test_first_lines_name_the_thing():
    slogan = "What can a sequence model compute, at every length?"
    vague = [
        f"{module}:{getattr(node, 'lineno', 1)} {text.splitlines()[0]}"
        for module, path in _modules().items()
        for node in _nodes(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and (text := ast.get_docstring(node) or "")
        and re.match(r"(What|Where|How|Who|Why)\b", text)
        and not text.startswith(slogan)
    ]
    assert not vague, "begin with a noun phrase or Returns: " + "; ".join(vague)


def test_the_page_of_certificates_says_how_long_the_kernel_is():
    page = ROOT.parent.parent / "docs" / "certificates.md"
    stated = int(
        re.search(r"the kernel has about ([\d,]+) lines", page.read_text()).group(1).replace(",", "")
    )
    lines = sum(len(path.read_text().splitlines()) for path in (ROOT / "kernel").rglob("*.py"))
    assert abs(lines - stated) < 100


def test_the_pages_for_newcomers_name_files_that_exist():
    top = ROOT.parent.parent
    names = {path.name for folder in ("src", "tests", "benchmarks") for path in (top / folder).rglob("*.*")}
    missing = []
    for page in ("CONTRIBUTING.md", "docs/architecture.md"):
        for named in re.findall(r"`([\w./-]+(?:\.(?:py|md|bib|js|svg)|/))`", (top / page).read_text()):
            known = any((base / named).exists() for base in (top, ROOT, top / "tests"))
            if not known and ("/" in named or named not in names):
                missing.append(f"{page}: {named}")
    assert not missing, missing


def test_every_benchmark_imports_what_there_is():
    for path in sorted(Path(__file__).parents[1].glob("benchmarks/*.py")):
        if path.stem != "__main__":
            importlib.import_module(f"benchmarks.{path.stem}")


def _classes_with(*groups: set[str]) -> set[str]:
    """The classes that have all fields of one of the groups."""
    found = set()
    for name, path in _modules().items():
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef):
                fields = {
                    item.target.id
                    for item in node.body
                    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
                }
                if any(group <= fields for group in groups):
                    found.add(f"{name}.{node.name}")
    return found


def test_a_failing_word_has_one_record():
    """No class but the kernel's has a word with what is expected and what was given, and nothing else."""
    found = _classes_with({"word", "expected", "got"})
    assert found == {"nerode.kernel.claims.Refutation", "nerode.records.settlement.Settlement"}


def test_an_outcome_has_one_record():
    """A status with the claims that prove it, or with the word that refutes it, is a settlement."""
    found = _classes_with(
        {"status", "claims"}, {"status", "word"}, {"outcome", "claims"}, {"outcome", "word"}
    )
    assert found == {"nerode.records.settlement.Settlement"}
    named = re.compile(r'Literal\["proved", "refuted", "unsettled"\]')
    places = [name for name, path in _modules().items() if named.search(path.read_text())]
    assert places == ["nerode.records.settlement"]


def test_one_place_makes_an_optimiser():
    made = re.compile(
        r"torch\.optim\.(?!Optimizer\b)[A-Z]\w+|from torch\.optim|from torch import .*\boptim\b"
    )
    places = [name for name, path in _modules().items() if made.search(path.read_text())]
    assert places == ["nerode.training.optimiser"]
