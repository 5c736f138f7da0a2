"""`model/` beside a network: written by compile, replayed by verify, run by run."""

import json
import sys

import pytest

from nerode.models import read_model
from nerode.proofs import read_network
from tests.cli.runner import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("real") / "ab"
    outcome = run("compile", "(ab)*", "--to", "mamba", "-o", str(place))
    assert outcome.code == 0, outcome.err
    assert "(ab)* for mamba: published surroundings, 3 blocks of width 32" in outcome.out
    return place


def copied(folder, target):
    for path in folder.rglob("*"):
        if path.is_file():
            place = target / path.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
    return target


def test_the_weights_are_proved_and_replayed(folder):
    found = json.loads(run("verify", str(folder), "--json").out)
    assert found["ok"] is True
    claims = found["model"]["claims"]
    assert {c["dtype"]: c["length"] for c in claims} == dict.fromkeys(
        ("float32", "bfloat16", "float16"), "all"
    )
    assert not any("empty prefix" in c["covers"] for c in claims)
    assert run("verify", str(folder)).out.count(": model/") == 3


def test_the_weights_are_verified_without_a_proof_of_their_network(folder, tmp_path):
    place = copied(folder, tmp_path / "alone")
    (place / "certificate.json").unlink()
    found = json.loads(run("verify", str(place), "--json").out)
    assert (found["ok"], found["claims"], len(found["model"]["claims"])) == (True, [], 3)
    for path in (place / "model").glob("certificate.*"):
        path.unlink()
    assert run("verify", str(place)).code == 2


def test_the_weights_run(folder):
    rows = [
        json.loads(line)
        for line in run("run", str(folder), "--model", "ab", "a", "", "--json").out.splitlines()
    ]
    assert [row["accept"] for row in rows] == [True, False, True]
    assert rows[0]["next"] == [["a", "$"], ["b"], ["a", "$"]]
    exact = [json.loads(line) for line in run("run", str(folder), "abab", "ba", "--json").out.splitlines()]
    real = [
        json.loads(line)
        for line in run("run", str(folder), "--model", "abab", "ba", "--json").out.splitlines()
    ]
    assert [row["next"] for row in exact] == [row["next"] for row in real]
    alone = run("run", str(folder / "model"), "ab", "a")
    assert [line.split()[0] for line in alone.out.splitlines()] == ["accept", "reject"]
    assert f"`nerode verify {folder}` says what is proved of them" in alone.err


def test_other_weights_are_refused(folder, tmp_path):
    place = copied(folder, tmp_path / "other")
    run("compile", "tomita-1", "--to", "mamba", "-o", str(tmp_path / "tomita"))
    for name in ("subject.json", "language.json", "model.safetensors"):
        (place / "model" / name).write_bytes((tmp_path / "tomita" / "model" / name).read_bytes())
    outcome = run("verify", str(place))
    assert outcome.code == 2
    assert "another language" in outcome.err
    # Other weights for the same language are another subject, which the certificates do not name.
    place = copied(folder, tmp_path / "same")
    run("compile", "(ab)*", "--to", "mamba", "--surroundings", "zoo", "-o", str(tmp_path / "zoo"))
    for name in ("subject.json", "language.json", "model.safetensors"):
        (place / "model" / name).write_bytes((tmp_path / "zoo" / "model" / name).read_bytes())
    outcome = run("verify", str(place))
    assert outcome.code == 1
    assert "another network" in outcome.err


def test_a_changed_state_is_refused(folder, tmp_path):
    path = copied(folder, tmp_path / "changed") / "model" / "certificate.float32.json"
    data = json.loads(path.read_text())
    moves = data["evidence"]["bit-closure"]["moves"]
    moves[0] = moves[0][::-1]
    path.write_text(json.dumps(data))
    outcome = run("verify", str(path.parent.parent), "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["model"]["failure"] is not None


def test_the_zoo_and_a_class(tmp_path):
    zoo = json.loads(
        run(
            "compile",
            "tomita-1",
            "--to",
            "mamba",
            "--surroundings",
            "zoo",
            "-o",
            str(tmp_path / "z"),
            "--json",
        ).out
    )
    assert zoo["model"]["surroundings"] == "zoo"
    assert {(c["dtype"], c["length"]) for c in zoo["model"]["claims"]} >= {("float32", "all")}
    alone = json.loads(
        run("compile", "tomita-1", "--to", "diagonal", "-o", str(tmp_path / "z"), "--json").out
    )
    assert alone["model"] is None
    assert not (tmp_path / "z" / "model").exists()
    assert "has no model/" in run("run", str(tmp_path / "z"), "--model", "1").err
    wrong = run("compile", "tomita-1", "--to", "diagonal", "--surroundings", "zoo")
    assert wrong.code == 2
    assert "is a class" in wrong.err


def test_one_artefact_is_printed_and_written(folder):
    """The sizes are those of the weights; the network in the folder is what they are made from."""
    found = json.loads(run("compile", "(ab)*", "--to", "mamba", "--json").out)
    model = read_model(folder / "model")
    assert found["layers"] == len(model.blocks) == found["model"]["layers"]
    assert found["parameters"] == sum(p.numel() for p in model.parameters()) == found["model"]["parameters"]
    assert found["width"] == model.config.width
    network = read_network(folder)
    assert found["network"]["parameters"] == network.num_parameters
    assert (found["construction"], network.origin.construction) == ("star-free", "star-free")
    assert found["explained"] == {"length": 8, "words": 2**9 - 1}
    assert {claim["length"] for claim in found["claims"] if claim["about"] == "weights"} == {"all", 10_000}
    shown = run("compile", "(ab)*", "--to", "mamba").out
    assert shown.startswith(
        "(ab)* for mamba: published surroundings, 3 blocks of width 32 for 2 recurrent layers, "
        "21,824 parameters"
    )
    assert "explained by network.json (same answers on all words to length 8)" in shown
    assert all(line.startswith("the exact network: ✓") for line in shown.splitlines() if "closure" in line)


def test_a_construction_reaches_the_weights(tmp_path):
    place = str(tmp_path / "w")
    found = json.loads(
        run("compile", "last-letter", "--to", "mamba", "--construction", "window", "-o", place, "--json").out
    )
    assert found["construction"] == "window"
    assert found["model"]["surroundings"] == "zoo"
    assert read_network(tmp_path / "w").origin.construction == "window"


def test_weights_that_fail_on_a_known_word_are_not_written(tmp_path):
    """Mirrors of the plane in half precision drift: the network is written, and the word is named."""
    place = tmp_path / "m"
    arguments = (
        "compile",
        "cycle-navigation",
        "--max-seconds",
        "6",
        "--to",
        "deltanet-signed",
        "--dtype",
        "float16",
        "-o",
        str(place),
    )
    outcome = run(*arguments, "--json")
    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert found["model"]["word"]
    assert "in float16 it is wrong after" in found["model"]["refused"][0]
    assert found["parameters"] == found["network"]["parameters"] == read_network(place).num_parameters
    assert not (place / "model").exists()
    assert run("verify", str(place)).code == 0


def test_what_cannot_be_carried_is_said(tmp_path):
    outcome = run("compile", "tomita-3", "--to", "mamba-3", "-o", str(tmp_path / "m"))
    assert outcome.code == 0
    assert "no weights: no layer here computes what mamba-3 computes" in outcome.out


def test_without_torch(tmp_path, monkeypatch):
    for name in list(sys.modules):
        if name.startswith(("nerode.proofs.floats", "nerode.proofs.find")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    outcome = run("compile", "tomita-1", "--to", "mamba", "-o", str(tmp_path / "m"))
    assert outcome.code == 0, outcome.err
    assert "no weights: this needs torch" in outcome.out


def test_export(folder, tmp_path):
    outcome = run("export", str(folder), "--to", "huggingface", "-o", str(tmp_path / "hf"), "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert {c["dtype"] for c in found["claims"]} == {"float32", "bfloat16", "float16"}
    assert (tmp_path / "hf" / "tokenizer.json").exists()
    again = run("export", str(folder), "--to", "fla", "-o", str(folder))
    assert again.code == 2
    assert "has no model/" in run("export", str(tmp_path), "--to", "fla", "-o", str(tmp_path / "x")).err
