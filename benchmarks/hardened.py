"""Networks that were trained plainly and hardened afterwards: the rate of proofs before and after.

    python -m benchmarks hardened          runs that are there already not again

Each network is the plain one of `experiments/settled/plain.md` of the same seed. Its scores are spread, and
training through exact gates goes on from its weights, at all words and then at valid prefixes, as `nerode
mend RUN --method gates` does; attempts from fresh weights are not made, or not counted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from benchmarks.settled import FIRST, ROWS, SEEDS, _lines, find, plain_model, reason_of, spec_of
from nerode.core import write_atomically
from nerode.records import hash_tensors, merge_tables
from nerode.training import make_spec, train

RESULTS = Path("experiments/settled/hardened.jsonl")
PAGE = Path("experiments/settled/hardened.md")

STUDIES: tuple[tuple[str, str, int], ...] = (
    *(("mamba", task, 1) for task in FIRST),
    ("griffin", "predict-flip-flop", 1),
    ("mamba-signed", "parity", 1),
    ("deltanet-signed", "parity", 1),
    *((arch, "predict-set-reset", 1) for arch in ("hgrn2", "mingru", "mamba-2", "gla")),
)

HEAD = """# Trained plainly, hardened afterwards

Written by `python -m benchmarks hardened`; do not edit. Each network is the plain one of
[plain.md](plain.md) of the same seed. Training through exact gates goes on from its weights, for at most two
attempts. A proof counts only if its attempt began with the given weights. Each seed was run once.
"""


def main(arguments: Sequence[str] = ()) -> None:
    torch.set_num_threads(1)
    kept, rows = _lines(ROWS), _lines(RESULTS) if RESULTS.exists() else []
    for seed in SEEDS[:3]:
        for arch, name, layers in STUDIES:
            known = [row for row in rows if (row["architecture"], row["task"]) == (arch, name)]
            if not any(row["seed"] == seed for row in known):
                rows.append(harden(kept, arch, name, layers, seed))
                write_atomically(RESULTS, "".join(json.dumps(row) + "\n" for row in rows))
                print(json.dumps(rows[-1]), flush=True)
    write_atomically(PAGE, page(rows))
    print(f"{PAGE} is written")


def harden(kept: list[dict[str, Any]], arch: str, name: str, layers: int, seed: int) -> dict[str, Any]:
    """Returns what came of the plain network of a study."""
    exact = find(kept, "exact", (arch, name, layers), seed)
    plain = find(kept, "plain", (arch, name, layers), seed)
    given = plain_model(arch, name, layers, seed, exact)
    weights = {key: value.detach().clone().contiguous() for key, value in given.state_dict().items()}
    start = {"run": {"start": hash_tensors(save(weights))}}
    spec = make_spec(merge_tables(spec_of(arch, name, layers, seed, attempts=2).to_mapping(), start))
    record, _ = train(spec, start=weights)
    last, ended = record.checks[-1], record.stopped == "judge"
    proved = ended and last["given"]
    return {
        "architecture": arch,
        "task": name,
        "seed": seed,
        "before": "not run" if plain is None else plain["status"],
        "proved": proved,
        "words": last["words"] if proved else "",
        "reason": "" if proved else "proved from fresh weights only" if ended else reason_of(record),
        "cpu_seconds": round(record.cpu_seconds, 1),
    }


def page(rows: Sequence[dict[str, Any]]) -> str:
    """Returns the page of all runs."""
    before = sum(row["before"] == "proved" for row in rows)
    after = sum(row["proved"] for row in rows)
    lines = [HEAD, f"**Proved at every length: {before} of {len(rows)} before, {after} after.**", ""]
    lines += [
        "| architecture | task | seed | before | after | words | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        end = "proved" if row["proved"] else f"not proved: {row['reason']}"
        cells = (row["architecture"], row["task"], row["seed"], row["before"], end, row["words"])
        lines.append("| " + " | ".join(map(str, cells)) + f" | {row['cpu_seconds']} |")
    return "\n".join(lines) + "\n"
