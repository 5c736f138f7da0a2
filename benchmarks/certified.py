"""Trained networks proved right at every length: every task and seed, written to experiments/certified.

python -m benchmarks certified                    every study; the page is written
python -m benchmarks certified --compare          tanh cells again beside the kept rows; nothing is written
python -m benchmarks certified --compare --plain  the same, trained without boxes
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch

from nerode.analysis import recipe
from nerode.core import write_atomically
from nerode.proofs import STATE_BOXES, certificate_from_json
from nerode.records import SETTLED, SETTLED_CERTIFICATE, merge_tables, read_settlement, run_name
from nerode.training import make_spec, run_in

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
--arch ARCH --certify` trains it, once for each seed, and no seed is left out. Tanh cells are trained with
noise on the state and with boxes of states that hold under noise; gated cells through exact gates, whose
proofs list float states and speak of no noise. What is proved is the run itself (`nerode verify RUN`).

What is proved: after every word over the alphabet, of any length, also of those that leave the language,
the answer is right, in exact arithmetic, even if after every letter every coordinate of the state is moved
by up to eps. `parity` is recognition (even or odd); `s3` says whether the product is the identity;
`predict-…` names all symbols that may follow and whether the word may end. `predict-set-reset` is the flip-
flop of two writes and a hold; `predict-flip-flop` the published one of instructions and bits.

CPU seconds: training with its searches and tests. "k" is how many last letters a box knows; "float32" says
whether the proof also covers the roundings of the module in float32 (with noise of eps/2 on top).
"""


def main(arguments: Sequence[str] = ()) -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(prog="python -m benchmarks certified")
    parser.add_argument("--compare", action="store_true", help="tanh cells again, beside the kept rows")
    parser.add_argument("--plain", action="store_true", help="with --compare: without boxes in training")
    given = parser.parse_args(arguments)
    if given.compare:
        compare(json.loads(ROWS.read_text()), boxes=not given.plain)
        return
    rows = []
    for task, arch in STUDIES:
        for seed in SEEDS:
            rows.append(study(task, arch, seed, RUNS))
            write_results(rows)
    print(f"{TABLE} is written")


def compare(kept: list[dict[str, Any]], *, boxes: bool = True) -> None:
    """Trains the tanh cells of the kept rows that have a claim under noise, and prints how many have one."""
    chosen = [row for row in kept if row["architecture"] == "elman" and row["proof"]["eps"] is not None]
    with tempfile.TemporaryDirectory() as runs:
        found = [study(row["task"], "elman", row["seed"], Path(runs), boxes=boxes) for row in chosen]
    noisy = sum(row["proof"]["eps"] is not None for row in found)
    proved = sum(row["proof"]["proved"] for row in found)
    seconds = sum(row["training_cpu_seconds"] for row in found)
    way = "trained with boxes" if boxes else "trained without boxes"
    print(
        f"{way}: {noisy} of {len(found)} have a claim under noise again, {proved} have a proof; "
        f"{seconds:.0f} CPU seconds"
    )


def write_results(rows: list[dict[str, Any]]) -> None:
    """Writes the table and its numbers; runs that were not made yet are named."""
    write_atomically(ROWS, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    write_atomically(TABLE, _page(rows))


def study(task: str, arch: str, seed: int, runs: Path, *, boxes: bool = True) -> dict[str, Any]:
    tables = merge_tables(recipe({"name": task}, arch), {"task": {"name": task}, "run": {"seed": seed}})
    if not boxes and "boxes" in tables["run"]["exact"]:
        tables = merge_tables(tables, {"run": {"exact": {"boxes": 0.0}}})
    spec = make_spec(tables)
    record = run_in(runs, spec)
    folder = runs / run_name(record.key)
    row = {
        "task": task,
        "architecture": arch,
        "hidden": spec.model.settings["hidden"],
        "seed": seed,
        "training_steps": record.steps,
        "training_cpu_seconds": round(record.cpu_seconds + record.evaluation_cpu_seconds, 1),
        "proof": proof_of(folder, record.checks[-1]),
    }
    print(_line(row), flush=True)
    return row


def proof_of(folder: Path, last: dict[str, Any]) -> dict[str, Any]:
    """The proof in the folder of a run: its noise, and whether it covers the roundings of float32."""
    settlement = read_settlement(folder)
    accuracy = last["accuracy"]
    if settlement is None:
        reason = last.get("outcome", f"{accuracy:.1%} of the words of training are correct")
        return {"proved": False, "eps": None, "float32": False, "accuracy": accuracy, "reason": reason}
    text = (folder / SETTLED / SETTLED_CERTIFICATE).read_text()
    evidence = certificate_from_json(json.loads(text)).evidence.get(STATE_BOXES, {})
    return {
        "proved": True,
        "eps": settlement.noise,
        "letters": evidence.get("letters"),
        "boxes": len(evidence.get("boxes", ())),
        "float32": settlement.dtype == "float32",
        "accuracy": accuracy,
        "reason": None,
    }


def _line(row: dict[str, Any]) -> str:
    proof = row["proof"]
    eps = "–" if proof["eps"] is None else f"{float(Fraction(proof['eps'])):.2g}"
    return (
        f"| {row['task']} | {row['architecture']} {row['hidden']} | {row['seed']} | "
        f"{'proved' if proof['proved'] else '**no proof found**'} | {eps} | {proof.get('letters') or '–'} | "
        f"{proof.get('boxes') or '–'} | {'yes' if proof['float32'] else '–'} | {row['training_steps']:,} | "
        f"{row['training_cpu_seconds']:.1f} |"
    )


def _page(rows: list[dict[str, Any]]) -> str:
    lines = [HEAD, *_summary(rows), ""]
    lines.append("| task | network | seed | | eps | k | boxes | float32 | updates | CPU s |")
    lines.append("|---|---|---|---|---|---|---|---|---|---|")
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
        noisy = sum(row["proof"]["eps"] is not None for row in chosen)
        seconds = sorted(row["training_cpu_seconds"] for row in chosen)
        lines.append(
            f"- {title}: {proved} of {len(chosen)} runs proved, {noisy} under noise; CPU seconds per "
            f"run: median {seconds[len(seconds) // 2]:.1f}, largest {seconds[-1]:.1f}."
        )
    return lines
