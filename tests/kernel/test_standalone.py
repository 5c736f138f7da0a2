"""The kernel runs on a bare Python: the standard library and itself, nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nerode
from nerode import kernel
from tests.kernel.cases import compiled, sealed

SOURCE = Path(nerode.__file__).parents[1]
PAGE = SOURCE.parent / "docs" / "certificates.md"

CORE = {
    *("nerode.kernel", "nerode.kernel.__main__", "nerode.kernel.check", "nerode.kernel.claims"),
    "nerode.kernel.guard",
    *("nerode.kernel.covers", "nerode.kernel.languages", "nerode.kernel.letters", "nerode.kernel.network"),
    *("nerode.kernel.numbers", "nerode.kernel.reader", "nerode.kernel.step", "nerode.kernel.walk"),
    "nerode.kernel.work",
}
CORE_LINES = 3_800
"""Lines of the core, docstrings and blank lines included; may be lowered, not raised. 300 are the guard's."""


def write_folder(folder: Path, certificate: Any = None) -> None:
    network, language = compiled("(aa)*", "diagonal-signed")
    certificate = certificate or sealed(network, language, "joint-closure", {"task": "predict"})
    for name, data in (
        (kernel.NETWORK_FILE, network),
        (kernel.LANGUAGE_FILE, language),
        (kernel.CERTIFICATE_FILE, certificate),
    ):
        (folder / name).write_text(json.dumps(data))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Python without site-packages, without the user's folder and without any variable but the path."""
    return subprocess.run(
        [sys.executable, "-S", "-s", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(SOURCE), "PYTHONIOENCODING": "utf-8"},
    )


def test_the_command_prints_each_claim(tmp_path: Path) -> None:
    write_folder(tmp_path)
    done = run("-m", "nerode.kernel", str(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("✓ all lengths in exact arithmetic")
    assert sum(line.startswith("✓") for line in lines) == 5


def test_the_command_prints_the_first_failure(tmp_path: Path) -> None:
    write_folder(tmp_path)
    path = tmp_path / kernel.NETWORK_FILE
    path.write_text(path.read_text().replace("-1", "1"))
    done = run("-m", "nerode.kernel", str(tmp_path))
    assert done.returncode == 1
    assert "another network" in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_the_command_says_what_it_cannot_read(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / kernel.CERTIFICATE_FILE).write_text("{")
    done = run("-m", "nerode.kernel", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("unreadable: ")
    assert "Traceback" not in done.stderr
    assert run("-m", "nerode.kernel", str(tmp_path / "nowhere")).returncode == 2


def test_a_budget_that_ends_is_said(tmp_path: Path) -> None:
    write_folder(tmp_path)
    done = run("-m", "nerode.kernel", str(tmp_path), "--max-cells", "1")
    assert done.returncode == 1
    assert "cells" in done.stdout


def test_only_the_standard_library_is_loaded() -> None:
    program = (
        "import sys, nerode.kernel, nerode.kernel.__main__\n"
        "outside = sorted(n for n in sys.modules if n.split('.')[0] not in sys.stdlib_module_names"
        " and n not in ('nerode', '__main__', '__mp_main__') and not n.startswith('nerode.kernel'))\n"
        "print(outside)"
    )
    done = run("-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def loaded(folder: Path) -> set[str]:
    """The modules of nerode that an isolated Python has loaded after it accepted a folder."""
    program = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n"
        "from nerode.kernel.__main__ import main\n"
        "assert main(sys.argv[1:]) == 0\n"
        "print(*sorted(n for n in sys.modules if n.startswith('nerode.')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def exact_claims(certificate: Any) -> Any:
    """The certificate without its claims in float formats."""
    claims = [claim for claim in certificate["claims"] if claim["method"] == "joint-closure"]
    evidence = {"joint-closure": certificate["evidence"]["joint-closure"]}
    return {**certificate, "claims": claims, "evidence": evidence}


def test_a_joint_closure_is_checked_by_the_core_alone(tmp_path: Path) -> None:
    network, language = compiled("(aa)*", "diagonal-signed")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
    write_folder(tmp_path, exact_claims(certificate))
    assert loaded(tmp_path) == CORE
    write_folder(tmp_path, certificate)
    assert loaded(tmp_path) - CORE == {"nerode.kernel.domains", "nerode.kernel.domains.meter"}


def lines_of(modules: set[str]) -> int:
    paths = [SOURCE / Path(*name.split(".")) for name in modules]
    files = [p / "__init__.py" if p.is_dir() else p.with_suffix(".py") for p in paths]
    return sum(len(file.read_text().splitlines()) for file in files)


def test_the_core_does_not_grow() -> None:
    assert lines_of(CORE) <= CORE_LINES
    assert {f"nerode.kernel.{p.stem}" for p in (SOURCE / "nerode" / "kernel").glob("*.py")} == {
        *CORE - {"nerode.kernel"},
        "nerode.kernel.__init__",
    }


def stated_domains() -> dict[str, tuple[set[str], int]]:
    """For each domain of the page of certificates its modules and how long it says that they are."""
    rows = re.findall(
        r"^\| (\w+) \| ((?:`domains/\w+\.py`(?:, )?)+) \|.*\| ([\d,]+) \|$", PAGE.read_text(), re.M
    )
    return {
        domain: (
            {f"nerode.kernel.domains.{n}" for n in re.findall(r"domains/(\w+)", files)},
            int(n.replace(",", "")),
        )
        for domain, files, n in rows
    }


def test_the_page_of_certificates_says_how_long_core_and_domains_are() -> None:
    stated = re.search(r"The core has about ([\d,]+) lines", PAGE.read_text())
    assert stated is not None
    assert abs(lines_of(CORE) - int(stated.group(1).replace(",", ""))) <= 50
    domains = stated_domains()
    files = {
        f"nerode.kernel.domains.{p.stem}" for p in (SOURCE / "nerode" / "kernel" / "domains").glob("*.py")
    }
    assert set().union(*(modules for modules, _ in domains.values())) == files - {
        "nerode.kernel.domains.__init__"
    }
    for domain, (modules, lines) in domains.items():
        assert abs(lines_of(modules) - lines) <= 50, domain
