"""The page of experiments/learn is what its rows say."""

from __future__ import annotations

import json

from benchmarks.learn import PAGE, ROWS, page


def test_the_page_is_written_from_its_rows() -> None:
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    assert PAGE.read_text() == page(rows)
    places = [(row["test"], row["seed"]) for row in rows]
    assert len(places) == len(set(places))
    for test in {row["test"] for row in rows}:
        assert sorted(seed for name, seed in places if name == test) == list(range(5000, 5020))
