"""The wheel holds what its commands read: outside the clone atlas and explain show training."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of a wheel of Python alone, made from a copy of what it is built from."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("src", "setup.py", "pyproject.toml", "README.md", "LICENSE", "experiments"):
        (source / name).symlink_to(ROOT / name)
    build = "from setuptools import build_meta; print(build_meta.build_wheel('..'))"
    done = subprocess.run(
        [sys.executable, "-c", build],
        cwd=source,
        env={**os.environ, "NERODE_KERNELS": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_atlas_and_explain_show_training_outside_the_clone(installed: Path, tmp_path: Path) -> None:
    for command, file, said in (
        ("explain flip-flop --no-networks -o page.html", "page.html", "Trained: accuracy by length"),
        (
            "atlas --only flip-flop,parity --no-networks -o atlas.html",
            "atlas.html",
            "mamba, 1 layer, trained through exact gates",
        ),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "nerode", *command.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(installed)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert said in (tmp_path / file).read_text(encoding="utf-8"), command


def test_the_wheel_has_the_templates_the_page_and_the_kept_tables(installed: Path) -> None:
    package = installed / "nerode"
    assert not list(package.rglob("*.so"))
    kept = {path.name for path in (package / "kept" / "reproduce").glob("*/*.json")}
    assert kept == {path.name for path in (ROOT / "experiments" / "reproduce").glob("*/*.json")}
    for folder in ("explorer/static", "report/templates"):
        source = {path.name for path in (ROOT / "src" / "nerode" / folder).iterdir() if path.is_file()}
        assert source <= {path.name for path in (package / folder).iterdir()}
