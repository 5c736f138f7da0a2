"""Models of other libraries come in with the same scores, and go back as they were."""

from __future__ import annotations

import dataclasses
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
import xlstm
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nerode.core import FormatError, InputError
from nerode.models import read_model, save_model
from nerode.models.libraries import (
    choose_letters,
    compare_foreign,
    fill_ours,
    read_foreign,
    with_letters,
)
from nerode.models.libraries.decoders import DECODERS
from nerode.models.libraries.places import Place, give_theirs
from nerode.records import ImportOrigin, NetworkEntry, SubjectRecord, TokenLetters
from tests.cli.runner import run

logging.getLogger("transformers").setLevel(logging.ERROR)

VOCABULARY = 7


def _decoder(name: str, **more: Any) -> Any:
    """A small decoder whose heads share keys where the library allows it, and are no power of two."""
    marks = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": None, "vocab_size": VOCABULARY}
    sizes = {
        "gpt2": {"n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 48, "n_inner": 36},
        "bloom": {"hidden_size": 12, "n_layer": 2, "n_head": 3},
        "mpt": {"d_model": 12, "n_layers": 2, "n_heads": 3, "max_seq_len": 48},
    }
    plain = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1}
    around = {"intermediate_size": 12, "max_position_embeddings": 64, "sliding_window": None}
    options = marks | sizes.get(name, plain | around) | more
    config = transformers.AutoConfig.for_model(name, **options)
    return transformers.AutoModelForCausalLM.from_config(config)


def _models() -> dict[str, Any]:
    small = {"vocab_size": VOCABULARY, "num_hidden_layers": 2, "hidden_size": 8}
    return {
        "mamba": lambda: transformers.MambaForCausalLM(transformers.MambaConfig(**small, state_size=3)),
        "mamba-2": lambda: transformers.Mamba2ForCausalLM(
            transformers.Mamba2Config(**small, state_size=3, num_heads=4, head_dim=4, n_groups=1)
        ),
        "falcon-mamba": lambda: transformers.FalconMambaForCausalLM(
            transformers.FalconMambaConfig(**small, state_size=3)
        ),
        **{name: lambda name=name: _decoder(name) for name in DECODERS},
        "a decoder of square maps": lambda: _decoder(
            "llama", intermediate_size=8, attention_bias=True, mlp_bias=True, tie_word_embeddings=True
        ),
        "rwkv": lambda: transformers.RwkvForCausalLM(
            transformers.RwkvConfig(**small, attention_hidden_size=12, intermediate_size=20)
        ),
        "recurrent-gemma": lambda: transformers.RecurrentGemmaForCausalLM(
            transformers.RecurrentGemmaConfig(
                **{**small, "num_hidden_layers": 3},
                lru_width=12,
                num_attention_heads=2,
                num_key_value_heads=1,
                intermediate_size=32,
                attention_window_size=5,
            )
        ),
        "xlstm": lambda: transformers.xLSTMForCausalLM(
            transformers.xLSTMConfig(**{**small, "hidden_size": 32}, num_heads=4)
        ),
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models of transformers with random weights, none of them zero or one."""
    found = {}
    for name, build in _models().items():
        torch.manual_seed(0)
        model = build()
        for weight in model.parameters():
            weight.data.add_(0.1 * torch.randn_like(weight))
        found[name] = tmp_path_factory.mktemp(name)
        model.save_pretrained(found[name])
    return found


def _scores(folder: Path, letters: Tensor) -> Tensor:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()
    with torch.no_grad():
        scores: Tensor = model(letters, use_cache=False).logits
    return scores


def test_a_model_with_few_positions_is_compared_on_words_that_it_can_read(tmp_path: Path) -> None:
    _decoder("gpt2", n_positions=8).save_pretrained(tmp_path / "few")
    difference, _ = compare_foreign(read_foreign(tmp_path / "few"))
    assert difference is not None
    assert difference < 1e-9


@pytest.mark.parametrize("name", list(_models()))
def test_a_model_of_transformers_comes_in_and_goes_back(
    name: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    foreign = read_foreign(folders[name])
    difference, compared = compare_foreign(foreign)
    assert difference is not None
    # BLOOM rounds the constant of its activation to eight digits.
    assert difference < (1e-9 if name == "bloom" else 1e-12)
    assert compared.startswith("transformers ")
    assert torch.get_default_dtype() == torch.float32
    origin = ImportOrigin(library="transformers", format="any", source="", config=dict(foreign.files.config))
    named = TokenLetters.numbered([str(token) for token in range(VOCABULARY)])
    subject = SubjectRecord(network=NetworkEntry(kind="zoo"), letters=named, origin=origin.to_json())
    save_model(tmp_path / "in", with_letters(foreign, named), subject=subject)
    # The comparison of a Mamba-2 took 1.2 GB, because the library fills each word up to a chunk.
    few = ("--max-bytes", str(300_000_000)) if name == "mamba-2" else ()
    exported = run("export", str(tmp_path / "in"), "--to", "huggingface", *few, "-o", str(tmp_path / "out"))
    assert exported.code == 0, exported.err
    letters = torch.randint(0, VOCABULARY, (3, 41), generator=torch.Generator().manual_seed(1))
    before, after = (_scores(folder, letters) for folder in (folders[name], tmp_path / "out"))
    assert float((before - after).abs().max()) < 1e-5
    whole = read_model(tmp_path / "in").eval()
    with torch.no_grad():
        ahead, state = whole(letters[:, :20])
        rest, _ = whole(letters[:, 20:], state)
        assert torch.allclose(torch.cat([ahead, rest], 1), whole(letters)[0], atol=1e-4)


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Mamba of eight layers with the weights that the library begins with."""
    torch.manual_seed(0)
    config = transformers.MambaConfig(vocab_size=500, hidden_size=256, num_hidden_layers=8)
    folder = tmp_path_factory.mktemp("larger")
    transformers.MambaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("size", ["small", "larger"])
@pytest.mark.parametrize(("weight", "off"), [("D", 0.01), ("A_log", 0.5)])
def test_a_wrong_map_is_refused_by_the_comparison(
    folders: dict[str, Path], larger: Path, size: str, weight: str, off: float
) -> None:
    """A weight that is off changes the scores, of A_log only little; the map alone would not notice."""
    foreign = read_foreign(folders["mamba"] if size == "small" else larger)
    difference, _ = compare_foreign(foreign)
    assert difference is not None
    assert difference < 1e-12
    with torch.no_grad():
        getattr(foreign.whole.layers[0], weight).add_(off)
    with pytest.raises(
        InputError, match=r"the scores differ from those of transformers by .* nothing was written"
    ):
        compare_foreign(foreign)


def test_letters_are_rows_of_the_vocabulary(folders: dict[str, Path]) -> None:
    foreign = read_foreign(folders["mamba"])
    letters = choose_letters(
        "a=3,b=5", begin="0", end="2", files=foreign.files, vocabulary=VOCABULARY, alphabet=("b", "a")
    )
    assert (letters.alphabet, letters.tokens) == (("b", "a"), (5, 3))
    small = with_letters(foreign, letters)
    word = torch.tensor([[1, 0, 0, 1]])
    with torch.no_grad():
        whole = foreign.whole(torch.tensor([[0, 3, 5, 5, 3]]))[0][:, 1:, [5, 3, 2]].float()
        assert torch.allclose(small(word)[0], whole, atol=1e-6)


def _save(folder: Path, model: nn.Module, config: Any) -> Path:
    folder.mkdir()
    save_file(
        {name: value.clone() for name, value in model.state_dict().items()}, folder / "model.safetensors"
    )
    (folder / "config.json").write_text(json.dumps(dataclasses.asdict(config)))
    return folder


def test_a_model_of_xlstm_comes_in(tmp_path: Path) -> None:
    torch.manual_seed(0)
    blocks = xlstm.xLSTMLMModelConfig(
        mlstm_block=xlstm.mLSTMBlockConfig(mlstm=xlstm.mLSTMLayerConfig(num_heads=4)),
        slstm_block=xlstm.sLSTMBlockConfig(
            slstm=xlstm.sLSTMLayerConfig(backend="vanilla", num_heads=4),
            feedforward=xlstm.FeedForwardConfig(proj_factor=1.3, act_fn="gelu"),
        ),
        context_length=32,
        num_blocks=2,
        embedding_dim=16,
        slstm_at=[1],
        vocab_size=VOCABULARY,
    )
    stack: Any = xlstm.xLSTMLMModel(blocks)
    for weight in stack.parameters():
        weight.data.add_(0.1 * torch.randn_like(weight))
    difference, _ = compare_foreign(read_foreign(_save(tmp_path / "x", stack, blocks)))
    assert difference is not None
    assert difference < 1e-12


@pytest.mark.parametrize(
    ("cell", "options"),
    [
        (nn.LSTM, {}),
        (nn.GRU, {"num_layers": 2}),
        (nn.RNN, {"nonlinearity": "relu"}),
        (nn.LSTM, {"bias": False}),
    ],
)
def test_cells_of_torch_come_in_by_the_command(cell: Any, options: dict[str, Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model: Any = nn.Module()
    model.embedding, model.rnn, model.head = nn.Embedding(2, 3), cell(3, 4, **options), nn.Linear(4, 2)
    save_file(model.state_dict(), tmp_path / "cell.safetensors")
    out = tmp_path / "out"
    outcome = run(
        *(
            "import",
            str(tmp_path / "cell.safetensors"),
            "--language",
            "parity",
            "--recognise",
            "-o",
            str(out),
        ),
        *("--activation", options.get("nonlinearity", "tanh"), "--json"),
    )
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["difference"] < 1e-12
    answer = json.loads(run("run", str(out), "0110", "--json").out)
    hidden = model.rnn(model.embedding(torch.tensor([[0], [1], [1], [0]])))[0]
    assert answer["accept"] == bool(model.head(hidden)[-1, 0].argmax() == 1)
    assert run("prove", str(out)).code in (1, 3)
    if cell is nn.GRU:
        assert "out (torch)" in run("report", str(out), "-o", str(tmp_path / "r.html"), "--json").out
        (row,) = json.loads(run("report", str(out), "--json", "--language", "parity").out)["rows"]
        assert (row["architecture"], row["theory"]) == ("out of torch", "yes")


def test_what_is_missing_in_a_library_has_to_be_zero() -> None:
    places = (Place(theirs="w", ours="w"),)
    with pytest.raises(InputError, match="no weight for b, which is not zero"):
        give_theirs({"w": torch.ones(1), "b": torch.ones(1)}, places)
    tied = (Place(theirs="e", ours="in"), Place(theirs="e", ours="out"))
    with pytest.raises(InputError, match="one weight, and out another"):
        give_theirs({"in": torch.ones(1), "out": torch.zeros(1)}, tied)
    with pytest.raises(InputError, match="not finite"):
        fill_ours({"w": torch.ones(1)}, {"w": torch.tensor([torch.nan])}, places, optional=())


def test_weights_in_several_files_are_read(folders: dict[str, Path], tmp_path: Path) -> None:
    weights = load_file(folders["rwkv"] / "model.safetensors")
    halves = [dict(list(weights.items())[i::2]) for i in range(2)]
    where = {}
    for number, half in enumerate(halves):
        save_file(half, tmp_path / f"part-{number}.safetensors")
        where |= dict.fromkeys(half, f"part-{number}.safetensors")
    (tmp_path / "config.json").write_text((folders["rwkv"] / "config.json").read_text())
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": where}))
    found = read_foreign(tmp_path).whole.state_dict()
    whole = read_foreign(folders["rwkv"]).whole.state_dict()
    assert all(torch.equal(found[name], whole[name]) for name in whole)
    index.write_text(json.dumps({"weight_map": dict.fromkeys(where, "../part-0.safetensors")}))
    with pytest.raises(FormatError, match="which file holds which weight"):
        read_foreign(tmp_path)


@pytest.mark.parametrize(
    ("parts", "head", "assumed"),
    [
        ({"emb": nn.Embedding(2, 4), "rnn": nn.GRU(4, 4), "out": nn.Linear(4, 2)}, "linear", ""),
        ({"encoder": nn.Embedding(2, 4), "decoder": nn.Linear(4, 2), "rnn": nn.LSTM(4, 4)}, "linear", ""),
        (
            {"wte": nn.Embedding(2, 3), "cell": nn.LSTM(3, 4, 2), "ln": nn.LayerNorm(4), "a": nn.Linear(4, 5)}
            | {"b": nn.Linear(5, 2, bias=False)},
            "relu",
            "ReLU between the two maps after the cell and 1e-05 added to variances by the norm",
        ),
        ({"e": nn.Embedding(2, 3), "norm": nn.LayerNorm(3), "cell": nn.GRUCell(3, 4)}, "none", "1e-05"),
    ],
)
def test_the_parts_around_a_cell_are_told_by_their_shapes(
    parts: dict[str, nn.Module], head: str, assumed: str, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    for part in parts.values():
        for weight in part.parameters():
            weight.data = torch.randn_like(weight)
    save_file(nn.ModuleDict(parts).state_dict(), tmp_path / "cell.safetensors")
    foreign = read_foreign(tmp_path / "cell.safetensors")
    assert foreign.described.config.head == head
    assert assumed in foreign.described.assumed
    difference, _ = compare_foreign(foreign)
    assert difference is not None
    assert difference < 1e-12
    modules = list(parts.values())
    x = torch.tensor([[0, 1, 1]])
    if isinstance(modules[-1], nn.Linear) and head == "linear":
        y = modules[1](modules[0](x[0]))[0]
        assert torch.allclose(foreign.whole.float()(x)[0][0], modules[2](y), atol=1e-5)


def test_what_stands_nowhere_around_a_cell_is_refused(tmp_path: Path) -> None:
    wrong = nn.ModuleDict({"e": nn.Embedding(2, 3), "cell": nn.GRU(3, 4), "more": nn.Linear(7, 2)})
    save_file(wrong.state_dict(), tmp_path / "cell.safetensors")
    with pytest.raises(FormatError, match=r"more.weight; read are an embedding of 3 columns"):
        read_foreign(tmp_path / "cell.safetensors")


def test_a_decoder_reads_no_further_than_its_positions(folders: dict[str, Path], tmp_path: Path) -> None:
    out = str(tmp_path / "gpt2")
    come_in = run("import", str(folders["gpt2"]), "--letters", "a=2,b=3", "--begin", "0", "-o", out)
    assert come_in.code == 0, come_in.err
    assert "reads at most 47 letters" in come_in.out
    assert run("run", out, "ab" * 23).code == 0
    long = run("run", out, "ab" * 24)
    assert long.code == 2
    assert "the model has positions for 48 tokens, marks included; give a shorter word" in long.err


def test_a_language_model_is_read_by_its_probabilities(tmp_path: Path) -> None:
    """A number added to all scores changes signs, and no probability."""
    torch.manual_seed(0)
    config = transformers.MambaConfig(vocab_size=4, hidden_size=8, state_size=2, num_hidden_layers=1)
    model = transformers.MambaForCausalLM(config)
    model.save_pretrained(tmp_path / "given")
    how = ("--letters", "a=1,b=2", "--begin", "0", "--end", "3", "--language", "(a|b)*")
    made = run("import", str(tmp_path / "given"), *how, "-o", str(tmp_path / "in"))
    assert made.code == 0, made.err
    assert "reading: probability at least 0.02" in made.out
    proved = run("prove", str(tmp_path / "in"), "--json", "--max-seconds", "5")
    found = json.loads(proved.out)
    # The weights that the library begins with find every letter about as likely.
    assert (found["reading"], found["word"]) == ("probability at least 0.02", None)
    assert found["words"] == "all prefixes of words of the language"
    asked = json.loads(run("ask", str(tmp_path / "in"), "--json").out)
    assert asked["learned"]["expression"] == ".*"
    assert 0.2 < asked["gap"]["least_allowed"] <= 1 / 3
    signs = (*how, "--reading", "above:0", "-o", str(tmp_path / "signs"))
    assert "reading: scores above 0" in run("import", str(tmp_path / "given"), *signs).out
    assert run("prove", str(tmp_path / "signs"), "--max-seconds", "5").code == 1
    for rule, said in (("largest", "no reading of an import"), ("softmax:2", "between 0 and 1")):
        refused = run("import", str(tmp_path / "given"), *how, "--reading", rule, "-o", str(tmp_path / "no"))
        assert refused.code == 2
        assert said in refused.err
    back = run("export", str(tmp_path / "in"), "--to", "huggingface", "-o", str(tmp_path / "out"))
    assert back.code == 0, back.err
    again = run(
        "import", str(tmp_path / "out"), "--language", "(a|b)*", "--letters", "a,b", "-o", str(tmp_path / "x")
    )
    assert "reading: probability at least 0.02" in again.out, again.err
