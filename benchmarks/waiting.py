"""How long people wait: commands from their start to their answer, each in a process of its own.

Seconds of the processor, children included, so that a busy machine does not matter much; for the atlas, which
uses all cores, seconds on the wall.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks._rows import record

NAMED = ("parity", "tomita-3", "dyck-2-3", "flip-flop", "a5")
CHECK_SECONDS, COMPILE_SECONDS, VERIFY_SECONDS, CERTIFY_SECONDS, ASK_SECONDS = 0.4, 2.0, 1.5, 10.0, 10.0
ATLAS_SECONDS, UNCHANGED_SECONDS = 90.0, 2.0


def spent(folder: str, *arguments: str) -> float:
    """The processor seconds of a command of nerode, run in a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "nerode", *arguments]
    # Python keeps what it compiles, as it does for users.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def note(work: str, goal: float, seconds: float, *, threads: int = 1) -> None:
    """Records and prints a row."""
    record(work, f"{goal:g} s", [seconds], [goal], threads=threads)
    print(f"{work:<60} {seconds:7.2f} s of at most {goal:g} s", flush=True)


def commands(folder: str) -> None:
    """The commands of the README, in a folder."""
    worst = max((min(spent(folder, "check", name) for _ in range(3)), name) for name in NAMED)
    note(f"nerode check {worst[1]}, the slowest of {len(NAMED)}", CHECK_SECONDS, worst[0])
    arguments = ("compile", "(ab|c)*", "--to", "mamba", "-o", "ab", "--force")
    note(
        'nerode compile "(ab|c)*" --to mamba',
        COMPILE_SECONDS,
        min(spent(folder, *arguments) for _ in range(3)),
    )
    note("nerode verify of it", VERIFY_SECONDS, min(spent(folder, "verify", "ab") for _ in range(3)))
    train = "train predict-tomita-2 --arch elman --certify --jobs 1 --lengths 50,200 --out runs".split()
    note("nerode train predict-tomita-2 --arch elman --certify", CERTIFY_SECONDS, spent(folder, *train))
    run = next(path.parent for path in Path(folder, "runs").glob("*/result.json"))
    note("nerode ask of what it trained", ASK_SECONDS, spent(folder, "ask", str(run)))


def atlas(folder: str) -> None:
    """The atlas from nothing, and again."""
    for work, goal in (("atlas from nothing", ATLAS_SECONDS), ("atlas unchanged", UNCHANGED_SECONDS)):
        begun = time.perf_counter()
        spent(folder, "atlas", "--force", "-o", "atlas.html")
        note(work, goal, time.perf_counter() - begun, threads=2)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks waiting", description=__doc__)
    parser.add_argument("--no-atlas", action="store_true", help="leave out the atlas")
    given = parser.parse_args(list(options))
    with tempfile.TemporaryDirectory() as folder:
        commands(folder)
        if not given.no_atlas:
            atlas(folder)
