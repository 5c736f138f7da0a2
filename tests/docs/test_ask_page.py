"""The page of experiments/ask is what its rows say."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.ask import KINDS, LANGUAGES, PAGE, ROWS, page
from tests.docs.blocks import blocks_of

README = Path(__file__).parents[2] / "README.md"
TUTORIAL = README.parent / "docs/tutorials/ask-a-checkpoint.md"


def test_the_page_is_written_from_its_rows() -> None:
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    assert PAGE.read_text() == page(rows)
    made = [(row["kind"], row["language"]) for row in rows]
    assert made == [(kind, language) for kind in KINDS for language in LANGUAGES]
    assert all(row["same"] or row["shown"] for row in rows)


def test_the_program_that_makes_the_checkpoint_is_that_of_the_tutorial() -> None:
    first = next(block.text for block in blocks_of(TUTORIAL.read_text()) if block.kind == "python")
    program = (TUTORIAL.parent / "tiny_llama.py").read_text()
    assert program.partition("\n\n")[2].strip() == first.strip()
    assert "docs/tutorials/tiny_llama.py" in README.read_text()


def test_every_kind_of_module_is_asked_in_ten_lines() -> None:
    kinds = ("class Block", "class Parity", "nr.train(", "state_dict()")
    texts = [block.text for block in blocks_of(TUTORIAL.read_text()) if block.kind == "python"]
    blocks = [text for text in texts if "nr.ask(" in text]
    assert len(blocks) == len(kinds)
    for block, kind in zip(blocks, kinds, strict=True):
        assert kind in block
        assert block.count("nr.ask(") == 2
        assert sum(bool(line.strip()) for line in block.splitlines()) <= 10
