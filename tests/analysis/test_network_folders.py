"""Folders of networks: what they are about is looked up in what they hold, not in what they are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nerode as nr
from nerode.analysis.network_folders import find_folders, read_folder
from nerode.core import Budget, InputError
from nerode.languages import Language
from nerode.proofs import Certificate, write_folder
from nerode.records import TrainSpec, run_name
from nerode.training import run_key
from nerode.training.runs import run_in

TOMITA_4, TOMITA_5 = nr.language("tomita-4"), nr.language("tomita-5")


def compiled(folder: Path, language: Language) -> Path:
    network = nr.compile_language(language, to="lstm")
    certificate = nr.certify(network, language)
    assert isinstance(certificate, Certificate)
    write_folder(folder, network, language, certificate)
    return folder


def rename(folder: Path, name: str) -> None:
    path = folder / "language.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, "name": name}), encoding="utf-8")


def run_of(folder: Path, rate: float) -> Path:
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": "predict-tomita-4", "settings": {"longest": 8}},
            "model": {"layers": "elman", "width": 4, "depth": 2},
            "optimiser": {"rate": rate},
            "run": {"steps": 3, "batch": 4, "test_lengths": [8], "test_sequences": 4},
        }
    )
    run_in(folder, spec)
    return folder / run_name(run_key(spec))


def test_a_network_is_about_what_its_file_defines(tmp_path: Path) -> None:
    place = compiled(tmp_path / "a", TOMITA_5)
    rename(place, "tomita-4")
    with pytest.raises(InputError, match="is about tomita-4, not about tomita-4"):
        read_folder(place, "tomita-4", TOMITA_4, Budget())
    rename(place, "mine")
    found = read_folder(place, "tomita-5", TOMITA_5, Budget())
    assert found.architecture == "lstm"
    assert found.certified[0].holds


@pytest.mark.parametrize("rate", [1e-3, 1e30])
def test_a_run_that_diverged_stands_with_its_architecture(tmp_path: Path, rate: float) -> None:
    found = read_folder(run_of(tmp_path, rate), "tomita-4", TOMITA_4, Budget())
    assert found.trained is not None
    assert found.trained.diverged is (rate > 1)
    assert found.architecture == "elman-tanh"
    assert not found.recognises


def test_a_proof_about_another_language_does_not_count(tmp_path: Path) -> None:
    run = run_of(tmp_path, 1e-3)
    compiled(run / "proof", TOMITA_5)
    (proof,) = read_folder(run, "tomita-4", TOMITA_4, Budget()).certified
    assert not proof.holds
    assert not proof.all_lengths
    assert "not about tomita-4" in proof.claims[0]


def test_folders_are_looked_for_one_level_down(tmp_path: Path) -> None:
    first, second = compiled(tmp_path / "1", TOMITA_4), compiled(tmp_path / "2", TOMITA_4)
    (tmp_path / "empty").mkdir()
    assert find_folders([tmp_path, second]) == [first, second, second]
    for nothing in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(InputError, match="neither a run nor"):
            find_folders([nothing])
