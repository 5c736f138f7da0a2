"""`nerode export` of weights: imported, trained and own models in transformers, onnxruntime and torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import safetensors.torch
import torch

from benchmarks.take_away import CASES, OWN, inside, take_away
from nerode.models import read_model
from nerode.models.exports.comparing import step_scores
from tests.cli.runner import run

transformers = pytest.importorskip("transformers")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", list(CASES))
def test_mend_verify_export_and_load_elsewhere(name: str, tmp_path: Path) -> None:
    """All words to length 8 and 1,000 long ones, and the claims that were verified."""
    rows = list(take_away(name, tmp_path))
    assert len(rows) == len(CASES[name][1])
    assert all(row.met for row in rows), rows


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Mamba of transformers, of whose vocabulary three tokens are letters."""
    place = tmp_path_factory.mktemp("mamba")
    torch.manual_seed(3)
    config = transformers.MambaConfig(vocab_size=7, hidden_size=8, state_size=4, num_hidden_layers=2)
    transformers.MambaForCausalLM(config).save_pretrained(place / "given")
    letters = ("--letters", "0=5,1=3,h=2", "--begin", "4", "--end", "1", "--language", "set-reset")
    done = run("import", str(place / "given"), *letters, "-o", str(place / "in"))
    assert done.code == 0, done.err
    return place


def test_a_checkpoint_is_mended_without_an_import(imported: Path, tmp_path: Path) -> None:
    """The folder that transformers wrote is read; its weights, letters and source are those of the import."""
    named = ("--letters", "0=5,1=3,h=2", "--begin", "4", "--end", "1")
    refused = run("mend", str(imported / "given"), "-o", str(tmp_path / "out"), *named)
    assert (refused.code, "name a language (--language)" in refused.err) == (2, True)
    few = ("--language", "set-reset", "--steps", "1", "--max-seconds", "5", "--json")
    done = run("mend", str(imported / "given"), "-o", str(tmp_path / "out"), *named, *few)
    assert done.code in (1, 3), done.err
    ours, theirs = (json.loads((p / "subject.json").read_text()) for p in (tmp_path / "out", imported / "in"))
    assert ours["letters"] == theirs["letters"]
    assert ours["origin"]["imported"] | {"kind": "imported"} == theirs["origin"]


@torch.no_grad()
def test_letters_of_a_vocabulary_go_back_to_transformers(imported: Path, tmp_path: Path) -> None:
    """Plain transformers gives the scores of the model that was imported, token by token."""
    done = run("export", str(imported / "in"), "--to", "huggingface", "-o", str(tmp_path / "out"), "--json")
    assert done.code == 0, done.err
    item = json.loads(done.out)
    assert item["compared"]["short"] == 8
    assert item["compared"]["letters_per_second"] > 0
    assert item["claims"][0]["scope"] == "tested only"
    words = torch.randint(0, 3, (4, 20), generator=torch.Generator().manual_seed(0))
    before = transformers.AutoModelForCausalLM.from_pretrained(imported / "given").eval()
    after = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    given = torch.cat([torch.full((4, 1), 4), torch.tensor([5, 3, 2])[words]], dim=1)
    tokens = json.loads((tmp_path / "out" / "nerode.json").read_text())["tokens"]
    moved = torch.cat([torch.full((4, 1), tokens["begin"]), torch.tensor(tokens["letters"])[words]], dim=1)
    old, new = before(given).logits[..., [5, 3, 2, 1]], after(moved).logits[..., tokens["scores"]]
    # Up to the head, which has fewer rows, the function is the same: the same bits.
    assert torch.equal(before.backbone(given)[0], after.backbone(moved)[0])
    assert torch.allclose(old, new, atol=1e-6)
    ours = step_scores(read_model(imported / "in").eval(), words)
    assert torch.allclose(ours, new[:, 1:], atol=1e-5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer("0 1h").input_ids == [0, 2, 3, 4]
    card = (tmp_path / "out" / "README.md").read_text()
    assert "## What may be relied on" in card
    assert "Nothing is proved of this model." in card


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a user's own cell, two updates."""
    place = tmp_path_factory.mktemp("own")
    (place / "latch.py").write_text(OWN)
    with inside(place):
        done = run(
            *("train", "predict-set-reset", "--model", "latch:build", "--steps", "2", "--lengths", "40"),
            *("--jobs", "1", "--settle", "off", "--out", "runs"),
        )
    assert done.code == 0, done.err
    (folder,) = (path.parent for path in (place / "runs").glob("*/result.json"))
    folder.rename(place / "run")
    return place


@pytest.mark.slow
def test_an_own_cell_leaves_as_it_came(own: Path) -> None:
    """Its state dict loads into its own builder, its program in plain torch, with the same scores."""
    with inside(own):
        refused = run("export", "run", "-o", "a.onnx")
        assert refused.code == 2
        assert "--trust-code" in refused.err
        done = run("export", "run", "--to", "torch", "-o", "out", "--trust-code")
        assert done.code == 0, done.err
        assert "the same answers" in done.out or "the same bits" in done.out
        import latch  # type: ignore[import-not-found]

        model = latch.Latch(3, 4)
        model.load_state_dict(safetensors.torch.load_file("out/model.safetensors"))
    step = torch.export.load(own / "out" / "program.pt2").module()
    state = list(safetensors.torch.load_file(own / "out" / "start.safetensors").values())
    words, rows = torch.randint(0, 3, (200,), generator=torch.Generator().manual_seed(0)).tolist(), []
    for letter in words:
        scores, *state = step(torch.tensor([letter]), tuple(state))
        rows.append(scores[0])
    # The same function, one word at a time: the same bits.
    assert torch.equal(torch.stack(rows), step_scores(model, torch.tensor([words]))[0])
    assert "from latch import build" in (own / "out" / "README.md").read_text()


def test_refusals(own: Path, imported: Path, tmp_path: Path) -> None:
    with inside(own):
        no_form = run("export", "run", "--to", "huggingface", "-o", "hf", "--trust-code")
        assert no_form.code == 2
        assert "transformers has no architecture for Latch; --to onnx and --to torch take it" in no_form.err
        assert not Path("hf").exists()
    foreign = run("export", str(imported / "in"), "--to", "fla", "-o", str(tmp_path / "fla"))
    assert foreign.code == 2
    assert "weights can be exported to onnx, huggingface, torch" in foreign.err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    kept = run("export", str(imported / "in"), "--to", "huggingface", "-o", str(tmp_path / "mine"))
    assert kept.code == 2
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"


@pytest.mark.slow
def test_a_refuted_model_is_written_only_on_demand(imported: Path, tmp_path: Path) -> None:
    """Its word goes with it."""
    shown = run("prove", str(imported / "in"), "--max-seconds", "5")
    assert shown.code == 1, shown.out
    out = str(tmp_path / "wrong.onnx")
    refused = run("export", str(imported / "in"), "-o", out)
    assert refused.code == 2
    assert "the model is wrong: it says" in refused.err
    done = run("export", str(imported / "in"), "-o", out, "--refuted", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["claims"][0]["scope"] == "refuted by a word"
    # A settlement that somebody wrote is read again: this word is answered otherwise than it says.
    place = imported / "in" / "settled" / "settlement.json"
    kept = place.read_text()
    try:
        place.write_text(json.dumps({**json.loads(kept), "got": "nothing of the kind"}))
        forged = run("export", str(imported / "in"), "-o", out, "--refuted", "--force")
        assert forged.code == 2
        assert "the model does not confirm" in forged.err
    finally:
        place.write_text(kept)
