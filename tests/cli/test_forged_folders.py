"""Folders whose files were exchanged or edited by hand: what is printed was replayed, or it is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks._forged_folders import (
    PLAIN,
    always_say,
    another_model,
    edit,
    membership_for_prediction,
    settle_as_it_says,
    trained,
    unnamed_links,
)
from nerode import kernel
from nerode.analysis.settle import settle_folder
from nerode.compiler import compile_language
from nerode.core import Budget
from nerode.languages import describe_language, resolve_language
from nerode.models import Surroundings, build_model, model_config, read_model
from nerode.models.lower.assembly import network_to_architecture
from nerode.network import network_from_json, network_to_json
from nerode.proofs import write_folder
from nerode.records import SETTLED, Folder, Reading, TaskConfig, TrainSpec, run_name
from nerode.tasks import build_task
from nerode.training import run_key, write_subject
from nerode.training.runs import run_in
from tests.cli.runner import run


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model with a question that is proved by all its float states."""
    place = tmp_path_factory.mktemp("proved") / "model"
    language = resolve_language("tomita-1")
    made = network_to_architecture(compile_language(language, "gru"), "gru")
    model = getattr(made, "model", made)
    task = build_task(TaskConfig(name="language-prediction", settings={"language": "tomita-1"}))
    with torch.no_grad():
        bias = model.head.bias if isinstance(model.head, torch.nn.Linear) else model.head[-1].bias
        bias -= 0.5
    origin = {"kind": "imported", "library": "torch", "format": "x", "source": "y", "language": "tomita-1"}
    write_subject(place, model, task, origin=origin)
    found = settle_folder(place, budget=Budget(seconds=60))
    assert (found.status, found.method) == ("proved", "closure"), found
    assert run("verify", str(place)).code == 0
    return place


@pytest.fixture
def copy(proved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(proved, tmp_path / "copy"))


def _only_in_batches(path: Path) -> None:
    """Makes a certificate claim what holds in batches of 64 alone."""
    data = json.loads(path.read_text())
    data["evidence"]["bit-closure"]["batches"] = [64]
    for claim in data["claims"]:
        head, _, tail = claim["covers"].partition(" Words were read in batches of ")
        batch = (
            " Words were read in batches of 64. Of a batch it is taken for granted that what a word gives "
            "depends neither on the other words nor on its row."
        )
        empty = tail.partition(" The empty")
        claim["covers"] = head + batch + empty[1] + empty[2]
    path.write_text(json.dumps(data))


def test_a_proof_of_batches_alone_is_no_proof(copy: Path) -> None:
    _only_in_batches(copy / SETTLED / "certificate.json")
    found = run("verify", str(copy))
    assert found.code == 3, found.err
    assert "not proved" in found.out
    settled = json.loads(run("verify", str(copy), "--json").out)
    assert settled["ok"] is False
    written = run("export", str(copy), "--to", "torch", "-o", str(copy / "torch"))
    assert (written.code, "✓" in written.out) == (0, False), written.err
    assert "Nothing is proved of this model." in (copy / "torch" / "README.md").read_text()


def test_written_weights_with_a_proof_of_batches_alone_show_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("compile", "(ab)*", "--to", "mamba", "--surroundings", "zoo", "-o", str(out)).code == 0
    (path,) = (out / "model").glob("certificate.float32.json")
    (out / "certificate.json").unlink()
    assert run("verify", str(out)).code == 0
    _only_in_batches(path)
    found = run("verify", str(out), "--json")
    assert (found.code, json.loads(found.out)["ok"]) == (3, False), found.out + found.err


def test_a_claim_about_errors_says_nothing_of_answers(tmp_path: Path) -> None:
    """A network of parity that lets no word end, with the true claim that its layer repeats every error."""
    language = resolve_language("parity")
    network = network_to_json(compile_language(language, "diagonal-signed"))
    network["decoder"]["answers"] = [["0", "1"], ["0", "1"]]
    described = describe_language(language)
    words = {"layer": 1, "first": [], "second": ["1"], "identity": ["0"], "apart": []}
    proof = kernel.prove(network, described, "identity-word", words)
    certificate = kernel.seal(network, described, [proof])
    write_folder(tmp_path, network_from_json(network), language, certificate)
    found = run("verify", str(tmp_path), "--json")
    assert (found.code, json.loads(found.out)["ok"]) == (3, False), found.out + found.err
    assert "nothing is proved of this network" in run("run", str(tmp_path), "11").err


def test_the_proof_of_a_decoder_is_not_one_of_another_network(tmp_path: Path) -> None:
    language = "012-star-02-star"
    for to, name in (("transformer-alibi", "dec"), ("diagonal", "net")):
        assert run("compile", language, "--to", to, "-o", str(tmp_path / name)).code == 0
    decoder, net = tmp_path / "dec", tmp_path / "net"
    (certificate,) = (decoder / "model").glob("certificate.*.json")
    shutil.copytree(decoder / "model", net / "model")
    shutil.copy(certificate, net)
    for named in (Folder(net).subject.hash, Folder(net).file_hash("network.json")):
        edit(net / certificate.name, network=named)
        refused = run("verify", str(net))
        assert refused.code == 1
        assert "attention-rounding]\n" not in refused.out
    (net / certificate.name).unlink()
    # The weights are those of the decoder, and what is proved is proved of them.
    found = run("verify", str(net))
    assert found.code == 0
    assert found.out.count("attention-rounding]") == found.out.count("attention-rounding]: model/") == 1


@pytest.mark.parametrize(
    "letters",
    [
        {"alphabet": ["1", "0"], "tokens": [0, 1]},
        {"alphabet": ["0", "1"], "tokens": [1, 0]},
        {"alphabet": ["0", "1"], "tokens": [0, 1], "begin": 2},
    ],
)
def test_other_letters_are_another_subject(copy: Path, letters: dict[str, Any]) -> None:
    before = Folder(copy).subject.hash
    edit(copy / "subject.json", letters=letters)
    assert Folder(copy).subject.hash != before
    refused = run("verify", str(copy))
    assert (refused.code, "✓" in refused.out) == (2, False)
    if letters["alphabet"] == ["1", "0"]:
        for command in ("prove", "analyse"):
            refused = run(command, str(copy))
            assert refused.code == 2
            assert "names the letters 1 0; its question is about 0 1, in this order" in refused.err


def test_the_tokens_of_imported_letters_are_printed(copy: Path) -> None:
    assert "letters and their tokens, as named at import: 0 = 0, 1 = 1" in run("verify", str(copy)).out


def test_what_a_settlement_says_of_its_search_is_not_repeated(copy: Path) -> None:
    lies = {"method": "magic", "states": 7_777, "reading": "scores above 9", "known": ["it is a masterpiece"]}
    edit(copy / SETTLED / "settlement.json", **lies)
    found = run("prove", str(copy), "--json")
    assert found.code == 0
    told = json.loads(found.out.splitlines()[0])
    assert (told["method"], told["reading"], told["known"]) == ("closure", "scores above 0", [])
    assert told["states"] != 7_777
    shown = run("prove", str(copy)).out
    assert not any(lie in shown for lie in ("magic", "7,777", "masterpiece"))


@pytest.mark.parametrize("part", ["torch", "model"])
def test_evidence_of_another_arithmetic_is_said_to_be(copy: Path, part: str) -> None:
    path = copy / SETTLED / "certificate.json"
    data = json.loads(path.read_text())
    data["evidence"]["bit-closure"]["arithmetic"][part] = "another one"
    path.write_text(json.dumps(data))
    found = run("verify", str(copy))
    assert found.code == 0
    assert f"found with another arithmetic ({part} 'another one', here " in found.out
    assert "replayed with this one" in found.out


def test_verify_loads_neither_searches_nor_theory(copy: Path, tmp_path: Path) -> None:
    """Of saved models and of runs, which import their task besides; compiled ones are in `test_verify`."""
    trained = tmp_path / "runs"
    done = run(
        *("train", "parity", "--arch", "gru", "--jobs", "1", "--steps", "1", "--out", str(trained), "--json"),
        *("--settle", "off", "--set", "run.test_lengths=[4]"),
    )
    assert done.code == 0, done.err
    folder = next(path for path in trained.iterdir() if (path / "result.json").exists())
    assert settle_folder(folder, budget=Budget(seconds=20)).status == "refuted"
    forge = folder / SETTLED / "settlement.json"
    edit(forge, status="proved", length="all", word=None, expected="", got="", read="", shortest=False)
    shutil.copy(copy / SETTLED / "certificate.json", folder / SETTLED)
    program = (
        "import sys\n"
        "from nerode.cli.main import main\n"
        "codes = []\n"
        "for place in sys.argv[1:]:\n"
        "    try:\n        main(['verify', place])\n"
        "    except SystemExit as end:\n        codes.append(end.code)\n"
        "bad = ('analysis', 'compiler', 'algebra', 'study', 'proofs.find', 'proofs.settle')\n"
        "found = [n for n in sys.modules if any(f'{n}.'.startswith(f'nerode.{b}.') for b in bad)]\n"
        "print('loaded', found, codes)\n"
    )
    done_there = subprocess.run(
        [sys.executable, "-c", program, str(copy), str(folder)], capture_output=True, text=True, check=False
    )
    assert "loaded [] [0, 1]" in done_there.stdout, (done_there.stdout, done_there.stderr)


def test_a_run_that_reads_its_scores_otherwise_than_its_task_is_refused(tmp_path: Path) -> None:
    """A network of the complement would be proved for parity, were its two classes exchanged in the file."""
    tables = {
        "task": {"name": "parity"},
        "model": {"layers": "deltanet-signed", "width": 4, "settings": {"heads": 1}},
        "run": {"steps": 1, "evaluate_every": 1, "validation": 8, "test_lengths": [8], "test_sequences": 4},
    }
    spec = TrainSpec.from_mapping(tables)
    run_in(tmp_path, spec)
    folder = tmp_path / run_name(run_key(spec))
    reading = json.loads((folder / "subject.json").read_text())["reading"]
    edit(folder / "subject.json", reading=reading | {"table": reading["table"][::-1]})
    for command in ("prove", "analyse"):
        refused = run(command, str(folder))
        assert refused.code == 2, refused.out
        assert "its scores are read as" in refused.err


def test_files_that_a_subject_does_not_name_are_no_part_of_a_folder(tmp_path: Path) -> None:
    """A link is refused where the subject names the file; so it has to name it."""
    refused = run("verify", str(unnamed_links(tmp_path)))
    assert (refused.code, refused.out) == (2, "")
    assert "does not name network.json" in refused.err
    net = tmp_path / "mamba"
    assert run("compile", "(ab)*", "--to", "mamba", "-o", str(net)).code == 0
    (net / "model").rename(tmp_path / "elsewhere")
    (net / "model").symlink_to(tmp_path / "elsewhere")
    refused = run("verify", str(net))
    assert (refused.code, refused.out) == (2, "")
    assert "model: is a link" in refused.err


def test_membership_is_no_proof_of_a_run_that_predicts(tmp_path: Path) -> None:
    folder = membership_for_prediction(tmp_path)
    for command in ("verify", "prove", "analyse"):
        refused = run(command, str(folder))
        assert refused.code == 2, refused.out
        assert "its question is not that of its task" in refused.err
    row = json.loads(run("report", str(tmp_path), "--language", "(a|b)*", "--json").out)["rows"][0]
    assert not any(found["holds"] for found in row["certified"])
    question = json.loads((folder / "subject.json").read_text())["question"]
    edit(folder / "subject.json", question=question | {"asks": "next"})
    assert run("prove", str(folder)).code == 1


def test_the_proof_of_another_model_is_none_of_a_run(tmp_path: Path) -> None:
    """A row of a table would say of Mamba what was proved of an Elman network."""
    folder = another_model(tmp_path)
    for command in ("verify", "prove", "analyse"):
        refused = run(command, str(folder))
        assert refused.code == 2, refused.out
        assert "names another model than its run, mamba" in refused.err
    (other,) = (tmp_path / "other").glob("*/result.json")
    assert run("verify", str(other.parent)).code == 0


def test_what_a_run_reads_is_not_changed_by_an_option_that_nobody_looks_at(tmp_path: Path) -> None:
    """A third of the probability each is above 0 as a score, and no half."""
    folder = trained(tmp_path, "elman-tanh", **PLAIN)
    always_say(folder, [1.0, 1.0, 1.0])
    for options in (["--reading", "softmax:0.5"], ["--letters", "b,a"]):
        for command in ("ask", "prove"):
            refused = run(command, str(folder), *options, "--language", "(a|b)*")
            assert (refused.code, "proved" in refused.out) == (2, False), refused.out
            assert f"leave {options[0][2:]} out" in refused.err
    assert run("prove", str(folder), "--language", "(a|b)*").code == 0


def test_a_name_that_a_file_gives_is_not_one_of_what_was_proved(tmp_path: Path) -> None:
    path = tmp_path / "named.json"
    described = describe_language(resolve_language("(0|1)*"))
    path.write_text(json.dumps(described | {"name": "parity"}))
    folder = trained(tmp_path, "elman-tanh", language=str(path), **PLAIN)
    always_say(folder, [1.0, 1.0, 1.0])
    saved = tmp_path / "saved"
    task = build_task(TaskConfig(name="language-prediction", settings={"language": str(path)}))
    write_subject(saved, read_model(folder), task, origin={"kind": "given"})
    for place in (folder, saved):
        for command in ("prove", "verify"):
            found = run(command, str(place))
            assert (found.code, "for parity" in found.out) == (0, False), found.err
            assert "for the language named 'parity' in its file" in found.out
    pattern = trained(tmp_path / "pattern", "elman-tanh", **PLAIN)
    always_say(pattern, [1.0, 1.0, 1.0])
    assert "proved for (a|b)* at every length" in run("prove", str(pattern)).out


def test_a_name_that_a_file_gives_is_not_one_of_its_classes(tmp_path: Path) -> None:
    """A model that says 0 of every word, asked about a machine of one class, is none of parity."""
    task = build_task(TaskConfig(name="dfa-states", settings={"language": "parity"}))
    plain = Surroundings(norm="none", residual=False, feed_forward="none")
    model = build_model(model_config("elman-tanh", outputs=2, letters=2, surroundings=plain), seed=0)
    with torch.no_grad():
        for value in model.parameters():
            value.zero_()
        model.head.bias[0] = 1.0
    write_subject(tmp_path, model, task, origin={"kind": "given"})
    path = tmp_path / "language.json"
    definition = json.loads(path.read_text())["definition"]
    edit(path, definition=definition | {"outputs": ["0"], "transitions": [[0, 0]]})
    written = json.loads((tmp_path / "subject.json").read_text())
    files = written["files"] | {path.name: Folder(tmp_path).file_hash(path.name)}
    edit(tmp_path / "subject.json", files=files)
    settle_as_it_says(tmp_path)
    for command in ("prove", "verify"):
        found = run(command, str(tmp_path))
        assert (found.code, "for parity" in found.out) == (0, False), found.err
        assert "for the classes named 'parity' in its file" in found.out


def test_written_weights_that_are_read_in_another_way_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("compile", "(ab)*", "--to", "mamba", "--surroundings", "zoo", "-o", str(out)).code == 0
    reading = json.loads((out / "model" / "subject.json").read_text())["reading"]
    edit(out / "model" / "subject.json", reading=reading | {"columns": [1, 0, 2]})
    refused = run("verify", str(out))
    assert refused.code == 2
    assert "is read as scores above 1/2 in the columns 1, 0, 2" in refused.err


def test_a_reading_names_columns_and_answers_that_are_not_in_order() -> None:
    assert str(Reading(kind="above", columns=(0, 1))) == "scores above 0"
    assert str(Reading(kind="above", columns=(1, 0))) == "scores above 0 in the columns 1, 0"
    assert str(Reading.by_name(3)) == "the largest score"
    swapped = Reading.of_classes([(True,), (False,)])
    assert str(swapped) == "the largest score: class 0 answers 1, class 1 answers 0"
    exchanged = Reading(kind="largest", columns=(1, 0), table=((False,), (True,)))
    assert str(exchanged) == "the largest score in the columns 1, 0: class 0 answers 0, class 1 answers 1"
