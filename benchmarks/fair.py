"""Exact gates against plain training, fairly, with ablations: experiments/fair.

    python -m benchmarks fair                          all studies of `settled`, seeds 301 to 305, all arms
    python -m benchmarks fair --only mamba:predict-tomita-7 --seeds 301-303
    python -m benchmarks fair --arms exact,learned     some arms
    python -m benchmarks fair --seconds 3600           ends after so many CPU seconds, and can go on
    python -m benchmarks fair --table                  nothing is run

Rows that are there are not made again. Every seed of every arm counts in the means.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.generalisation import seeds_of
from benchmarks.settled import EXACT, Row, Study, accuracies, end_of, spec_of, task_of
from nerode.core import plural, stream, write_atomically
from nerode.models import Model
from nerode.records import RunRecord, merge_tables
from nerode.tasks import Task
from nerode.training import make_spec, train

FOLDER = Path("experiments/fair")
LONGEST, WORDS = 40, 128
"""A network has learned if it answers so many words of the longest training length correctly, twice."""

FIRST, MOST = 400, 12_800
"""Updates of plain training: doubled from the first number on until the words are learned."""

SETTLE = 20.0

HEAD = f"""# Exact gates against plain training

Written by `python -m benchmarks fair`; do not edit. The studies and recipes are those of
[training through exact gates](../settled/README.md); the seeds are others. Every seed of every arm is in the
means. "Learned" is {WORDS} of {WORDS} random words of {LONGEST} letters, twice.

- exact: the recipe: exact gates, restarts, failing words, an end by proof.
- learned: plain training with twice the least number of updates (of {FIRST}, {2 * FIRST}, … {MOST:,}) after
  which it has learned; what finding that number takes is not counted.
- seconds: plain training with as many CPU seconds as the exact run took.
- loop: the same outer loop (restarts, failing words, an end by proof) around plain layers.
- no-head, no-restarts, no-margin: the recipe without the second head that names states, with one attempt, and
  without the loss that keeps gate scores from 0.
"""


def learned(model: Model, task: Task) -> bool:
    """Whether a network answers all words of the longest training length correctly, twice."""
    for turn in range(2):
        batch = task.sample(LONGEST, WORDS, stream(turn, "fair", task.name))
        with torch.no_grad():
            if not bool(task.correct(model(batch.inputs)[0], batch).all()):
                return False
    return True


def _train(study: Study, seed: int, *, updates: int = 0, **exact: Any) -> tuple[RunRecord, Model]:
    spec = spec_of(*study, seed, **exact)
    tables = {"run": {"steps": updates}, "optimiser": {"hold": round(0.4 * updates)}} if updates else {}
    return train(make_spec(merge_tables(spec.to_mapping(), tables)))  # type: ignore[return-value]


PLAIN = {"gates": "none", "judge": "none", "attempts": 1, "words": "valid"}


def plain_until_learned(study: Study, seed: int, before: Row | None) -> tuple[RunRecord, Model]:
    """Returns plain training with twice the updates that it needs."""
    updates = FIRST
    while updates < MOST and not learned(_train(study, seed, updates=updates, **PLAIN)[1], task_of(study[1])):
        updates *= 2
    return _train(study, seed, updates=2 * updates, **PLAIN)


def plain_of_equal_seconds(study: Study, seed: int, before: Row | None) -> tuple[RunRecord, Model]:
    """Returns plain training with the CPU seconds of the exact run, by the seconds of its first updates."""
    assert before is not None
    record, _ = _train(study, seed, updates=100, **PLAIN)
    updates = max(1, round(100 * before["train_seconds"] / max(record.cpu_seconds, 1e-3)))
    return _train(study, seed, updates=updates, **PLAIN)


ARMS: dict[str, Callable[[Study, int, Row | None], tuple[RunRecord, Model]]] = {
    "exact": lambda study, seed, before: _train(study, seed),
    "learned": plain_until_learned,
    "seconds": plain_of_equal_seconds,
    "loop": lambda study, seed, before: _train(study, seed, gates="none"),
    "no-head": lambda study, seed, before: _train(study, seed, naming=0.0),
    "no-restarts": lambda study, seed, before: _train(study, seed, attempts=1),
    "no-margin": lambda study, seed, before: _train(study, seed, hinge=0.0),
}
"""Ways to train, by name; `seconds` needs the exact run of the same study and seed."""


def make_row(arm: str, study: Study, seed: int, before: Row | None) -> Row:
    """Returns one row: a network trained, tested and settled."""
    record, model = ARMS[arm](study, seed, before)
    task, proved = task_of(study[1]), record.stopped == "judge"
    end = {"status": "proved", "word": None} if proved else end_of(study[0], model, task, SETTLE)
    return {
        "arm": arm,
        "study": list(study),
        "seed": seed,
        "updates": record.steps,
        "train_seconds": round(record.cpu_seconds, 2),
        "learned": learned(model, task),
        "accuracy": accuracies(model, task),
        "status": end["status"],
        "word": None if end["word"] is None else len(end["word"]),
    }


def find(rows: Sequence[Row], arm: str, study: Study, seed: int) -> Row | None:
    """Returns a row that is there."""
    wanted = (arm, list(study), seed)
    return next((row for row in rows if (row["arm"], row["study"], row["seed"]) == wanted), None)


def page(rows: Sequence[Row]) -> str:
    """Returns the page: a line per arm, over all studies and seeds that every arm of the page has."""
    arms = [arm for arm in ARMS if any(row["arm"] == arm for row in rows)]
    places = [{(*row["study"], row["seed"]) for row in rows if row["arm"] == arm} for arm in arms]
    shared = set.intersection(*places) if places else set()
    columns = "arm | runs | learned | correct at 8× | at 64× | proved | refuted | open | CPU s a run |"
    lines = [HEAD, f"{plural(len(shared), 'pair')} of a study and a seed that all arms have:", ""]
    lines += [f"| {columns}", "|" + "---|" * 9]
    for arm in arms:
        own = [row for row in rows if row["arm"] == arm and (*row["study"], row["seed"]) in shared]
        if own:
            lines.append(f"| {arm} | {len(own)} | {_cells(own)} |")
    return "\n".join([*lines, ""])


def _cells(own: Sequence[Row]) -> str:
    ends = [row["status"] for row in own]
    means = [f"{np.mean([row['accuracy'][factor] for row in own]):.2f}" for factor in ("8", "64")]
    counts = [str(ends.count(end)) for end in ("proved", "refuted", "unsettled")]
    seconds = f"{np.mean([row['train_seconds'] for row in own]):.1f}"
    return " | ".join([str(sum(row["learned"] for row in own)), *means, *counts, seconds])


def main(arguments: Sequence[str] = ()) -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(prog="python -m benchmarks fair")
    parser.add_argument("--only", default="", help="beginnings of ARCHITECTURE:TASK:LAYERS")
    parser.add_argument("--seeds", default="301-305", help="one number or a range")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="CPU seconds after which to stop")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args(list(arguments))
    path, begun = FOLDER / "rows.jsonl", time.process_time()
    rows: list[Row] = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    asked = given.only.split(",")
    studies = [s for s in EXACT if any(f"{':'.join(map(str, s))}:".startswith(a) for a in asked)]
    plan = itertools.product(seeds_of(given.seeds), studies, given.arms.split(","))
    for seed, study, arm in () if given.table else plan:
        if find(rows, arm, study, seed) is not None:
            continue
        if time.process_time() - begun > given.seconds:
            print("stopped; the same command goes on")
            break
        before = find(rows, "exact", study, seed)
        if arm == "seconds" and before is None:
            print(f"{study}, seed {seed}: equal seconds need the exact run first")
            continue
        rows.append(make_row(arm, study, seed, before))
        write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows))
        print(json.dumps(rows[-1]), flush=True)
    if rows:
        write_atomically(FOLDER / "README.md", page(rows))
        print(FOLDER / "README.md")
