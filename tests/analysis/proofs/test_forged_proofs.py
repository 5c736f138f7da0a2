"""Proofs put into runs that they are not about: claims that do not carry over, links, empty prefixes."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from nerode.analysis.proofs.boxes import check_proof
from nerode.analysis.proofs.goals import goal_of
from nerode.analysis.settle import SettleSettings, replay_settlement, settle_folder
from nerode.analysis.standing import read_folder
from nerode.core import Budget, InputError
from nerode.kernel import UNDER_NOISE, Claim
from nerode.models import LayerConfig, Model, ModelConfig, Surroundings, read_model, save_model
from nerode.proofs import RUN_WEIGHTS, Certificate, certify_state_boxes, tensor_hash, write_folder
from nerode.proofs.floats import BOXES, CLOSURE
from nerode.proofs.replay.lift import is_carried, trained_network
from nerode.records import SETTLED, TaskConfig
from nerode.tasks import build_task
from tests.cli.runner import run

SPEC = """
[base.task]
name = "predict-set-reset"
[base.model]
layers = "elman-tanh"
width = 0
final_norm = "none"
surroundings = {norm = "none", residual = false, feed_forward = "none"}
settings = {hidden = 1, learned_start = true, recurrent_bias = true}
[base.run]
steps = 1
test_lengths = [40]
test_sequences = 4
"""
GOAL = goal_of(build_task(TaskConfig(name="predict-set-reset")))
LETTERS = len(GOAL.language.alphabet)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of one unit with two biases, trained for one step."""
    place = tmp_path_factory.mktemp("two")
    (place / "two.toml").write_text(SPEC)
    done = run("train", str(place / "two.toml"), "--settle", "off", "--out", str(place / "runs"))
    assert done.code == 0, done.err
    return next(path for path in (place / "runs").iterdir() if (path / "result.json").exists())


@torch.no_grad()
def latch(config: ModelConfig, bias: float) -> Model:
    """h = tanh(2h + u) with u = 4 for the letter that sets, -4 for the one that resets, 0 for the third."""
    model = Model(config).eval()
    cell = model.layers[0]
    accepting = [legal.end for legal in GOAL.legal]
    effects = []
    for targets in GOAL.dfa.transitions.T.tolist():
        held = targets == list(range(len(targets)))
        effects.append(0.0 if held else 4.0 if accepting[targets[0]] else -4.0)
    cell.read.weight.copy_(torch.tensor([effects]))
    cell.read.bias.fill_(bias)
    cell.recurrent.fill_(2.0)
    cell.recurrent_bias.fill_(-bias)
    cell.start.fill_(0.9575 if accepting[GOAL.dfa.start] else -0.9575)
    model.head.weight.zero_()
    model.head.bias.fill_(1.0)
    model.head.bias[-1], model.head.weight[-1, 0] = 0.0, 1.0
    return model


def put(folder: Path, model: Model, meant: Model, *, with_floats: bool = True) -> Path:
    """A run with the weights of one model and the proof of what another one means."""
    save_model(folder / "model", model)
    network = trained_network(meant, GOAL.language, weights=tensor_hash(folder / RUN_WEIGHTS))
    found = certify_state_boxes(network, GOAL.language, task=GOAL.task)
    assert isinstance(found, Certificate)
    if not with_floats:
        kept = tuple(claim for claim in found.claims if claim.dtype is None)
        found = Certificate(
            network=found.network, language=found.language, claims=kept, evidence=found.evidence
        )
    write_folder(folder / "proof", network, GOAL.language, found)
    return folder


@pytest.mark.parametrize("bias", [2.0**26, 2.0**27, 2.0**60, -(2.0**60)])
def test_floats_are_not_claimed_of_two_biases_that_cancel(trained, tmp_path, bias):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    config = read_model(folder / "model").config
    bad, good = latch(config, bias), latch(config, 0.0)
    put(folder, bad, good)
    refused = run("verify", str(folder / "proof"))
    assert refused.code == 1
    assert "✓" not in refused.out
    assert "adds two" in refused.err
    # It is wrong indeed: the letters are lost beside the bias.
    answers = [run("run", str(folder), letter).out for letter in GOAL.language.alphabet]
    wanted = [run("run", str(put(folder, good, good)), letter).out for letter in GOAL.language.alphabet]
    assert answers != wanted


def test_exact_claims_hold_of_two_biases(trained, tmp_path):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    good = latch(read_model(folder / "model").config, 0.0)
    put(folder, good, good, with_floats=False)
    found = check_proof(folder / "proof")
    assert found.result.ok
    assert found.of_run
    assert all("The empty prefix" in claim.covers for claim in found.result.claims)


@pytest.mark.parametrize("name", ["elman-tanh", "gru-reset-first", "lstm"])
@pytest.mark.parametrize("two", [True, False])
def test_every_cell_with_two_biases_loses_its_claims_in_floats(name, two):
    settings = {"hidden": 2, "recurrent_bias": two}
    layer = LayerConfig(name=name, settings=settings)
    bare = Surroundings(norm="none", residual=False, feed_forward="none")
    model = Model(
        ModelConfig(layers=(layer,), letters=2, outputs=3, width=None, surroundings=bare, final_norm="none")
    )
    for dtype in ("float32", None):
        claim = Claim(
            scope=UNDER_NOISE,
            dtype=dtype,
            length="all",
            eps=Fraction(1, 8),
            method="x",
            task="predict",
            covers="x.",
        )
        assert is_carried(model, claim) is (dtype is None or not two)


def every_entry(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def test_a_link_anywhere_in_a_run_is_refused(trained, tmp_path):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    good = latch(read_model(folder / "model").config, 0.0)
    put(folder, good, good, with_floats=False)
    assert run("verify", str(folder / "proof")).code == 0
    names = every_entry(folder)
    assert {Path("proof"), Path("proof/certificate.json"), Path("model/model.safetensors")} <= set(names)
    for name in names:
        place = Path(shutil.copytree(folder, tmp_path / "linked"))
        outside = shutil.move(place / name, tmp_path / "outside")
        (place / name).symlink_to(outside)
        for asked in (place, place / "proof"):
            refused = run("verify", str(asked))
            assert refused.code in (1, 2), name
            assert "✓" not in refused.out
        shutil.rmtree(place)
        shutil.rmtree(outside) if Path(outside).is_dir() else Path(outside).unlink()
    # The folder itself may be reached by a link.
    (tmp_path / "other").symlink_to(folder)
    assert run("verify", str(tmp_path / "other" / "proof")).code == 0


def test_the_linked_proof_of_another_run_is_refused(trained, tmp_path):
    honest = Path(shutil.copytree(trained, tmp_path / "honest"))
    good = latch(read_model(honest / "model").config, 0.0)
    put(honest, good, good, with_floats=False)
    other = Path(shutil.copytree(trained, tmp_path / "other"))
    (other / "proof").symlink_to(honest / "proof")
    refused = run("verify", str(other / "proof"))
    assert refused.code == 1
    assert "is a link" in refused.err
    assert "✓" not in refused.out
    (proof,) = read_folder(other, "set-reset", GOAL.language, Budget()).certified
    assert (proof.holds, proof.all_lengths) == (False, False)


def test_a_settled_run_with_boxes_does_not_claim_the_empty_prefix(trained, tmp_path):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    put(folder, *(latch(read_model(folder / "model").config, 0.0),) * 2)
    shutil.rmtree(folder / "proof")
    settlement = settle_folder(folder, settings=SettleSettings(states=1))
    assert (settlement.status, settlement.method) == ("proved", BOXES)
    assert all("The empty prefix" in claim for claim in settlement.claims)
    replayed = replay_settlement(folder)
    assert replayed.ok, replayed.failure
    # With links or other tensors there is nothing left of it.
    weights = load_file(folder / RUN_WEIGHTS)
    shutil.move(folder / SETTLED, tmp_path / "away")
    (folder / SETTLED).symlink_to(tmp_path / "away")
    assert not replay_settlement(folder).ok
    (folder / SETTLED).unlink()
    shutil.move(tmp_path / "away", folder / SETTLED)
    save_file({name: np.nextafter(v, np.float32(9)) for name, v in weights.items()}, folder / RUN_WEIGHTS)
    assert not replay_settlement(folder).ok


def test_the_replay_of_a_settled_run_is_on_one_thread(trained, tmp_path, monkeypatch):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    put(folder, *(latch(read_model(folder / "model").config, 0.0),) * 2)
    settlement = settle_folder(folder)
    assert (settlement.status, settlement.method) == ("proved", CLOSURE)
    seen = []
    step = Model.step
    monkeypatch.setattr(Model, "step", lambda *given: seen.append(torch.get_num_threads()) or step(*given))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert replay_settlement(folder).ok
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 2, "embedding_norm": "layer"},
        {"width": 2, "embedding_norm": "rms"},
        {"width": 2, "beginning": True},
        {"width": 2, "positions": "sine"},
        {"final_norm": "layer"},
    ],
)
def test_a_cell_with_anything_around_it_is_not_lifted(changes):
    """A norm after the embedding may make every letter 0, and the network would not have it."""
    bare = Surroundings(norm="none", residual=False, feed_forward="none")
    given = {"width": None, "final_norm": "none", **changes}
    layer = LayerConfig(name="elman-tanh", settings={"hidden": 2, "learned_start": True})
    config = ModelConfig(layers=(layer,), letters=LETTERS, outputs=LETTERS + 1, surroundings=bare, **given)
    with pytest.raises(InputError, match="something stands around its cell"):
        trained_network(Model(config), GOAL.language, weights="0" * 64)


@pytest.mark.parametrize(("c", "n", "lifted"), [(1.0, 0.0, False), (0.0, 0.0, True), (1.0, 1.0, True)])
def test_an_slstm_that_starts_with_a_memory_and_no_normaliser_is_not_lifted(c, n, lifted):
    """The module keeps c where n is 0, the record divides by the next n: two functions."""
    bare = Surroundings(norm="none", residual=False, feed_forward="none")
    layer = LayerConfig(name="slstm", settings={"hidden": 1, "heads": 1, "learned_start": True})
    config = ModelConfig(
        layers=(layer,), letters=LETTERS, outputs=LETTERS + 1, surroundings=bare, final_norm="none"
    )
    model = Model(config)
    with torch.no_grad():
        model.layers[0].start.copy_(torch.tensor([0.0, c, n]).view_as(model.layers[0].start))
    if lifted:
        trained_network(model, GOAL.language, weights="0" * 64)
    else:
        with pytest.raises(InputError, match="n = 0"):
            trained_network(model, GOAL.language, weights="0" * 64)


def test_a_settlement_that_names_another_question_is_refused(trained, tmp_path):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    put(folder, *(latch(read_model(folder / "model").config, 0.0),) * 2)
    assert settle_folder(folder).status == "proved"
    path = folder / SETTLED / "settlement.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"about": "dyck-2-10"}))
    refused = run("verify", str(folder))
    assert refused.code == 1
    assert "✓" not in refused.out
    assert "is about dyck-2-10" in refused.err


def test_a_compiled_folder_inside_a_run_says_nothing_of_the_run(trained, tmp_path):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    compiled = tmp_path / "compiled"
    assert run("compile", "set-reset", "--to", "diagonal", "-o", str(compiled)).code == 0
    for path in compiled.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    found = run("verify", str(folder))
    assert found.code != 0
    assert "✓" not in found.out
    (folder / "proof").mkdir(exist_ok=True)
    put(folder, *(latch(read_model(folder / "model").config, 0.0),) * 2, with_floats=False)
    shutil.copy(folder / "proof" / "certificate.json", folder / "proof" / "certificate.float32.json")
    assert "float32" not in run("verify", str(folder / "proof")).out
