"""The presets of `experiments/presets`: what each finds and what it costs, beside the first measurement.

    python -m benchmarks presets                    all of them, and the table of their README
    python -m benchmarks.presets parity-lstm …      these only; the table keeps what it has of the others

One thread; times are those of the processor, for training with its validations, without tests.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._preset_rows import ROWS, Row
from benchmarks._preset_scores import score_of
from nerode.analysis.settle import settled_or_new
from nerode.core import Budget, write_atomically
from nerode.records import RunStore, read_toml
from nerode.study import read_run_files
from nerode.training import specs_of_seeds
from nerode.training.runs import run_in

FOLDER = Path(__file__).parent.parent / "experiments" / "presets"
RESULTS = FOLDER / "results.json"
TABLE = FOLDER / "README.md"
ALLOWED = 2.0
"""The ratio of times that is allowed."""

SETTLE_SECONDS = 8.0
"""CPU seconds in which a run is settled."""

HEAD = """# Presets

Small training runs that show what the papers show, each in CPU seconds. Run one with the command in the first
line of its file, for instance

    nerode train --spec experiments/presets/parity-lstm.toml --seeds 3

This table is written by `python -m benchmarks presets` (all) or `python -m benchmarks.presets NAME …`
(some), which runs every seed on one thread; `results.json` has each seed's key and scores. Seeds are 0,
1, 2, …; none is left out. Scores are given as median [lowest, highest] over the seeds. Times are
processor seconds of training with its validations, median [least, most] over the seeds; tests come on
top. "Before" is what throw-away scripts measured before this project, with the most seconds that any
seed took; "ratio" is our median over that, and should be at most 2.

`final@n`, `sequence@n`, `token@n`: share of right last answers, of sequences right throughout, of right
positions at length n. `blanks=…`, `pattern=…`, `time-off=…`, `ignored-percent=…`: right positions at
that value. `greedy`, `sampled`: beginnings completed to a sentence. `two-isi`, `double-isi`: tests of
phase alignment, 1 for passed. `random`, `opposite`: ignored bits that both written bits survive, 100,000
at most. "Settled" has a mark for each seed: ● proved at every length, ○ refuted by a word or a test,
◐ open; `results.json` has the words.

| preset | seeds | steps | before | CPU s | ours | CPU s | ratio | settled |
|---|---|---|---|---|---|---|---|---|
"""


def run_preset(row: Row) -> list[dict[str, Any]]:
    """Returns what each seed found."""
    specs = specs_of_seeds(read_toml(FOLDER / f"{row.name}.toml"), seeds=range(row.seeds))
    found = []
    with tempfile.TemporaryDirectory() as out:
        for spec in specs:
            record = run_in(Path(out), spec)
            folder = RunStore(Path(out)).folder(record.key)
            settled_or_new(folder, budget=Budget(seconds=SETTLE_SECONDS))
            found.append(
                {
                    "seed": spec.run.seed,
                    "key": record.key,
                    "steps": record.steps,
                    "stopped": record.stopped,
                    "cpu_seconds": round(record.cpu_seconds, 2),
                    "test_cpu_seconds": round(record.evaluation_cpu_seconds, 2),
                    "parameters": record.parameters,
                    "end": read_run_files([folder])[0][0].status_line,
                    "scores": {name: round(score_of(record, name), 4) for name in row.shows},
                }
            )
            scores = ", ".join(f"{name} {value:g}" for name, value in found[-1]["scores"].items())
            print(f"{row.name} seed {spec.run.seed}: {record.cpu_seconds:.1f} s, {scores}", flush=True)
    return found


def write_table(results: dict[str, Any]) -> None:
    """Writes the table of all presets; those that have not been run say so."""
    lines = [_line(row, results.get(row.name, [])) for row in ROWS]
    write_atomically(TABLE, HEAD + "".join(lines) + _notes())


def _notes() -> str:
    path = FOLDER / "NOTES.md"
    return "\n" + path.read_text(encoding="utf-8") if path.exists() else ""


def _line(row: Row, found: list[dict[str, Any]]) -> str:
    before = "–" if row.seconds is None else f"{row.seconds:g}"
    begin = f"| [{row.name}]({row.name}.toml)"
    if not found:
        return f"{begin} | {row.seeds} | – | {row.before} | {before} | not run yet | – | – | |\n"
    seconds = [one["cpu_seconds"] for one in found]
    ours = "; ".join(f"{name} {_spread([one['scores'][name] for one in found])}" for name in row.shows)
    ratio = "–" if row.seconds is None else f"{median(seconds) / row.seconds:.1f}"
    if row.seconds is not None and median(seconds) > ALLOWED * row.seconds:
        ratio = f"**{ratio}**"
    ends = " ".join(one.get("end", "")[:1] for one in found)
    steps = _plain([one["steps"] for one in found])
    return (
        f"{begin} | {len(found)} | {steps} | {row.before} | {before} | {ours} "
        f"| {median(seconds):.1f} [{min(seconds):.1f}, {max(seconds):.1f}] | {ratio} | {ends} |\n"
    )


def _plain(values: list[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}–{high}"


def _spread(values: list[float]) -> str:
    low, middle, high = min(values), median(values), max(values)
    if low == high:
        return _number(low)
    return f"{_number(middle)} [{_number(low)}, {_number(high)}]"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value > 1 else f"{value:.4g}".removeprefix("0") or "0"


def run_presets(names: list[str]) -> None:
    known = [row.name for row in ROWS]
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no preset {', '.join(unknown)}; there are {', '.join(known)}")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for row in ROWS:
        if not names or row.name in names:
            results[row.name] = run_preset(row)
            ordered = {name: results[name] for name in known if name in results}
            write_atomically(RESULTS, json.dumps(ordered, indent=1) + "\n")
            write_table(results)


def main() -> None:
    run_presets([])


if __name__ == "__main__":
    run_presets(sys.argv[1:])
