"""`nerode verify --formal`: claims that nerode-check accepts as well are formal, all others checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.runner import run
from tests.formal.built import require_built


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formal")
    for language, target in (
        ("parity", "diagonal-signed"),
        ("parity", "elman-tanh"),
        ("parity", "elman-relu"),
        ("parity", "dense"),
        ("parity", "householder"),
        ("last-but-1", "ssm"),
    ):
        assert run("compile", language, "--to", target, "-o", str(folder / target)).code == 0
    return folder


def test_a_claim_is_checked_unless_the_proved_checker_was_asked(place: Path) -> None:
    item = json.loads(run("verify", str(place / "diagonal-signed"), "--json").out)
    assert {claim["level"] for claim in item["claims"]} == {"checked"}


def test_where_the_proved_checker_is_missing_a_sentence_says_how_to_get_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place))
    monkeypatch.chdir(place)
    refused = run("verify", str(place / "diagonal-signed"), "--formal")
    assert refused.code == 2
    assert "`make formal` builds out/formal/nerode-check" in refused.err
    assert "apt-get install" in refused.err


def test_claims_of_proved_methods_are_formal(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(require_built()), prepend=":")
    shown = run("verify", str(place / "diagonal-signed"), "--formal")
    assert shown.code == 0
    assert "[joint-closure] formal" in shown.out
    assert "any evaluation order  [integer-exactness] formal" in shown.out
    assert shown.out.splitlines()[-1].endswith("(docs/trust.md)")
    item = json.loads(run("verify", str(place / "diagonal-signed"), "--formal", "--json").out)
    assert {claim["level"] for claim in item["claims"]} == {"formal"}


def test_claims_of_other_methods_stay_checked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(require_built()), prepend=":")
    shown = run("verify", str(place / "elman-tanh"), "--formal")
    assert shown.code == 0
    assert " formal\n" not in shown.out
    assert "for all others the Python kernel" in shown.out


@pytest.mark.parametrize("target", ["dense", "householder", "ssm"])
def test_scans_that_multiply_matrices_are_not_formal(
    place: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounding.v has scans of diagonal layers alone; what is no scan at all is computed letter by letter."""
    monkeypatch.setenv("PATH", str(require_built()), prepend=":")
    shown = run("verify", str(place / target), "--formal")
    assert shown.code == 0
    assert "[joint-closure] formal\n" in shown.out
    assert "any evaluation order  [integer-exactness]\n" in shown.out
    assert "any evaluation order  [integer-exactness] formal" not in shown.out
    assert "nerode-check does not accept" not in shown.err
    letter_by_letter = run("verify", str(place / "elman-relu"), "--formal")
    assert "any evaluation order  [integer-exactness] formal" in letter_by_letter.out
