"""Findings: what contradicts a paper or was not known, each with its command, its figure and every seed.

Writes `docs/findings.md` and the figures under `docs/_static/` from the kept results of `experiments/`. It
runs nothing: each finding names the command that makes its results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from nerode.core import read_json_lines
from nerode.records import LineResult, TableResult, read_table
from nerode.report import save_figure
from nerode.report.figures.bars_and_heat_maps import Bar, BarChart
from nerode.report.figures.line_chart import ChartLine, LineChart
from nerode.report.tables.reproductions import share

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
PAGE = ROOT / "docs" / "findings.md"
FIGURES = ROOT / "docs" / "_static"

INTRODUCTION = """\
# Findings

What we measured that contradicts a paper, or that we have not seen published. Each finding has the command
that makes its results, a figure, and every seed: none is left out. `python -m benchmarks findings` writes
this page from the files under `experiments/`. A finding at a smaller scale than the paper's says so.

*The memory paper* is "On memory and generalization in the era of linear recurrence" (anonymous, 2025).
*The n-gram paper* is "State space models can express n-gram languages" (Nandakumar et al., 2025).
`nerode papers` lists all papers.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One finding.

    Attributes:
        name: of the file of its figure.
        title: what was found, as a sentence.
        text: what the paper says, what was measured, and what is not shown.
        command: what makes the results.
        headings: of the table of all seeds.
        rows: one for each seed or line.
        chart: the figure.
    """

    name: str
    title: str
    text: str
    command: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    chart: LineChart | BarChart


def _table(name: str) -> TableResult:
    return read_table(EXPERIMENTS / "reproduce" / f"{name}.json")


def _curves(lines: Iterable[tuple[str, Sequence[int], Sequence[Sequence[float]]]]) -> tuple[ChartLine, ...]:
    """One curve for each seed of each series: lengths, and the values of each seed at them."""
    return tuple(
        ChartLine(
            series=series,
            name=f"seed {number}",
            points=tuple(zip(map(float, lengths), values, strict=True)),
        )
        for series, lengths, seeds in lines
        for number, values in enumerate(seeds)
    )


def _by_length(line: LineResult) -> tuple[str, Sequence[int], Sequence[Sequence[float]]]:
    lengths = [8 * int(c.column[0]) if c.column.endswith("X") else int(c.column) for c in line.cells]
    name = f"{line.row}, {line.model}" if line.kind == "trained" else f"{line.row}, polished rotations"
    return name, lengths, [[c.values[k] for c in line.cells] for k in range(len(line.seeds))]


def _seed_rows(lines: Iterable[LineResult]) -> list[tuple[str, ...]]:
    return [
        (line.row, line.model, str(seed), *(share(cell.values[k]) for cell in line.cells))
        for line in lines
        for k, seed in enumerate(line.seeds)
    ]


def word_problems() -> Told:
    """Where recurrent networks stop on the word problems of three groups of order 60."""
    table = _table("memory/table-2")
    lines = [line for line in table.lines if line.kind == "trained"]
    learned = {
        name: [v >= table.threshold for line in lines if line.model == name for v in line.cells[0].values]
        for name in dict.fromkeys(line.model for line in lines)
    }
    counts = ", ".join(f"{name} {sum(own)} of {len(own)}" for name, own in learned.items())
    cells = [line for line in lines if line.model in ("LSTM", "GRU")]
    seconds = sum(line.cpu_seconds for line in cells) / max(1, sum(len(line.seeds) for line in cells))
    return Told(
        name="word-problems",
        title="LSTMs learn the word problems of groups of order 60 on one core in less than a minute",
        text="The memory paper (Table 2) trains for up to 500 epochs of a million sequences, with three "
        "million parameters a layer. Here one layer of 256 units and batches of words of 2 to 8 letters are "
        f"enough for an LSTM; LSTMs and GRUs take {seconds:.0f} CPU seconds per run, tests included. Runs "
        f"that solve the training length, of all: {counts}. Two layers of Mamba, S4 and the Transformer do "
        "not in 4,000 batches; the paper gives them more layers and far more words. A run ends when length 8 "
        "is solved. Recurrent networks then fail from 16 or 24 letters on, where the paper's stay correct up "
        "to 32 or beyond. We did not try longer training.",
        command=table.command,
        headings=("group", "model", "seed", *(cell.column for cell in lines[0].cells)) if lines else (),
        rows=_seed_rows(lines),
        chart=LineChart(
            title="Words that are correct throughout, by length",
            x_title="length (trained on 8)",
            y_title="share of words",
            lines=_curves(_by_length(line) for line in lines if line.model == "LSTM"),
            log_x=True,
            zero=True,
        ),
    )


def polished() -> Told:
    """Linear recurrences that extrapolate."""
    table = _table("memory/table-2")
    lines = [line for line in table.lines if line.kind == "polished"]
    return Told(
        name="polished",
        title="A linear recurrence, trained on length 8 and polished, is correct at every length",
        text="The memory paper concludes that only nonlinear recurrent networks stay correct beyond the "
        "training length. A dense linear recurrence learns rotations that drift. Averaged over the group, "
        "they become an exact representation, and `nerode polish` proves the result in exact arithmetic. "
        "Polishing uses the multiplication table of the group. A seed that has not learned length 8 "
        "is refused and counts as 0.",
        command="python -m benchmarks polish",
        headings=("group", "model", "seed", *(cell.column for cell in lines[0].cells)),
        rows=_seed_rows(lines),
        chart=_share_of_seeds(
            f"Seeds that are correct at length {lines[0].cells[-1].column} after polishing",
            ((line.row, [v == 1 for v in line.cells[-1].values]) for line in lines),
        ),
    )


def counting() -> Told:
    """Table 4 of the memory paper: Mamba and the offset."""
    table = _table("memory/table-4")
    lines = [line for line in table.lines if line.kind == "trained" and "Mamba" in line.model]
    return Told(
        name="counting",
        title="One layer of Mamba counts to ten",
        text="A signal is on for ten steps, and the network predicts when it goes off. The memory paper "
        "(Table 4) has a cross for Mamba and explains it by complex eigenvalues, which Mamba lacks. But a "
        "bounded count is star-free, so theory says yes, and training finds it, too. Not shown: the paper's "
        "1,000 epochs at a rate of 1e-3. Our runs end when validation is solved.",
        command=table.command,
        headings=("task", "model", "seed", *(cell.column for cell in lines[0].cells)),
        rows=_seed_rows(lines),
        chart=_share_of_seeds(
            "Seeds that count the offset",
            (
                (f"{line.row}: {line.model}", [v >= table.threshold for v in line.cells[0].values])
                for line in lines
            ),
        ),
    )


def double_isi() -> Told:
    """Table 5 of the memory paper: Double ISI."""
    table = _table("memory/table-5")
    lines = [
        line
        for line in table.lines
        if line.kind == "trained" and any(c.column == "Double ISI" for c in line.cells)
    ]
    column = [cell.column for cell in lines[0].cells].index("Double ISI")
    passed = sum(value >= 0.5 for line in lines for value in line.cells[column].values)
    runs = sum(len(line.seeds) for line in lines)
    return Told(
        name="double-isi",
        title=f"{passed} of {runs} runs pass Double ISI",
        text="ISI is the interstimulus interval: the time for which the signal of finding 4 is on. Double "
        "ISI leaves it on for twice that time; a network that counts predicts off at the end of each half. "
        "The memory paper (Table 5) ticks RNN, GRU, NRU and S4D. Here training and test sequences are "
        "disjoint and no checkpoint is chosen by a test, and no run passes. Not shown: the "
        "paper's 1,000 epochs.",
        command=table.command,
        headings=("task", "model", "seed", *(cell.column for cell in lines[0].cells)),
        rows=_seed_rows(lines),
        chart=_share_of_seeds(
            "Seeds that pass Double ISI",
            ((f"{line.row}: {line.model}", [v >= 0.5 for v in line.cells[column].values]) for line in lines),
        ),
    )


def _share_of_seeds(title: str, rows: Iterable[tuple[str, Sequence[bool]]]) -> BarChart:
    """Bars of how many seeds of each line have it."""
    return BarChart(
        title=title,
        value_title="share of seeds",
        bars=tuple(
            Bar(label=label, value=sum(values) / len(values), text=f"{sum(values)} of {len(values)}")
            for label, values in rows
        ),
        largest=1.0,
    )


def clusters() -> Told:
    """The clusters of the n-gram paper before and after training."""
    rows: list[dict[str, Any]] = json.loads((EXPERIMENTS / "ngram" / "results.json").read_text("utf-8"))
    adam = [row for row in rows if row["variant"] == "ngram-ssm"]
    return Told(
        name="clusters",
        title="The state clusters of the n-gram paper come from the initial weights",
        text="The n-gram paper (section 5) shows states that form clusters by the last words and takes them "
        "for what was learned. The untrained network has them already. Adam and AdamW blur them: the "
        "silhouette falls in every seed. Plain SGD as printed (rate 0.001, 25 epochs) leaves them as they "
        "were, and completes no sentence.",
        command="python -m benchmarks ngram_experiment",
        headings=("variant", "seed", "greedy", "silhouette, untrained", "silhouette, trained"),
        rows=[
            (
                row["variant"],
                str(row["seed"]),
                share(row["greedy"]),
                f"{row['untrained']:.2f}",
                f"{row['silhouette']:.2f}",
            )
            for row in rows
        ],
        chart=BarChart(
            title="Silhouette of the states, SSM with Adam: median and range of five seeds",
            value_title="silhouette",
            bars=tuple(
                Bar(label=label, value=median(own), low=min(own), high=max(own))
                for label, own in (
                    ("untrained", [row["untrained"] for row in adam]),
                    ("trained", [row["silhouette"] for row in adam]),
                )
            ),
            largest=1.0,
        ),
    )


def proved() -> Told:
    """Trained selective state space models that are proved correct."""
    rows: list[dict[str, Any]] = [
        row
        for row in read_json_lines(EXPERIMENTS / "settled" / "results.jsonl")
        if isinstance(row, dict) and row.get("part", "exact") == "exact"
    ]
    pairs = sorted({(row["architecture"], row["task"]) for row in rows})
    count = sum(bool(row["proved"]) for row in rows)
    return Told(
        name="trained-and-proved",
        title=f"{count} of {len(rows)} networks trained through exact gates are proved correct at every "
        "length, bit for bit in float32",
        text="A Mamba that is trained on flip-flop tends to forget the bit on long words: in real arithmetic "
        "its gates are never exactly 1. In floats a gate can be exactly 1, and training through exact gates "
        "finds such weights. Settings were frozen on seeds 0 to 4; seeds 201 and up were then run once.",
        command="python -m benchmarks settled",
        headings=("architecture", "task", "seed", "proved", "float32 states", "CPU s"),
        rows=[
            (
                row["architecture"],
                row["task"],
                str(row["seed"]),
                "yes" if row["proved"] else "no",
                f"{row['states'] or 0:,}",
                f"{row['cpu_seconds']:.0f}",
            )
            for row in sorted(rows, key=lambda r: (r["architecture"], r["task"], r["seed"]))
        ],
        chart=_share_of_seeds(
            "Seeds that are proved correct at every length",
            (
                (
                    f"{architecture}, {task}",
                    [
                        bool(r["proved"])
                        for r in rows
                        if (r["architecture"], r["task"]) == (architecture, task)
                    ],
                )
                for architecture, task in pairs
            ),
        ),
    )


def fading() -> Told:
    """Mambas that are proved as training left them."""
    lines = [line for line in _table("sarrof/star-free").lines if line.kind == "trained"]
    ends = [
        (line.row, line.model, seed, end)
        for line in lines
        for seed, end in zip(line.seeds, line.ends, strict=True)
    ]
    one = [end for _, model, _, end in ends if model == "Mamba, 1 layer"]
    count = sum(end.startswith("●") for *_, end in ends)
    return Told(
        name="proved-as-trained",
        title=f"{count} plainly trained Mambas are proved at every length, without a change of their weights",
        text="Gates of a plainly trained Mamba are neither 0 nor 1, and its float states are far too many to "
        "list. But a memory that fades keeps each number within bounds. For one layer, the module's own "
        "float32 step from both ends of a box bounds all states between them, so that boxes which every "
        "letter maps into each other are a proof (`fading-boxes` in docs/certificates.md). Of the one-layer "
        f"runs {sum(end.startswith('●') for end in one)} of {len(one)} end proved, "
        f"{sum(end.startswith('○') for end in one)} are refuted by a shown word. Several layers are proved "
        "only where a language has one word of each length, by listing all states (`nerode prove RUN "
        "--max-seconds 90`). We know of no other "
        "proof about a selective state space model as training left it.",
        command="nerode reproduce sarrof:star-free --scale cpu --out runs/reproduce --settle 8",
        headings=("language", "model", "seed", "end"),
        rows=[(row, model, str(seed), end) for row, model, seed, end in ends],
        chart=_share_of_seeds(
            "Seeds of one-layer Mambas that are proved at every length",
            (
                (line.row, [end.startswith("●") for end in line.ends])
                for line in lines
                if line.model == "Mamba, 1 layer"
            ),
        ),
    )


FINDINGS: tuple[Callable[[], Told], ...] = (
    proved,
    fading,
    polished,
    word_problems,
    counting,
    double_isi,
    clusters,
)


def section(number: int, told: Told) -> str:
    """Returns the Markdown of one finding."""
    rows = ["| " + " | ".join(told.headings) + " |", "|" + "---|" * len(told.headings)]
    rows += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in told.rows]
    return "\n".join(
        [
            f"## {number}. {told.title}",
            "",
            told.text,
            "",
            f"![{told.chart.title}](_static/finding-{told.name}.svg)",
            "",
            f"`{told.command}`",
            "",
            f"Every seed ({len(told.rows)} rows):",
            "",
            *rows,
            "",
        ]
    )


def page() -> str:
    """Returns the page as Markdown."""
    return INTRODUCTION + "\n" + "\n".join(section(k, make()) for k, make in enumerate(FINDINGS, start=1))


def main() -> None:
    """Writes the page and its figures."""
    for make in FINDINGS:
        told = make()
        save_figure(told.chart, FIGURES / f"finding-{told.name}.svg", width=6.5)
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
