"""Compiled models on disk: what is written comes back, and what was altered is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

from nerode.core import FormatError, InputError
from nerode.models.compiled.folder import load_compiled, save_compiled
from nerode.models.compiled.load import load_model
from tests.models.compiled.walks import network_for, random_words


@pytest.mark.parametrize(
    ("name", "target"),
    [("s3", "householder"), ("cycle-navigation", "diagonal-complex"), ("tomita-4", "lstm"), ("s3", "pd-ssm")],
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_round_trip(name: str, target: str, dtype: torch.dtype, tmp_path: Path) -> None:
    model = load_model(network_for(name, target), dtype=dtype)
    save_compiled(tmp_path, model)
    again = load_compiled(tmp_path)
    assert again.network == model.network
    assert again.dtype == dtype
    words = random_words(len(model.network.alphabet), batch=2, length=30)
    assert torch.equal(again(words)[0], model(words)[0])


def test_changed_weights_come_back_as_they_are(tmp_path: Path) -> None:
    model = load_model(network_for("parity", "diagonal-signed"), dtype=torch.bfloat16)
    model.embedding.add_(0.25)
    save_compiled(tmp_path, model)
    assert torch.equal(load_compiled(tmp_path).embedding, model.embedding)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_compiled(tmp_path, load_model(network_for("s3", "pd-ssm")))
    return tmp_path


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(FormatError, match=rf"{name}: cannot be read: No such file"):
        load_compiled(folder)


def test_every_flipped_byte_of_the_weights_is_noticed(folder: Path) -> None:
    path = folder / "model.safetensors"
    content = path.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 60)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(FormatError):
            load_compiled(folder)
    path.write_bytes(content[:-3])
    with pytest.raises(FormatError, match="not a safetensors file"):
        load_compiled(folder)


def test_another_network(folder: Path) -> None:
    data = json.loads((folder / "config.json").read_text())
    data["origin"]["route"] = "another"
    (folder / "config.json").write_text(json.dumps(data))
    with pytest.raises(FormatError, match="made from another network"):
        load_compiled(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(FormatError, match="not JSON"):
        load_compiled(folder)
    (folder / "config.json").write_text("{}")
    with pytest.raises(FormatError, match="not a network"):
        load_compiled(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "does not hold the weights of a compiled network"),
        ({"dtype": "int8"}, "does not hold the weights of a compiled network"),
        ({"version": "2"}, "has version '2'; this nerode reads '1'"),
        ({"weights": "0"}, "was altered"),
    ],
)
def test_altered_notes(folder: Path, change: dict[str, str], message: str) -> None:
    _rewrite(folder, notes=change)
    with pytest.raises(FormatError, match=message):
        load_compiled(folder)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"embedding": None}, "the weight embedding is missing"),
        ({"odd": torch.zeros(1)}, "the weight odd is not in the model"),
        ({"embedding": torch.zeros(2, 2)}, "the model needs"),
        ({"embedding": torch.full((6, 6), torch.inf)}, "is not finite"),
        ({"layers.0.recurrence.images": torch.zeros(6, 3, dtype=torch.int64)}, "is not that of the network"),
    ],
)
def test_weights_with_a_true_hash_that_do_not_fit(
    folder: Path, tensors: dict[str, torch.Tensor | None], message: str
) -> None:
    _rewrite(folder, tensors=tensors)
    with pytest.raises(FormatError, match=message):
        load_compiled(folder)


def test_a_weight_that_is_not_finite_is_not_written(tmp_path: Path) -> None:
    model = load_model(network_for("parity", "diagonal-signed"))
    model.embedding[0, 0] = torch.nan
    with pytest.raises(InputError, match="the weight embedding is not finite; nothing was written"):
        save_compiled(tmp_path, model)
    assert list(tmp_path.iterdir()) == []


def _rewrite(
    folder: Path,
    *,
    notes: dict[str, str] | None = None,
    tensors: dict[str, torch.Tensor | None] | None = None,
) -> None:
    """Writes the weights again with some notes or tensors changed, and the hash of the tensors made true."""
    from safetensors import safe_open

    from nerode.models.compiled.folder import _hash

    path = folder / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        kept = dict(file.metadata())
    held = load(path.read_bytes())
    for name, value in (tensors or {}).items():
        held.pop(name, None)
        if value is not None:
            held[name] = value
    kept["weights"] = _hash(held)
    path.write_bytes(save(held, metadata=kept | (notes or {})))
