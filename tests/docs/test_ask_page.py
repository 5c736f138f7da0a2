"""The page of experiments/ask is what its rows say."""

from __future__ import annotations

import json

from benchmarks.ask import KINDS, LANGUAGES, PAGE, ROWS, page


def test_the_page_is_written_from_its_rows() -> None:
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    assert PAGE.read_text() == page(rows)
    made = [(row["kind"], row["language"]) for row in rows]
    assert len(made) == len(set(made))
    assert {kind for kind, _ in made} <= set(KINDS)
    assert {language for _, language in made} <= set(LANGUAGES)
