"""`nerode run --stream` and `nerode export`."""

from __future__ import annotations

import io
import json
import sys

import onnxruntime
import pytest

import nerode as nr
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
    stored = onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map["claims"]
    assert json.loads(stored) == found["claims"]
    assert [claim["dtype"] for claim in found["claims"]] == [None, "float32"]
    scores = onnxruntime.InferenceSession(path).run(["scores"], {"letters": [[0, 1, 0]]})[0]
    assert (scores[0] > 0.5).tolist() == [[False, True, False], [True, False, True], [False, True, False]]
    outcome = run("export", str(folder), "-o", str(path), "--dtype", "int8")
    assert outcome.code == 2
    assert "float32" in outcome.err


def test_what_is_known_is_said_with_every_answer(folder, tmp_path):
    shown = run("run", str(folder), "ab")
    assert shown.out.startswith("accept  ab")
    assert "says: all lengths in exact arithmetic (`nerode verify" in shown.err
    assert json.loads(run("run", str(folder), "ab", "--json").out)["claims"] == [
        "all lengths in exact arithmetic"
    ]
    bare = tmp_path / "bare"
    assert run("compile", "(ab)*", "--to", "diagonal", "-o", str(bare), "--no-certificate").code == 0
    assert "nothing is proved" in run("run", str(bare), "ab").err
    lines = run("export", str(bare), "-o", str(tmp_path / "bare.onnx")).out.splitlines()
    assert lines[1] == "· neither tested nor proved in float32: The network has no certificate."
    shown = run("export", str(folder), "-o", str(tmp_path / "ab.onnx"), "--dtype", "float64").out
    assert "✓ all lengths bit-exact in float64, any evaluation order" in shown


def test_a_graph_that_is_wrong_in_floats_is_not_written_unless_asked_for(tmp_path):
    """A value that an overwrite keeps as 2⁻²⁷ of itself is lost beside 1 in float32."""
    folder, path = tmp_path / "fading", tmp_path / "fading.onnx"
    small = ("--no-exclusive-scan", "--retention", f"1/{2**27}")
    assert run("compile", "flip-flop", "--to", "diagonal", *small, "-o", str(folder)).code == 0
    for certified in (True, False):
        if not certified:
            (folder / "certificate.json").unlink()
        outcome = run("export", str(folder), "-o", str(path))
        assert outcome.code == 2
        assert not path.exists()
        assert "the graph would be wrong: in float32, after " in outcome.err
        assert "--refuted" in outcome.err
    found = json.loads(run("export", str(folder), "-o", str(path), "--refuted", "--json").out)
    claim = found["claims"][-1]
    assert claim["scope"] == "refuted by a word"
    session = onnxruntime.InferenceSession(path)
    assert json.loads(session.get_modelmeta().custom_metadata_map["claims"]) == found["claims"]
    language = nr.language("flip-flop")
    word = language.alphabet.encode(claim["word"].split())
    row = session.run(["scores"], {"letters": [list(word)]})[0][0, claim["length"] - 1] > 0.5
    wanted = language.legal_along(word)[claim["length"]]
    assert row.tolist() != [a in wanted.symbols for a in range(len(language.alphabet))] + [wanted.end]


def test_a_refused_certificate_is_no_claim_of_the_graph(folder, tmp_path):
    forged = tmp_path / "forged"
    forged.mkdir()
    for name in ("network.json", "language.json", "certificate.json"):
        text = (folder / name).read_text()
        (forged / name).write_text(
            text.replace('"route":"', '"route":"forged ') if name == "network.json" else text
        )
    found = json.loads(run("export", str(forged), "-o", str(tmp_path / "f.onnx"), "--json").out)
    assert {(claim["scope"], claim["length"]) for claim in found["claims"]} == {("tested only", 0)}
    assert "is refused" in found["claims"][0]["says"]


@pytest.fixture(scope="module")
def ngram(tmp_path_factory):
    place = tmp_path_factory.mktemp("ngrams")
    (place / "m.rules").write_text("a b -> a : 1/4\na b -> $ : 3/4\nb a -> b : 1\n")
    done = run(
        "compile", str(place / "m.rules"), "--to", "ssm", "--normaliser", "sparsemax", "-o", str(place / "n")
    )
    assert done.code == 0, done.err
    return place / "n"


def test_probabilities_are_printed(ngram):
    assert run("run", str(ngram), "a b").out.strip() == "accept  ab   next: a 0.250  $ 0.750"


def test_sentences_are_drawn_from_the_network(ngram, folder):
    drawn = [
        json.loads(line) for line in run("run", str(ngram), "--generate", "300", "--json").out.splitlines()
    ]
    assert all(item["ended"] for item in drawn)
    ends = [len(item["word"].split()) for item in drawn if item["word"].startswith("a")]
    # Of those that begin with a b three quarters end there.
    assert 0.6 < sum(length == 2 for length in ends) / len(ends) < 0.9
    assert set(drawn[0]["word"]) <= set("ab ")
    again = run("run", str(ngram), "--generate", "2", "--seed", "7").out
    assert again == run("run", str(ngram), "--generate", "2", "--seed", "7").out
    assert run("run", str(ngram), "b a", "--generate", "1").out.startswith("b a b")
    for arguments in ((str(folder), "--generate", "1"), (str(ngram), "--generate", "1", "--stream", "-")):
        assert run("run", *arguments).code == 2
