from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from nerode.analysis.polish import polish
from nerode.analysis.polish.learned import LetteredGroup, read_learned
from nerode.analysis.polish.polishing import SCALE, sharpened
from nerode.analysis.subject import LoadedNetwork, load_subject
from nerode.core import InputError
from nerode.languages.groups import finite_monoid
from nerode.models import Model, build_model, model_config
from nerode.models.architectures import Orthogonal
from nerode.proofs import POLISH_FILE, check_polished
from nerode.records import TaskConfig
from nerode.tasks import StateTracking, build_task
from nerode.tasks.synthetic.state_tracking import StateTrackingSettings
from tests.analysis.polish.planted import planted, points, regular, turned, turns


def test_a_noisy_network_is_polished_proved_and_right_where_it_was_wrong(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    junk = np.linalg.qr(rng.normal(size=(24, 4, 4)))[0]
    subject = planted("S4", [turned(points("S4"), 0), junk], noise=0.02)
    found = polish(subject, tmp_path / "out", lengths=[8, 1024], sequences=8)
    assert found.proved
    assert found.junk == (1,)
    assert [score.sequence for score in found.after] == [1, 1]
    assert found.before[1].sequence < 0.5
    assert found.length > 10_000
    assert check_polished(tmp_path / "out").length == found.length
    assert json.loads(json.dumps(found.to_json()))["group"] == "S4"
    assert load_subject(tmp_path / "out").zoo_model.config.letters == 24


@pytest.mark.parametrize(
    ("name", "matrices", "sharpness"),
    [("Z60", turns(60, 7), 200.0), ("S3", regular("S3"), 5.0), ("Q8", regular("Q8"), 5.0)],
)
def test_other_groups_in_double_precision(
    tmp_path: Path, name: str, matrices: np.ndarray, sharpness: float
) -> None:
    subject = planted(name, [turned(matrices, 4)], noise=0.01, sharpness=sharpness)
    found = polish(subject, tmp_path, dtype="float64", lengths=[64], sequences=4)
    assert found.proved, found.problem
    assert found.length > 10**11
    assert found.after[0].sequence == 1


def test_generators_only(tmp_path: Path) -> None:
    subject = planted("S4", [turned(points("S4"), 0)], noise=0.01, letters="generators")
    found = polish(subject, tmp_path, lengths=[256], sequences=4)
    assert found.proved
    assert found.letters < 24
    assert found.after[0].sequence == 1


def test_a_readout_that_confuses_two_elements_gets_no_proof(tmp_path: Path) -> None:
    subject = planted("S4", [turned(points("S4"), 0)], noise=0.01)
    layer = subject.zoo_model.layers[0]
    assert isinstance(layer, Orthogonal)
    with torch.no_grad():
        layer.C.weight[[3, 4]] = layer.C.weight[[4, 3]]
    found = polish(subject, tmp_path)
    assert not found.proved
    assert "is not shown to be smaller" in found.problem
    assert not (tmp_path / POLISH_FILE).exists()


def test_a_representation_that_is_not_faithful_gets_no_proof(tmp_path: Path) -> None:
    signs = np.sign(np.linalg.det(points("S4")))[:, None, None] * np.eye(2)
    found = polish(planted("S4", [signs]), tmp_path)
    assert not found.proved


def test_a_network_of_another_group_gets_no_proof(tmp_path: Path) -> None:
    """Z6 and S3 have as many elements; the matrices of one are far from any representation of the other."""
    wrong = planted("Z6", [turned(regular("Z6"), 0)])
    task = StateTracking(StateTrackingSettings(monoid="S3"))
    found = polish(LoadedNetwork(name="wrong", model=wrong.model, task=task), tmp_path)
    assert not found.proved


def test_junk_alone_gets_no_proof_and_no_model(tmp_path: Path) -> None:
    junk = np.linalg.qr(np.random.default_rng(1).normal(size=(24, 4, 4)))[0]
    found = polish(planted("S4", [junk]), tmp_path / "out", lengths=[8], sequences=2)
    assert not found.proved
    assert "near a representation" in found.problem
    assert found.after == ()
    assert not (tmp_path / "out").exists()


def test_the_start_and_a_linear_head_move_into_the_readout(tmp_path: Path) -> None:
    """The polished network answers as the trained one does where the table is a representation already."""
    settings = {"blocks": 1, "size": 2, "outputs": 5, "learned_start": True, "columns": 3}
    config = model_config("orthogonal", letters=4, outputs=4, width=None)
    layer = config.layers[0]
    import dataclasses

    config = dataclasses.replace(config, layers=(dataclasses.replace(layer, settings=settings),))
    model = build_model(config, seed=0)
    subject = LoadedNetwork(
        name="z4", model=model.eval(), task=StateTracking(StateTrackingSettings(monoid="Z4"))
    )
    learned = read_learned(subject)
    letters = torch.arange(4)[:, None]
    expected = model(letters)[0][:, 0].detach().numpy()
    assert learned.scores(learned.matrices) == pytest.approx(expected, abs=1e-5)


def other_model(layers: str) -> Model:
    return build_model(model_config(layers, letters=6, outputs=6, width=4), seed=0).eval()


def test_networks_of_another_kind_are_refused(tmp_path: Path) -> None:
    task = StateTracking(StateTrackingSettings(monoid="S3"))
    with pytest.raises(InputError, match="not one layer of orthogonal blocks"):
        polish(LoadedNetwork(name="x", model=other_model("lstm"), task=task), tmp_path)
    with pytest.raises(InputError, match="not one layer of orthogonal blocks"):
        polish(LoadedNetwork(name="x", model=other_model("orthogonal,orthogonal"), task=task), tmp_path)
    with pytest.raises(InputError, match="only state tracking of groups"):
        polish(
            LoadedNetwork(
                name="x", model=other_model("orthogonal"), task=build_task(TaskConfig(name="parity"))
            ),
            tmp_path,
        )
    monoid = StateTracking(StateTrackingSettings(monoid="T3"))
    with pytest.raises(InputError, match="T3 is not a group"):
        polish(LoadedNetwork(name="x", model=other_model("orthogonal"), task=monoid), tmp_path)
    tokens = StateTracking(StateTrackingSettings(monoid="S3", tokens=2))
    with pytest.raises(InputError, match="1 is needed"):
        polish(LoadedNetwork(name="x", model=other_model("orthogonal"), task=tokens), tmp_path)


def lettered(name: str) -> LetteredGroup:
    group = finite_monoid(name)
    return LetteredGroup(group=group, letters=tuple(range(group.order)))


@pytest.mark.parametrize(
    ("name", "matrices"),
    [("S3", regular("S3")), ("Q8", regular("Q8")), ("A5", points("A5")), ("Z60", turns(60, 7))],
)
def test_sharpened_matrices_multiply_to_45_digits(name: str, matrices: np.ndarray) -> None:
    group = lettered(name)
    block = turned(matrices, 3)
    found = sharpened(block, group)
    assert (found / SCALE).astype(float) == pytest.approx(block, abs=1e-13)
    for h in range(group.order):
        wrong = found[group.products[:, h]] * SCALE - found[h] @ found
        assert np.abs(wrong).max() < SCALE**2 // 10**45
