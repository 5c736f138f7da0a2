"""Folders put together by hand of parts that are right by themselves: what they are said to be is false.

A run should predict what follows in (a|b)*. Its weights give the same scores after every word, so that all of
it can be seen: which answers are right, and which question, model or file they belong to.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from nerode.analysis.settle.keeping import write_settlement
from nerode.core import Budget
from nerode.proofs.floats import settle
from nerode.proofs.replay import open_subject
from nerode.records import SETTLED, Folder, TrainSpec, run_name
from nerode.training import run_in, run_key

PLAIN = {
    "settings": {"hidden": 2},
    "surroundings": {"norm": "none", "residual": False, "feed_forward": "none"},
}
"""Settings of a cell with nothing around it."""


def edit(path: Path, **changes: Any) -> None:
    """Changes keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def trained(place: Path, layers: str, *, language: str = "(a|b)*", **settings: Any) -> Path:
    """Returns a run that should predict what follows in a language of two letters."""
    tables = {
        "task": {"name": "language-prediction", "settings": {"language": language}},
        "model": {"layers": layers, "width": 2, **settings},
        "run": {"steps": 1, "evaluate_every": 1, "validation": 8, "test_lengths": [8], "test_sequences": 4},
    }
    spec = TrainSpec.from_mapping(tables)
    run_in(place, spec)
    return place / run_name(run_key(spec))


def always_say(folder: Path, scores: list[float]) -> None:
    """Gives a run weights with the same scores after every word."""
    path = folder / "model.safetensors"
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    weights = load_file(path)
    for value in weights.values():
        value.zero_()
    weights["head.bias"][:] = torch.tensor(scores)
    save_file(weights, path, metadata=metadata)
    files = json.loads((folder / "subject.json").read_text())["files"]
    edit(folder / "subject.json", files=files | {path.name: Folder(folder).file_hash(path.name)})


def settle_as_it_says(folder: Path) -> None:
    """Leaves the proof of what a subject says that it is asked."""
    ended = settle(open_subject(folder), budget=Budget(seconds=60))
    assert ended.settlement.status == "proved"
    write_settlement(folder, ended)


def membership_for_prediction(place: Path) -> Path:
    """Every word is in the language, so that weights which name no letter are right about membership."""
    folder = trained(place, "elman-tanh", **PLAIN)
    always_say(folder, [-1.0, -1.0, 1.0])
    question = json.loads((folder / "subject.json").read_text())["question"]
    edit(folder / "subject.json", question=question | {"asks": "end"})
    settle_as_it_says(folder)
    return folder


def another_model(place: Path) -> Path:
    """A run of Mamba with the subject, the weights and the proof of an Elman network."""
    folder, other = trained(place, "mamba"), trained(place / "other", "elman-tanh", **PLAIN)
    always_say(other, [1.0, 1.0, 1.0])
    settle_as_it_says(other)
    shutil.copytree(other / SETTLED, folder / SETTLED)
    for name in ("subject.json", "language.json", "model.safetensors"):
        shutil.copy(other / name, folder)
    return folder


def unnamed_links(place: Path) -> Path:
    """A folder of (ab)* whose files are links into one of flip-flop, and which its subject does not name."""
    folder, other = place / "net", place / "other"
    for made, language in ((folder, "(ab)*"), (other, "flip-flop")):
        assert _run("compile", language, "--to", "diagonal", "-o", str(made)) == 0
    edit(folder / "subject.json", files={})
    for name in ("network.json", "language.json", "certificate.json"):
        (folder / name).unlink()
        (folder / name).symlink_to(other / name)
    return folder


FOLDERS: dict[str, Callable[[Path], Path]] = {
    "membership for prediction": membership_for_prediction,
    "the model of another architecture": another_model,
    "links that a subject does not name": unnamed_links,
}
"""Makers of a forged folder, by name."""


def verifies(make: Callable[[Path], Path]) -> bool:
    """Whether `nerode verify` ends with 0 on a forged folder."""
    with tempfile.TemporaryDirectory() as place:
        return _run("verify", str(make(Path(place)))) == 0


def _run(*words: str) -> int:
    return subprocess.run(
        [sys.executable, "-m", "nerode", *words], capture_output=True, check=False
    ).returncode
