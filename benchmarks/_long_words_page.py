"""The page of the survey of long words: how many networks are right, and every one that is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nerode.languages.bestiary import BESTIARY
from nerode.proofs import DTYPES

Rows = list[dict[str, Any]]

LENGTH = 100_000
PLAIN = {"slstm": 10_000}
"""Modules without a fast path read so many letters; the real architecture reads all of them."""


def read_rows(results: Path) -> Rows:
    """The rows that were seen before."""
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


def left_to_do(rows: Rows) -> list[str]:
    """The languages that are still to be looked at.

    Distributions over words (ngram-seed) have no long lawful words to compare with bit by bit.
    """
    done = {row["language"] for row in rows}
    return [name for name in BESTIARY if name not in done and name != "ngram-seed"]


def page(rows: Rows) -> str:
    """The page as Markdown."""
    left = left_to_do(rows)
    missing = f"Not surveyed yet ({len(left)}; the command goes on with them): {', '.join(left)}."
    lines = [
        "# Long words in float32",
        "",
        "Written by `python -m benchmarks long_words` from `results.jsonl`. Tested, which is no proof; what",
        f"is proved in float32 stands in the last columns. Modules without a fast path ({', '.join(PLAIN)})",
        "read 10,000 letters, the real architectures all of them. Proofs stop after a few seconds each.",
        "",
        *([missing, ""] if left else []),
        *_forms(rows),
        "",
        "Modules of star-free languages in each format; cells with tanh and σ (elman-tanh, gru, lstm, slstm)",
        "are looked at in float32 only:",
        "",
        *_formats(rows),
        "",
        "## Wrong before the end",
        "",
        "| language | target | form | first wrong letter |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['language']} | {row['target']} | {row['form']} | {row['wrong_at']:,} |"
        for row in rows
        if row["wrong_at"] is not None
    ]
    lines += [
        "",
        "## Theory says yes at finite precision, and there is no network",
        "",
        "| language | target | why |",
        "|---|---|---|",
    ]
    lines += [
        f"| {row['language']} | {row['target']} | {str(row['note'])[:160]} |"
        for row in rows
        if row["form"] == "none" and row["verdict"] == "yes"
    ]
    return "\n".join(lines) + "\n"


def _forms(rows: Rows) -> list[str]:
    """How many modules and real architectures are right, and proved in float32."""
    lines = [
        f"| form | networks | right to length {LENGTH:,} | wrong earlier | proved at all lengths in float32 "
        "| proved to a length | not proved |",
        "|---|---|---|---|---|---|---|",
    ]
    for form in ("module", "real"):
        some = [row for row in rows if row["form"] == form]
        wrong = sum(row["wrong_at"] is not None for row in some)
        counts = [len(some), len(some) - wrong, wrong, *_by_proof(some, "float32")]
        lines.append(f"| {form} | {' | '.join(map(str, counts))} |")
    return lines


def _formats(rows: Rows) -> list[str]:
    """How many modules of star-free languages are proved, in each format."""
    some = [row for row in rows if row["form"] == "module" and row["star_free"]]
    lines = ["| format | at all lengths | to a length | not asked or not proved |", "|---|---|---|---|"]
    lines += [f"| {dtype} | {' | '.join(map(str, _by_proof(some, dtype)))} |" for dtype in DTYPES]
    return lines


def _by_proof(rows: Rows, dtype: str) -> list[int]:
    """How many networks are proved at all lengths, up to some length, and not at all."""
    lengths = [(row["proved"] or {}).get(dtype) for row in rows]
    everywhere = lengths.count("all")
    never = sum(not length for length in lengths)
    return [everywhere, len(lengths) - everywhere - never, never]
