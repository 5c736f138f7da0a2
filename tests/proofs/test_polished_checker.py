"""The checker of polished networks, on one that is right and on wrong ones made from it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from nerode.analysis.polish import polish
from nerode.core import Budget, BudgetExceeded, FormatError
from nerode.languages.groups import finite_monoid
from nerode.models import read_model
from nerode.proofs.polished import (
    SCALE,
    NearRepresentation,
    Refused,
    drift_of,
    near_representation,
    to_scale,
)
from nerode.proofs.polished_checker import check_polished
from nerode.records import hash_tensors
from tests.analysis.polish.planted import planted, points, turned


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("polished") / "s4"
    assert polish(planted("S4", [turned(points("S4"), 0)], noise=0.01), folder).proved
    return folder


@pytest.fixture
def folder(right: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(right, tmp_path / "copy"))


def change(folder: Path, edit: Callable[[Any], None]) -> None:
    path = folder / "polish.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def change_weight(folder: Path, name: str, edit: Callable[[Any], None]) -> None:
    """Changes a weight and writes its new hash everywhere, as a forger would."""
    path = folder / "model.safetensors"
    weights = {key: value.copy() for key, value in load_file(path).items()}
    edit(weights[next(key for key in weights if key.endswith(name))])
    save_file(weights, path)
    digest = hash_tensors(path.read_bytes())
    change(folder, lambda data: data.update(weights=digest))
    change_subject(folder, lambda data: data["files"].update({"model.safetensors": digest}))


def change_subject(folder: Path, edit: Callable[[Any], None]) -> None:
    path = folder / "subject.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def refused(folder: Path) -> str:
    found = check_polished(folder)
    assert not found.ok
    assert found.length == 0
    return found.problem


def exchange_letters(folder: Path) -> None:
    """Weights and certificate of the same group, with two letters for each other."""
    change_weight(folder, "W.weight", exchange_columns)

    def edit(data: Any) -> None:
        for listed in (data["letters"], *data["blocks"]):
            listed[0], listed[1] = listed[1], listed[0]

    change(folder, edit)


def exchange_columns(weight: Any) -> None:
    weight[:, [0, 1]] = weight[:, [1, 0]]


def test_products_have_to_be_the_answers_to_the_question(folder: Path) -> None:
    """A model that multiplies in the group is wrong for its own letters if two of them are exchanged."""
    exchange_letters(folder)
    assert "is not the answer to the question" in refused(folder)
    change_subject(folder, lambda data: data.update(question=None))
    assert check_polished(folder).ok


@pytest.mark.parametrize(
    "changes",
    [
        {"reading": {"kind": "above", "threshold": "0", "columns": [], "table": []}},
        {"reading": None},
    ],
)
def test_scores_have_to_be_read_as_one_class_for_each_element(folder: Path, changes: dict[str, Any]) -> None:
    change_subject(folder, lambda data: data.update(changes))
    assert "are not read as" in refused(folder)


def test_the_right_one_is_accepted(right: Path) -> None:
    found = check_polished(right)
    assert found.ok
    assert found.margin > 5
    assert found.dtype == "float32"


def test_weights_that_were_exchanged_are_noticed(folder: Path) -> None:
    change(folder, lambda data: data.update(weights="0" * 64))
    assert "not those that the certificate" in refused(folder)


def test_one_weight_of_the_readout_can_undo_the_proof(folder: Path) -> None:
    def spoil(weight: Any) -> None:
        weight[5] = weight[6]

    change_weight(folder, "C.weight", spoil)
    assert "not shown to be smaller" in refused(folder)


def test_a_bias_can_undo_the_proof(folder: Path) -> None:
    def spoil(bias: Any) -> None:
        bias[5] = 1e6

    change_weight(folder, "C.bias", spoil)
    assert "not shown to be smaller" in refused(folder)


def test_one_changed_entry_of_a_matrix_leaves_no_length(folder: Path) -> None:
    def spoil(weight: Any) -> None:
        weight[0, 5] += 0.1

    honest = check_polished(folder).length
    change_weight(folder, "W.weight", spoil)
    assert check_polished(folder).length < 100 < honest


def test_a_wrong_matrix_of_the_identity_is_refused(folder: Path) -> None:
    """No product needs it, so that it would change nothing of what is shown."""

    def spoil(data: Any) -> None:
        one = finite_monoid("S4").element_names[finite_monoid("S4").identity]
        data["blocks"][0][data["letters"].index(one)][0][1] += SCALE // 3

    change(folder, spoil)
    assert "is wrong" in refused(folder)


def test_a_representation_that_is_none_is_refused(folder: Path) -> None:
    def spoil(data: Any) -> None:
        data["blocks"][0][7][0][0] += SCALE // 3

    change(folder, spoil)
    assert "is no representation" in refused(folder)


def test_another_representation_of_the_group_is_refused(folder: Path) -> None:
    signs = np.sign(np.linalg.det(points("S4")))

    def spoil(data: Any) -> None:
        data["blocks"][0] = [
            [[int(sign) * SCALE * (i == j) for j in range(4)] for i in range(4)] for sign in signs
        ]

    change(folder, spoil)
    assert "is not shown to be smaller" in refused(folder)


def test_a_near_representation_with_few_digits_shows_less(folder: Path) -> None:
    def spoil(data: Any) -> None:
        for matrix in data["blocks"][0]:
            for row in matrix:
                row[:] = [(x >> 136) << 136 for x in row]

    honest = check_polished(folder)
    change(folder, spoil)
    found = check_polished(folder)
    assert found.ok
    assert found.length < honest.length
    assert found.margin < honest.margin


def test_letters_in_another_order_are_refused(folder: Path) -> None:
    def spoil(data: Any) -> None:
        data["letters"][3], data["letters"][4] = data["letters"][4], data["letters"][3]

    change(folder, spoil)
    assert "is no representation" in refused(folder)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("head",), "linear"),
        (("layers", 0, "settings", "form"), "exponential"),
        (("layers", 0, "name"), "ids4"),
        (("surroundings", 0, "norm"), "rms"),
    ],
)
def test_another_kind_of_model_is_refused(folder: Path, path: tuple[Any, ...], value: Any) -> None:
    def spoil(config: Any) -> None:
        place = config["network"]["config"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    change_subject(folder, spoil)
    assert "the model is not what the proof speaks of" in refused(folder)


@pytest.mark.parametrize(
    ("entry", "stated", "message"),
    [
        ("network", {"dtype": "bfloat16"}, "says bfloat16, its weights are float32"),
        ("files", {"model.safetensors": "0" * 64}, "other weights"),
    ],
)
def test_a_subject_with_other_weights_is_refused(
    folder: Path, entry: str, stated: dict[str, Any], message: str
) -> None:
    change_subject(folder, lambda subject: subject[entry].update(stated))
    assert message in refused(folder)


def test_scores_that_overflow_are_refused(folder: Path) -> None:
    """At every exact point the right score is the largest by far, but in float32 several are infinite."""

    def spoil(weight: Any) -> None:
        weight *= np.float32(2.0**124)

    change_weight(folder, "C.weight", spoil)
    scores, _ = read_model(folder)(torch.tensor([[3]]))
    assert not scores.isfinite().all()
    assert "may leave the range of float32" in refused(folder)


@pytest.mark.parametrize(
    "stated",
    [
        {"claim": "It is right in bfloat16, too."},
        {"remark": "checked by an expert"},
        {"length": 10**9},
        {"version": 1},
        {"group": "S7"},
        {"group": "T3"},
        {"letters": []},
        {"blocks": []},
        {"blocks": None},
    ],
)
def test_certificates_that_make_no_sense_are_told(folder: Path, stated: dict[str, Any]) -> None:
    change(folder, lambda data: data.update(stated))
    with pytest.raises(FormatError, match=r"polish.json"):
        check_polished(folder)


@pytest.mark.parametrize("entry", [2.0, "1", True, 3 * SCALE, -(10**400), None, [1]])
def test_an_entry_that_is_none_is_told(folder: Path, entry: Any) -> None:
    change(folder, lambda data: data["blocks"][0][5][1].__setitem__(2, entry))
    with pytest.raises(FormatError, match="an entry of a matrix"):
        check_polished(folder)


def test_a_matrix_that_is_not_square_is_told(folder: Path) -> None:
    change(folder, lambda data: data["blocks"][0][5][1].pop())
    with pytest.raises(FormatError, match="one square matrix per letter"):
        check_polished(folder)


def test_a_check_ends_when_its_time_is_up(folder: Path) -> None:
    with pytest.raises(BudgetExceeded):
        check_polished(folder, budget=Budget(seconds=1e-9))


def test_damaged_files_are_named(folder: Path) -> None:
    change(folder, lambda data: data.pop("group"))
    with pytest.raises(FormatError, match="group"):
        check_polished(folder)
    (folder / "polish.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match="not JSON"):
        check_polished(folder)
    (folder / "polish.json").unlink()
    with pytest.raises(FormatError, match=r"polish.json: there is no such file") as told:
        check_polished(folder)
    assert "not JSON" not in str(told.value)


@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-9])
def test_an_exact_representation_is_as_near_as_the_bound_says(noise: float) -> None:
    """The one of the argument: the regular representation on an invariant space near the columns."""
    group = finite_monoid("S4")
    truth, order = turned(points("S4"), 0), group.order
    products = group.times(tuple(range(order)))
    near = truth + noise * np.random.default_rng(0).normal(size=truth.shape)
    near[group.identity] = np.eye(4)
    found = near_representation(to_scale(near), products, Budget())
    assert np.abs(near - truth).max() < 10 * found.error / SCALE < 1e4 * noise

    # Functions on the group; R(h) f (g) = f(hg), as M(hg) = M(g) M(h).
    columns = near.reshape(order * 4, 4)
    acts = [np.kron(np.eye(order)[products[h]], np.eye(4)) for h in range(order)]
    left, _, _ = np.linalg.svd(columns, full_matrices=False)
    mean = sum(act @ left @ left.T @ act.T for act in acts) / order
    basis = np.linalg.eigh(mean)[1][:, -4:]
    start = basis.T @ columns
    exact = np.stack([np.linalg.inv(start) @ basis.T @ act @ basis @ start for act in acts])
    assert exact[products[5, 7]] == pytest.approx(exact[7] @ exact[5], abs=1e-12)
    assert np.linalg.norm(near - exact, ord=2, axis=(1, 2)).max() <= found.error / SCALE


def test_matrices_far_from_any_representation_are_refused() -> None:
    wrong = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 3, 3)))[0]
    wrong[finite_monoid("S3").identity] = np.eye(3)
    products = finite_monoid("S3").times(tuple(range(6)))
    with pytest.raises(Refused, match="near none"):
        near_representation(to_scale(wrong), products, Budget())


def test_a_float_state_drifts_less_than_the_bound_and_not_absurdly_less() -> None:
    truth = turned(points("S4"), 0)
    given = truth.astype(np.float32)
    exact = NearRepresentation(matrices=to_scale(truth), error=SCALE // 10**15)
    drift = drift_of([to_scale(m) for m in given], list(range(24)), exact, dtype="float32")
    rng = np.random.default_rng(0)
    state, product = np.eye(4, dtype=np.float32), np.eye(4)
    for t, letter in enumerate(rng.integers(0, 24, 2000), start=1):
        state, product = given[letter] @ state, truth[letter] @ product
        assert np.linalg.norm(state - product) <= t * float(drift.step)
    assert np.linalg.norm(state - product) > 2000 * float(drift.step) / 1000
