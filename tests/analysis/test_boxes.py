"""Boxes for a trained cell: found in a run, checked again, and refused for other weights or languages."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save, save_file

from nerode.analysis.settle import replay_settlement
from nerode.analysis.standing import read_folder
from nerode.compiler import compile_language
from nerode.core import Budget, BudgetExceeded, FormatError
from nerode.languages import RegularLanguage, describe_language, language_hash
from nerode.languages.bestiary import find_language
from nerode.languages.operations import complement
from nerode.models import read_model
from nerode.network import network_hash, network_to_json
from nerode.proofs import (
    UNDER_NOISE,
    Unproved,
    certificate_from_json,
    certificate_to_json,
    certify,
    check,
    read_network,
    write_folder,
)
from nerode.proofs.find import cells
from nerode.proofs.find.cells import certify_state_boxes, prove_boxes
from nerode.proofs.replay.lift import trained_network
from nerode.records import SETTLED, WEIGHTS_FILE, Folder, TaskConfig, hash_tensors, run_name
from nerode.tasks import automaton_of, build_task
from tests.cli.runner import run
from tests.proofs.replay.test_lift import make_model

TASK = build_task(TaskConfig(name="predict-set-reset"))
GOAL = automaton_of(TASK)
LANGUAGE = find_language("set-reset")


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """What `train --certify` prints and writes for a tanh cell."""
    out = tmp_path_factory.mktemp("runs")
    done = run(
        *("train", "predict-set-reset", "--arch", "elman", "--certify", "--json", "--out", str(out)),
        *("--set", "run.test_sequences=8", "--lengths", "50", "--set", "model.settings.hidden=8"),
        *("--jobs", "1", "--set", "optimiser.rate=1e-2"),
    )
    item = json.loads(done.out.splitlines()[0])
    assert done.code == 0, done.err
    return out / run_name(item["key"])


@pytest.fixture(scope="module")
def parts(certified):
    """The network, its certificate and the model that they are about."""
    place = certified / SETTLED
    found = certificate_from_json(json.loads((place / "certificate.json").read_text()))
    return read_network(place), found, read_model(certified).eval()


def verdict(network, language, certificate):
    found = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
    return check(*(json.loads(json.dumps(part)) for part in found))


def test_the_run_itself_is_proved_under_noise(certified, parts):
    network, certificate, model = parts
    assert (
        trained_network(model, GOAL.language, weights=Folder(certified).subject.files[WEIGHTS_FILE])
        == network
    )
    assert verdict(network, LANGUAGE, certificate).ok
    assert replay_settlement(certified)[1] is not None
    shown = run("verify", str(certified))
    assert shown.code == 0, shown.err
    assert "[state-boxes]" in shown.out
    assert f"about the weights of the run {certified.name}" in shown.out
    assert read_network(certified / SETTLED).origin.weights == Folder(certified).subject.files[WEIGHTS_FILE]


def test_the_module_is_correct_on_long_words_in_float32(parts):
    batch = TASK.sample(2_000, 16, np.random.default_rng(3))
    with torch.no_grad():
        assert TASK.correct(parts[2](batch.inputs)[0], batch).all()


def test_float32_is_covered_and_its_claim_says_on_what_terms(parts):
    network, certificate, _ = parts
    (claim,) = [claim for claim in certificate.claims if claim.dtype == "float32"]
    assert claim.scope == UNDER_NOISE
    assert claim.eps == Fraction(certificate.evidence["state-boxes"]["noise"]) / 2
    assert "rounds to nearest" in claim.covers
    stronger = replace(claim, eps=claim.eps * 2)
    others = tuple(other for other in certificate.claims if other is not claim)
    assert not verdict(network, LANGUAGE, replace(certificate, claims=(*others, stronger))).ok


def test_tanh_of_torch_is_within_what_the_claim_allows():
    x = torch.linspace(-12, 12, 2_000_001)
    assert float((x.tanh().double() - x.double().tanh()).abs().max()) < 2.0**-20


def changed_weight(network):
    """The network with one recurrent weight moved by 3."""
    (layer,) = network.layers
    update = layer.recurrence.update
    (first, *row), *rows = update.rows
    moved = (*row[:-1], (row[-1][0], row[-1][1] + 3))
    recurrence = replace(layer.recurrence, update=replace(update, rows=((first, *moved), *rows)))
    return replace(network, layers=(replace(layer, recurrence=recurrence),))


def test_one_changed_weight_is_refused_by_the_hash_and_by_the_boxes(parts):
    network, certificate, _ = parts
    wrong = changed_weight(network)
    refused = verdict(wrong, LANGUAGE, certificate)
    assert not refused.ok
    assert "another network" in refused.failure.what
    refused = verdict(wrong, LANGUAGE, replace(certificate, network=network_hash(wrong)))
    assert not refused.ok
    assert refused.failure.refutation is not None or "box" in refused.failure.what


def test_another_language_is_not_certified(parts):
    network, certificate, _ = parts
    other = RegularLanguage(name="not set-reset", automaton=complement(GOAL.dfa), convention="the others")
    assert isinstance(certify_state_boxes(network, other), Unproved)
    refused = verdict(network, other, replace(certificate, language=language_hash(other)))
    assert not refused.ok
    assert refused.failure.refutation is not None


def test_no_boxes_of_an_untrained_cell():
    found = prove_boxes(make_model("lstm", TASK), GOAL.language, GOAL.task, seconds=60)
    assert isinstance(found, Unproved)
    assert "no boxes are closed" in found.reason


def test_a_check_that_takes_too_long_is_no_proof(parts, monkeypatch):
    def check_without_end(*_, budget):
        raise BudgetExceeded("seconds", budget.seconds)

    monkeypatch.setattr(cells, "check", check_without_end)
    found = prove_boxes(parts[2], GOAL.language, GOAL.task, seconds=60)
    assert isinstance(found, Unproved)
    assert "the kernel refuses" in found.reason


def test_two_biases_are_not_covered_in_float32(parts):
    """Two biases that nearly cancel round far worse than the one number that the network has for them."""
    model = make_model("elman-tanh", TASK, hidden=8, recurrent_bias=True, width=8, learned_start=True)
    weights = {name: value.clone() for name, value in parts[2].state_dict().items()}
    bias = weights["blocks.0.layer.read.bias"] / 2
    model.load_state_dict(weights | {"blocks.0.layer.read.bias": bias, "blocks.0.layer.recurrent_bias": bias})
    found = prove_boxes(model, GOAL.language, GOAL.task, seconds=60)
    assert not isinstance(found, Unproved)
    assert all(claim.dtype is None for claim in found[0].claims)


def test_a_changed_number_in_the_proof_is_refused(certified, tmp_path):
    shutil.copytree(certified / SETTLED, tmp_path / "proof")
    path = tmp_path / "proof" / "network.json"
    network = json.loads(path.read_text())
    network["layers"][0]["recurrence"]["update"]["bias"][0] = "5"
    path.write_text(json.dumps(network))
    refused = run("verify", str(tmp_path / "proof"))
    assert refused.code == 1
    assert "another network" in refused.err


def test_a_run_without_a_proof_says_so(tmp_path):
    done = run(
        *("train", "parity", "--arch", "elman", "--json", "--out", str(tmp_path), "--steps", "2"),
        *("--jobs", "1", "--settle", "off"),
    )
    folder = tmp_path / run_name(json.loads(done.out.splitlines()[0])["key"])
    checked = run("verify", str(folder))
    assert checked.code == 2
    assert "without a proof" in checked.err


def test_a_proof_of_other_weights_is_refused_wherever_a_run_is_read(certified, tmp_path):
    changed = Path(shutil.copytree(certified, tmp_path / "changed"))
    weights = {name: value.copy() for name, value in load_file(changed / WEIGHTS_FILE).items()}
    next(iter(weights.values())).flat[0] += 1
    save_file(weights, changed / WEIGHTS_FILE)
    for command in ("verify", "prove", "analyse"):
        refused = run(command, str(changed))
        assert refused.code == 2
        assert "✓" not in refused.out
    # Also where the subject names the new weights, and the settlement the new subject.
    path = changed / "subject.json"
    path.write_text(
        path.read_text().replace(
            Folder(certified).subject.files[WEIGHTS_FILE], Folder(changed).file_hash(WEIGHTS_FILE)
        )
    )
    assert run("verify", str(changed)).code == 2
    kept = changed / SETTLED / "settlement.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"subject": Folder(changed).subject.hash}))
    refused = run("verify", str(changed))
    assert (refused.code, "✓" in refused.out) == (1, False)
    assert "its network has other weights" in refused.err
    (found,) = read_folder(changed, "set-reset", LANGUAGE, Budget()).certified or (None,)
    assert found is None or not found.holds


def test_the_proof_of_another_network_is_not_one_of_the_run(certified, tmp_path):
    network = compile_language(LANGUAGE, "diagonal")
    place = Path(shutil.copytree(certified, tmp_path / "forged"))
    for path in (place / SETTLED).glob("*.json"):
        if path.name != "settlement.json":
            path.unlink()
    write_folder(place / SETTLED, network, LANGUAGE, certify(network, LANGUAGE))
    refused = run("verify", str(place))
    assert refused.code == 1
    assert "✓" not in refused.out
    # By itself it is what it was.
    assert run("verify", str(place / SETTLED)).code == 0


def test_the_hash_of_tensors_looks_at_names_types_shapes_and_numbers(tmp_path):
    numbers = np.arange(6, dtype=np.float32)
    first = hash_tensors(save({"a": numbers, "b": numbers + 1}))
    assert first == hash_tensors(save({"b": numbers + 1, "a": numbers}, metadata={"note": "x"}))
    for changed in (
        {"a": numbers, "c": numbers + 1},
        {"a": numbers.reshape(2, 3), "b": numbers + 1},
        {"a": numbers, "b": numbers + 2},
        {"a": numbers.astype(np.float64), "b": numbers + 1},
    ):
        assert hash_tensors(save(changed)) != first
    (tmp_path / "broken.safetensors").write_bytes(b"\x08" + b"\0" * 7 + b"[1,2,3,4")
    with pytest.raises(FormatError, match="safetensors"):
        Folder(tmp_path).file_hash("broken.safetensors")
