"""`nerode compile` for attention: refusals with their witnesses, and lengths beyond a horizon."""

from __future__ import annotations

from tests.cli.runner import run


def test_a_language_outside_the_class_is_refused_with_a_pair_and_a_letter(tmp_path):
    found = run("compile", "flip-flop", "--to", "transformer-nope", "-o", str(tmp_path / "out"))
    assert found.code == 1
    assert "'w' takes two states of one component apart" in found.err
    assert "witness the states after w and w0" in found.err
    assert not (tmp_path / "out").exists()


def test_a_length_beyond_the_horizon_is_refused_with_the_format_that_would_do(tmp_path):
    folder = str(tmp_path / "out")
    found = run("compile", "set-reset", "--to", "transformer-alibi", "--length", "20000000", "-o", folder)
    assert found.code == 1
    assert "is proved up to 16,777,216 letters, 20,000,000 are asked for; use --dtype float64" in found.err
    assert not (tmp_path / "out").exists()
    assert run("compile", "set-reset", "--to", "transformer-alibi", "--length", "1000").code == 0
    assert run("compile", "tomita-1", "--to", "transformer-nope", "--length", "20000000").code == 0


def test_lengths_are_for_attention():
    found = run("compile", "set-reset", "--to", "mamba", "--length", "10")
    assert found.code == 2
    assert "--length is for decoders with attention" in found.err
