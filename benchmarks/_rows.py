"""Works measured in turns against their peers, and the rows that were measured in this process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

REPEATS = 5
Work = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow:
    """A peer's time as a multiple of ours.

    Attributes:
        work: what was done.
        peer: who did it, too.
        seconds: ours, the median.
        ratio: of the medians.
        low, high: the least and the largest ratio of one turn.
        threads: of both.
    """

    work: str
    peer: str
    seconds: float
    ratio: float
    low: float
    high: float
    threads: int = 1


MEASURED: list[BenchRow] = []
"""All rows of this process, in order."""


def times(works: Mapping[str, Work], repeats: int = REPEATS) -> dict[str, list[float]]:
    """Processor seconds of each work; the works take turns, so that a busy spell hits them all.

    Processor time, because the machine may be shared; with one thread an idle machine's clock shows the same.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeats + 1):
        for name, work in works.items():
            started = time.process_time()
            work()
            if turn:
                seconds[name].append(time.process_time() - started)
    return seconds


def record(work: str, peer: str, ours: list[float], theirs: list[float], *, threads: int = 1) -> BenchRow:
    """Adds a row, from the seconds of ours and of the peer's in each turn, and returns it."""
    turns = [b / a for a, b in zip(ours, theirs, strict=True)]
    own = statistics.median(ours)
    row = BenchRow(
        work=work,
        peer=peer,
        seconds=own,
        ratio=statistics.median(theirs) / own,
        low=min(turns),
        high=max(turns),
        threads=threads,
    )
    MEASURED.append(row)
    return row


def show(title: str, works: Mapping[str, Work], repeats: int = REPEATS) -> None:
    """Prints the time of the first work and that of the others as its multiples."""
    (own, ours), *others = times(works, repeats).items()
    rows = [record(title, peer, ours, theirs) for peer, theirs in others]
    ratios = " · ".join(f"{row.peer} {row.ratio:.2f}" for row in rows)
    print(f"{title:<44} {own} {statistics.median(ours) * 1e3:9.2f} ms · {ratios}", flush=True)
