"""Works measured in turns against their peers, and the rows that were measured in this process."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch

from nerode.models.native import calls, library as native
from nerode.models.native.calls import call

REPEATS, ROUNDS = 5, 30
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
        limit: what stands in the way of more, as this run measured it; empty for what the target says.
    """

    work: str
    peer: str
    seconds: float
    ratio: float
    low: float
    high: float
    threads: int = 1
    limit: str = ""


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


def record(
    work: str, peer: str, ours: list[float], theirs: list[float], *, threads: int = 1, limit: str = ""
) -> BenchRow:
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
        limit=limit,
    )
    MEASURED.append(row)
    return row


def show(title: str, works: Mapping[str, Work], repeats: int = REPEATS, products: int = 0) -> None:
    """Prints the time of the first work and that of the others as its multiples.

    Args:
        title: what is done.
        works: who does it; ours comes first.
        repeats: turns.
        products: how many products of numbers the work has; if given, the rows say how long these alone take.
    """
    (own, ours), *others = times(works, repeats).items()
    rows = [
        record(title, peer, ours, theirs, limit=_bound(products, ours, theirs) if products else "")
        for peer, theirs in others
    ]
    ratios = " · ".join(f"{row.peer} {row.ratio:.2f}" for row in rows)
    print(f"{title:<44} {own} {statistics.median(ours) * 1e3:9.2f} ms · {ratios}", flush=True)


def _bound(products: int, ours: list[float], theirs: list[float]) -> str:
    """The ratio that could be had if nothing but the products took time."""
    least = products / products_per_second()
    share = 100 * least / statistics.median(ours)
    most = statistics.median(theirs) / least
    return (
        f"its multiplications alone take {least * 1e3:.1f} ms at full speed, {share:.0f} % of our time, so "
        f"that no more than {most:.1f} is to be had"
    )


@functools.cache
def products_per_second() -> float:
    """Returns how many products and sums a thread makes per second where no memory is waited for."""
    rows, width = 2048, 64
    x, weight, y = torch.randn(rows, width), torch.randn(width, width), torch.empty(rows, width)
    spent = []
    for _ in range(300):
        begun = time.perf_counter()
        call("product_rows", x, weight, None, y, *(1, rows, width, width), 0)
        spent.append(time.perf_counter() - begun)
    return rows * width**2 / min(spent)


class TimedLibrary:
    """The native library, with the seconds spent in it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(native.library(), name)

        def timed(*arguments: Any) -> Any:
            begun = time.process_time()
            outcome = function(*arguments)
            self.seconds += time.process_time() - begun
            return outcome

        return timed


def kernel_seconds(work: Work, rounds: int = ROUNDS) -> tuple[float, float]:
    """Returns the processor seconds of a work done some times, and those of them in native kernels."""
    library = TimedLibrary()
    with mock.patch.object(calls, "library", return_value=library):
        begun = time.process_time()
        for _ in range(rounds):
            work()
        return time.process_time() - begun, library.seconds
