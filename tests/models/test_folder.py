"""Models on disk: what is read is what was written, and nothing else is read."""

from __future__ import annotations

import json

import pytest
import torch

from nerode.core import FormatError, InputError
from nerode.models.base import Surroundings
from nerode.models.config import ModelConfig
from nerode.models.folder import read_model, save_model
from nerode.models.model import build_model
from nerode.models.zoo import LayerConfig
from nerode.records import SUBJECT_FILE, WEIGHTS_FILE, Folder

CONFIG = ModelConfig(
    layers=(LayerConfig(name="elman-tanh", settings={"hidden": 6}), LayerConfig(name="elman-relu")),
    outputs=3,
    letters=4,
    width=5,
    surroundings=(None, Surroundings(norm="rms", residual=True, feed_forward="gelu", expansion=2)),
    positions="sine",
    head="relu",
    head_width=7,
)


@pytest.fixture
def folder(tmp_path):
    save_model(tmp_path / "model", build_model(CONFIG, seed=1))
    return tmp_path / "model"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_the_same_model_comes_back(tmp_path, dtype):
    model = build_model(CONFIG, seed=1).to(dtype)
    save_model(tmp_path, model)
    again = read_model(tmp_path)
    letters = torch.randint(0, 4, (2, 9))
    assert torch.equal(model(letters)[0], again(letters)[0])
    assert next(again.parameters()).dtype == dtype
    assert again.config.around(1) == CONFIG.around(1)
    assert again.num_parameters == model.num_parameters


def test_another_type_may_be_asked_for(folder):
    assert next(read_model(folder, dtype=torch.float64).parameters()).dtype == torch.float64


def test_every_setting_is_written_out(folder):
    config = json.loads((folder / SUBJECT_FILE).read_text())
    assert config["network"]["config"]["layers"][1]["settings"]["learned_start"] is False


def change(folder, function):
    path = folder / SUBJECT_FILE
    data = json.loads(path.read_text())
    function(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / WEIGHTS_FILE).unlink(), "no such file"),
        (lambda f: (f / SUBJECT_FILE).unlink(), r"^\S*subject\.json: there is no such file"),
        (lambda f: change(f, lambda d: d["network"].update(dtype=["float32"])), "it has to be a text"),
        (
            lambda f: change(f, lambda d: d["network"]["config"]["layers"][0].update(name="elman-than")),
            "elman-tanh",
        ),
        (lambda f: change(f, lambda d: d["network"]["config"].update(head="none")), "without a head"),
        (lambda f: change(f, lambda d: d["network"]["config"].update(width=10**13)), "cannot be built here"),
        (lambda f: (f / SUBJECT_FILE).write_text("{"), "is not JSON"),
        (lambda f: (f / SUBJECT_FILE).write_text("[]"), "is not a subject"),
        (lambda f: change(f, lambda d: d.update(version=2)), "has version 2"),
        (lambda f: change(f, lambda d: d["network"].update(dtype="int8")), "in int8, not a model"),
        (lambda f: change(f, lambda d: d["network"]["config"].update(outpts=3)), "did you mean outputs"),
        (
            lambda f: change(f, lambda d: d["network"]["config"].update(outputs="3")),
            "it has to be a whole number",
        ),
        (lambda f: change(f, lambda d: d["network"]["config"].update(outputs=4)), "the model needs"),
        (lambda f: change(f, lambda d: d["network"]["config"]["layers"].pop()), "surroundings are given"),
    ],
)
def test_what_does_not_fit_is_refused(folder, spoil, message):
    spoil(folder)
    with pytest.raises(FormatError, match=message):
        read_model(folder)


def relu_for_tanh(data):
    data["network"]["config"]["layers"][0]["settings"]["activation"] = "relu"


def test_an_altered_setting_is_another_subject(folder):
    before = Folder(folder).subject.hash
    change(folder, relu_for_tanh)
    assert Folder(folder).subject.hash != before


@pytest.mark.parametrize("name", [SUBJECT_FILE, WEIGHTS_FILE])
def test_a_link_is_refused(folder, name):
    (folder / name).rename(folder.parent / name)
    (folder / name).symlink_to(folder.parent / name)
    with pytest.raises(FormatError, match="is a link"):
        read_model(folder)


def test_one_altered_byte_is_refused(folder):
    path = folder / WEIGHTS_FILE
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"is not the file that .*subject.json was written with"):
        read_model(folder)


def test_weights_that_are_not_finite_are_not_written(tmp_path):
    model = build_model(CONFIG, seed=1)
    with torch.no_grad():
        model.blocks[0].layer.recurrent[0, 0] = float("nan")
    with pytest.raises(InputError, match=r"blocks\.0\.layer\.recurrent is not finite; nothing was written"):
        save_model(tmp_path / "new", model)
    assert not (tmp_path / "new").exists()
