"""The page of experiments/learn is what its rows say, and they reach what was asked of them."""

from __future__ import annotations

import json

from benchmarks.learn import PAGE, ROWS, TESTS, TRAINED, page

ASKED = {"labels": 20, "few": 9, "asked": 18, "noisy": 16, "raw": 18, "large": 18}
"""True languages of 20 that each test has to reach, all of them with a proof."""


def test_the_page_is_written_from_its_rows() -> None:
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    assert PAGE.read_text() == page(rows)
    places = [(row["test"], row["seed"]) for row in rows]
    assert len(places) == len(set(places))
    for test in (*TESTS, TRAINED):
        assert sorted(seed for name, seed in places if name == test) == list(range(5000, 5020))


def test_the_rows_reach_what_was_asked() -> None:
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    for test, least in ASKED.items():
        own = [row for row in rows if row["test"] == test]
        assert sum(row["right"] and row["proved"] for row in own) >= least, test
        if test == "labels":
            assert max(row["seconds"] for row in own) < 2
    for row in rows:
        if row["test"] != TRAINED and row["unique"] and not row["right"]:
            assert row["learned"] < row["states"]
    trained = [row for row in rows if row["test"] == TRAINED]
    assert sum(row["right"] and row["proved"] for row in trained) >= 14
    for row in trained:
        if row["learned"] is not None and not row["right"]:
            assert row["larger"]
            assert row["differs"] is not None
