"""What counts as a disagreement."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import nerode as nr
from nerode.analysis.standing import (
    Certified,
    Standing,
    Trained,
    find_folders,
    judge,
    language_of,
    read_folder,
    same_language,
)
from nerode.core import Budget, InputError
from nerode.languages import Language
from nerode.languages.bestiary import find_language
from nerode.proofs import Certificate, write_folder
from nerode.records import TrainSpec, run_name
from nerode.training import run_key
from nerode.training.runs import run_in

FAR = Trained(folder="a", seed=0, longest=500, reaches=500, diverged=False)
SHORT = replace(FAR, reaches=50)
PROOF = Certified(folder="a", holds=True, claims=("every length",), all_lengths=True)
YES = Standing(architecture="lstm", theory="yes", reason="", compiled="gated-cells", refusal="")
NO = Standing(architecture="mamba", theory="no", reason="", compiled=None, refusal="no")


def test_what_goes_together_is_no_disagreement() -> None:
    assert judge(replace(YES, trained=(FAR, FAR), certified=(PROOF,))).disagreements == ()
    assert judge(replace(NO, trained=(SHORT,))).disagreements == ()


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (replace(NO, trained=(FAR, SHORT)), "1 of 2 runs pass the tests up to length 500"),
        (replace(NO, compiled="cascade"), "cascade compiles it"),
        (replace(NO, certified=(PROOF,)), "look at its sense"),
        (replace(YES, compiled=None), "no construction"),
        (replace(YES, trained=(FAR, SHORT)), "1 of 2 runs fail at a tested length"),
        (replace(YES, certified=(replace(PROOF, holds=False, all_lengths=False),)), "refused"),
    ],
)
def test_each_disagreement_is_told(row: Standing, text: str) -> None:
    found = judge(row).disagreements
    assert len(found) == 1
    assert text in found[0]


def test_languages_of_names_and_of_tasks() -> None:
    assert language_of("predict-tomita-5").name == "tomita-5"
    assert same_language(language_of("parity"), language_of("parity-last"))
    assert language_of("s3-generators").dfa().num_states == 6
    assert not same_language(language_of("tomita-5"), language_of("tomita-6"))
    with pytest.raises(InputError):
        language_of("no-such-thing(")


def test_what_a_language_is_called_does_not_count() -> None:
    parity, other = find_language("parity"), find_language("tomita-5")
    assert not same_language(parity, replace(other, name="parity"))
    assert same_language(parity, replace(parity, name="something else"))
    assert same_language(find_language("dyck-1"), find_language("dyck-1"))
    assert not same_language(find_language("dyck-1"), find_language("dyck-2"))
    assert not same_language(find_language("dyck-1"), parity)


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
    with pytest.raises(InputError, match="named 'tomita-4' in its file, not about tomita-4"):
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
    assert read_folder(run, "tomita-4", TOMITA_4, Budget()).certified == ()


def test_folders_are_looked_for_one_level_down(tmp_path: Path) -> None:
    first, second = compiled(tmp_path / "1", TOMITA_4), compiled(tmp_path / "2", TOMITA_4)
    (tmp_path / "empty").mkdir()
    assert find_folders([tmp_path, second]) == [first, second, second]
    for nothing in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(InputError, match="neither a run nor"):
            find_folders([nothing])
