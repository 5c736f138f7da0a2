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
from nerode.records import TableResult, read_table
from nerode.report import save_figure
from nerode.report.figures.charts import Bar, BarChart, ChartLine, LineChart

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
PAGE = ROOT / "docs" / "findings.md"
FIGURES = ROOT / "docs" / "_static"

INTRODUCTION = """\
# Findings

What we measured that contradicts a paper, or that we have not seen published. Each finding names the command
that makes its results and the place of every seed; with `--seeds 301-305` it runs five others and writes none
into `experiments/`. `python -m benchmarks findings` writes this page from the files there. *The memory paper*
is "On memory and generalization in the era of linear recurrence" (anonymous, 2025); *the n-gram paper* is
"State space models can express n-gram languages" (Nandakumar et al., 2025).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One finding.

    Attributes:
        name: of the file of its figure.
        title: what was found, as a sentence.
        text: what the paper says, what was measured, and what is not shown.
        command: what makes the results.
        kept: the file or folder with every seed, under `experiments/`.
        chart: the figure.
    """

    name: str
    title: str
    text: str
    command: str
    kept: str
    chart: LineChart | BarChart


def kept_table(name: str) -> TableResult:
    """Returns a kept table, like "sarrof/star-free"."""
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


def rotations() -> Told:
    """Linear recurrences that go beyond the training length as training left them."""
    rows = [
        row
        for row in read_json_lines(EXPERIMENTS / "polish" / "results.jsonl")
        if isinstance(row, dict) and row["group"].partition(",")[0] in ("A5", "Z60", "A4xZ5")
    ]
    lengths = [score["length"] for score in rows[0]["float32"]["before"]]
    curves = [[score["sequence"] for score in row["float32"]["before"]] for row in rows]
    reached = [_reach(lengths, own) for own in curves]
    best = [n for row, n in zip(rows, reached, strict=True) if row["group"] == "A5"]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    return Told(
        name="rotations",
        title="A linear recurrence trained on length 8 stays correct on longer words",
        text="The memory paper concludes that only nonlinear recurrent networks stay correct beyond the "
        "training length; on A5 its LSTM is marked correct up to 32 letters. A dense linear recurrence with "
        "one rotation per letter, trained on words of 2 and 8 letters, answers more than 90 % of whole words "
        f"up to {', '.join(map(str, best[:-1]))} and {best[-1]} letters, seed by seed. "
        "On Z60 and A4×Z5 it stops at 16 to 32 letters, earlier than the paper's "
        "LSTM. Averaged over the group (`nerode mend --method group`), the rotations "
        "become exact, and the result is proved at every length; this says what the class can do, not "
        "what training finds. arXiv 2606.07254 trains S3 × S3 on 8 letters with a projection inside the "
        "network; it is correct at 1,048,576.",
        command="python -m benchmarks polish",
        kept="polish/results.jsonl",
        chart=LineChart(
            title="Words that are correct throughout, by length, before polishing",
            x_title="length (trained on 8)",
            y_title="share of words",
            lines=_curves(
                (
                    group,
                    lengths,
                    [own for row, own in zip(rows, curves, strict=True) if row["group"] == group],
                )
                for group in groups
            ),
            log_x=True,
            zero=True,
        ),
    )


def _reach(lengths: Sequence[int], shares: Sequence[float]) -> int:
    """The longest length up to which all have 90 %; 0 if the first has not."""
    good = 0
    for length, value in zip(lengths, shares, strict=True):
        if value < 0.9:
            break
        good = length
    return good


def _share_of_seeds(title: str, rows: Iterable[tuple[str, Sequence[bool]]], *, expected: int) -> BarChart:
    """Bars of how many seeds of each line have it; where the share is as expected, lines have one bar."""
    counted = sorted(((label, sum(values), len(values)) for label, values in rows), key=lambda r: r[1] / r[2])
    usual = [row for row in counted if row[1] == expected * row[2]]
    if len(usual) > 2:
        one = f"{len(usual)} others", sum(own for _, own, _ in usual), sum(of for *_, of in usual)
        counted = [row for row in counted if row not in usual] + [one]
    return BarChart(
        title=title,
        value_title="share of seeds",
        bars=tuple(Bar(label=label, value=own / of, text=f"{own} of {of}") for label, own, of in counted),
        largest=1.0,
    )


def clusters() -> Told:
    """The clusters of the n-gram paper before and after training."""
    rows: list[dict[str, Any]] = json.loads((EXPERIMENTS / "ngram" / "results.json").read_text("utf-8"))
    adam = [row for row in rows if row["variant"] == "ngram-ssm"]
    return Told(
        name="clusters",
        title="The state clusters of the n-gram paper come from the initial weights",
        text="The n-gram paper (section 5) shows hidden states that cluster by the last words, and takes the "
        "clusters for what was learned. The untrained network already has them. Adam and AdamW blur them: "
        "the silhouette falls in every seed. Plain SGD as printed (rate 0.001, 25 epochs) leaves them as "
        "they were, and does not learn to complete a sentence.",
        command="python -m benchmarks ngram_experiment",
        kept="ngram/results.json",
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
        title=f"{count} of {len(rows)} networks trained through exact gates are proved at every length",
        text="The proofs hold bit for bit in float32. "
        "A Mamba that is trained on flip-flop tends to forget the bit on long words, because in real "
        "arithmetic its gates are never exactly 1. In floats a gate can be exactly 1, and training through "
        "exact gates finds such weights. We chose the settings on seeds 0 to 4, study by study; seeds from "
        "201 on were run once. The automaton of the language helps: it labels the words, it teaches its "
        "states to a second head in 60 runs, and failing words join the training words in 75. Discrete "
        "recurrent networks with a hard state forward and a pseudo-gradient backward are due to Zeng, "
        "Goodman and Smyth (1993, 1994); new here are published layers, floats, and a certificate.",
        command="python -m benchmarks settled",
        kept="settled/results.jsonl",
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
            expected=1,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MambaRun:
    """A kept Mamba of the published languages.

    Attributes:
        language: as the paper calls it.
        model: as the paper calls it.
        seed: of the run.
        shares: accuracy in each bin of the published test.
        end: how it ends.
        longest: the longest word of the test.
    """

    language: str
    model: str
    seed: int
    shares: tuple[float, ...]
    end: str
    longest: int

    @property
    def failing(self) -> int:
        """The length of the word that it gets wrong; 0 if none is shown."""
        return int(self.end[1:].partition(":")[0].replace(",", "")) if self.end.startswith("○") else 0


def mambas() -> list[MambaRun]:
    """Returns the kept Mambas of the languages of Sarrof et al."""
    tables = [kept_table(f"sarrof/{name}") for name in ("star-free", "not-star-free", "counters")]
    return [
        MambaRun(
            language=line.row,
            model=line.model,
            seed=seed,
            shares=tuple(cell.values[k] for cell in line.cells),
            end=line.ends[k] if line.ends else "",
            longest=max(int(cell.column.rpartition("–")[2]) for cell in line.cells),
        )
        for table in tables
        for line in table.lines
        if line.kind == "trained" and line.model.startswith("Mamba")
        for k, seed in enumerate(line.seeds)
    ]


def passing() -> Told:
    """Networks that pass the published test and get a shown word wrong."""
    runs = mambas()
    passed = [run for run in runs if min(run.shares) == 1]
    wrong = [run for run in passed if run.failing]
    short = [run for run in wrong if run.failing <= run.longest]
    good = sum(run.end.startswith("●") for run in passed)
    languages = list(dict.fromkeys(run.language for run in passed))
    return Told(
        name="passing",
        title=f"{len(wrong)} of {len(passed)} Mambas that pass the published test fail on a word "
        "that we show",
        text=f"The languages are those of Sarrof et al. (2024). Each of {len(runs)} stored runs is tested on "
        "100 random words per length, at the lengths of training and in longer bins. Of the runs without a "
        f"mistake there, {good} are proved at every length and {len(passed) - good - len(wrong)} are "
        f"unsettled. The others get a word wrong that `nerode prove` shows; in {len(short)} of them it is no "
        "longer than the words of the test. Random words rarely contain the long runs of one letter after "
        "which memory has faded.",
        command="nerode reproduce sarrof:star-free --scale cpu --out runs/reproduce --settle 8",
        kept="reproduce/sarrof",
        chart=_share_of_seeds(
            "Runs with 100 % in the test that get a shown word wrong",
            ((name, [bool(r.failing) for r in passed if r.language == name]) for name in languages),
            expected=0,
        ),
    )


ONE_WORD = ("Tomita-1", "Tomita-2")
"""Star-free languages with one valid prefix of each length."""


def fading() -> Told:
    """Mambas that are proved as training left them."""
    lines = [line for line in kept_table("sarrof/star-free").lines if line.kind == "trained"]
    ends = [
        (line.row, line.model, seed, end)
        for line in lines
        if line.model.startswith("Mamba")
        for seed, end in zip(line.seeds, line.ends, strict=True)
    ]
    one = [end for row, model, _, end in ends if model == "Mamba, 1 layer" and row not in ONE_WORD]
    count = sum(end.startswith("●") for *_, end in ends)
    easy = sum(end.startswith("●") and row in ONE_WORD for row, _, _, end in ends)
    return Told(
        name="proved-as-trained",
        title=f"{count} plainly trained Mambas are proved with the weights that training left",
        text=f"{easy} of them are on languages with a single word of each length. "
        "The gates of a plainly trained Mamba are neither 0 nor 1, and its float states are far too many to "
        "list. But a memory that fades keeps each number within bounds. For one layer, the module's own "
        "float32 step from both ends of a box bounds all states in between; boxes that every letter maps "
        "into one another are a proof (`fading-boxes` in docs/certificates.md). On languages with several "
        f"words of a length, {sum(end.startswith('●') for end in one)} of {len(one)} one-layer runs are "
        f"proved, and {sum(end.startswith('○') for end in one)} are refuted by a word that we show. Models "
        "of several layers are proved only on languages with a single word of each length, by listing all "
        "states (`nerode prove RUN --max-seconds 90`). We know of no other proof about a selective state "
        "space model as training left it.",
        command="nerode reproduce sarrof:star-free --scale cpu --out runs/reproduce --settle 8",
        kept="reproduce/sarrof/star-free.json",
        chart=_share_of_seeds(
            "Seeds of one-layer Mambas that are proved at every length",
            (
                (line.row, [end.startswith("●") for end in line.ends])
                for line in lines
                if line.model == "Mamba, 1 layer"
            ),
            expected=0,
        ),
    )


FINDINGS: tuple[Callable[[], Told], ...] = (passing, proved, fading, rotations, clusters)

WITHDRAWN = """\
## Withdrawn

**"0 of 65 runs pass Double ISI."** Our runs ended after 6 to 34 epochs, when validation was solved. After the
paper's 1,000 epochs an RNN of hidden size 8 does go on again in the second half: seeds 901, 902 and 903 are
off at the end of the first half, then on while the signal is on. Our rule of passing (off exactly at the last
step of the second half) asked for more than the paper's words do. Table 5 is run anew with three grades.

**"LSTMs learn the word problems of groups of order 60 in less than a minute."** True, and no finding: no
paper says otherwise. The reason that we gave for their early failure beyond length 8 was wrong: the paper
stops training at 90 %, before ours.
"""


def section(number: int, told: Told) -> str:
    """Returns the Markdown of one finding."""
    return "\n".join(
        [
            f"## {number}. {told.title}",
            "",
            told.text,
            "",
            f"![{told.chart.title}](_static/finding-{told.name}.svg)",
            "",
            f"`{told.command}`; every seed: `experiments/{told.kept}`",
            "",
        ]
    )


def page() -> str:
    """Returns the page as Markdown."""
    made = (section(k, make()) for k, make in enumerate(FINDINGS, start=1))
    return "\n".join([INTRODUCTION, *made, WITHDRAWN])


def main() -> None:
    """Writes the page and its figures."""
    for make in FINDINGS:
        told = make()
        save_figure(told.chart, FIGURES / f"finding-{told.name}.svg", width=6.5)
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
