"""The table of speeds: each row with its peer, spread, target and command."""

from __future__ import annotations

from benchmarks._rows import BenchRow
from benchmarks.results import page, target_of

FAST = BenchRow(work="gru H 8 B 64 T 100", peer="torch nn.GRU", seconds=0.002, ratio=11.0, low=9.0, high=12.0)
SLOW = BenchRow(
    work="training step of gru", peer="one thread", seconds=0.02, ratio=1.5, low=1.4, high=1.7, threads=2
)
OTHER = BenchRow(work="nru H 8", peer="eager loop", seconds=20.0, ratio=4.0, low=4.0, high=4.0)


def test_a_row_says_whether_its_target_is_met() -> None:
    lines = page([(FAST, "a"), (SLOW, "b"), (OTHER, "c")], load=0.1, seconds=60).splitlines()
    assert "1 of 2 targets are met." in lines
    fast, slow, other = lines[-3:]
    assert fast.startswith("| gru H 8 B 64 T 100 | 2.0 ms | torch nn.GRU | 11.00 | 9.00–12.00 | 1 | 10 ✓ | ")
    assert "| 2 | 1.6 ✗ |" in slow
    assert slow.endswith("| `b` |")
    assert other == "| nru H 8 | 20 s | eager loop | 4.00 | 4.00–4.00 | 1 |  |  | `c` |"


def test_the_first_target_that_fits_counts() -> None:
    found = [target_of(row) for row in (FAST, SLOW, OTHER)]
    assert [target and target.least for target in found] == [10, 1.6, None]
