"""`nerode ask` and `nerode prove --language`: one answer, one page, and errors that say what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import nerode as nr
from nerode.languages import resolve_language
from tests.analysis.asking.tables import TableModel

from .runner import run

MINE = """
from nerode.languages import resolve_language
from tests.analysis.asking.tables import TableModel, Words

def table():
    return TableModel(resolve_language("(ab|c)*d").dfa())

def words():
    return Words(table())
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "asked_of_me.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return "asked_of_me:table"


def test_a_module_is_proved_for_what_it_computes_and_has_a_page(mine: str) -> None:
    outcome = run("ask", mine, "--letters", "abcd", "-o", "answer.html")
    assert outcome.code == 0, outcome.err
    assert "TableModel computes (c|ab)*d" in outcome.out
    assert "● equal to this automaton at every length, bit for bit in float32" in outcome.out
    page = Path("answer.html").read_text()
    assert "What may be relied on" in page
    assert "proofs/replay/bits.py, torch here" in page
    assert "Proved at every length" in page
    assert "<svg" in page
    assert "<script" not in page
    again = run("ask", mine, "--letters", "abcd", "-o", "answer.html")
    assert again.code == 0


def test_the_object_has_the_promised_keys(mine: str) -> None:
    outcome = run("ask", mine, "--letters", "abcd", "--json")
    found = json.loads(outcome.out)
    assert {"reading", "learned", "settlement"} <= set(found)
    assert {"states", "expression", "ltl", "star_free", "proved"} <= set(found["learned"])
    assert found["settlement"]["status"] == "proved"
    assert found["learned"]["proved"] is True


def test_asking_and_proving_end_alike(mine: str) -> None:
    for language, code in (("(ab|c)*d", 0), ("(ab)*d", 1)):
        asked = run("ask", mine, "--letters", "abcd", "--language", language, "--json")
        proved = run("prove", mine, "--letters", "abcd", "--language", language, "--json")
        assert (asked.code, proved.code) == (code, code)
        one, other = json.loads(asked.out)["settlement"], json.loads(proved.out)
        for key in ("status", "about", "words", "reading", "word", "expected", "got", "claims", "length"):
            assert one[key] == other[key], key


def test_a_black_box_is_refuted_alike(mine: str) -> None:
    """Words in, scores out: what is searched with the same budget is the same word."""
    how = ("asked_of_me:words", "--letters", "abcd", "--language", "(ab)*d", "--json")
    asked, proved = run("ask", *how), run("prove", *how)
    assert (asked.code, proved.code) == (1, 1)
    one, other = json.loads(asked.out)["settlement"], json.loads(proved.out)
    for key in ("status", "about", "words", "reading", "word", "expected", "got"):
        assert one[key] == other[key], key


def test_asking_writes_nothing_beside_the_model(tmp_path: Path) -> None:
    done = run("compile", "parity", "--to", "elman-tanh", "-o", str(tmp_path / "net"))
    assert done.code == 0, done.err
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    asked = run("ask", str(tmp_path / "net"), "--json")
    assert asked.code == 0, asked.err
    assert json.loads(asked.out)["settlement"]["status"] == "proved"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_failing_word_is_shown_letter_by_letter(mine: str) -> None:
    outcome = run("ask", mine, "--letters", "abcd", "--language", "(ab)*d", "-o", "answer.html")
    assert outcome.code == 1
    assert "refuted for (ab)*d by the shortest failing word" in outcome.out
    page = Path("answer.html").read_text()
    assert "The failing word, letter by letter" in page
    assert "its probability" in page
    assert "nerode ask asked_of_me:table --language &#39;(ab)*d&#39; --letters abcd" in page
    assert page.count("<tr>") >= 2


def test_weights_go_into_the_module_that_a_function_builds(mine: str) -> None:
    trained = TableModel(resolve_language("(ab|c)*d").dfa())
    with torch.no_grad():
        trained.table.zero_()
    save_file(trained.state_dict(), "weights.safetensors")
    outcome = run("ask", mine, "--weights", "weights.safetensors", "--letters", "abcd", "--json")
    assert json.loads(outcome.out)["learned"]["expression"] == ".*"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["asked_of_me:table"], "name them"),
        (["asked_of_me:nothing", "--letters", "ab"], "has no function 'nothing'"),
        (["asked_of_me:table", "--letters", "abcd", "--reading", "loud"], "is no reading"),
        (["asked_of_me:table", "--letters", "abcd", "-o", "page.txt"], "ends in .html"),
        (["nowhere", "--letters", "ab"], "no such folder or file"),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_sentence(mine: str, arguments: list[str], said: str) -> None:
    outcome = run("ask", *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_letters_go_with_a_language(mine: str) -> None:
    outcome = run("prove", mine, "--letters", "ab")
    assert outcome.code == 2
    assert "--letters goes with --language" in outcome.err


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled network, a run, and an import."""
    place = tmp_path_factory.mktemp("asked")
    assert run("compile", "parity", "--to", "elman-tanh", "-o", str(place / "compiled")).code == 0
    trained = ("--arch", "lstm", "--steps", "2", "--jobs", "1", "--lengths", "20", "--settle", "off")
    assert run("train", "parity", *trained, "--out", str(place / "runs")).code == 0
    (record,) = (place / "runs").glob("*/result.json")
    record.parent.rename(place / "run")
    torch.manual_seed(0)
    cell = torch.nn.ModuleDict(
        {"embed": torch.nn.Embedding(3, 4), "rnn": torch.nn.GRU(4, 4), "head": torch.nn.Linear(4, 3)}
    )
    save_file(cell.state_dict(), place / "cell.safetensors")
    letters = ("--letters", "0=0,1=1", "--end", "2")
    done = run("import", str(place / "cell.safetensors"), *letters, "-o", str(place / "imported"))
    assert done.code == 0, done.err
    return place


@pytest.mark.parametrize("name", ["compiled", "run", "imported"])
@pytest.mark.parametrize("language", ["parity", "even-pairs"])
def test_folders_end_alike(folders: Path, name: str, language: str) -> None:
    how = (str(folders / name), "--language", language, "--json", "--max-seconds", "5")
    asked, proved = run("ask", *how), run("prove", *how)
    assert asked.code == proved.code, asked.err + proved.err
    one, other = json.loads(asked.out)["settlement"], json.loads(proved.out)
    assert (
        one["status"] == "proved" if (name, language) == ("compiled", "parity") else one["word"] is not None
    )
    for key in ("status", "about", "words", "reading", "word", "expected", "got", "claims", "length"):
        assert one[key] == other[key], key


def test_compiled_weights_are_asked_as_their_folder_says(tmp_path: Path) -> None:
    """Their scores are read above 1/2: read as probabilities, those of (aa)* seem to compute a*."""
    made = nr.compile("(aa)*", to="mamba-signed")
    made.save(tmp_path / "even")
    found = nr.ask(tmp_path / "even" / "model").to_json()
    assert found["reading"] == "scores above 1/2"
    assert found["settlement"]["status"] == "proved"
    assert nr.language(found["learned"]["expression"], regex=True) == nr.language("(aa)*")
    with pytest.raises(nr.InputError, match="leave reading out"):
        nr.ask(tmp_path / "even" / "model", reading="softmax:0.02")
