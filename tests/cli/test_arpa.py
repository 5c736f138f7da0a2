"""ARPA files from the command line: compile, verify, run; and what is said of n-gram models."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from benchmarks._arpa_training import RECIPES, DecimalOracle, manual, train
from tests.cli.runner import run
from tests.languages.ngrams.arpa_texts import GOOD

TINY = """\\data\\
ngram 1=4
ngram 2=1

\\1-grams:
-0.5	</s>
-99	<s>	-0.1
-0.5	<unk>
-0.5	a	-0.1

\\2-grams:
-0.3	<s> a

\\end\\
"""
"""The smallest case that an attack found: it lost its probabilities without a word."""

TEXT = "a b a\n\nb zebra\na\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("arpa")
    (place / "good.arpa").write_text(GOOD, encoding="utf-8")
    arguments = ("--to", "ssm", "--normalise", "-o", str(place / "good"))
    assert run("compile", str(place / "good.arpa"), *arguments).code == 0
    return place / "good"


def test_a_model_keeps_its_probabilities_or_is_refused(tmp_path: Path) -> None:
    path, place = tmp_path / "tiny.arpa", tmp_path / "tiny"
    path.write_text(TINY, encoding="utf-8")
    refused = run("compile", str(path), "--to", "ssm", "-o", str(place))
    assert refused.code == 1
    assert "the farthest is 0.753566 after 'a', off by 0.246" in refused.err
    assert "--normalise" in refused.err
    assert not (place / "network.json").exists()
    for target in ("ssm", "elman-relu"):
        made = run("compile", str(path), "--to", target, "--normalise", "-o", str(place / target))
        assert made.code == 0
        checked = run("verify", str(place / target))
        assert checked.code == 0
        for shown in (made.out, checked.out):
            assert "After every prefix, the empty one included" in shown
            assert "exactly the model's" in shown


def test_the_support_is_asked_for_by_name(tmp_path: Path) -> None:
    path = tmp_path / "tiny.arpa"
    path.write_text(TINY, encoding="utf-8")
    refused = run("compile", str(path), "--to", "mamba")
    assert refused.code == 1
    assert "--support" in refused.err
    made = run("compile", str(path), "--to", "mamba", "--support", "-o", str(tmp_path / "support"))
    assert made.code == 0
    assert run("verify", str(tmp_path / "support")).code == 0
    assert "n-gram models; a* has none" in run("compile", "a*", "--to", "ssm", "--support").err


def test_the_line_of_an_exact_model_says_which_prefixes_it_covers(tmp_path: Path) -> None:
    rules = tmp_path / "toy.rules"
    rules.write_text("<s> <s> -> a\n<s> a -> b\na b -> a : 1/2\na b -> $ : 1/2\nb a -> b\n", encoding="utf-8")
    made = run("compile", str(rules), "--to", "ssm", "-o", str(tmp_path / "toy"))
    wanted = "the exact network: ✓ After every prefix of at least 2 words of a sentence of the model"
    (shown,) = (line for line in made.out.splitlines() if line.startswith(wanted))
    assert "of shorter prefixes" in shown
    assert "Note: mamba says which words may follow, not with which probability" in (
        run("compile", str(rules), "--to", "mamba", "--no-certificate").out
    )
    assert "from 2 words on" in run("run", str(tmp_path / "toy"), "a b").err


def perplexity(text: str) -> float:
    """By the decimal evaluation of the file."""
    oracle, logs = DecimalOracle(GOOD), []
    for line in filter(str.split, text.splitlines()):
        words = [word if word in oracle.outputs else "<unk>" for word in line.split()]
        for i, word in enumerate([*words, "</s>"]):
            logs.append(float(oracle.distribution(words[:i], normalise=True)[word].ln()))
    return math.exp(-sum(logs) / len(logs))


def test_the_perplexity_of_a_text(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    found = json.loads(run("run", str(folder), "--stream", str(tmp_path / "text"), "--json").out)
    assert (found["sentences"], found["tokens"], found["unknown"]) == (3, 6, 1)
    assert found["perplexity"] == pytest.approx(perplexity(TEXT), rel=1e-9)
    assert found["model_perplexity"] == pytest.approx(perplexity(TEXT), rel=1e-9)
    shown = run("run", str(folder), "--stream", str(tmp_path / "text")).out
    assert shown.startswith(f"perplexity {perplexity(TEXT):.6g} of the network, {perplexity(TEXT):.6g} of")
    assert "1 of them unknown, read as <unk>" in shown


def test_words_outside_a_closed_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "x.arpa").write_text(GOOD.replace("<unk>", "c"), encoding="utf-8")
    (tmp_path / "text").write_text("a b\na zebra\n", encoding="utf-8")
    place = str(tmp_path / "x")
    assert run("compile", str(tmp_path / "x.arpa"), "--to", "ssm", "--normalise", "-o", place).code == 0
    found = run("run", place, "--stream", str(tmp_path / "text"))
    assert found.code == 2
    assert "line 2: the word 'zebra' is not among the 3 words of the model, which has no <unk>" in found.err
    assert "'zebra'" in run("run", place, "a zebra").err
    (tmp_path / "text").write_text(" \n", encoding="utf-8")
    assert "no sentence" in run("run", place, "--stream", str(tmp_path / "text")).err
    (tmp_path / "text").write_bytes(b"a \xff")
    assert "not UTF-8" in run("run", place, "--stream", str(tmp_path / "text")).err


def test_words_one_by_one(folder: Path) -> None:
    found = json.loads(run("run", str(folder), "a b", "--json").out)
    assert found["accept"]
    wanted = DecimalOracle(GOOD).distribution(["a", "b"], normalise=True)
    assert found["distribution"]["a"] == pytest.approx(float(wanted["a"]))
    assert json.loads(run("run", str(folder), "a zebra", "--json").out)["word"] == "a <unk>"
    first = json.loads(run("run", str(folder), "", "--json").out)
    wanted = DecimalOracle(GOOD).distribution([], normalise=True)
    assert first["distribution"]["a"] == pytest.approx(float(wanted["a"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("target", ["ssm", "elman-relu"])
def test_trained_models_from_end_to_end(name: str, target: str, tmp_path: Path) -> None:
    sentences = manual()
    (tmp_path / "model.arpa").write_text(train(RECIPES[name], sentences), encoding="utf-8")
    (tmp_path / "text").write_text("\n".join(" ".join(s) for s in sentences[:200]), encoding="utf-8")
    place = str(tmp_path / "model")
    assert run("compile", str(tmp_path / "model.arpa"), "--to", target, "-o", place).code == 0
    checked = json.loads(run("verify", place, "--json").out)
    assert checked["ok"]
    (claim,) = checked["claims"]
    numerator, _, denominator = claim["eps"].partition("/")
    assert int(numerator) / int(denominator or 1) < 1e-3
    found = json.loads(run("run", place, "--stream", str(tmp_path / "text"), "--json").out)
    assert found["perplexity"] == pytest.approx(found["model_perplexity"], rel=1e-5)
