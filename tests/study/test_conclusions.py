"""Conclusions name theory and every seed, and claim no more than was tested."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nerode.records import Settlement, read_tables
from nerode.study import TheoryOfRuns, conclude_table, conclude_task, group_runs, read_run_files
from tests.report.run_specimens import fill_store, write_run


def settled(length: int | None) -> Settlement:
    """A run that is refuted by a word of a length, or proved."""
    shared = {"about": "parity", "words": "all words", "dtype": "float32", "method": "closure", "states": 2}
    if length is None:
        return Settlement(status="proved", length="all", **shared)
    return Settlement(status="refuted", length=length - 1, word=("1",) * length, **shared)


def sentences(store: Path) -> list[str]:
    (task,) = group_runs(read_run_files([store])[0])
    return conclude_task(task, TheoryOfRuns(task))


def test_every_model_has_a_sentence_with_theory_and_seeds(tmp_path: Path) -> None:
    lstm, mamba = sentences(fill_store(tmp_path))
    assert lstm == (
        "lstm: possible, and 2 of 3 seeds pass the tests up to length 400; 1 of 3 seeds diverged."
    )
    assert mamba == "mamba: impossible, and 3 of 3 seeds fail first at length 80."


@pytest.mark.parametrize(
    ("layers", "accuracies", "expected"),
    [
        (
            "mamba",
            (1.0, 1.0, 1.0),
            "mamba: impossible at every length, yet passes the tests up to length 400; longer words will "
            "fail.",
        ),
        ("lstm", (1.0, 0.2, 1.0), "lstm: possible, but fails first at length 80."),
    ],
)
def test_success_where_theory_says_no_and_failure_where_it_says_yes(
    tmp_path: Path, layers: str, accuracies: tuple[float, ...], expected: str
) -> None:
    write_run(tmp_path, title=layers, layers=(layers,), accuracies=accuracies)
    assert sentences(tmp_path) == [expected]


def test_a_word_that_a_search_found_stands_beside_the_tests(tmp_path: Path) -> None:
    write_run(tmp_path, title="lstm", layers=("lstm",), accuracies=(1.0, 1.0, 1.0))
    (task,) = group_runs(read_run_files([tmp_path])[0])
    (run,) = task.models[0].runs
    said = []
    for end in (settled(123), settled(500), settled(None)):
        model = replace(task.models[0], runs=(replace(run, settled=end),))
        said += conclude_task(replace(task, models=(model,)), TheoryOfRuns(task))
    assert said == [
        "lstm: possible, but refuted by the word 1^123 (123 letters).",
        "lstm: possible, and passes the tests up to length 400; refuted by the word 1^500 (500 letters).",
        "lstm: possible, and proved at every length.",
    ]


def test_a_task_without_theory_gets_its_numbers_alone(tmp_path: Path) -> None:
    write_run(tmp_path, task="language-recognition", settings={"language": "no such language ("})
    assert sentences(tmp_path)[0].startswith("mamba: ")
    assert "possible" not in sentences(tmp_path)[0]


def test_tables_count_what_agrees() -> None:
    table = next(t for t in read_tables(Path("experiments/reproduce")) if t.table == "not-star-free")
    cells = [cell for line in table.lines for cell in line.cells if cell.agreement != "–"]
    agree = sum(cell.agreement == "agrees" for cell in cells)
    assert conclude_table(table).startswith(f"{agree} of {len(cells)} published numbers agree")
