"""Two workers on one folder of runs, killed again and again: nothing is lost, and nothing is finished twice.

    python -m benchmarks workers [--runs=1200] [--kills=40]

Trains tiny networks by two `nerode train FILE.toml --worker`; a random one of them is killed in the middle of
its work, and started again. Prints what became of the runs.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nerode.records import RunStore, read_run
from nerode.records.store import WORK

SWEEP = """\
[base]
task.name = "parity"
run.steps = 2
run.validation = 8
run.test_sequences = 8
run.test_lengths = [40]
model.layers = "elman"
model.width = 4

[grid]
run.seed = {seeds}
"""
FINISHED = re.compile(r"([0-9a-f]{16}) parity .*: done, ")


def main(arguments: Sequence[str] = ()) -> None:
    """Runs the sweep and prints one line."""
    given = dict(argument.lstrip("-").split("=") for argument in arguments)
    runs, kills = int(given.get("runs", 1200)), int(given.get("kills", 40))
    with tempfile.TemporaryDirectory() as folder:
        print(attack(Path(folder), runs, kills))


def attack(folder: Path, runs: int, kills: int) -> str:
    """Returns what became of the runs; raises RuntimeError if one is lost or was finished twice."""
    (folder / "sweep.toml").write_text(SWEEP.format(seeds=list(range(runs))), encoding="utf-8")
    rng, killed, begun = random.Random(0), 0, time.monotonic()
    logs = [folder / "first.log", folder / "second.log"]
    workers = [_start(folder, log) for log in logs]
    store = RunStore(folder / "runs")
    while any(worker.poll() != 0 for worker in workers):
        time.sleep(rng.uniform(0.5, 1.5))
        for place, worker in enumerate(workers):
            if worker.poll() not in (None, 0):
                workers[place] = _start(folder, logs[place])
        chosen, done = rng.randrange(2), len(store.names()) if store.root.exists() else 0
        # The kills are spread over the sweep.
        if killed < kills and done * (kills + 1) >= runs * (killed + 1) and workers[chosen].poll() is None:
            workers[chosen].kill()
            workers[chosen].wait()
            killed += 1
    told = Counter(key for log in logs for key in FINISHED.findall(log.read_text(encoding="utf-8")))
    seeds = Counter(read_run(store.root / name).spec.run.seed for name in store.names())
    left = list((store.root / WORK).glob("*"))
    twice = sum(count > 1 for count in told.values())
    if set(seeds) != set(range(runs)) or max(seeds.values()) > 1 or twice or left:
        raise RuntimeError(
            f"{runs - len(seeds)} runs are lost, {twice} were finished twice, {len(left)} are left"
        )
    return (
        f"{runs:,} runs, 2 workers, {killed} kills, {time.monotonic() - begun:.0f} s: "
        f"{len(seeds):,} finished, {runs - len(seeds)} lost, {twice} finished twice"
    )


def _start(folder: Path, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nerode", "train", "sweep.toml", "--worker", "--jobs", "1"]
    with log.open("ab") as file:
        return subprocess.Popen(
            [*command, "--settle", "off", "--out", "runs"], cwd=folder, stdout=subprocess.DEVNULL, stderr=file
        )
