"""`nerode mend --method group`, and the older name of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from nerode.languages.groups import finite_monoid
from nerode.records import TrainSpec, run_name
from nerode.training import run_key
from nerode.training.runs import run_in
from tests.cli.runner import run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """S3 by rotations of space, trained for a few seconds."""
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": "s3", "settings": {"pairs": 0.5}},
            "model": {
                "layers": "orthogonal",
                "width": 0,
                "head": "none",
                "settings": {"blocks": 4, "size": 3, "outputs": 6, "spread": 1.0},
            },
            "optimiser": {"rate": 2e-2, "decay": 0.0, "schedule": "cosine"},
            "run": {
                "steps": 250,
                "batch": 64,
                "test_sequences": 8,
                "test_lengths": [8],
                "stop": {"threshold": 2.0},
            },
        }
    )
    out = tmp_path_factory.mktemp("runs")
    run_in(out, spec)
    return out / run_name(run_key(spec))


def test_a_run_is_polished_and_checked_again(trained: Path, tmp_path: Path) -> None:
    place = tmp_path / "polished"
    shown = run("mend", str(trained), "-o", str(place))
    assert shown.code == 0, shown.err
    assert "✓ with its exact matrices correct at every length" in shown.out
    assert "in float32, one letter after the other" in shown.out
    verified = run("verify", str(place))
    assert verified.code == 0, verified.err
    old = run("polish", str(place), "--check")
    assert verified.out == old.out
    assert f"nerode polish is now: nerode verify {place}" in old.err
    assert verified.out.startswith("products in S3, 6 letters\n")
    assert "compiled networks" in run("verify", str(place), "--dtype", "float32").err
    told = run("run", str(place), "(23) (12)", "(12) (12)")
    assert told.code == 0, told.err
    assert "is a mended group: `nerode verify" in told.err
    monoid = finite_monoid("S3")
    names = monoid.element_names
    letters = [names.index("(23)"), names.index("(12)")]
    product = names[monoid.times(tuple(range(6)))[letters[0]][letters[1]]]
    classes = [names[int(line.split("  ")[0])] for line in told.out.splitlines()]
    assert classes == [product, names[monoid.identity]]
    (answer,) = [json.loads(line) for line in run("run", str(trained), "(23)", "--json").out.splitlines()]
    assert (answer["accept"], answer["next"]) == (None, [])
    assert int(answer["class"]) < len(names)
    content = (place / "model.safetensors").read_bytes()
    (place / "model.safetensors").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    for command in (("polish", str(place), "--check"), ("verify", str(place))):
        refused = run(*command)
        assert refused.code == 1
        assert "not those that the certificate was written for" in refused.err
    told = json.loads(run("verify", str(place), "--json").out)
    assert told["ok"] is False
    assert told["claims"] == []
    assert "not those" in told["failure"]["what"]
    compared = run("report", str(place), "--language", "s3")
    assert compared.code == 1
    assert "is refused" in compared.out


def test_verify_and_compare_read_a_polished_network(trained: Path, tmp_path: Path) -> None:
    place = tmp_path / "all" / "polished"
    old = run("polish", str(trained), "-o", str(place))
    assert old.code == 0
    assert f"nerode polish is now: nerode mend --method group {trained} -o {place}" in old.err
    exact, floats = json.loads(run("verify", str(place), "--json").out)["claims"]
    assert (exact["length"], exact["dtype"]) == ("all", None)
    assert "an exact representation near its matrices" in exact["covers"]
    assert floats["dtype"] == "float32"
    for folder in (place, place.parent):
        compared = run("report", str(folder), "--json", "--language", "s3")
        assert compared.code == 0, compared.err
        (row,) = json.loads(compared.out)["rows"]
        assert row["architecture"] == "ids4"
        (proof,) = row["certified"]
        assert proof["holds"] is True
        assert proof["all_lengths"] is True
        assert proof["claims"][1] == f"correct up to length {floats['length']:,} in float32"
    other = run("report", str(place), "--language", "z6")
    assert other.code == 2
    assert "is about the language named 'the word problem of S3' in its file, not about" in other.err


def test_the_object_has_everything(trained: Path, tmp_path: Path) -> None:
    shown = run("mend", str(trained), "-o", str(tmp_path / "p"), "--dtype", "float64", "--json")
    found = json.loads(shown.out)
    assert found["proved"] is True
    assert found["group"] == "S3"
    assert found["length"] > 10**11
    assert [score["length"] for score in found["after"]] == [64, 512, 4096]
    assert len(found["defects"]) == 4


def test_wrong_use_is_refused(trained: Path, tmp_path: Path) -> None:
    nowhere = run("polish", str(trained))
    assert nowhere.code == 2
    assert "Missing option '-o' / '--out'" in nowhere.err


def test_products_are_no_proof_of_a_run_that_is_asked_something_else(trained: Path, tmp_path: Path) -> None:
    place = tmp_path / "polished"
    assert run("mend", str(trained), "-o", str(place)).code == 0
    subject = json.loads((place / "subject.json").read_text())
    del subject["files"]["language.json"]
    (place / "subject.json").write_text(json.dumps(subject | {"question": None}))
    assert run("verify", str(place)).code == 0
    tables = {"task": {"name": "parity"}, "run": {"steps": 1, "test_lengths": [8], "test_sequences": 1}}
    spec = TrainSpec.from_mapping(tables)
    run_in(tmp_path, spec)
    folder = tmp_path / run_name(run_key(spec))
    for name in ("subject.json", "model.safetensors", "polish.json"):
        shutil.copy(place / name, folder)
    refused = run("verify", str(folder))
    assert refused.code == 2, refused.out
    assert "without a proof of its own" in refused.err
