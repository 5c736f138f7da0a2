"""One table of all speeds: benchmarks/RESULTS.md, from one run on an idle machine.

`make bench` runs it. Each row says what was done, against whom, how many times as long the peer takes, the
least and the largest ratio of one turn, the target, and what limits it.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import profiles
from benchmarks._rows import MEASURED, BenchRow, record
from nerode.core import write_atomically
from nerode.models.native import library as native
from nerode.training.environment import describe_environment

PAGE = Path(__file__).with_name("RESULTS.md")

SECTIONS = (
    *("cells", "layers", "kernels", "mamba", "training"),
    *("monoid", "starfree", "bestiary", "threads", "atlas"),
)

ATLAS_SECONDS, UNCHANGED_SECONDS = 90.0, 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTarget:
    """The ratio that a row should reach, and what it cannot pass.

    Attributes:
        work: how the name of the work begins.
        peer: how the name of the peer begins.
        least: the ratio.
        limit: what stands in the way of more.
    """

    work: str
    peer: str
    least: float
    limit: str


_PRODUCTS = "products of matrices"
_CALLS = "Python, autograd and memory beside the kernels (profiles below)"
_PAGES = (
    "arrays of 32 MiB go back to the system after each use, and each page of the next is zeroed first: "
    "compare the copy with allocation"
)
_BANDWIDTH = "memory bandwidth: a store reads its line first, three times in eight"
_SCAN = "the selective scan and the linear maps (profiles below)"
_FUSED = "torch's own fused attention, which ours calls"
_SMALL = "batch, loss, clipping and update beside the kernels (profiles below)"
_HALVES = "operations that do not halve with two threads, as profiled in the run"

TARGETS = (
    BenchTarget(work="gru H 8 ", peer="torch", least=10, limit=_CALLS),
    BenchTarget(work="gru H 128 ", peer="torch", least=1.5, limit=_PRODUCTS),
    BenchTarget(work="gru H", peer="torch", least=1, limit=_PRODUCTS),
    *(BenchTarget(work=f"lstm H {n} ", peer="torch", least=1.3, limit=_PRODUCTS) for n in (8, 64, 128)),
    BenchTarget(work="lstm H", peer="torch", least=1, limit=_PRODUCTS),
    *(
        BenchTarget(work=f"30 × {name} H 32 ", peer="torch", least=1.7, limit=_PRODUCTS)
        for name in ("elman-tanh", "gru", "lstm")
    ),
    BenchTarget(work="causal attention", peer="torch", least=1, limit=_FUSED),
    BenchTarget(work="attention with slopes", peer="torch", least=1, limit=_FUSED),
    BenchTarget(work="mlstm layer", peer="xlstm package", least=1, limit=_PRODUCTS),
    BenchTarget(work="scalar decay", peer="chunks", least=1, limit=_PRODUCTS),
    BenchTarget(work="vector decay", peer="chunks", least=1, limit=_PRODUCTS),
    BenchTarget(
        work="erase rule", peer="torch loop", least=1, limit="no chunked form in plain torch is known"
    ),
    BenchTarget(work="mamba step", peer="mambapy", least=6, limit=_SCAN),
    BenchTarget(work="mamba step", peer="transformers, slow path", least=25, limit=_SCAN),
    BenchTarget(work="diagonal scan (8, 512, 512)", peer="copy of the bytes", least=0.6, limit=_BANDWIDTH),
    BenchTarget(work="diagonal scan (16, 512, 512)", peer="copy of the bytes", least=0.6, limit=_PAGES),
    BenchTarget(work="diagonal scan (64, 512, 16)", peer="mambapy pscan", least=8, limit=_BANDWIDTH),
    BenchTarget(work="training of", peer="", least=1, limit=_SMALL),
    BenchTarget(work="kernels in a step", peer="", least=0.7, limit=_SMALL),
    BenchTarget(
        work="training step of pd-ssm", peer="gla", least=0.5, limit="its scan over choices of columns"
    ),
    BenchTarget(work="training step", peer="one thread", least=1.6, limit=_HALVES),
    *(
        BenchTarget(work=f"monoid {n}", peer="libsemigroups", least=1.5, limit="gathers from Cayley graphs")
        for n in ("O10", "D100")
    ),
    BenchTarget(
        work="groups and classes",
        peer="20 s",
        least=1,
        limit="listing monoids (24 %), dot-depth one (15 %), powers of elements (12 %)",
    ),
    BenchTarget(
        work="certificates of the classes", peer="30 s", least=1, limit="exact steps in plain Python"
    ),
    BenchTarget(work="checks of the classes", peer="60 s", least=1, limit="exact steps in plain Python"),
    BenchTarget(
        work="atlas from nothing", peer="90 s", least=1, limit="proofs of up to 8 s each, half in vain"
    ),
    BenchTarget(work="atlas unchanged", peer="3 s", least=1, limit="imports"),
)
"""The first that fits a row counts."""


def target_of(row: BenchRow) -> BenchTarget | None:
    """Returns the target of a row, None if it has none."""
    return next((t for t in TARGETS if row.work.startswith(t.work) and row.peer.startswith(t.peer)), None)


def line(row: BenchRow, command: str) -> str:
    """Returns a row of the table."""
    target = target_of(row)
    wanted = "" if target is None else f"{target.least:g} {'✓' if row.ratio >= target.least else '✗'}"
    limit = "; ".join(part for part in ("" if target is None else target.limit, row.limit) if part)
    spread = f"{row.low:.2f}–{row.high:.2f}"
    ours = f"{row.seconds * 1e3:,.1f} ms" if row.seconds < 10 else f"{row.seconds:,.0f} s"
    cells = (row.work, ours, row.peer, f"{row.ratio:.2f}", spread, str(row.threads), wanted, limit)
    return f"| {' | '.join(cells)} | `{command}` |"


def page(
    rows: Sequence[tuple[BenchRow, str]], load: float, seconds: float, profiled: Sequence[str] = ()
) -> str:
    """Returns the page of rows, each with its command.

    Args:
        rows: what was measured.
        load: processes that were running when the measurement began.
        seconds: how long it took.
        profiled: what takes the time of some of the works, in lines.
    """
    about = describe_environment()
    judged = [(row, target) for row, _ in rows if (target := target_of(row)) is not None]
    met = sum(row.ratio >= target.least for row, target in judged)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    head = [
        "# Speeds",
        "",
        f"One run of `make bench` ({seconds / 60:.0f} minutes) on {today}, commit {about['commit'][:12]}, "
        f"{about['processor']}, torch {about['torch']}; {load:.1f} processes were running when it began.",
        "A ratio is the peer's time over ours, of medians; the spread is over the turns. Times of one thread "
        "are processor time, of two threads and of the atlas the time on the wall.",
        f"{met} of {len(judged)} targets are met.",
        "",
        "| work | ours | peer | ratio | spread | threads | target | limit | command |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    table = [line(row, command) for row, command in rows]
    return "\n".join([*head, *table, *(["", *profiled] if profiled else []), ""])


def build_kernels() -> None:
    """Builds the native kernels if they are missing or out of date; without them nothing is measured."""
    subprocess.run([sys.executable, "-m", "nerode.models.native"], check=False)
    if native.library() is None:
        sys.exit(
            "the native kernels are missing (no C++ compiler) or switched off (NERODE_NATIVE=0): "
            "a table would be of the plain path; install a compiler, or unset the variable"
        )


def atlas() -> None:
    """Measures the atlas from nothing, and again."""
    with tempfile.TemporaryDirectory() as folder:
        for work, goal in (("atlas from nothing", ATLAS_SECONDS), ("atlas unchanged", UNCHANGED_SECONDS)):
            begun = time.perf_counter()
            command = [sys.executable, "-m", "nerode", "atlas", "--force", "-o", f"{folder}/atlas.html"]
            subprocess.run(command, check=True, capture_output=True)
            row = record(work, f"{goal:.0f} s", [time.perf_counter() - begun], [goal], threads=2)
            print(f"{work}: {row.seconds:.1f} s", flush=True)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks results", description=__doc__)
    parser.add_argument("--only", help=f"of {', '.join(SECTIONS)}; separated by commas")
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    given = parser.parse_args(list(options))
    names = given.only.split(",") if given.only else list(SECTIONS)
    if unknown := [name for name in names if name not in SECTIONS]:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    build_kernels()
    load, begun = os.getloadavg()[0], time.perf_counter()
    rows: list[tuple[BenchRow, str]] = []
    for name in names:
        print(f"== {name}", flush=True)
        MEASURED.clear()
        if name == "atlas":
            atlas()
        else:
            importlib.import_module(f"benchmarks.{name}").main()
        command = "nerode atlas" if name == "atlas" else f"python -m benchmarks {name}"
        rows += [(row, command) for row in MEASURED]
    print("== profiles", flush=True)
    found = profiles.lines()
    write_atomically(given.output, page(rows, load, time.perf_counter() - begun, found))
    print(given.output)
