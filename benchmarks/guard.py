"""What the guard of the kernel costs: CPU seconds of checks with it and without, for compiled networks.

    python -m benchmarks guard [--languages LANG ...]

Each certificate is checked ten times both ways, in turn, and the fastest counts. At most a quarter is
asked for.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from contextlib import nullcontext
from unittest.mock import patch

from benchmarks.formal import Json, compiled
from nerode import kernel

LANGUAGES = (
    *("tomita-1", "parity", "ab-star", "flip-flop", "last-but-8", "last-letter", "d-4", "dyck-1"),
    *("dyck-2-3", "anbn", "shuffle-2", "s3", "a5", "z60"),
)
TURNS = 10
MOST = 0.25


def seconds(parts: tuple[Json, Json, Json]) -> tuple[float, float]:
    """Returns the CPU seconds of the fastest of some checks, with the guard and without."""
    spent: tuple[list[float], list[float]] = ([], [])
    for turn in range(2 * TURNS):
        with patch("nerode.kernel.walk.PointGuard", lambda *_: None) if turn % 2 else nullcontext():
            begun = time.thread_time()
            assert kernel.check(*parts).ok
            spent[turn % 2].append(time.thread_time() - begun)
    return min(spent[0]), min(spent[1])


def main(arguments: Sequence[str] = ()) -> None:
    """Prints the cost over all checks, of the check in the middle and of the dearest."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks guard")
    parser.add_argument("--languages", nargs="*", metavar="LANG", default=LANGUAGES)
    rows = []
    for name in parser.parse_args(arguments).languages:
        for parts in compiled(name, 20.0):
            guarded, plain = seconds(parts)
            what = f"{name}, {parts[0]['origin']['construction']}"
            rows.append((guarded / plain - 1, guarded, plain, what))
    rows.sort()
    over = sum(guarded for _, guarded, _, _ in rows) / sum(plain for _, _, plain, _ in rows) - 1
    middle, dearest = statistics.median(cost for cost, *_ in rows), rows[-1]
    print(f"{len(rows)} checks: the guard adds {over:.0%} to all, {middle:.0%} to the one in the middle")
    print(f"most: {dearest[0]:.0%}, {1e3 * dearest[2]:.1f} ms without it ({dearest[3]})")
    print(f"above {MOST:.0%}: {sum(cost > MOST for cost, *_ in rows)}")
