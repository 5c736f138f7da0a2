"""The engine is what was published, and can be put into a page."""

from __future__ import annotations

import hashlib
import re
from importlib import resources

import pytest

from nerode.report.notation import visible
from nerode.report.pages.render import engine_program

VENDOR = resources.files("nerode.report").joinpath("vendor")
ROWS = re.findall(
    r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|", VENDOR.joinpath("README.md").read_text(), re.MULTILINE
)


@pytest.mark.parametrize(("name", "digest"), ROWS)
def test_the_files_are_those_of_the_readme(name: str, digest: str) -> None:
    assert hashlib.sha256(VENDOR.joinpath(name).read_bytes()).hexdigest() == digest


def test_every_script_has_its_row_and_its_licence() -> None:
    scripts = sorted(item.name for item in VENDOR.iterdir() if item.name.endswith(".js"))
    assert scripts == sorted(name for name, _ in ROWS)
    for name in scripts:
        licence = VENDOR.joinpath(name.removesuffix(".js").removesuffix(".min") + ".LICENSE")
        assert "Redistribution and use" in licence.read_text()
    assert "ISC" in VENDOR.joinpath("bundled.LICENSES").read_text()


def test_a_page_can_hold_the_engine_as_it_is() -> None:
    program = engine_program()
    # These would end the script early, or change it after its hash was taken.
    assert "</script" not in program.lower()
    assert "<!--" not in program
    assert "\r" not in program
    assert visible(program) == program
    assert "sourceMappingURL" not in program
    assert not re.search(r"^(import|export) ", program, re.MULTILINE)
