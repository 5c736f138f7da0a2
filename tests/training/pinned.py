"""Ten short training runs, one per family of layers, whose bits may not change.

    python -m tests.training.pinned      writes pinned.json, before a change that may move bits

The table was written with the trainer of commit d354449c. A change of these bits changes every kept run: it
is made on purpose, in a commit of its own that says why.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch

from nerode.records import merge_tables
from nerode.training import describe_environment, make_specs, run_key, train

TABLE = Path(__file__).parent / "pinned.json"

_RUN = {
    "steps": 24,
    "batch": 16,
    "evaluate_every": 8,
    "validation": 32,
    "test_lengths": [12, 40],
    "test_sequences": 16,
}

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "elman": ("parity", "elman", {}),
    "lstm": ("predict-tomita-3", "lstm", {"run": {"aids": {"passed": 0.25, "noise": 0.1, "holds": 0.25}}}),
    "gru": ("recognise-tomita-4", "gru", {"run": {"curriculum": {"start": 8, "step": 4, "threshold": 0.1}}}),
    "mamba": ("predict-flip-flop", "mamba", {"optimiser": {"schedule": "cosine", "warm_up": 4, "hold": 4}}),
    "mamba-2": ("predict-tomita-5", "mamba-2", {"optimiser": {"name": "adam"}}),
    "s4d": ("parity", "s4d", {"run": {"epochs": 3, "sample": 96}}),
    "griffin": ("predict-set-reset", "griffin", {"run": {"dtype": "float64"}}),
    "deltanet": ("s3", "deltanet-signed", {"optimiser": {"name": "sgd", "rate": 0.1, "momentum": 0.9}}),
    "mlstm": ("states-contains-abaab", "mlstm", {"run": {"dtype": "bfloat16"}}),
    "transformer": ("predict-tomita-7", "transformer", {"model": {"surroundings": {"dropout": 0.1}}}),
}
"""By family: the task, the layers and further settings, so that every part of the loop is in some run."""


def pinned_row(family: str) -> dict[str, Any]:
    """Returns the key of a run, the hash of its weights and its scores."""
    task, layers, tables = CASES[family]
    (spec,) = make_specs(task, [layers], seeds=[7], tables=merge_tables({"run": _RUN}, tables))
    record, model = train(spec)
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return {
        "key": run_key(spec),
        "weights": digest.hexdigest(),
        "scores": [[score.length, score.token, score.sequence, score.loss] for score in record.evaluations],
    }


def arithmetic() -> dict[str, str]:
    """Returns what the last bits of a run depend on besides its spec."""
    known = describe_environment()
    return {name: str(known[name]) for name in ("torch", "processor", "vector_instructions")}


if __name__ == "__main__":
    rows = {family: pinned_row(family) for family in CASES}
    TABLE.write_text(json.dumps({"arithmetic": arithmetic(), "rows": rows}, indent=1) + "\n")
    print(f"{TABLE} is written")
