"""The kernel runs on a bare Python: the standard library and itself, nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nerode
from nerode import kernel
from tests.kernel.cases import compiled, sealed

SOURCE = Path(nerode.__file__).parents[1]


def write_folder(folder: Path) -> None:
    network, language = compiled("(aa)*", "diagonal-signed")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
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
