"""`nerode.compile`: one artefact from Python, as `nerode compile` writes it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import nerode as nr
from nerode.proofs.artefacts import CompiledProgram
from tests.cli.runner import run


@pytest.fixture(scope="module")
def made() -> CompiledProgram:
    return nr.compile("(ab)*", to="mamba")


def test_weights_come_with_their_network_and_claims(made, tmp_path: Path) -> None:
    words = torch.tensor([[0, 1, 0, 1], [0, 0, 1, 1]])
    answers, _ = made.model(words)
    expected, _ = nr.load_model(made.network)(words)
    assert torch.equal(answers > 0.5, expected > 0.5)
    assert str(made.claims[0]) in str(made)
    made.save(tmp_path / "ab")
    verified = run("verify", str(tmp_path / "ab"))
    assert verified.code == 0, verified.err
    assert "✓ all lengths bit-exact in float32, step by step" in verified.out
    made.save(tmp_path / "ab")  # an older network is replaced
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(nr.InputError, match="other"):
        made.save(tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["notes.txt"]


def test_a_class_has_an_exact_network_alone(tmp_path: Path) -> None:
    made = nr.compile("(aa)*", to="diagonal-signed")
    assert made.claims[0].scope == "all lengths in exact arithmetic"
    assert "✓ all lengths in exact arithmetic" in str(made)
    with pytest.raises(nr.InputError, match="is a class"):
        _ = made.model
    made.save(tmp_path / "even")
    assert not (tmp_path / "even" / "model").exists()


def test_what_cannot_be_done_is_refused_with_the_reason() -> None:
    with pytest.raises(nr.NotCompilable, match="star-free"):
        nr.compile("(aa)*", to="mamba")
