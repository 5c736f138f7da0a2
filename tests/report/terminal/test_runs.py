"""Numbers in tables of runs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from nerode.records import Settlement
from nerode.report.terminal.runs import (
    RunRow,
    axes_table,
    duration,
    live_table,
    results_table,
    share,
)
from nerode.study import RunFile
from tests.report.run_specimens import record as specimen, score


def text(view) -> list[str]:
    console = Console(file=io.StringIO(), width=160, no_color=True)
    console.print(view)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def record(title, seed, accuracies, *, diverged=False, axes=(), **more):
    return specimen(
        title=title,
        seed=seed,
        steps=1000,
        cpu_seconds=2.34,
        divergence={"step": 3, "what": "loss"} if diverged else None,
        evaluations=[score(a, length=n) for n, a in accuracies],
        axes=[{"axis": "gap", "value": v, "trained": False, "score": score(a)} for v, a in axes],
        **more,
    )


def table(records, settled=None):
    runs = [RunFile(folder=Path("run"), record=record, settled=settled) for record in records]
    return [line.split() for line in text(results_table(runs, "token"))]


def test_every_seed_and_then_median_and_range():
    assert table(
        [
            record("mamba", 0, [(40, 1.0), (80, 0.5)]),
            record("mamba", 1, [(40, 0.25), (80, 0.125)]),
            record("mamba", 2, [], diverged=True),
            record("lstm", 0, [(40, 0.9999)]),
        ]
    ) == [
        ["model", "seed", "steps", "cpu", "s", "40", "80", "status"],
        ["mamba", "0", "1,000", "2.3", "1", ".500", "○", "80"],
        ["1", "1,000", "2.3", ".250", ".125", "○", "40"],
        ["2", "1,000", "diverged", "2.3", "–", "–", "–"],
        ["median", ".250", ".125"],
        ["range", "0–1", "0–.500"],
        ["lstm", "0", "1,000", "2.3", ".999", "–", "◐", "40"],
    ]


def test_models_of_one_name_with_other_settings_have_their_own_medians():
    records = [
        record("mamba", seed, [(40, accuracy)], rate=rate)
        for rate, seed, accuracy in ((0.1, 1, 0.5), (0.2, 0, 0.25), (0.1, 0, 1.0), (0.2, 1, 0.75))
    ]
    assert table(records) == [
        ["model", "seed", "steps", "cpu", "s", "40", "status"],
        ["mamba", "·", "rate", "0.1", "0", "1,000", "2.3", "1", "◐", "40"],
        ["1", "1,000", "2.3", ".500", "○", "40"],
        ["median", ".750"],
        ["range", ".500–1"],
        ["mamba", "·", "rate", "0.2", "0", "1,000", "2.3", ".250", "○", "40"],
        ["1", "1,000", "2.3", ".750", "○", "40"],
        ["median", ".500"],
        ["range", ".250–.750"],
    ]


def test_the_column_is_the_status_of_the_run_not_its_settlement():
    """All words to length 12 are answered correctly, and the test at length 80 fails."""
    about = {"about": "parity", "words": "all words", "dtype": "float32", "method": "closure", "states": 2}
    unsettled = Settlement(status="unsettled", length=12, reason="too many states", **about)
    assert table([record("mamba", 0, [(40, 1.0), (80, 0.5)])], unsettled)[1][-2:] == ["○", "80"]
    assert table([record("mamba", 0, [(40, 1.0), (80, 1.0)])], unsettled)[1][-2:] == ["◐", "80"]
    proved = Settlement(status="proved", length="all", **about)
    assert table([record("mamba", 0, [(40, 1.0)])], proved)[1][-1] == "●"


def test_other_axes():
    assert axes_table([record("lstm", 0, [])], "token") is None
    lines = text(axes_table([record("lstm", 0, [], axes=[(5, 0.5)]), record("gru", 0, [])], "token"))
    assert [line.split() for line in lines] == [
        ["model", "seed", "gap", "5"],
        ["lstm", "0", ".500"],
        ["gru", "0", "–"],
    ]


def test_a_run_under_way():
    row = RunRow(title="lstm", seed=2)
    assert row.line() == "lstm seed 2: waiting"
    row = RunRow(
        title="lstm",
        seed=2,
        state="training",
        step=50,
        steps=1000,
        loss=0.69314,
        accuracy=0.5,
        samples_per_second=6400.0,
        seconds_left=120.0,
    )
    assert row.line() == (
        "lstm seed 2: training, step 50/1,000, loss 0.6931, accuracy .500, 6,400 samples/s, "
        "2 min left at most"
    )
    assert text(live_table([row]))[1].split() == [
        *("lstm", "2", "training", "50/1,000", "0.6931", ".500", "6,400", "2", "min")
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (1.0, "1"), (0.99999, ".999"), (1e-9, ".001"), (0.5, ".500"), (-0.25, "-.250")],
)
def test_shares_are_one_or_nought_only_if_they_are(value, shown):
    assert share(value) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(12.4, "12 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations(seconds, shown):
    assert duration(seconds) == shown
