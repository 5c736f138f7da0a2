"""The page of speeds: its first screen, what is missed and struck, and sections that are kept one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import results
from benchmarks._rows import MEASURED, BenchRow
from benchmarks.results import KEPT, PAGE, SECTIONS, STRUCK, KeptSection, page, read_kept, target_of

FAST = BenchRow(work="gru H 8 B 64 T 100", peer="torch nn.GRU", seconds=0.002, ratio=11.0, low=9.0, high=12.0)
SLOW = BenchRow(
    work="training step of gru", peer="one thread", seconds=0.02, ratio=1.5, low=1.4, high=1.7, threads=2
)
USERLESS = BenchRow(work="training step of mingru", peer="one thread", seconds=0.02, ratio=1.5, low=1, high=2)
OTHER = BenchRow(work="nru H 8", peer="eager loop", seconds=20.0, ratio=4.0, low=4.0, high=4.0)
LATER = BenchRow(work="transformers: Mamba, width 64", peer="default", seconds=1, ratio=30, low=20, high=40)
ABOUT = {"commit": "c" * 40, "date": "2026-11-19", "processor": "P", "torch": "2"}


def section(*rows: BenchRow, name: str = "cells", lines: tuple[str, ...] = ()) -> KeptSection:
    return KeptSection(name=name, rows=rows, lines=lines, about=ABOUT, load=0.5, seconds=60)


def test_the_page_counts_what_is_met_missed_struck_and_later() -> None:
    text = page([section(FAST, SLOW, USERLESS, OTHER, LATER), section(name="profiles", lines=("- a: b",))])
    lines = text.splitlines()
    assert (
        "1 of 2 targets are met; 1 of 12 with those that were struck. Of 1 target set later, 1 are met."
        in lines
    )
    assert any(line.startswith("- a GRU") and line.endswith("**11×**") for line in lines)
    assert "| gru H 8 B 64 T 100 | 2.0 ms | torch nn.GRU | 11.00 | 9.00–12.00 | 1 | 10 ✓ |" in lines
    assert "| nru H 8 | 20 s | eager loop | 4.00 | 4.00–4.00 | 1 |  |" in lines
    missed, struck = text.split("Struck: targets without a user (10)")
    assert (
        "- training step of gru, against one thread: 1.50 of 1.6. Some work is done by one thread" in missed
    )
    assert "- training step of mingru, against one thread: 1.50 of 1.6. A step of a few ms" in struck
    assert "- a: b" in lines
    assert (
        "- cells: 2026-11-19, commit cccccccccccc, P, torch 2, in 60 s, beside 0.5 other processes" in lines
    )


def test_the_first_target_that_fits_counts() -> None:
    found = [target_of(row) for row in (FAST, SLOW, OTHER)]
    assert [target and target.least for target in found] == [10, 1.6, None]


def test_the_page_is_that_of_what_is_kept() -> None:
    kept = read_kept()
    assert set(kept) <= {*SECTIONS, results.PROFILES}
    assert PAGE.read_text(encoding="utf-8") == page(
        [kept[name] for name in (*SECTIONS, results.PROFILES) if name in kept]
    )


def test_every_struck_target_is_one_of_a_row_and_has_a_reason() -> None:
    rows = {(row.work, row.peer): row for kept in read_kept().values() for row in kept.rows}
    assert len(STRUCK) <= 10
    gone = set(STRUCK) - set(rows)
    assert {work.split()[0] for work, _ in gone} == {"30"}
    assert all(target_of(rows[key]) in results.TARGETS for key in set(STRUCK) - gone)
    assert all(STRUCK.values())


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def benchmark(name: str) -> ModuleType:
        module = ModuleType(f"benchmarks.{name}")

        def main() -> None:
            if name == "layers" and "layers" not in done:
                done.append("layers")
                raise KeyboardInterrupt
            done.append(name)
            MEASURED.append(FAST)

        module.main = main  # type: ignore[attr-defined]
        return module

    for name in ("cells", "layers"):
        monkeypatch.setitem(sys.modules, f"benchmarks.{name}", benchmark(name))
    monkeypatch.setattr(results, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(results, "build_kernels", lambda: None)
    kept = tmp_path / "kept.json"
    monkeypatch.setattr(results.read_kept, "__defaults__", (kept,))
    monkeypatch.setattr(results.keep, "__defaults__", (kept,))
    with pytest.raises(KeyboardInterrupt):
        results.main(["--only", "cells,layers"])
    assert list(read_kept(kept)) == ["cells"]
    results.main(["--only", "cells,layers", "--go-on"])
    assert done == ["cells", "layers", "layers"]
    assert list(read_kept(kept)) == ["cells", "layers"]
    assert "gru H 8" in (tmp_path / "page.md").read_text(encoding="utf-8")
    assert KEPT.exists()
