"""`nerode run --stream` and `nerode export`."""

from __future__ import annotations

import io
import json
import sys

import onnxruntime
import pytest

from tests.cli.runner import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("networks") / "ab"
    assert run("compile", "(ab)*", "--to", "diagonal", "-o", str(path)).code == 0
    return path


def test_a_file_is_one_word(folder, tmp_path):
    path = tmp_path / "word.txt"
    path.write_text("ab\n" * 400_000 + "a")
    found = json.loads(run("run", str(folder), "--stream", str(path), "--json").out)
    assert found["tokens"] == 800_001
    assert (found["accept"], found["next"]) == (False, ["b"])
    assert found["configurations"] < 10
    assert not found["table_full"]


def test_standard_input(folder, monkeypatch):
    class Input:
        buffer = io.BytesIO(b"ab ab")

    monkeypatch.setattr(sys, "stdin", Input)
    shown = run("run", str(folder), "--stream", "-").out.splitlines()
    assert shown[0] == "accept  4 tokens   next: a $"
    assert "tokens/s" in shown[1]


def test_an_empty_stream(folder, tmp_path):
    (tmp_path / "empty").write_text("")
    assert run("run", str(folder), "--stream", str(tmp_path / "empty")).out.startswith("accept  0 tokens")


def test_wrong_use(folder, tmp_path):
    (tmp_path / "wrong").write_text("abc")
    for arguments, message in [
        (("--stream", str(tmp_path / "wrong")), "the symbol 'c' is not in the alphabet"),
        (("--stream", str(tmp_path / "nothing")), "cannot read"),
        (("ab", "--stream", "-"), "not both"),
    ]:
        outcome = run("run", str(folder), *arguments)
        assert outcome.code == 2
        assert message in outcome.err


def test_export(folder, tmp_path):
    path = tmp_path / "ab.onnx"
    found = json.loads(run("export", str(folder), "-o", str(path), "--json").out)
    assert found["bytes"] == path.stat().st_size
    scores = onnxruntime.InferenceSession(path).run(["scores"], {"letters": [[0, 1, 0]]})[0]
    assert (scores[0] > 0.5).tolist() == [[False, True, False], [True, False, True], [False, True, False]]
    outcome = run("export", str(folder), "-o", str(path), "--dtype", "int8")
    assert outcome.code == 2
    assert "float32" in outcome.err
