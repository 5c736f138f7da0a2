"""The shared inputs of the corpus: good ones to be damaged, and bad ones that no table row can hold."""

from __future__ import annotations

import json
import math
import os
import struct
from pathlib import Path

PARITY = {
    "format": "nerode-dfa",
    "version": 1,
    "alphabet": ["a", "b"],
    "start": 0,
    "accepting": [1],
    "transitions": [[1, 0], [0, 1]],
}
ARPA = (
    "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-0.60206\t</s>\n-99\t<s>\t0\n-0.60206\ta\t0\n"
    "-0.30103\tb\t0\n\n\\2-grams:\n-0.30103\t<s> a\n-0.30103\ta b\n\n\\end\\\n"
)
MOORE = (
    'digraph m {\n  __start0 [shape=none, label=""];\n  __start0 -> s0;\n  s0 [label="s0: even"];\n'
    '  s1 [label="s1: odd"];\n  s0 -> s1 [label=a];\n  s1 -> s0 [label=a];\n}\n'
)
JFF = (
    "<structure><type>fa</type><automaton>"
    '<state id="0" name="q0"><initial/></state><state id="1" name="q1"><final/></state>'
    "<transition><from>0</from><to>1</to><read>a</read></transition></automaton></structure>"
)
OWN = """import torch
from torch import nn


class Stateless(nn.Module):
    def forward(self, x):
        return x


class Late(nn.Module):
    def __init__(self, task):
        super().__init__()
        self.outputs, self.weight = task.outputs, nn.Parameter(torch.zeros(()))

    def forward(self, x, state):
        if x.shape[1] > 2:
            raise KeyError("late")
        return self.weight + torch.zeros(*x.shape[:2], self.outputs), state


class Contrary(nn.Module):
    theory = "diagonal"

    def __init__(self, task):
        super().__init__()
        self.outputs, self.weight = task.outputs, nn.Parameter(torch.zeros(()))

    def initial_state(self, batch):
        return {"h": torch.zeros(batch, 2)}

    def step(self, x, state):
        h = -state["h"] + self.weight
        return h[:, :1].expand(-1, self.outputs), {"h": h}

    def forward(self, x, state=None):
        state = self.initial_state(len(x)) if state is None else state
        outputs = []
        for letter in x.unbind(1):
            output, state = self.step(letter, state)
            outputs.append(output)
        return torch.stack(outputs, 1), state


def stateless(task):
    return Stateless()


def contrary(task):
    return Contrary(task)


def late(task):
    return Late(task)


def nothing():
    return None


def number(task):
    return 3


def raises(task):
    raise OSError("no such data set")
"""
SUBGROUPS = [[0, 1], [2, 3], [4, 2], [1, 0], [5, 4], [3, 5]]
"""Moves of an automaton whose group has very many subgroups."""

SWEEP = """[base]
task.name = "parity"
task.settings = {shortest = 4, longest = 10}
model = {layers = "gru", width = 2, settings = {hidden = 2}}
run = {steps = 1, batch = 2, validation = 2, test_lengths = [10], test_sequences = 2}
[grid]
run.seed = [0]
"""

TEXTS = {
    "parity.json": json.dumps(PARITY),
    "ab.att": "0 1 a a\n1 0 b b\n1\n",
    "ab.dot": "digraph { s [shape=none]; s -> q; q [shape=doublecircle]; q -> r [label=a]; r->q [label=b] }",
    "ab.jff": JFF,
    "tiny.arpa": ARPA,
    "moore.dot": MOORE,
    "own.py": OWN,
    "broken.py": "def build(task:\n",
    "quits.py": "import sys\nsys.exit(3)\n",
    "sweep.toml": SWEEP,
    "s10452.json": json.dumps({**PARITY, "accepting": [4], "transitions": SUBGROUPS}),
    "notes.txt": "my own notes\n",
    "words.txt": "a\nab\n\n",
    "evil.json": json.dumps({**PARITY, "alphabet": ["</script><script>alert(1)</script>", "'; rm -rf ~"]}),
    "deep.json": "[" * 100_000,
    "deep.toml": "x = " + "[" * 100_000,
    "deep-table.toml": "x = " + "{a=" * 100_000,
    "deep-key.toml": "x" + ".a" * 200_000 + " = 1",
    "deep.dot": "digraph {" + "subgraph {" * 100_000,
    "deep.jff": "<structure>" * 100_000,
    "entities.jff": '<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;">]><structure>&b;</structure>',
    "long-line.txt": "a" * 5_000_000,
}
"""Files of text, by name."""


MAMBA = {
    "model_type": "mamba",
    "vocab_size": 4,
    "hidden_size": 2,
    "state_size": 1,
    "num_hidden_layers": 1,
    "time_step_rank": 1,
    "tie_word_embeddings": True,
}
MIXER = "backbone.layers.0.mixer."
MAMBA_SHAPES = {
    "backbone.embeddings.weight": (4, 2),
    "backbone.layers.0.norm.weight": (2,),
    f"{MIXER}A_log": (4, 1),
    f"{MIXER}D": (4,),
    f"{MIXER}conv1d.weight": (4, 1, 4),
    f"{MIXER}conv1d.bias": (4,),
    f"{MIXER}in_proj.weight": (8, 2),
    f"{MIXER}x_proj.weight": (3, 4),
    f"{MIXER}dt_proj.weight": (4, 1),
    f"{MIXER}dt_proj.bias": (4,),
    f"{MIXER}out_proj.weight": (2, 4),
    "backbone.norm_f.weight": (2,),
}
GRU_SHAPES = {"weight_ih_l0": (6, 2), "weight_hh_l0": (6, 2), "bias_ih_l0": (6,), "bias_hh_l0": (6,)}


def safetensors(shapes: dict[str, tuple[int, ...]], *, kind: str = "F32", size: int = 4) -> bytes:
    """The bytes of a safetensors file whose tensors are zero."""
    header: dict[str, object] = {}
    place = 0
    for name, shape in shapes.items():
        end = place + size * math.prod(shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [place, end]}
        place = end
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(place)


def _make_weights(folder: Path) -> None:
    """Models of other libraries: one that can be read, and what is wrong in others."""
    wide = {**MAMBA_SHAPES, f"{MIXER}D": (5,)}
    less = {name: shape for name, shape in MAMBA_SHAPES.items() if not name.endswith("A_log")}
    for name, shapes, kind in (
        ("mamba-hf", MAMBA_SHAPES, "F32"),
        ("mamba-wide", wide, "F32"),
        ("mamba-less", less, "F32"),
        ("mamba-more", {**MAMBA_SHAPES, "extra.weight": (1,)}, "F32"),
        ("mamba-int", MAMBA_SHAPES, "I32"),
    ):
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(MAMBA))
        (folder / name / "model.safetensors").write_bytes(safetensors(shapes, kind=kind))
    tokens = {"model": {"vocab": {"<s>": 0, "</s>": 1, "a": 2, "b": 3}}}
    (folder / "mamba-hf" / "tokenizer.json").write_text(json.dumps(tokens))
    (folder / "mamba-pickle").mkdir()
    (folder / "mamba-pickle" / "config.json").write_text(json.dumps(MAMBA))
    (folder / "mamba-pickle" / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")
    (folder / "cell.pt").write_bytes(b"\x80\x04cos\nsystem\n")
    (folder / "gru.safetensors").write_bytes(safetensors(GRU_SHAPES))
    both = {**GRU_SHAPES, "weight_ih_l0_reverse": (6, 2)}
    (folder / "both.safetensors").write_bytes(safetensors(both))
    five = {**GRU_SHAPES, "weight_ih_l0": (10, 2)}
    (folder / "five.safetensors").write_bytes(safetensors(five))


def make_inputs(folder: Path) -> None:
    """Writes all inputs but those that commands make (see `MADE`)."""
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "noise").write_bytes(bytes(range(256)) * 20)
    for suffix in ("att", "dot", "jff", "json", "arpa", "toml"):
        (folder / f"noise.{suffix}").write_bytes(bytes(range(128, 256)) * 20)
        (folder / f"empty.{suffix}").touch()
        (folder / f"folder.{suffix}").mkdir()
        (folder / f"nul.{suffix}").write_bytes(b"\0" * 2000)
    (folder / "utf16.json").write_bytes(json.dumps(PARITY).encode("utf-16"))
    with (folder / "huge.json").open("wb") as file:
        file.truncate(1 << 33)
    (folder / "huge-header.safetensors").write_bytes(struct.pack("<Q", 1 << 62) + b"{}")
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.json")
    os.mkfifo(folder / "pipe.toml")
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "nowhere.json").symlink_to("/nowhere/at/all.json")
    (folder / "empty").mkdir()
    (folder / "foreign").mkdir()
    (folder / "foreign" / "thesis.tex").write_text("years of work\n")
    _make_weights(folder)


TRAIN = (
    "train parity --arch gru --jobs 1 --steps 2 --lengths 10,20 --set task.settings.shortest=4 --set "
    "task.settings.longest=10 --set model.width=2 --set model.settings.hidden=2 --set run.batch=2 --set "
    "run.validation=2 --set run.test_sequences=2"
).split()

MADE = (
    ("compile", "(ab)*", "--to", "diagonal", "-o", "net"),
    ("compile", "parity", "--to", "diagonal-signed", "--no-certificate", "-o", "unproved"),
    (*TRAIN, "--out", "runs"),
    ("runs", "ls", "runs"),
    ("import", "in/gru.safetensors", "-o", "imported"),
)
"""Command lines that make the folders `net`, `unproved` and `runs`."""
