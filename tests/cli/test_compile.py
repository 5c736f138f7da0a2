"""compile, verify and run, from the command line to the folder and back."""

import json

import pytest

from nerode.records import Folder
from tests.cli.runner import run


@pytest.fixture(scope="module")
def parity(tmp_path_factory):
    folder = tmp_path_factory.mktemp("networks") / "parity"
    outcome = run("compile", "(aa)*", "--to", "diagonal-signed", "-o", str(folder))
    assert outcome.code == 0, outcome.err
    return folder


def copy(folder, target):
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).write_text(path.read_text())
    return target


def test_the_network_is_printed_readably(parity):
    shown = run("compile", "(aa)*", "--to", "diagonal-signed").out
    assert "1, of width 1" in shown
    assert "all lengths in exact arithmetic" in shown
    assert sorted(p.name for p in parity.iterdir()) == [
        "certificate.json",
        "language.json",
        "network.json",
        "subject.json",
    ]
    assert (parity / "certificate.json").stat().st_size < 5_000


def test_json_keeps_its_contract(tmp_path):
    outcome = run("compile", "tomita-1", "--to", "mamba", "-o", str(tmp_path / "net"), "--json")
    found = json.loads(outcome.out)
    assert found.keys() >= {"target", "construction", "layers", "width", "bits", "parameters", "out"}
    assert found["target"] == "mamba"
    assert {"network", "weights"} == {claim["about"] for claim in found["claims"]}
    assert all(claim.keys() >= {"scope", "dtype", "length", "about"} for claim in found["claims"])
    checked = json.loads(run("verify", str(tmp_path / "net"), "--json").out)
    assert checked["ok"] is True
    assert checked["failure"] is None
    assert all(c.keys() >= {"scope", "dtype", "length", "eps", "method"} for c in checked["claims"])


def test_a_new_network_takes_all_certificates_of_the_old_one_away(tmp_path):
    folder = tmp_path / "net"
    assert run("compile", "(aa)*", "--to", "diagonal-signed", "-o", str(folder)).code == 0
    assert run("verify", str(folder), "--dtype", "float32", "--save").code == 0
    assert (folder / "certificate.float32.json").exists()
    (folder / "certificate.notes.json").write_text("{}")
    assert run("compile", "tomita-1", "--to", "mamba", "-o", str(folder)).code == 0
    assert not (folder / "certificate.float32.json").exists()
    assert (folder / "certificate.notes.json").exists()
    assert run("verify", str(folder), "--dtype", "float32").code == 0


def test_verify(parity):
    outcome = run("verify", str(parity))
    assert outcome.code == 0
    assert "all lengths in exact arithmetic" in outcome.out
    assert run("verify", str(parity), "--dtype", "bfloat16").code == 0


def test_verify_says_about_which_language(parity, tmp_path):
    unnamed = "a regular language of 2 states over {a}, named "
    assert run("verify", str(parity)).out.splitlines()[0] == f"{unnamed}'(aa)*' in its file"
    folder = tmp_path / "tomita-1"
    assert run("compile", "tomita-1", "--to", "mamba", "-o", str(folder)).code == 0
    assert run("verify", str(folder)).out.splitlines()[0].startswith("tomita-1: ")
    path = copy(parity, tmp_path / "copy") / "language.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "name": "tomita-1"}))
    changed = run("verify", str(path.parent))
    assert (changed.code, "is not the file that" in changed.err) == (2, True)
    subject = path.parent / "subject.json"
    data = json.loads(subject.read_text())
    data["files"]["language.json"] = Folder(path.parent).file_hash("language.json")
    subject.write_text(json.dumps(data))
    told = run("verify", str(path.parent))
    assert told.code == 0
    assert told.out.splitlines()[0] == f"{unnamed}'tomita-1' in its file"


def test_refusing_is_an_answer_with_all_reasons():
    outcome = run("compile", "parity", "--to", "mamba", "--json")
    assert outcome.code == 1
    reasons = json.loads(outcome.out)["refused"]
    assert any("Z2" in reason and "witness" in reason for reason in reasons)
    shown = run("compile", "parity", "--to", "mamba")
    assert shown.code == 1
    assert "mamba cannot do parity" in shown.err
    assert shown.err.count("the monoid contains Z2") == 1
    assert shown.err.splitlines()[-1] == "Next: nerode check parity"
    assert run("compile", "z3", "--to", "diagonal-signed").code == 1


@pytest.mark.parametrize(("language", "target"), [("dyck-2", "rwkv-7")])
def test_what_is_open_is_not_called_impossible(language, target):
    verdicts = json.loads(run("check", language, "--arch", target, "--json").out)["verdicts"]
    assert {v["status"] for v in verdicts if v["sense"] in ("exact", "finite-precision")} <= {"open", "yes"}
    shown = run("compile", language, "--to", target)
    assert shown.code == 1
    assert "cannot do" not in shown.err
    assert f"no construction here makes {target} do {language}" in shown.err
    assert json.loads(run("compile", language, "--to", target, "--json").out)["impossible"] is False
    assert json.loads(run("compile", "parity", "--to", "mamba", "--json").out)["impossible"] is True


@pytest.mark.parametrize("file", ["network.json", "language.json", "certificate.json"])
def test_a_changed_file_is_refused(parity, tmp_path, file):
    folder = copy(parity, tmp_path / "changed")
    text = (folder / file).read_text()
    (folder / file).write_text(
        text.replace('"-1"', '"1"').replace("-1", "1").replace("all lengths", "all length")
    )
    if (folder / file).read_text() == text:
        (folder / file).write_text(text.replace("0", "1", 1))
    outcome = run("verify", str(folder))
    assert outcome.code in (1, 2)
    assert "Traceback" not in outcome.err
    assert outcome.err


def test_a_truncated_or_missing_file_is_an_error(parity, tmp_path):
    folder = copy(parity, tmp_path / "cut")
    text = (folder / "network.json").read_text()
    (folder / "network.json").write_text(text[: len(text) // 2])
    assert run("verify", str(folder)).code == 2
    assert run("run", str(folder), "a").code == 2
    (folder / "network.json").unlink()
    assert run("verify", str(folder)).code == 2
    outcome = run("run", str(folder), "a")
    assert outcome.code == 2
    assert "nerode compile" in outcome.err


def test_a_certificate_for_another_language_is_refused(parity, tmp_path):
    folder = copy(parity, tmp_path / "other")
    run("compile", "(aaa)*", "--to", "diagonal-complex", "-o", str(tmp_path / "mod3"))
    (folder / "language.json").write_text((tmp_path / "mod3" / "language.json").read_text())
    outcome = run("verify", str(folder), "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["ok"] is False


def test_run(parity, tmp_path, monkeypatch):
    rows = [json.loads(line) for line in run("run", str(parity), "aa", "a", "", "--json").out.splitlines()]
    assert [row["accept"] for row in rows] == [True, False, True]
    assert rows[0]["next"] == [["a", "$"], ["a"], ["a", "$"]]
    (tmp_path / "words.txt").write_text("a\naaaa\n")
    shown = run("run", str(parity), "--words", str(tmp_path / "words.txt"))
    assert shown.out.splitlines()[0].startswith("reject")
    assert shown.out.splitlines()[1].startswith("accept")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compile", "parity", "--to", "mambo"), "mamba"),
        (("compile", "(a", "--to", "mamba"), "column"),
        (("compile", "ngram-seed", "--to", "ssm", "--eps", "0"), "eps"),
        (("compile", "ngram-seed", "--to", "ssm", "--eps", "-1"), "eps"),
        (("compile", "ngram-seed", "--to", "ssm", "--eps", "much"), "eps"),
        (("compile", "ngram-seed", "--to", "ssm", "--width", "0"), "width"),
        (("compile", "parity", "--to", "lstm", "--construction", "magic"), "construction"),
        (("verify", "nowhere"), "nowhere"),
        (("run", "nowhere", "a"), "nowhere"),
    ],
)
def test_bad_input_is_one_clear_error(arguments, message):
    outcome = run(*arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_run_refuses_unknown_letters_and_missing_words(parity):
    assert "alphabet" in run("run", str(parity), "ab").err
    assert "give a word" in run("run", str(parity)).err
