"""The numbers of the README are those that the experiments print."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from benchmarks import hardened, refresh, settled
from benchmarks._long_words_page import page, read_rows
from nerode.languages.bestiary import BESTIARY
from nerode.verdict import select_architectures

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CLAIMS = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
LONG_WORDS = (ROOT / "experiments" / "long-words" / "README.md").read_text(encoding="utf-8")
SETTLED = (ROOT / "experiments" / "settled" / "README.md").read_text(encoding="utf-8")
POLISH = (ROOT / "experiments" / "polish" / "README.md").read_text(encoding="utf-8")


def numbers(pattern: str, text: str) -> tuple[str, ...]:
    found = re.search(pattern, text, re.DOTALL)
    assert found is not None, f"{pattern!r} is not in the text"
    return found.groups()


def rows(text: str, *cells: str) -> list[list[str]]:
    """The rows of tables that begin with these cells."""
    split = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()]
    return [row for row in split if tuple(row[: len(cells)]) == cells]


def test_sentences_about_kept_results() -> None:
    """The papers, what passes and is wrong, what is proved as trained, settled runs, star-free languages."""
    assert refresh.filled(README) == README
    wrong = README.replace("training runs kept here, ", "training runs kept here, 1")
    assert wrong != README
    assert refresh.filled(wrong) == README


def test_claims_and_readme_count_the_same_cells() -> None:
    compared, agree = numbers(r"(\d+) published cells compared: (\d+) agrees", CLAIMS)
    assert refresh.numbers()["papers"][:2] == (compared, agree)


def test_the_readme_is_short_and_its_figure_says_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(README.split()) <= 1000
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    pictures = importlib.import_module("_pictures")
    runs = pictures.read_runs()
    refuted = [len(run.word) for run in runs if run.word]
    passing = [run for run in runs if min(run.shares) == 1]
    assert all(run.margins[-1] < 0 < min(run.margins[:-1]) for run in runs if run.word)
    said = numbers(
        r"Five of (\d+) LSTMs pass every test up to length ([\d,]+)\. The search refutes (\d+) of them, on "
        r"words of (\d+) to (\d+) letters: a one, and then little but zeros",
        README,
    )
    wanted = (len(runs), pictures.LENGTHS[-1], len(refuted), min(refuted), max(refuted))
    assert tuple(int(number.replace(",", "")) for number in said) == wanted
    assert len(passing) == 5
    assert all(run.word.startswith("1000") for run in runs if run.word)


def test_the_answer_about_a_checkpoint_is_that_of_its_tutorial() -> None:
    tutorial = (ROOT / "docs" / "tutorials" / "ask-a-checkpoint.md").read_text(encoding="utf-8")
    said = README.partition("nerode ask tiny-llama ")[2].partition("```")[0].splitlines()[1:]
    assert len(said) == 4
    assert all(line.strip() in tutorial for line in said)


def test_the_readme_counts_the_atlas() -> None:
    languages, architectures = numbers(r"(\d+) languages × (\d+) architectures", README)
    assert int(languages) == len(BESTIARY)
    assert int(architectures) == len(select_architectures(None))


def test_a_run_counts_once_and_by_the_length_of_its_word() -> None:
    assert settled.way_of("●", 40) == "proved"
    assert settled.way_of("○ 40: a^40", 40) == "within"
    assert settled.way_of("○ 1,041: a^1041", 40) == "beyond"
    assert settled.way_of("○ 3: 0 1 1 (the test double-isi)", 40) == "other"
    assert settled.way_of("◐ 17", 40) == settled.way_of("", 40) == "open"
    kept = settled.kept_ends(ROOT / "experiments")
    tables = sorted((ROOT / "experiments" / "reproduce").glob("*/*.json"))
    keys = [key for path in tables for line in json.loads(path.read_text())["lines"] for key in line["keys"]]
    assert sum(own.total() for name, own in kept.items() if name.startswith("reproduce/")) == len(set(keys))


def test_exact_gates() -> None:
    proved = numbers(r"\*\*(\d+) of (\d+) runs proved\*\*", SETTLED)
    assert numbers(r"(\d+) of (\d+) networks trained through exact gates are proved", README) == proved
    rows = [json.loads(line) for line in (ROOT / settled.ROWS).read_text().splitlines()]
    assert settled.page(rows) == SETTLED
    assert settled.beside_page(rows) == (ROOT / settled.BESIDE).read_text(encoding="utf-8")


def test_the_page_of_hardened_networks_is_made_from_its_rows() -> None:
    rows = [json.loads(line) for line in (ROOT / hardened.RESULTS).read_text().splitlines()]
    assert hardened.page(rows) == (ROOT / hardened.PAGE).read_text(encoding="utf-8")
    kept = settled._lines(ROOT / settled.ROWS)
    for row in rows:
        plain = settled.find(kept, "plain", (row["architecture"], row["task"], 1), row["seed"])
        assert plain is not None
        assert row["before"] == plain["status"]


def test_polished_groups() -> None:
    for group, proofs in [("A5", 3), ("Z60", 3), ("A5, 4 blocks", 2), ("Z60, 4 blocks", 2), ("S4", 2)]:
        assert sum(row[14] == "yes" for row in rows(POLISH, group)) == proofs


def test_long_words() -> None:
    modules = rows(LONG_WORDS, "module")[0]
    said = numbers(r"([\d,]+) of ([\d,]+) compiled modules answer", README)
    assert tuple(number.replace(",", "") for number in said) == (modules[2], modules[1])
    assert "Not surveyed yet" not in LONG_WORDS


def test_the_page_of_long_words_is_made_from_its_results() -> None:
    assert page(read_rows(ROOT / "experiments" / "long-words" / "results.jsonl")) == LONG_WORDS
