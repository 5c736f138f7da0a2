"""Trained networks proved right at every length: every task and seed, written to experiments/certified."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch

from nerode.analysis.proofs import certify_run, certify_tables
from nerode.core import write_atomically
from nerode.records import merge_tables, run_name
from nerode.training import make_specs, run_key
from nerode.training.runs import run_in

SEEDS = (0, 1, 2)
TABLE = Path("experiments/certified/README.md")
ROWS = Path("experiments/certified/results.json")
RUNS = Path(os.environ.get("NERODE_CERTIFIED_RUNS", "build/certified"))

ELMAN = (
    *("parity", "predict-flip-flop", "predict-set-reset"),
    *(f"predict-tomita-{number}" for number in range(1, 8)),
    *("predict-d-4", "s3"),
)
GATED = tuple(("predict-set-reset", arch) for arch in ("gru", "lstm", "slstm"))
STUDIES = (*((task, "elman") for task in ELMAN), *GATED)

HEAD = """# Trained networks, proved right at every length

Written by `python -m benchmarks certified`; do not edit. Each network is trained as `nerode train TASK
--arch ARCH --certify` trains it, with the default settings, once for each seed, and no seed is left out.
Then boxes are looked for: in the network as it was trained, after fine-tuning with noise, and during
certificate training (twice over if need be). A proof counts if the independent checker accepts it (`nerode
verify RUN`).

What is proved: after every word over the alphabet, of any length, also of those that leave the language,
the answer is right, in exact arithmetic, even if after every letter every coordinate of the state is moved
by up to eps. `parity` is recognition (even or odd); `s3` says whether the product is the identity;
`predict-…` names all symbols that may follow and whether the word may end. `predict-set-reset` is the flip-
flop of two writes and a hold; `predict-flip-flop` the published one of instructions and bits.

CPU seconds: training with its tests + the search for a proof with its check. "k" is how many last letters a
box knows; "float32" says whether the proof also covers the roundings of the module in float32 (with noise
of eps/2 on top); "accuracy" is on random words of length 100, some of which leave the language: as trained,
and at the end.
"""


def main() -> None:
    torch.set_num_threads(1)
    rows = []
    for task, arch in STUDIES:
        for seed in SEEDS:
            rows.append(study(task, arch, seed))
            write_results(rows)
    print(f"{TABLE} is written")


def write_results(rows: list[dict[str, Any]]) -> None:
    """Writes the table and its numbers; runs that were not made yet are named."""
    write_atomically(ROWS, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    write_atomically(TABLE, _page(rows))


def study(task: str, arch: str, seed: int) -> dict[str, Any]:
    tables = merge_tables(certify_tables({"name": task}, arch), {"task": {"name": task}})
    (spec,) = make_specs(task, [arch], seeds=[seed], tables=tables)
    record = run_in(RUNS, spec)
    attempt = certify_run(RUNS / run_name(run_key(spec)))
    row = {
        "task": task,
        "architecture": arch,
        "hidden": spec.model.settings["hidden"],
        "seed": seed,
        "training_steps": record.steps,
        "training_cpu_seconds": round(record.cpu_seconds + record.evaluation_cpu_seconds, 1),
        "proof": attempt.to_json(),
    }
    print(_line(row), flush=True)
    return row


def _line(row: dict[str, Any]) -> str:
    proof = row["proof"]
    training = [stage for stage in proof["stages"] if stage["name"] != "trained"]
    last = proof["stages"][-1]
    found = "proved" if proof["proved"] else "**no proof found**"
    eps = f"{float(Fraction(proof['eps'])):.2g}" if proof["proved"] else "–"
    float32 = "yes" if proof["float32"] else "–"
    way = ", ".join(f"{stage['name']} {stage['steps']}" for stage in training) or "as trained"
    return (
        f"| {row['task']} | {row['architecture']} {row['hidden']} | {row['seed']} | {found} | {eps} | "
        f"{proof['letters'] if proof['proved'] else '–'} | {proof['boxes'] or '–'} | {float32} | {way} | "
        f"{proof['stages'][0]['accuracy']:.3f} → {last['accuracy']:.3f} | "
        f"{row['training_cpu_seconds']:.1f} + {proof['cpu_seconds']:.1f} |"
    )


def _page(rows: list[dict[str, Any]]) -> str:
    lines = [HEAD, *_summary(rows), ""]
    lines.append(
        "| task | network | seed | | eps | k | boxes | float32 | after (updates) | accuracy | CPU s |"
    )
    lines.append("|---|---|---|---|---|---|---|---|---|---|---|")
    lines += map(_line, rows)
    failed = [row for row in rows if not row["proof"]["proved"]]
    if failed:
        lines += ["", "Without a proof:", ""]
        lines += [
            f"- {row['task']}, {row['architecture']}, seed {row['seed']}: {row['proof']['reason']}"
            for row in failed
        ]
    made = {(row["task"], row["architecture"], row["seed"]) for row in rows}
    wanted = [(*chosen, seed) for chosen in STUDIES for seed in SEEDS]
    missing = [f"{task} {arch} seed {seed}" for task, arch, seed in wanted if (task, arch, seed) not in made]
    if missing:
        lines += ["", f"Not run yet: {'; '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _summary(rows: list[dict[str, Any]]) -> list[str]:
    """The success rates and the CPU seconds, tanh networks and gated ones apart."""
    lines = []
    for title, chosen in (
        ("tanh networks", [row for row in rows if row["architecture"] == "elman"]),
        ("gated cells", [row for row in rows if row["architecture"] != "elman"]),
    ):
        if not chosen:
            continue
        proved = sum(row["proof"]["proved"] for row in chosen)
        seconds = sorted(row["training_cpu_seconds"] + row["proof"]["cpu_seconds"] for row in chosen)
        lines.append(
            f"- {title}: {proved} of {len(chosen)} runs proved; CPU seconds a run: median "
            f"{seconds[len(seconds) // 2]:.1f}, largest {seconds[-1]:.1f}."
        )
    return lines
