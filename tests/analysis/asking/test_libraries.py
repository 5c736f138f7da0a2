"""Models of transformers and ONNX: in memory and in folders, imported where the layers are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import nerode as nr
from nerode.core import Budget, FormatError, InputError
from nerode.models.outside import WordModule

transformers = pytest.importorskip("transformers")

HOW = {"letters": {"a": 1, "b": 2}, "begin": 0, "end": 4}
SMALL = {"vocab_size": 5, "bos_token_id": 0, "eos_token_id": 4, "pad_token_id": None}


def mamba():
    torch.manual_seed(0)
    config = transformers.MambaConfig(**SMALL, hidden_size=8, num_hidden_layers=1, state_size=2)
    return transformers.MambaForCausalLM(config).eval()


def test_a_mamba_in_memory_becomes_one_of_the_zoo_and_is_carried():
    theirs = mamba()
    found = nr.model(theirs, **HOW)
    assert "nerode's mamba" in found.record.origin["seen"]
    assert not found.module.grows
    words = torch.tensor([[0, 1, 1, 0], [1, 0, 0, 1]])
    wanted = theirs(torch.cat([torch.zeros(2, 1, dtype=torch.int64), words + 1], 1), use_cache=False).logits
    assert torch.allclose(found.module(words)[0], wanted[:, 1:], atol=1e-6)
    assert torch.allclose(found.module.empty_scores(), wanted[0, 0], atol=1e-6)


def test_a_folder_names_its_letters_by_its_tokenizer_and_its_longest_word(tmp_path: Path):
    torch.manual_seed(0)
    config = transformers.GPT2Config(**SMALL, n_embd=8, n_layer=1, n_head=2, n_positions=16)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    model = {"type": "WordLevel", "vocab": {"<s>": 0, "a": 1, "b": 2, "c": 3, "</s>": 4}, "unk_token": "<s>"}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model, "added_tokens": []}))
    found = nr.model(tmp_path)
    assert found.letters.alphabet == ("a", "b", "c")
    assert (found.letters.begin, found.letters.end, found.letters.longest) == (0, 4, 15)
    assert "nerode's transformer with learned absolute positions" in found.record.origin["seen"]
    some = nr.model(str(tmp_path), letters="ca")
    assert some.letters.tokens == (3, 1)
    answer = nr.ask(found, budget=Budget(seconds=1))
    assert answer.settlement.tested <= 15


def neo():
    torch.manual_seed(0)
    config = transformers.GPTNeoConfig(
        **SMALL,
        hidden_size=8,
        num_layers=1,
        num_heads=2,
        attention_types=[[["global"], 1]],
        max_position_embeddings=12,
    )
    return transformers.GPTNeoForCausalLM(config).eval()


def test_a_model_that_is_not_in_the_zoo_is_run_by_transformers():
    found = nr.model(neo(), **HOW)
    assert isinstance(found.module.inner, WordModule)
    assert found.letters.longest == 11
    assert "run by transformers" in found.record.origin["seen"]


@pytest.mark.parametrize(
    "changed",
    [
        {"num_layers": 2, "attention_types": [[["global"], 2]], "attention_layers": ["global"] * 2},
        {"vocab_size": 6},
    ],
)
def test_a_folder_without_a_weight_that_its_config_names_is_refused(
    tmp_path: Path, changed: dict[str, object]
):
    """Transformers would draw the weight at random, another one each time."""
    neo().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | changed))
    with pytest.raises(FormatError, match=r"the weight transformer\.\S+ is missing, or its config gives it"):
        nr.model(tmp_path, **HOW)


def test_a_bidirectional_model_is_refused():
    config = transformers.BertConfig(
        vocab_size=5, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    with pytest.raises(InputError, match="depend on later letters"):
        nr.model(transformers.BertLMHeadModel(config).eval(), **HOW)


def test_no_code_of_a_folder_runs(tmp_path: Path):
    mamba().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoModelForCausalLM": "own.Own"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(InputError, match="cannot load it"):
        nr.model(tmp_path, letters="a=1,b=2")
    assert not (tmp_path / "ran").exists()


def test_a_state_dict_of_a_torch_cell_needs_no_builder(tmp_path: Path):
    torch.manual_seed(0)
    parts = nn.ModuleDict({"embedding": nn.Embedding(3, 4), "cell": nn.GRU(4, 6), "head": nn.Linear(6, 3)})
    save_file(parts.state_dict(), tmp_path / "cell.safetensors")
    for source in (tmp_path / "cell.safetensors", parts.state_dict()):
        found = nr.model(source, letters="ab")
        assert not getattr(found.module, "grows", False)
        assert found.letters.end == 2


def test_an_onnx_file_is_a_black_box(tmp_path: Path):
    onnx, helper = pytest.importorskip("onnx"), pytest.importorskip("onnx").helper
    pytest.importorskip("onnxruntime")
    # Scores are a one-hot of the token: a letter may follow itself.
    nodes = [helper.make_node("Gather", ["table", "tokens"], ["scores"])]
    table = helper.make_tensor("table", onnx.TensorProto.FLOAT, (2, 3), [9, 0, 9, 0, 9, 9])
    tokens = helper.make_tensor_value_info("tokens", onnx.TensorProto.INT64, ["batch", "time"])
    scores = helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, ["batch", "time", 3])
    graph = helper.make_graph(nodes, "echo", [tokens], [scores], [table])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "echo.onnx")
    found = nr.ask(tmp_path / "echo.onnx", "a*|b*", letters="ab", budget=Budget(seconds=1))
    assert found.settlement.word is None
    assert found.seen.startswith("onnxruntime")
