"""Small networks of every kind of outcome, whose settlements are kept in `outcomes.json`.

`python -m tests.analysis.settle.corpus` settles them and writes the file: do it before a search is replaced,
never after.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch

from nerode.analysis.settle import settle_task
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget
from nerode.models import build_model, model_config
from nerode.records import TaskConfig
from nerode.tasks import build_task
from tests.analysis.settle.test_class_tasks import (
    CLASSES,
    merge_two_classes,
    misname_the_deepest_state,
    perfect,
    swap_two_names,
)
from tests.analysis.settle.test_settling import compiled_model, last_bias

OUTCOMES = Path(__file__).parent / "outcomes.json"
SECONDS = 20.0


def forged(name: str, change: Callable[[LoadedNetwork], None]) -> LoadedNetwork:
    subject = perfect(name, settings=CLASSES[name])
    change(subject)
    return subject


def damaged(language: str, architecture: str, output: int, by: float) -> LoadedNetwork:
    subject = compiled_model(language, architecture)
    with torch.no_grad():
        last_bias(subject.model)[output] += by
    return subject


def leaking(language: str, leak: float) -> LoadedNetwork:
    subject = compiled_model(language)
    layer = next(layer for layer in subject.model.layers if hasattr(layer, "A_log"))
    with torch.no_grad():
        held = layer.dt_proj.bias < 0
        layer.dt_proj.bias[held] = torch.log(torch.expm1(torch.tensor(leak)))
        layer.dt_proj.weight.zero_()
    return subject


def untrained(task: str, layers: str, seed: int, **options: object) -> LoadedNetwork:
    made = build_task(TaskConfig(name=task))
    config = model_config(layers, letters=made.letters, outputs=made.outputs, width=8, **options)
    model = build_model(config, seed=seed).eval()
    return LoadedNetwork(name=task, model=model, task=made, language=getattr(made, "language", None))


SUBJECTS: dict[str, Callable[[], LoadedNetwork]] = {
    **{f"{name}, correct": lambda name=name: perfect(name, settings=CLASSES[name]) for name in CLASSES},
    "parity, correct": lambda: perfect("parity-last"),
    "flip-flop, leaking": lambda: perfect("flip-flop", leak=1 - 2**-10),
    "even pairs, leaking": lambda: perfect("even-pairs", leak=1 - 2**-10),
    "cycle, leaking": lambda: perfect("cycle-navigation", leak=1 - 2**-10),
    "flip-flop, leaking slowly": lambda: perfect("flip-flop", leak=1 - 2**-13),
    "s3, names swapped": lambda: forged("s3", swap_two_names),
    "states, merged": lambda: forged("states-contains-aab", merge_two_classes),
    "counting, one wrong": lambda: forged("counting", misname_the_deepest_state),
    "mamba on tomita-2": lambda: compiled_model("tomita-2", "mamba"),
    "mamba on flip-flop": lambda: compiled_model("flip-flop", "mamba"),
    "gla on tomita-1": lambda: compiled_model("tomita-1", "gla"),
    "lstm on tomita-4": lambda: compiled_model("tomita-4", "lstm"),
    "griffin on set-reset": lambda: compiled_model("set-reset", "griffin"),
    "deltanet on parity": lambda: compiled_model("parity", "deltanet-signed"),
    "mamba on tomita-2, the end wrong": lambda: damaged("tomita-2", "mamba", -1, 10.0),
    "mamba on tomita-2, a tie": lambda: damaged("tomita-2", "mamba", 0, -0.5),
    "lstm on tomita-4, a letter wrong": lambda: damaged("tomita-4", "lstm", 1, -10.0),
    "mamba on flip-flop, leaking fast": lambda: leaking("flip-flop", 2.0**-6),
    "lstm untrained on parity": lambda: untrained("parity", "lstm", 0),
    "gru untrained on tomita-5": lambda: untrained("predict-tomita-5", "gru", 1),
    "elman untrained on s3": lambda: untrained("s3", "elman", 2),
    "mamba untrained on a language": lambda: untrained("recognise-tomita-4", "mamba", 3),
    "transformer untrained": lambda: untrained("predict-tomita-3", "transformer-nope", 4),
    "lstm untrained on flip-flop": lambda: untrained("flip-flop", "lstm", 5),
    "gru untrained on dyck-1": lambda: untrained("predict-dyck-1", "gru", 6),
    "lstm untrained on copying": lambda: untrained("copying", "lstm", 7),
}


def outcome(name: str) -> dict[str, object]:
    """Settles one of the networks; returns what has to stay."""
    found = settle_task(SUBJECTS[name](), budget=Budget(seconds=SECONDS)).settlement
    return {
        "status": found.status,
        "words": found.words,
        "length": found.length,
        "letters": None if found.word is None else len(found.word),
        "shortest": found.shortest,
        "method": found.method,
        "seconds": found.cpu_seconds,
    }


if __name__ == "__main__":
    found = {name: outcome(name) for name in SUBJECTS}
    OUTCOMES.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
