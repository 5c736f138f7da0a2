"""Proofs beside runs, and the commands that make and re-check them."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from nerode.analysis.proofs.run_proofs import ATTEMPT, PROOF, attempt_lines, certify_run, certify_tables
from nerode.analysis.standing import read_folder
from nerode.compiler import compile_language
from nerode.core import Budget, FormatError, InputError
from nerode.languages.bestiary import find_language
from nerode.models import read_model
from nerode.network import network_hash
from nerode.proofs import (
    RUN_WEIGHTS,
    certificate_from_json,
    certify,
    read_network,
    tensor_hash,
    write_folder,
)
from nerode.records import run_name
from tests.cli.runner import run

SMALL = (
    *("--set", "task.settings.longest=12", "--steps", "150", "--set", "run.batch=32", "--lengths", "12,40"),
    *("--set", "optimiser.rate=1e-2", "--set", "model.settings.hidden=8", "--set", "run.test_sequences=16"),
    *("--jobs", "1", "--settle", "off"),
)


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """What `train --certify` says and leaves behind."""
    out = tmp_path_factory.mktemp("runs")
    done = run(
        "train", "predict-set-reset", "--arch", "elman", "--certify", "--json", "--out", str(out), *SMALL
    )
    item = json.loads(done.out.splitlines()[0])
    return done, item, out / run_name(item["key"])


def test_train_certify_leaves_a_proof_in_the_run(certified):
    done, item, folder = certified
    assert done.code == 0, done.err
    assert item["proof"]["proved"]
    names = {path.name for path in (folder / PROOF).iterdir()}
    assert names == {ATTEMPT, "config.json", "language.json", "certificate.json", "model"}
    assert read_model(folder / PROOF / "model").config.layers[0].settings["learned_start"] is True


def test_verify_finds_the_proof_of_a_run(certified):
    _, _, folder = certified
    for place in (folder, folder / PROOF):
        checked = run("verify", str(place))
        assert checked.code == 0, checked.err
        assert "[state-boxes]" in checked.out
        assert "float32" in checked.out


def test_a_changed_number_in_the_proof_is_refused(certified, tmp_path):
    _, _, folder = certified
    names = ("config.json", "language.json", "certificate.json")
    texts = {name: (folder / PROOF / name).read_text() for name in names}
    network = json.loads(texts["config.json"])
    network["layers"][0]["recurrence"]["update"]["bias"][0] = "5"
    texts["config.json"] = json.dumps(network)
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    refused = run("verify", str(tmp_path))
    assert refused.code == 1
    assert "another network" in refused.err


def test_an_attempt_is_not_made_twice(certified):
    _, item, folder = certified
    before = (folder / PROOF / ATTEMPT).stat().st_mtime_ns
    again = certify_run(folder)
    assert again.to_json() == item["proof"]
    assert (folder / PROOF / ATTEMPT).stat().st_mtime_ns == before
    assert "proved for set-reset" in attempt_lines(again)[0]


def test_the_accuracy_of_a_stage_says_of_which_words(certified):
    """It may be far below that of the table, whose words are those of the task."""
    attempt = certify_run(certified[2])
    stage = replace(attempt.stages[0], accuracy=0.319)
    for proved in (True, False):
        said = "\n".join(attempt_lines(replace(attempt, proved=proved, stages=(stage,), reason="no box")))
        assert "accuracy" not in said
        assert "(0.319, " in said
        assert "drawn from the whole alphabet" in said
        assert "the table has the words of the task" in said


def test_a_run_without_a_proof_says_so(tmp_path):
    done = run(
        *("train", "parity", "--arch", "elman", "--json", "--out", str(tmp_path), "--steps", "2"),
        *("--jobs", "1", "--settle", "off"),
    )
    folder = tmp_path / run_name(json.loads(done.out.splitlines()[0])["key"])
    checked = run("verify", str(folder))
    assert checked.code == 2
    assert "without a proof" in checked.err


def test_a_damaged_attempt_is_a_format_error(tmp_path):
    (tmp_path / PROOF).mkdir()
    (tmp_path / PROOF / ATTEMPT).write_text("{}")
    with pytest.raises(FormatError):
        certify_run(tmp_path)


@pytest.mark.parametrize(
    ("task", "layers"),
    [("parity", "lru"), ("parity", "mamba+lru"), ("parity", "elman+lru"), ("copying", "elman")],
)
def test_what_cannot_be_certified_is_refused_before_training(task, layers):
    with pytest.raises(InputError):
        certify_tables({"name": task}, layers)


@pytest.mark.parametrize("layers", ["gla", "rwkv-6"])
def test_layers_that_read_letters_as_they_are_are_certified(layers, tmp_path):
    words = ["train", "predict-set-reset", "--arch", layers, "--steps", "2", "--settle", "off", "--certify"]
    outcome = run(*words, "--out", str(tmp_path))
    assert outcome.code == 0
    assert f"{layers}, seed 0: ✓ proved for set-reset (all words) at every length" in outcome.out


def test_a_gru_that_is_to_be_certified_is_capped():
    settings = certify_tables({"name": "parity"}, "gru")["model"]["settings"]
    assert settings["cap"] == 0.875
    assert settings["reset_after"] is False
    assert certify_tables({"name": "s3"}, "elman")["model"]["settings"]["hidden"] == 48


def certificate_of(place):
    return certificate_from_json(json.loads((place / "certificate.json").read_text()))


def copy_run(folder, place):
    """The run without its proof."""
    return shutil.copytree(folder, place, ignore=lambda _, names: [n for n in names if n == PROOF])


def test_a_proof_of_other_weights_is_refused_wherever_a_run_is_read(certified, tmp_path):
    _, _, folder = certified
    language = find_language("set-reset")
    network = compile_language(language, "diagonal")
    run_of_another = copy_run(folder, tmp_path / "compiled")
    write_folder(run_of_another / PROOF, network, language, certify(network, language))
    changed = Path(shutil.copytree(folder, tmp_path / "changed"))
    weights = {name: value.copy() for name, value in load_file(changed / RUN_WEIGHTS).items()}
    next(iter(weights.values())).flat[0] += 1
    save_file(weights, changed / RUN_WEIGHTS)
    for place in (run_of_another, run_of_another / PROOF, changed, changed / PROOF):
        refused = run("verify", str(place))
        assert refused.code == 1
        assert "not about the weights of the run" in refused.err
        assert "✓" not in refused.out
    for place in (run_of_another, changed):
        read = read_folder(place, "set-reset", language, Budget())
        assert [proof.holds for proof in read.certified] == [False]
        assert not any(proof.all_lengths for proof in read.certified)
    # The same network by itself is what it was.
    alone = Path(shutil.copytree(run_of_another / PROOF, tmp_path / "alone" / "network"))
    assert run("verify", str(alone)).code == 0


def forge(folder, network, language, certificate):
    """Writes a proof that names the tensors of the run it is put into, with all hashes made to fit."""
    origin = replace(network.origin, weights=tensor_hash(folder / RUN_WEIGHTS))
    named = replace(network, origin=origin)
    write_folder(folder / PROOF, named, language, replace(certificate, network=network_hash(named)))


def test_a_forged_hash_does_not_make_a_proof_one_of_the_run(certified, tmp_path):
    """The right hash of the tensors is written into the proof of another network."""
    _, _, folder = certified
    language = find_language("set-reset")
    network = compile_language(language, "diagonal")
    place = copy_run(folder, tmp_path / "forged")
    forge(place, network, language, certify(network, language))
    refused = run("verify", str(place))
    assert refused.code == 1
    assert "neither the weights of the run" in refused.err
    assert "✓" not in refused.out
    read = read_folder(place, "set-reset", language, Budget())
    assert [(proof.holds, proof.all_lengths) for proof in read.certified] == [(False, False)]
    # A forged attempt is not believed either: the proof is looked for again.
    shutil.copy(folder / PROOF / ATTEMPT, place / PROOF)
    assert certify_run(place).proved
    assert run("verify", str(place)).code == 0


def test_a_proof_of_another_model_proves_nothing_of_the_run(certified, tmp_path):
    """The weights of the run are changed, the proof is kept: it is one of proof/model alone."""
    _, _, folder = certified
    place = Path(shutil.copytree(folder, tmp_path / "changed"))
    weights = {name: value.copy() for name, value in load_file(place / RUN_WEIGHTS).items()}
    next(iter(weights.values())).flat[0] += 1
    save_file(weights, place / RUN_WEIGHTS)
    config = json.loads((place / "model" / "config.json").read_text())
    config["weights"] = hashlib.sha256((place / RUN_WEIGHTS).read_bytes()).hexdigest()
    (place / "model" / "config.json").write_text(json.dumps(config))
    language = find_language("set-reset")
    forge(place, read_network(folder / PROOF), language, certificate_of(folder / PROOF))
    shutil.copytree(folder / PROOF / "model", place / PROOF / "model", dirs_exist_ok=True)
    for shown in (run("verify", str(place)), run("verify", str(place / PROOF))):
        assert shown.code == 3
        assert "✓" not in shown.out + shown.err
        assert "nothing is proved of the weights of this run" in shown.err
        assert "proof/model, another model" in shown.err
    asked = run("verify", str(place), "--json")
    item = json.loads(asked.out)
    assert (asked.code, item["ok"], item["claims"]) == (3, False, [])
    assert "another model" in item["about"]
    assert not read_folder(place, "set-reset", language, Budget()).certified
    shown = run("report", str(place), "--json", "--language", "set-reset")
    (row,) = json.loads(shown.out)["rows"]
    assert (shown.code, row["certified"], row["disagreements"]) == (0, [], [])
    shutil.rmtree(place / PROOF / "model")
    assert run("verify", str(place)).code == 1


def test_verify_says_which_weights_a_proof_is_about(certified):
    _, item, folder = certified
    shown = run("verify", str(folder)).out
    assert not any(stage["steps"] for stage in item["proof"]["stages"])
    assert f"about the weights of the run {folder.name}" in shown


def test_a_proof_names_the_tensors_of_its_run(certified):
    _, _, folder = certified
    assert read_network(folder / PROOF).origin.weights == tensor_hash(folder / RUN_WEIGHTS)


def test_the_hash_of_tensors_looks_at_names_types_shapes_and_numbers(tmp_path):
    numbers = np.arange(6, dtype=np.float32)
    save_file({"a": numbers, "b": numbers + 1}, tmp_path / "one")
    save_file({"b": numbers + 1, "a": numbers}, tmp_path / "two", metadata={"note": "x"})
    assert tensor_hash(tmp_path / "one") == tensor_hash(tmp_path / "two")
    for changed in (
        {"a": numbers, "c": numbers + 1},
        {"a": numbers.reshape(2, 3), "b": numbers + 1},
        {"a": numbers, "b": numbers + 2},
        {"a": numbers.astype(np.float64), "b": numbers + 1},
    ):
        save_file(changed, tmp_path / "other")
        assert tensor_hash(tmp_path / "other") != tensor_hash(tmp_path / "one")
    (tmp_path / "broken").write_bytes(b"\x08" + b"\0" * 7 + b"[1,2,3,4")
    with pytest.raises(FormatError, match="safetensors"):
        tensor_hash(tmp_path / "broken")
