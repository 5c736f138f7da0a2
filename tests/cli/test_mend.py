"""`nerode mend` and the older names of it; the numbers of `nerode analyse --metric`."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from nerode.languages.bestiary import find_language
from nerode.models import read_model
from nerode.records import TrainSpec, run_name
from nerode.training import run_key
from nerode.training.runs import run_in
from tests.cli.runner import run


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that was hardly trained."""
    out = tmp_path_factory.mktemp("runs")
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": "parity"},
            "model": {"layers": "elman", "width": 4, "settings": {"hidden": 6}},
            "run": {
                "steps": 2,
                "evaluate_every": 2,
                "validation": 8,
                "test_lengths": [8],
                "test_sequences": 4,
            },
        }
    )
    run_in(out, spec)
    return out / run_name(run_key(spec))


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Mamba that was hardly trained."""
    out = tmp_path_factory.mktemp("gated")
    tables = {
        "task": {"name": "predict-set-reset"},
        "model": {"layers": "mingru", "width": 16, "settings": {"learned_start": True}},
        "run": {"steps": 2, "validation": 8, "test_lengths": [40], "test_sequences": 4},
    }
    spec = TrainSpec.from_mapping(tables)
    run_in(out, spec)
    return out / run_name(run_key(spec))


def test_the_mended_folder_is_proved_verified_run_and_proved_again(gated: Path, tmp_path: Path) -> None:
    """What is printed is about the folder that is written, and all commands agree about it."""
    out = tmp_path / "mended"
    shown = run("mend", str(gated), "-o", str(out))
    assert shown.code == 0, shown.err
    assert f"● {out}: proved for set-reset at every length" in shown.out
    assert str(gated) not in shown.out
    assert f"Next: nerode verify {out} · nerode export {out} -o mended.onnx\n" in shown.out
    card = (out / "README.md").read_text()
    assert "| the weights | every answer after a letter | of any length | float32, step by step |" in card
    verified = run("verify", str(out))
    assert verified.code == 0, verified.err
    assert "✓ all lengths bit-exact in float32" in verified.out
    assert "about the weights of the run mended" in verified.out
    assert "what may be relied on:\n" in verified.out
    rows = json.loads(run("verify", str(out), "--json").out)["relies"]
    assert rows == [
        {
            "of": "the weights",
            "holds": "every answer after a letter",
            "words": "of any length",
            "arithmetic": "float32, step by step",
            "believed": "proofs/replay/bits.py, torch here",
        }
    ]
    proved = run("prove", str(out))
    assert proved.code == 0
    assert proved.out.splitlines()[0] == shown.out.splitlines()[0]
    language = find_language("set-reset")
    words = ["".join(word) for n in range(1, 5) for word in itertools.product(language.alphabet, repeat=n)]
    found = run("run", str(out), *words, "--json")
    answers = [json.loads(line) for line in found.out.splitlines()]
    assert [answer["accept"] for answer in answers] == [language.accepts(word) for word in words]
    taken = run("export", str(out), "-o", str(tmp_path / "mended.onnx"))
    assert taken.code == 0, taken.err
    session = onnxruntime.InferenceSession(tmp_path / "mended.onnx")
    for length in range(1, 9):
        table = np.array(list(itertools.product(range(len(language.alphabet)), repeat=length)))
        scores = session.run(["scores"], {"letters": table})[0]
        for word, row in zip(table.tolist(), scores[:, -1] > 0, strict=True):
            legal = language.legal_along(word)[-1]
            assert row.tolist() == [*(a in legal.symbols for a in range(len(language.alphabet))), legal.end]
    refused = run("mend", str(gated), "-o", str(tmp_path))
    assert refused.code == 2


def test_old_names_print_the_new_line_and_do_it(gated: Path, wrong: Path, tmp_path: Path) -> None:
    hard = run("prove", str(gated), "--harden", "-o", str(tmp_path / "hard"))
    assert hard.code == 2
    assert f"`nerode mend {gated} -o {tmp_path / 'hard'}`" in hard.err
    found = run("repair", str(wrong))
    assert found.code == 1
    assert f"nerode repair is now: nerode prove {wrong}" in found.err
    assert "refuted for parity by the shortest failing word" in found.out


def test_training_goes_on_with_failing_words(wrong: Path, tmp_path: Path) -> None:
    words = [str(wrong), "-o", str(tmp_path / "mended"), "--method", "words", "--steps", "60", "--json"]
    outcome = run("mend", *words, "--max-seconds", "5")
    assert outcome.code in (0, 1, 3)
    found = json.loads(outcome.out)
    assert (found["way"], found["out"]) == ("words", str(tmp_path / "mended"))
    config = read_model(tmp_path / "mended").config
    assert config == read_model(wrong).config


def test_metric_numbers_are_printed_and_kept(wrong: Path, tmp_path: Path) -> None:
    outcome = run("analyse", str(wrong), "--metric", "-o", str(tmp_path))
    assert outcome.code == 0, outcome.err
    assert "around 2 of the automaton" in outcome.out
    assert json.loads((tmp_path / "analysis.json").read_text())["metric"]["places"] == 2


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    assert run("mend", str(tmp_path), "-o", str(tmp_path / "new")).code == 2


def test_a_default_lstm_is_trained_on_failing_words(tmp_path):
    """Its surroundings leave no exact gates, and nobody asked for these."""
    done = run(
        *("train", "recognise-tomita-1", "--arch", "lstm", "--jobs", "1", "--steps", "2", "--settle", "off"),
        *("--lengths", "40", "--out", str(tmp_path / "runs")),
    )
    assert done.code == 0, done.err
    folder = next(path for path in (tmp_path / "runs").iterdir() if (path / "result.json").exists())
    out = str(tmp_path / "mended")
    mended = run("mend", str(folder), "-o", out, "--steps", "50", "--max-seconds", "5")
    assert mended.code in (0, 1, 3), mended.err
    assert "no exact gates: " in mended.err
    assert "trained on failing words instead" in mended.err
    assert run("run", out, "1").code == 0
    assert run("mend", str(folder), "-o", out, "--method", "gates", "--steps", "50").code == 2


@pytest.mark.slow  # the search before training takes some seconds of the budget on a busy machine
def test_a_budget_that_ends_in_training_says_how_far_it_came(wrong: Path, tmp_path: Path) -> None:
    words = [str(wrong), "-o", str(tmp_path / "mended"), "--method", "words", "--steps", "100000"]
    outcome = run("mend", *words, "--max-seconds", "10")
    assert outcome.code == 2
    assert re.search(r"mended: [0-9,]+ of 100,000 updates.*; nothing was written", outcome.err), outcome.err
    assert not (tmp_path / "mended").exists()
