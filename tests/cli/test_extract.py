"""`nerode analyse --automaton` and `nerode compare`, on compiled networks and on short runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import nerode as nr
from nerode.analysis.extraction import EXTRACTION_PARTS, HypothesisTest
from nerode.languages.formats import read_automaton
from nerode.proofs import Certificate, certify, write_folder
from nerode.records import TrainSpec, run_name
from nerode.report import extraction_lines
from nerode.training import run_key
from nerode.training.runs import run_in

from .runner import run


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("networks") / "tomita-4"
    language = nr.language("tomita-4")
    network = nr.compile_language(language, to="diagonal")
    certificate = certify(network, language)
    assert isinstance(certificate, Certificate)
    write_folder(folder, network, language, certificate)
    return folder


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three steps, which learns nothing."""
    out = tmp_path_factory.mktemp("runs")
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": "predict-tomita-4", "settings": {"longest": 8}},
            "model": {"layers": "gru", "width": 4, "settings": {"hidden": 4}},
            "run": {
                "steps": 3,
                "evaluate_every": 3,
                "validation": 8,
                "test_lengths": [8, 16],
                "test_sequences": 8,
            },
        }
    )
    run_in(out, spec)
    return out / run_name(run_key(spec))


def test_what_a_file_calls_its_language_is_not_believed(compiled: Path, tmp_path: Path) -> None:
    place = tmp_path / "renamed"
    shutil.copytree(compiled, place)
    path = place / "language.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "name": "tomita-2"}))
    called = "the language named 'tomita-2' in its file"
    assert f"equal to {called} on every word" in run("analyse", "--automaton", str(place)).out
    assert f"proved for {called} at every length" in run("prove", str(place)).out
    assert f"is about {called}, not about tomita-2" in run("report", str(place), "--language", "tomita-2").err


def test_a_compiled_network_gives_its_automaton_in_every_format(compiled: Path, tmp_path: Path) -> None:
    for end in (".dot", ".json", ".att", ".jff"):
        path = tmp_path / f"found{end}"
        outcome = run("analyse", "--automaton", str(compiled), "-o", str(path))
        assert outcome.code == 0, outcome.err
        assert "equal to tomita-4 on every word" in outcome.out
        assert read_automaton(path) == nr.language("tomita-4").dfa()


def test_json_has_the_machine_and_the_queries(compiled: Path) -> None:
    outcome = run(
        "analyse",
        "--automaton",
        str(compiled),
        "--method",
        "lstar",
        "--black-box",
        "--longest",
        "20",
        "--json",
    )
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["equal"] is True
    assert found["method"] == "L*, black box"
    assert found["queries"]["words"] > 0
    assert found["queries"]["states"] == 0
    assert found["states"] == len(found["machine"]["outputs"]) == 4
    assert found["theory"]["star_free"] is True


def test_another_target_gives_its_word_and_exit_1(compiled: Path) -> None:
    outcome = run("analyse", "--automaton", str(compiled), "--target", "tomita-1")
    assert outcome.code == 1
    assert "✗ not tomita-1: after ε" in outcome.out


def test_what_was_not_learned_is_told(untrained: Path) -> None:
    outcome = run("analyse", "--automaton", str(untrained), "--longest", "12")
    assert outcome.code == 1
    assert "✗ not tomita-4" in outcome.out


def test_wrong_use_is_exit_2(untrained: Path, tmp_path: Path) -> None:
    assert run("analyse", "--automaton", str(tmp_path)).code == 2
    assert run("analyse", "--automaton", str(untrained), "--method", "exact").code == 2
    assert run("analyse", "--automaton", str(untrained), "--method", "cluster", "--black-box").code == 2
    assert run("report", "--language", "tomita-4").code == 2
    assert run("report", str(untrained), "--language", "tomita-5").code == 2
    assert run("report", str(tmp_path), "--language", "tomita-4").code == 2
    assert run("report", str(untrained), "--language", "no-such-thing(").code == 2


def test_compare_lists_what_disagrees_first(compiled: Path, untrained: Path) -> None:
    outcome = run(
        "report", str(compiled), str(untrained.parent), "--arch", "lstm", "--json", "--language", "tomita-4"
    )
    assert outcome.code == 1, outcome.err
    rows = json.loads(outcome.out)["rows"]
    assert [row["architecture"] for row in rows] == ["gru", "diagonal", "lstm"]
    first, second, third = rows
    assert first["theory"] == "yes"
    assert "1 of 1 runs fail at a tested length" in first["disagreements"][0]
    assert second["certified"][0]["holds"] is True
    assert second["certified"][0]["all_lengths"] is True
    assert third["trained"] == []
    assert not second["disagreements"]
    assert not third["disagreements"]


def test_compare_without_disagreements_is_exit_0(compiled: Path) -> None:
    outcome = run("report", str(compiled), "--arch", "mamba", "--language", "tomita-4")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("no disagreements")
    assert "mamba" in outcome.out


def test_a_certificate_of_another_network_is_a_disagreement(compiled: Path, tmp_path: Path) -> None:
    language = nr.language("tomita-4")
    write_folder(tmp_path / "other", nr.compile_language(language, to="lstm"), language)
    (tmp_path / "other" / "certificate.json").write_bytes((compiled / "certificate.json").read_bytes())
    outcome = run("report", str(tmp_path / "other"), "--language", "tomita-4")
    assert outcome.code == 1
    assert "is refused" in outcome.out


def test_a_run_that_fails_is_not_called_equal(untrained: Path, tmp_path: Path) -> None:
    """The automaton of a run may be that of the language although the network fails on long words."""
    found = nr.extract(
        nr.load_subject(untrained), method="cluster", probe=HypothesisTest(longest=12)
    ).to_json()
    record = json.loads((untrained / "result.json").read_text())
    wrong = next(score for score in record["evaluations"] if score["sequence"] < 1)
    assert f"sequences of {wrong['length']} positions" in found["network"]["refuted"]
    assert found["network"]["proved"] is False
    lines = list(extraction_lines({**found, "difference": None, "fails_on": None}))
    assert "✓ this automaton is equal to tomita-4 on every word" in lines
    assert any(line.startswith("✗ the network is not: of ") for line in lines)
    untold = {**found, "difference": None, "fails_on": None, "network": {"proved": False, "refuted": ""}}
    assert any("nothing is proved about the network itself" in line for line in extraction_lines(untold))
    assert "✓ equal" not in "\n".join(extraction_lines(untold))


def test_queries_to_a_compiled_network_prove_nothing_of_it(compiled: Path) -> None:
    outcome = run("analyse", "--automaton", str(compiled), "--method", "lstar", "--longest", "20")
    asked, progress = outcome.out, outcome.err.splitlines()
    assert progress[0].endswith(": 4 parts")
    assert [line.partition(",")[0] for line in progress[1:5]] == [
        f"[{number}/4] {part}" for number, part in enumerate(EXTRACTION_PARTS, 1)
    ]
    assert "this automaton is equal to tomita-4 on every word" in asked
    assert "nothing is proved about the network itself" in asked
    assert (
        "✓ equal to tomita-4 on every word, as all states" in run("analyse", "--automaton", str(compiled)).out
    )


def test_the_spectra_of_a_run_are_drawn(untrained: Path, compiled: Path, tmp_path: Path) -> None:
    for folder in (untrained, compiled):
        path = tmp_path / f"{folder.name}.svg"
        outcome = run("draw", str(folder), "--what", "spectra", "-o", str(path))
        assert outcome.code == 0, outcome.err
        assert "Eigenvalues of layer" in outcome.out
        # Real eigenvalues lie on a line.
        assert ("imaginary part" in path.read_text()) == (folder is untrained)
    for name, out, message in (
        ("tomita-3", "x.svg", "spectra are of a network: give a run or a folder"),
        (str(untrained), "x.dot", "spectra are written as .svg, .pdf, .tikz, .tex"),
    ):
        refused = run("draw", name, "--what", "spectra", "-o", str(tmp_path / out))
        assert refused.code == 2
        assert message in refused.err
