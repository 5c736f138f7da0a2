"""Certified length generalisation on automata that nobody picked: experiments/generalisation.

    python -m benchmarks generalisation                        Mamba on all 150 languages, seeds 1 to 3
    python -m benchmarks generalisation --arch gla,lstm --stratified 40   other layers, on a part of them
    python -m benchmarks generalisation --seconds 3600         ends after so many CPU seconds, and can go on
    python -m benchmarks generalisation --table                nothing is run

Settings were fixed on seed 0, the rows are of other seeds. Rows that are there are not made again.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from nerode.analysis.generalisation import (
    BINS,
    LONGEST,
    OTHERS,
    SEED,
    STAR_FREE,
    STRATA,
    Row,
    read_rows,
    study_generalisation,
)
from nerode.core import plural, write_atomically

FOLDER = Path("experiments/generalisation")
PAGE = FOLDER / "README.md"

HEAD = f"""# Certified length generalisation

Written by `python -m benchmarks generalisation`; do not edit. {STAR_FREE} star-free languages and {OTHERS}
others are drawn by seed {SEED}: uniform random automata, minimal, in four strata of size. One network per
language, way and seed is trained on prefixes of words of up to {LONGEST} letters. The usual test has 200
words of lengths {BINS[0][0]} to {BINS[0][1]} and 200 of lengths {BINS[1][0]} to {BINS[1][1]}; a network
passes if it answers all of them correctly throughout. Then it is settled: proved at every length,
refuted by a word, or open. No seed is left out, and nothing was chosen by these tests.

"Plain" is training of the published layer; "exact" goes through exact gates (`nerode train --certify`), in at
most three attempts. "Pass, wrong" are networks that pass and get a shown word wrong, "within" those whose
word is not longer than the words of the test.
"""

COLUMNS = "runs | learned | pass | proved | pass, wrong | within | CPU hours |"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCounts:
    """Counts of rows of one architecture, one way and one half of the languages.

    Attributes:
        runs: all of them.
        learned: those with at least 99 % of words of training lengths right.
        passes: those without an error in the usual test.
        proved: those that are right at every length.
        passes_refuted: those that pass the usual test and get a shown word wrong.
        refuted_within: of these, those with a word no longer than the test's.
        hours: of CPU.
    """

    runs: int
    learned: int
    passes: int
    proved: int
    passes_refuted: int
    refuted_within: int
    hours: float

    def __str__(self) -> str:
        return (
            f"{plural(self.runs, 'run')}: {self.learned} learned, {self.passes} pass the usual test, "
            f"{self.proved} proved; of those that pass {self.passes_refuted} are wrong on a shown word, "
            f"{self.refuted_within} of them within the lengths of the test"
        )


def count_rows(rows: Sequence[Row]) -> StudyCounts:
    """Returns the counts of some rows."""
    wrong = [row for row in rows if row["passes"] and row["status"] == "refuted"]
    return StudyCounts(
        runs=len(rows),
        learned=sum(row["learned"] for row in rows),
        passes=sum(row["passes"] for row in rows),
        proved=sum(row["status"] == "proved" for row in rows),
        passes_refuted=len(wrong),
        refuted_within=sum(row["word"] <= BINS[-1][1] for row in wrong),
        hours=sum(row["train_seconds"] + row["settle_seconds"] for row in rows) / 3600,
    )


class OutOfTime(Exception):
    """The CPU seconds that were asked for are used up."""


def main(arguments: Sequence[str] = ()) -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(prog="python -m benchmarks generalisation")
    parser.add_argument("--arch", default="mamba")
    parser.add_argument("--seeds", default="1-3", help="one number or a range")
    parser.add_argument("--stratified", type=int, default=STAR_FREE + OTHERS, help="number of languages")
    parser.add_argument("--ways", default="plain,exact")
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="CPU seconds after which to stop")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args(list(arguments))
    begun = time.process_time()

    def show(row: Row) -> None:
        word = "" if row["word"] is None else f" by {row['word']} letters"
        passed = "passes" if row["passes"] else "learned" if row["learned"] else "not learned"
        place = f"{row['architecture']} {row['way']} {row['language']} seed {row['seed']}"
        print(f"{place}: {passed}, {row['status']}{word}", flush=True)
        if time.process_time() - begun > given.seconds:
            raise OutOfTime

    # Strata are drawn in turn, so that the first languages of each half are a stratified part.
    others = given.stratified * OTHERS // (STAR_FREE + OTHERS)
    try:
        if not given.table:
            study_generalisation(
                *given.arch.split(","),
                out=FOLDER,
                star_free=given.stratified - others,
                others=others,
                seeds=seeds_of(given.seeds),
                layers=given.layers,
                ways=given.ways.split(","),
                on_row=show,
            )
    except OutOfTime:
        print("stopped; the same command goes on")
    write_atomically(PAGE, page(read_rows(FOLDER / "rows.jsonl")))
    print(f"{PAGE} is written")


def seeds_of(text: str) -> range:
    """The seeds of "1-3" or "4"."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def fresh_seeds(arguments: Sequence[str], name: str) -> range | None:
    """The seeds of `--seeds 301-305`, of which a benchmark prints rows and writes nothing; None without."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {name}")
    parser.add_argument(
        "--seeds", type=seeds_of, help="these seeds are run and printed, and nothing is written"
    )
    found: range | None = parser.parse_args(list(arguments)).seeds
    return found


def page(rows: Sequence[Row]) -> str:
    """The page: one table for all rows of a layer and a way, and one per stratum."""
    parts = [HEAD, *headlines(rows), "", *_table(rows, ("star_free",)), "", "## By size", ""]
    parts += _table(rows, ("star_free", "stratum"))
    return "\n".join([*parts, ""])


def headlines(rows: Sequence[Row]) -> list[str]:
    """A sentence per architecture and way."""
    groups = _groups(rows, ("architecture", "layers", "way"))
    return [f"- {arch}, {layers} layer(s), {way}: {count_rows(own)}." for (arch, layers, way), own in groups]


def _table(rows: Sequence[Row], by: tuple[str, ...]) -> list[str]:
    title = " | ".join({"star_free": "languages", "stratum": "states"}[name] for name in by)
    lines = [f"| layer | layers | way | {title} | {COLUMNS}", "|" + "---|" * (10 + len(by))]
    for place, own in _groups(rows, ("architecture", "layers", "way", *by)):
        cells = [
            ("star-free" if cell else "other") if isinstance(cell, bool) else str(cell) for cell in place
        ]
        lines.append(f"| {' | '.join(cells)} | {_cells(count_rows(own))} |")
    return lines


def _cells(counts: StudyCounts) -> str:
    numbers = (counts.runs, counts.learned, counts.passes, counts.proved)
    return " | ".join(
        [*map(str, numbers), str(counts.passes_refuted), str(counts.refuted_within), f"{counts.hours:.2f}"]
    )


def _groups(rows: Sequence[Row], by: tuple[str, ...]) -> Iterable[tuple[tuple[object, ...], list[Row]]]:
    order = [f"{low}-{high}" for low, high, _ in STRATA]

    def place(row: Row) -> tuple[object, ...]:
        return tuple(row[name] for name in by)

    def rank(row: Row) -> tuple[object, ...]:
        named = {"star_free": not row["star_free"], "stratum": order.index(row["stratum"])}
        return tuple(named.get(name, row[name]) for name in by)

    grouped = itertools.groupby(sorted(rows, key=rank), key=place)
    return [(key, list(own)) for key, own in grouped]
