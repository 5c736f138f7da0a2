"""The commands on decoders that were trained: a few updates, so that they are wrong, and are told so."""

from __future__ import annotations

import json

import pytest

from tests.cli.runner import run

TINY = (
    *("--steps", "3", "--settle", "off", "--lengths", "8", "--set", "model.width=8", "--set", "run.batch=4"),
    *("--set", "task.settings.longest=8", "--set", "run.test_sequences=4", "--set", "run.validation=8"),
)


@pytest.fixture(scope="module", params=["transformer-nope", "transformer-alibi", "transformer-periodic"])
def trained(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    found = run("train", "predict-set-reset", "--arch", request.param, *TINY, "--out", str(place))
    assert found.code == 0, found.err
    folder = next(place.glob("*/result.json")).parent
    return str(folder)


def test_a_trained_decoder_runs_on_words(trained):
    found = run("run", trained, "10hh", "", "--json")
    answers = [json.loads(line) for line in found.out.splitlines()]
    assert [answer["word"] for answer in answers] == ["10hh", "ε"]
    assert len(answers[0]["next"]) == 5
    refused = run("run", trained, "--stream", "-")
    assert refused.code == 2
    assert "is a training run" in refused.err


def test_its_automaton_is_learned_from_words(trained):
    """Its state grows with the word, so that states are not looked at."""
    found = run("analyse", "--automaton", trained, "--longest", "5", "--max-seconds", "2", "--json")
    assert found.code in (0, 1), found.err
    learned = json.loads(found.out)
    assert learned["method"] == "L*, black box"
    assert learned["queries"]["states"] == 0
    refused = run("analyse", "--automaton", trained, "--method", "cluster")
    assert refused.code == 2
    assert "only words can be asked" in refused.err


def test_it_is_refuted_and_reported(trained, tmp_path):
    found = json.loads(run("prove", trained, "--json", "--max-seconds", "5").out)
    assert found["status"] == "refuted"
    assert run("report", trained, "-o", str(tmp_path / "page.html")).code == 0
    assert "transformer" in (tmp_path / "page.html").read_text()
