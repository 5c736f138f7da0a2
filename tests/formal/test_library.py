"""The sources of the Coq library: complete, nothing assumed, and every theorem in the list of assumptions."""

from __future__ import annotations

import re

import pytest

from tests.formal.built import FORMAL, require_built

LISTED = [line for line in (FORMAL / "_CoqProject").read_text().split() if line.endswith(".v")]
TOOLS = {"Assumptions.v", "Extract.v"}


def without_comments(text: str) -> str:
    """The text of a Coq file without its comments (none of ours are nested)."""
    return re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)


def test_every_file_is_compiled() -> None:
    assert {path.name for path in FORMAL.glob("*.v")} == {*LISTED, *TOOLS}


@pytest.mark.parametrize("name", LISTED)
def test_nothing_is_assumed(name: str) -> None:
    text = without_comments((FORMAL / name).read_text())
    assert re.findall(r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture)\b", text) == []


def test_every_theorem_is_checked_for_axioms() -> None:
    stated = {
        name
        for path in LISTED
        for name in re.findall(r"^Theorem (\w+)", without_comments((FORMAL / path).read_text()), re.MULTILINE)
    }
    printed = set(
        re.findall(r"^Print Assumptions (\w+)\.", (FORMAL / "Assumptions.v").read_text(), re.MULTILINE)
    )
    assert stated <= printed


def test_the_built_library_rests_on_no_axiom() -> None:
    lines = (require_built() / "assumptions.txt").read_text().splitlines()
    assert set(lines) == {"Closed under the global context"}
    assert len(lines) == (FORMAL / "Assumptions.v").read_text().count("\nPrint Assumptions ")
