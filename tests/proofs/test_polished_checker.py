"""The checker of polished networks, on one that is right and on wrong ones made from it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from nerode.analysis.polish import polish
from nerode.core import Budget, BudgetExceeded, FormatError, root_of_unity, square_root
from nerode.models import read_model
from nerode.proofs.polished import SCALE, conjugate, drift_of, embed, enclose, to_scale
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

    change_weight(folder, "W.weight", spoil)
    assert "is claimed in float32; " in refused(folder)


def test_a_representation_that_is_none_is_refused(folder: Path) -> None:
    def spoil(data: Any) -> None:
        part = max(data["blocks"][0]["parts"], key=lambda part: len(part[0]))
        part[7][0][0] = "1/3"

    change(folder, spoil)
    assert "is no representation" in refused(folder)


def test_another_representation_of_the_group_is_too_far_from_the_weights(folder: Path) -> None:
    def spoil(data: Any) -> None:
        one = next(part for part in data["blocks"][0]["parts"] if len(part[0]) == 1)
        signs = np.sign(np.linalg.det(points("S4")))
        for letter in range(24):
            one[letter] = [[str(int(signs[letter]))]]

    change(folder, spoil)
    refused(folder)


def test_letters_in_another_order_are_refused(folder: Path) -> None:
    def spoil(data: Any) -> None:
        data["letters"][3], data["letters"][4] = data["letters"][4], data["letters"][3]

    change(folder, spoil)
    assert "is no representation" in refused(folder)


def test_a_singular_basis_is_refused(folder: Path) -> None:
    def spoil(data: Any) -> None:
        data["blocks"][0]["basis"][0] = data["blocks"][0]["basis"][1]

    change(folder, spoil)
    assert "singular" in refused(folder)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"length": 10**9}, "is claimed"),
        ({"margin": 100.0}, "margin of 100"),
        ({"dtype": "float64"}, "float64"),
    ],
)
def test_claims_beyond_what_is_shown_are_refused(folder: Path, claim: dict[str, Any], message: str) -> None:
    change(folder, lambda data: data.update(claim))
    assert message in refused(folder)


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
        {"margin": float("nan")},
        {"margin": float("inf")},
        {"margin": "5"},
        {"length": float("inf")},
        {"length": 100.5},
        {"length": True},
        {"group": "S7"},
        {"letters": []},
        {"blocks": []},
        {"blocks": None},
    ],
)
def test_certificates_that_make_no_sense_are_told(folder: Path, stated: dict[str, Any]) -> None:
    change(folder, lambda data: data.update(stated))
    with pytest.raises(FormatError, match=r"polish.json"):
        check_polished(folder)


@pytest.mark.parametrize("bits", [10**12, -64, 64.0, "64"])
def test_a_basis_with_absurd_digits_is_told(folder: Path, bits: Any) -> None:
    change(folder, lambda data: data["blocks"][0].update(basis_bits=bits))
    with pytest.raises(FormatError, match="a basis in multiples"):
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


def test_numbers_are_enclosed() -> None:
    for value, expected in ((square_root(5), 5**0.5), (root_of_unity(7, 60), np.exp(14j * np.pi / 60))):
        real, imaginary, error = enclose(value)
        assert error < Fraction(1, 10**40)
        assert complex(real, imaginary) == pytest.approx(expected, abs=1e-15)
    real, _, error = enclose(square_root(5))
    assert abs(real * real - 5) <= 5 * error + error


def test_conjugation_is_within_its_error_of_exact_fractions() -> None:
    basis = [
        [(Fraction(1), Fraction(1, 3)), (Fraction(2), Fraction(0))],
        [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))],
    ]
    matrix = embed(
        [
            [(Fraction(0), Fraction(1, 7)), (Fraction(1), Fraction(0))],
            [(Fraction(1), Fraction(2)), (Fraction(5), Fraction(0))],
        ]
    )
    found = conjugate(embed(basis), [matrix], Fraction(0))
    assert found is not None
    left = np.array(embed(basis), dtype=object)
    # B (B⁻¹ … ) as B M = (B E B⁻¹) B, so that no inverse enters.
    shown = found.matrices[0] @ left
    exact = left @ np.array(matrix, dtype=object) * SCALE
    assert np.abs(shown - exact).max() <= found.error * np.abs(left).sum(axis=0).max()
    assert found.error < 1000


def test_a_float_state_drifts_less_than_the_bound_and_not_absurdly_less() -> None:
    truth = turned(points("S4"), 0)
    given = truth.astype(np.float32)
    exact = conjugate(
        [[Fraction(int(i == j)) for j in range(8)] for i in range(8)],
        [embed([[(Fraction(float(e)), Fraction(0)) for e in row] for row in matrix]) for matrix in truth],
        Fraction(1, 10**15),
    )
    assert exact is not None
    drift = drift_of([to_scale(m) for m in given], list(range(24)), exact, dtype="float32")
    rng = np.random.default_rng(0)
    state, product = np.eye(4, dtype=np.float32), np.eye(4)
    for t, letter in enumerate(rng.integers(0, 24, 2000), start=1):
        state, product = given[letter] @ state, truth[letter] @ product
        assert np.linalg.norm(state - product) <= t * float(drift.step)
    assert np.linalg.norm(state - product) > 2000 * float(drift.step) / 1000
