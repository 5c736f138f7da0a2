"""The numbers of the README are those that the experiments print."""

from __future__ import annotations

import json
import re
from pathlib import Path

from benchmarks import hardened, settled
from benchmarks._long_words_page import page, read_rows

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CERTIFIED = (ROOT / "experiments" / "certified" / "README.md").read_text(encoding="utf-8")
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


def test_published_cells() -> None:
    compared, agree = numbers(r"(\d+) published cells compared: (\d+) agrees", CLAIMS)
    easier = numbers(r"(\d+) of the cells are compared on an easier task", CLAIMS)
    rest = numbers(r"(\d+) not learned here, (\d+) differs\. In", CLAIMS)
    said = numbers(
        r"\*\*Papers\.\*\* We measured (\d+) published.*?, (\d+) of them on an easier task\. (\d+) agree\. "
        r"(\d+) say nothing.*?(\d+) differ;",
        README,
    )
    assert said == (compared, *easier, agree, *rest)


def test_proved_networks() -> None:
    found = numbers(r"tanh networks: (\d+) of (\d+) runs proved", CERTIFIED)
    proved, of, in_floats = numbers(
        r"(\d+) of (\d+) runs end with a certificate .*?, (\d+) of them also for float32", README
    )
    assert (proved, of) == found
    tanh = [row for row in rows(CERTIFIED) if len(row) > 7 and row[1].startswith("elman")]
    assert len(tanh) == int(of)
    assert sum(row[7] == "yes" for row in tanh) == int(in_floats)


def test_settled_runs() -> None:
    runs, done = (
        sum(column) for column in zip(*settled.kept_ends(ROOT / "experiments").values(), strict=True)
    )
    said = numbers(r"Of all ([\d,]+) training runs kept here ([\d,]+) \((\d+) %\) are settled", README)
    assert said == (f"{runs:,}", f"{done:,}", f"{done / runs * 100:.0f}")
    others = settled.count_other_tests(ROOT / "experiments")
    assert numbers(r"(\d+) of them make no mistake on the words", README) == (str(others),)


def test_networks_proved_as_training_left_them() -> None:
    table = json.loads((ROOT / "experiments" / "reproduce" / "sarrof" / "star-free.json").read_text("utf-8"))
    lines = [line for line in table["lines"] if line["kind"] == "trained"]
    proved = [line["model"] for line in lines for end in line["ends"] if end.startswith("●")]
    said = numbers(r"(\d+) Mambas of the published languages .*?, (\d+) of them with one layer", README)
    assert said == (str(len(proved)), str(proved.count("Mamba, 1 layer")))


def test_exact_gates() -> None:
    proved = numbers(r"\*\*(\d+) of (\d+) runs proved\*\*", SETTLED)
    refuted = numbers(r"\n(\d+) of (\d+) refuted by a shown word", SETTLED)
    pattern = r"exactly 0, 1 or -1: (\d+) of (\d+)\s+runs.*?(\d+) of (\d+) are refuted by a shown word"
    assert numbers(pattern, README) == (*proved, *refuted)
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
    assert numbers(r"(\d+) of (\d+) runs have a proof", POLISH) == numbers(
        r"\*\*Groups\.\*\*.*?: (\d+) of (\d+) runs", README
    )
    for group, proofs in [("A5", 3), ("Z60", 3), ("A5, 4 blocks", 2), ("Z60, 4 blocks", 2), ("S4", 2)]:
        assert sum(row[14] == "yes" for row in rows(POLISH, group)) == proofs


def test_star_free_languages() -> None:
    right, of = numbers(r"longer words on (\d+) of the (\d+) star-free languages", README)
    page = CLAIMS[CLAIMS.index("`nerode reproduce sarrof:star-free") :]
    table = page.split("\n### ")[0]
    mamba = [row for row in rows(table) if len(row) > 3 and row[1] == "Mamba, 1 layer"]
    longer = [row[3].split(" · ")[1] for row in mamba]
    medians = [float(numbers(r": ([0-9.]+)", cell)[0]) for cell in longer]
    assert len(medians) == int(of)
    assert sum(median >= 90 for median in medians) == int(right)


def test_long_words() -> None:
    modules, real = (rows(LONG_WORDS, form)[0] for form in ("module", "real"))
    said = numbers(
        r"([\d,]+) of ([\d,]+) modules and ([\d,]+) of ([\d,]+) models of real architectures.*?"
        r"([\d,]+) and ([\d,]+) are proved at every length",
        README,
    )
    wanted = (modules[2], modules[1], real[2], real[1], modules[4], real[4])
    assert tuple(number.replace(",", "") for number in said) == wanted
    assert "Not surveyed yet" not in LONG_WORDS


def test_the_page_of_long_words_is_made_from_its_results() -> None:
    assert page(read_rows(ROOT / "experiments" / "long-words" / "results.jsonl")) == LONG_WORDS
