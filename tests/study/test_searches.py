"""Windows, noise and fragile words go into certificates, where the kernel checks them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from nerode.compiler import compile_language
from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages.bestiary import find_language
from nerode.proofs import (
    FRAGILE,
    UNDER_NOISE,
    WINDOW,
    Certificate,
    certify,
    check_folder,
    fewest_ramps,
    write_folder,
)
from nerode.study import add_claims


def compiled(folder: Path, name: str, target: str) -> Path:
    language = find_language(name)
    network = compile_language(language, target)
    certificate = certify(network, language)
    assert isinstance(certificate, Certificate)
    write_folder(folder, network, language, certificate)
    return folder


def test_a_delay_line_has_a_window(tmp_path: Path) -> None:
    folder = compiled(tmp_path, "last-but-3", "ssm")
    before = check_folder(folder).claims
    assert [search.found for search in add_claims(folder, ["window"])] == [True]
    result = check_folder(folder)
    assert result.ok
    assert result.claims[: len(before)] == before
    (claim,) = (c for c in result.claims if c.task == WINDOW)
    # The letter 3 places before the last is the fourth from the end.
    assert "only the last 4 matter" in claim.covers
    # A second search replaces the claim.
    add_claims(folder, ["window"])
    assert check_folder(folder).claims == result.claims


def test_a_parity_bit_is_fragile_and_has_no_window(tmp_path: Path) -> None:
    folder = compiled(tmp_path, "parity", "diagonal-signed")
    window, fragile = add_claims(folder, ["window", "fragile"], eps=Fraction(1, 100))
    assert not window.found
    assert window.problem
    assert fragile.found
    result = check_folder(folder)
    assert result.ok
    # Half of the gap of 2 is 100 steps of 1/100; a walk takes the square of that.
    assert any("10000 readings" in claim.covers for claim in result.claims if claim.task == FRAGILE)


def test_a_network_with_attractors_survives_noise(tmp_path: Path) -> None:
    folder = compiled(tmp_path, "tomita-1", "elman-relu")
    assert [search.found for search in add_claims(folder, ["noise"])] == [True]
    result = check_folder(folder)
    assert result.ok
    assert any(claim.scope == UNDER_NOISE and claim.eps for claim in result.claims)


def test_networks_that_boxes_are_not_made_for_say_so(tmp_path: Path) -> None:
    folder = compiled(tmp_path, "parity", "diagonal-signed")
    before = (folder / "certificate.json").read_bytes()
    (noise,) = add_claims(folder, ["noise"])
    assert not noise.found
    assert noise.problem
    assert (folder / "certificate.json").read_bytes() == before


def test_a_claim_that_was_changed_afterwards_is_refused(tmp_path: Path) -> None:
    folder = compiled(tmp_path, "last-but-3", "ssm")
    add_claims(folder, ["window"])
    path = folder / "certificate.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["evidence"]["window"]["letters"] = 3
    path.write_text(json.dumps(data), encoding="utf-8")
    assert not check_folder(folder).ok


@pytest.mark.parametrize(("points", "neurons"), [(2, 2), (3, 3), (4, 4), (5, 4)])
def test_neurons_to_memorise_alternating_points(points: int, neurons: int) -> None:
    found = fewest_ramps(points)
    assert found.neurons == neurons
    values = [
        sum(sign * max(slope * t + offset, Fraction(0)) for slope, offset, sign in found.ramps)
        for t in range(1, points + 1)
    ]
    assert values == [(-1) ** t for t in range(1, points + 1)]


def test_memorisation_has_limits() -> None:
    with pytest.raises(InputError):
        fewest_ramps(1)
    with pytest.raises(BudgetExceeded):
        fewest_ramps(8, budget=Budget(seconds=0.01).start())
