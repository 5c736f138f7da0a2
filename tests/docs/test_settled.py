"""The parts of `python -m benchmarks settled` run: a row that is not there is made."""

from __future__ import annotations

import json

from benchmarks import settled


def test_a_network_that_theory_refuses_is_trained_plainly_and_refuted(tmp_path, monkeypatch) -> None:
    (tmp_path / settled.ROWS.parent).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    settled.main(["--parts", "no", "--only", "mamba:predict-aa-star:1:201"])
    (row,) = (json.loads(line) for line in settled.ROWS.read_text().splitlines())
    assert (row["part"], row["architecture"], row["seed"]) == ("no", "mamba", 201)
    assert row["status"] == "refuted"
    assert row["updates"] == settled.UPDATES
    assert "refuted by a shown word" in settled.TABLE.read_text()
