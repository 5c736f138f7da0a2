"""`nerode compile` for attention: refusals with their witnesses, and lengths beyond a horizon."""

from __future__ import annotations

import json

import pytest

from tests.cli.runner import run


def test_a_language_that_no_construction_does_is_refused_with_the_reasons(tmp_path):
    found = run("compile", "flip-flop", "--to", "transformer-nope", "-o", str(tmp_path / "out"))
    assert found.code == 1
    assert "no theorem here says that it cannot" in found.err
    assert "component-heads: the language is not letter constant" in found.err
    assert not (tmp_path / "out").exists()
    found = run("compile", "parity", "--to", "transformer-nope", "-o", str(tmp_path / "out"))
    assert found.code == 1
    assert "witness u = ε, v = 1, x = ε: u vⁿ x is in L periodically in n with period 2" in found.err
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


@pytest.mark.parametrize(
    ("language", "word", "after"),
    [("set-reset", "10" + "h" * 500, ["0", "1", "h"]), ("dyck-1", "()" * 150 + "((", ["(", ")"])],
)
def test_a_hybrid_is_written_proved_and_streams(tmp_path, language, word, after):
    """Mamba layers do set-reset and attention passes on; heads that average do Dyck-1."""
    folder, text = str(tmp_path / "out"), tmp_path / "word.txt"
    found = run("compile", language, "--to", "mamba-attention", "-o", folder)
    assert found.code == 0
    assert f"{language} for mamba-attention: zoo surroundings" in found.out
    assert ("✓ all lengths" if language == "set-reset" else "✓ correct up to length 16,777,215") in found.out
    text.write_text(word)
    read = json.loads(run("run", folder, "--model", "--stream", str(text), "--json").out)
    assert read["positions_kept"] == len(word) + 1
    assert (read["tokens"], [a for a in read["next"] if a != "$"]) == (len(word), after)


def test_a_decoder_is_written_where_the_letter_alone_decides(tmp_path):
    folder = str(tmp_path / "out")
    found = run("compile", "last-letter", "--to", "transformer-alibi", "-o", folder)
    assert found.code == 0
    assert "last-letter for transformer-alibi: zoo surroundings" in found.out
    assert "✓ all lengths" in found.out
    assert run("verify", folder, "--dtype", "float32").code == 0
    assert json.loads(run("run", folder, "--model", "ba", "--json").out)


def test_a_decoder_refuses_a_stream_that_is_longer_than_its_cache(tmp_path):
    folder, text = str(tmp_path / "out"), tmp_path / "word.txt"
    assert run("compile", "last-letter", "--to", "transformer-alibi", "-o", folder).code == 0
    text.write_text("ab" * 15_000)
    found = run("run", folder, "--model", "--stream", str(text))
    assert found.code == 2
    assert "more than 20,000 letters; attention keeps all of them" in found.err


def test_a_stream_and_words_exclude_each_other(tmp_path):
    folder = str(tmp_path / "out")
    assert run("compile", "last-letter", "--to", "mamba", "-o", folder).code == 0
    found = run("run", folder, "a", "--model", "--stream", "-")
    assert found.code == 2
    assert "give words or --stream, not both" in found.err
