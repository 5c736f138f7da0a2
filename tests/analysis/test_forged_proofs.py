"""Proofs put into runs that they are not about: claims that do not carry over, links, empty prefixes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from nerode.analysis.settle import SettleSettings, replay_settlement, settle_folder
from nerode.analysis.settle.keeping import write_settlement
from nerode.analysis.standing import read_folder
from nerode.core import Budget, InputError
from nerode.kernel import UNDER_NOISE, Claim
from nerode.models import LayerConfig, Model, ModelConfig, Surroundings, read_model
from nerode.proofs import Certificate
from nerode.proofs.find.cells import certify_state_boxes
from nerode.proofs.floats import BOXES, CLOSURE, Settled, proved_by
from nerode.proofs.replay.lift import carried_claim, is_carried, trained_network
from nerode.records import SETTLED, WEIGHTS_FILE, Folder, Settlement, TaskConfig
from nerode.tasks import automaton_of, build_task
from nerode.training import write_subject
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
TASK = build_task(TaskConfig(name="predict-set-reset"))
GOAL = automaton_of(TASK)
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
    write_subject(folder, model, TASK, origin={"kind": "trained"})
    network = trained_network(meant, GOAL.language)
    found = certify_state_boxes(network, GOAL.language, task=GOAL.task)
    assert isinstance(found, Certificate)
    if not with_floats:
        kept = tuple(claim for claim in found.claims if claim.dtype is None)
        found = Certificate(
            network=found.network, language=found.language, claims=kept, evidence=found.evidence
        )
    settlement = Settlement(
        **proved_by(tuple(map(carried_claim, found.claims))),
        about=GOAL.language.name,
        method=BOXES,
        length="all",
        states=0,
    )
    ended = Settled(settlement=settlement, certificate=found, network=network)
    write_settlement(folder, ended, GOAL.language)
    return folder


@pytest.mark.parametrize("bias", [2.0**26, 2.0**27, 2.0**60, -(2.0**60)])
def test_floats_are_not_claimed_of_two_biases_that_cancel(trained, tmp_path, bias):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    config = read_model(folder).config
    bad, good = latch(config, bias), latch(config, 0.0)
    put(folder, bad, good)
    refused = run("verify", str(folder))
    assert refused.code == 1
    assert "✓" not in refused.out
    assert "adds two" in refused.err
    # It is wrong indeed: the letters are lost beside the bias.
    answers = [run("run", str(folder), letter).out for letter in GOAL.language.alphabet]
    wanted = [run("run", str(put(folder, good, good)), letter).out for letter in GOAL.language.alphabet]
    assert answers != wanted


def test_exact_claims_hold_of_two_biases(trained, tmp_path):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    good = latch(read_model(folder).config, 0.0)
    put(folder, good, good, with_floats=False)
    found = run("verify", str(folder))
    assert (found.code, found.err) == (0, "")
    replayed, settlement = replay_settlement(folder)
    assert settlement is not None
    assert all("The empty prefix" in claim.covers for claim in replayed.claims)


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
    # Claims about one format are none about weights in another.
    assert not is_carried(model.bfloat16(), replace(claim, dtype="float32"))


def every_entry(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def test_a_link_anywhere_in_a_run_is_refused(trained, tmp_path):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    good = latch(read_model(folder).config, 0.0)
    put(folder, good, good, with_floats=False)
    assert run("verify", str(folder)).code == 0
    names = every_entry(folder)
    bound = (
        "settled/certificate.json",
        "settled/network.json",
        "model.safetensors",
        "subject.json",
        "settled",
    )
    assert set(map(Path, bound)) <= set(names)
    for name in map(Path, bound):
        place = Path(shutil.copytree(folder, tmp_path / "linked"))
        outside = shutil.move(place / name, tmp_path / "outside")
        (place / name).symlink_to(outside)
        refused = run("verify", str(place))
        assert refused.code in (1, 2), name
        assert "✓" not in refused.out
        shutil.rmtree(place)
        shutil.rmtree(outside) if Path(outside).is_dir() else Path(outside).unlink()
    # The folder itself may be reached by a link.
    (tmp_path / "other").symlink_to(folder)
    assert run("verify", str(tmp_path / "other")).code == 0


def test_the_linked_proof_of_another_run_is_refused(trained, tmp_path):
    honest = Path(shutil.copytree(trained, tmp_path / "honest"))
    good = latch(read_model(honest).config, 0.0)
    put(honest, good, good, with_floats=False)
    other = Path(shutil.copytree(trained, tmp_path / "other"))
    (other / SETTLED).symlink_to(honest / SETTLED)
    refused = run("verify", str(other))
    assert refused.code == 2
    assert "✓" not in refused.out
    # Nor when it is copied: it is the settlement of another subject.
    (other / SETTLED).unlink()
    shutil.copytree(honest / SETTLED, other / SETTLED)
    refused = run("verify", str(other))
    assert (refused.code, "✓" in refused.out) == (2, False)
    assert read_folder(other, "set-reset", GOAL.language, Budget()).certified == ()
    # Nor when it says that it is about this one: the network means other weights.
    path = other / SETTLED / "settlement.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"subject": Folder(other).subject.hash}))
    refused = run("verify", str(other))
    assert (refused.code, "✓" in refused.out) == (1, False)
    assert "other weights" in refused.err


def test_a_settled_run_with_boxes_does_not_claim_the_empty_prefix(trained, tmp_path):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    put(folder, *(latch(read_model(folder).config, 0.0),) * 2)
    shutil.rmtree(folder / SETTLED)
    settlement = settle_folder(folder, settings=SettleSettings(states=1))
    assert (settlement.status, settlement.method) == ("proved", BOXES)
    assert all("The empty prefix" in claim for claim in settlement.claims)
    assert replay_settlement(folder)[1] is not None
    # With links or other tensors there is nothing left of it.
    weights = load_file(folder / WEIGHTS_FILE)
    shutil.move(folder / SETTLED, tmp_path / "away")
    (folder / SETTLED).symlink_to(tmp_path / "away")
    with pytest.raises(InputError, match="is a link"):
        replay_settlement(folder)
    (folder / SETTLED).unlink()
    shutil.move(tmp_path / "away", folder / SETTLED)
    save_file({name: np.nextafter(v, np.float32(9)) for name, v in weights.items()}, folder / WEIGHTS_FILE)
    with pytest.raises(InputError, match="is not the file that"):
        replay_settlement(folder)


def test_the_replay_of_a_settled_run_is_on_one_thread(trained, tmp_path, monkeypatch):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    put(folder, *(latch(read_model(folder).config, 0.0),) * 2)
    settlement = settle_folder(folder)
    assert (settlement.status, settlement.method) == ("proved", CLOSURE)
    seen = []
    step = Model.step
    monkeypatch.setattr(Model, "step", lambda *given: seen.append(torch.get_num_threads()) or step(*given))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert replay_settlement(folder)[1] is not None
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


def test_another_name_of_the_question_is_not_repeated(trained, tmp_path):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    put(folder, *(latch(read_model(folder).config, 0.0),) * 2)
    assert settle_folder(folder).status == "proved"
    path = folder / SETTLED / "settlement.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"about": "dyck-2-10"}))
    for command in ("verify", "prove"):
        found = run(command, str(folder))
        assert (found.code, "dyck-2-10" in found.out) == (0, False)
    # Nor one that is written into the subject: the spec of the run asks something else.
    path = folder / "subject.json"
    path.write_text(
        path.read_text().replace('"predict-set-reset"', '"dyck-2-10"').replace("set-reset", "dyck-2-10")
    )
    assert "dyck-2-10" not in run("verify", str(folder)).out


def test_a_compiled_folder_inside_a_run_says_nothing_of_the_run(trained, tmp_path):
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    compiled = tmp_path / "compiled"
    assert run("compile", "set-reset", "--to", "diagonal", "-o", str(compiled)).code == 0
    for path in compiled.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    found = run("verify", str(folder))
    assert (found.code, found.out) == (2, "")
    for command in ("prove", "analyse", "run"):
        assert run(command, str(folder), *(["0"] if command == "run" else [])).code == 2
