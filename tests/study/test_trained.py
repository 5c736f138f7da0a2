"""Theory speaks of a run only where its task and its layers are those of theory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nerode.core import FormatError
from nerode.records import Settlement, read_tables, write_table
from nerode.report.pages.atlas import atlas_page
from nerode.study import conclude_table, conclude_task
from nerode.study.runs import group_runs, read_run_files
from nerode.study.trained import (
    Point,
    TheoryOfRuns,
    TrainingOutcome,
    find_disagreements,
    read_experiments,
    read_runs,
    works_of,
)
from tests.report.pages.test_atlas import data_of, parity_row
from tests.report.pages.test_language import assert_offline, words
from tests.report.run_specimens import fill_store, write_run
from tests.report.table_specimens import cell, line, table


def trained(architecture: str, *medians: float, language: str = "parity") -> TrainingOutcome:
    points = tuple(Point(label=str(40 * (i + 1)), median=m, low=m / 2, high=m) for i, m in enumerate(medians))
    return TrainingOutcome(
        language=language,
        architecture=architecture,
        model=architecture,
        points=points,
        seeds=3,
        threshold=0.9,
        source="nerode train",
    )


def write(folder: Path, seed: int, share: float, **options: Any) -> None:
    write_run(folder, seed=seed, accuracies=(1.0, share, share), **options)


def test_runs_that_differ_in_the_seed_go_together(tmp_path: Path) -> None:
    for seed, share in enumerate((0.25, 1.0, 0.5)):
        write(tmp_path, seed, share, title="mamba-signed ×2", layers=("mamba-signed", "mamba-signed"))
    write(tmp_path, 0, 1.0, title="gru", layers=("gru",))
    diverged = {"evaluations": [], "divergence": {"step": 1, "what": "loss"}, "stopped": "divergence"}
    write(tmp_path, 0, 1.0, title="lstm", layers=("lstm",), **diverged)
    write(tmp_path, 0, 1.0, title="my.module:build", layers=("nobody",))
    (tmp_path / "no-run").mkdir()
    (tmp_path / "no-run" / "result.json").write_text('{"format": "something else"}', encoding="utf-8")
    found = {item.architecture: item for item in read_runs(tmp_path)}
    assert set(found) == {"mamba-signed", "gru"}
    signed = found["mamba-signed"]
    assert (signed.language, signed.seeds) == ("parity", 3)
    assert signed.points[0] == Point(label="40", median=1.0, low=1.0, high=1.0)
    assert signed.points[2] == Point(label="400", median=0.5, low=0.25, high=1.0)
    assert signed.learned
    assert not signed.generalises


def test_a_run_that_diverged_counts_as_nothing(tmp_path: Path) -> None:
    for seed in range(2):
        write(tmp_path, seed, 1.0)
    diverged = {"evaluations": [], "divergence": {"step": 1, "what": "loss"}, "stopped": "divergence"}
    for seed in (2, 3, 4):
        write(tmp_path, seed, 1.0, **diverged)
    (item,) = read_runs(tmp_path)
    assert item.seeds == 5
    assert item.points[2] == Point(label="400", median=0.0, low=0.0, high=1.0)
    assert not item.learned


@pytest.mark.parametrize(
    ("settings", "language"),
    [
        ({"monoid": "S3", "letters": "elements", "tokens": 1}, "s3"),
        ({"monoid": "A5", "letters": "generators", "tokens": 1}, "a5-generators"),
        ({"monoid": "S5", "letters": "elements", "tokens": 4}, None),
    ],
)
def test_state_tracking_is_about_the_word_problem(
    tmp_path: Path, settings: dict[str, Any], language: str | None
) -> None:
    write(tmp_path, 0, 1.0, task="state-tracking", settings=settings)
    assert [item.language for item in read_runs(tmp_path)] == ([language] if language else [])


def test_a_result_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (folder / "result.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match=r"result\.json"):
        read_runs(tmp_path)


def test_tables_of_experiments_are_read_where_they_speak_of_a_language(tmp_path: Path) -> None:
    named = line(
        language="Tomita-3", architecture="lstm", cells=(cell(column="1-50", values=(1.0, 0.5, 0.75)),)
    )
    others = (replace(named, kind="compiled"), replace(named, language=""), replace(named, cells=()))
    write_table(tmp_path, table(named, *others))
    (tmp_path / "b.json").write_text("[1]", encoding="utf-8")
    (item,) = read_experiments(tmp_path)
    assert (item.language, item.architecture, item.seeds) == ("tomita-3", "lstm", 3)
    assert item.points == (Point(label="1-50", median=0.75, low=0.5, high=1.0),)
    assert read_experiments(tmp_path / "missing") == []
    (tmp_path / "b.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match=r"b\.json"):
        read_experiments(tmp_path)


def test_disagreements_are_what_theory_does_not_expect() -> None:
    verdicts = {("parity", "mamba"): "no", ("parity", "lstm"): "yes", ("parity", "s4"): "open"}
    found = find_disagreements(
        [
            trained("lstm", 1.0, 0.2),
            trained("lstm", 0.5, 0.2),
            trained("lstm", 1.0, 1.0),
            trained("s4", 1.0, 0.0),
            trained("mamba", 0.3, 0.0),
            trained("mamba", 1.0, 0.95),
        ],
        verdicts,
    )
    assert [(d.kind, d.verdict) for d in found] == [
        ("beyond", "no"),
        ("forgets", "yes"),
        ("unlearned", "yes"),
    ]


def test_the_page_shows_what_training_found() -> None:
    items = [
        trained("mamba", 1.0, 1.0),
        trained("lstm", 1.0, 0.25),
        trained("lstm", 1.0, language="tomita-1"),
    ]
    page = atlas_page([parity_row()], trained=items)
    assert_offline(page)
    data = data_of(page)
    numbers = {name: i for i, (_, name, *_) in enumerate(data["architectures"])}
    assert set(data["trained"]) == {f"0,{numbers['mamba']}", f"0,{numbers['lstm']}"}
    text = words(page)
    assert "2 of 2 trained models do not do what theory says is possible, or do more." in text
    assert text.index("◐ correct so far, though impossible") < text.index("○ fails on longer words")
    assert "25 (12–25)" in text


def status(folder: Path, **options: Any) -> str | None:
    write_run(folder, **options)
    (task,) = group_runs(read_run_files([folder])[0])
    theory = TheoryOfRuns(task).of(task.models[0])
    return None if theory is None else theory.status


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        (("mamba",), "no"),
        (("mamba", "mamba"), "no"),
        (("mamba-signed",), "yes"),
        (("lstm",), "yes"),
        (("mamba", "lstm"), "yes"),
        # What two kinds of layers cannot do alone is not known of the stack.
        (("mamba", "gla"), None),
        (("my-own-layer",), None),
    ],
)
def test_parity(tmp_path: Path, layers: tuple[str, ...], expected: str | None) -> None:
    # Parity is not star-free: no gates in [0, 1] do it, a sign does [Sarrof et al. 2024, Grazzi et al. 2025].
    assert status(tmp_path, layers=layers) == expected


def test_a_setting_makes_a_layer_signed(tmp_path: Path) -> None:
    assert status(tmp_path, layer_settings={"signed": True}) == "yes"


@pytest.mark.parametrize(
    ("task", "settings", "expected"),
    [
        ("language-recognition", {"language": "(aa)*"}, "no"),
        ("language-recognition", {"language": "(ab)*"}, "yes"),
        ("language-recognition", {"language": "(("}, None),
        ("language-prediction", {"language": "tomita-1"}, "yes"),
        ("state-tracking", {"monoid": "S3", "letters": "elements", "tokens": 1}, "no"),
        # Other letters may be easier than all elements, and T3 is no group.
        ("state-tracking", {"monoid": "S3", "letters": "generators", "tokens": 1}, None),
        ("state-tracking", {"monoid": "T3", "letters": "elements", "tokens": 1}, None),
        ("state-tracking", {"monoid": "nothing", "letters": "elements", "tokens": 1}, None),
        ("copying", {}, None),
    ],
)
def test_tasks(tmp_path: Path, task: str, settings: dict[str, Any], expected: str | None) -> None:
    assert status(tmp_path, task=task, settings=settings) == expected


def test_works_are_those_of_architectures_and_verdicts(tmp_path: Path) -> None:
    write_run(tmp_path)
    (task,) = group_runs(read_run_files([tmp_path])[0])
    keys = {reference.key for reference in works_of(task, TheoryOfRuns(task))}
    assert keys == {"GuDao2023", "Sarrof2024"}


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
    assert lstm == ("lstm: possible: 2 of 3 seeds pass the tests up to length 400; 1 of 3 seeds diverged.")
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
    ends = [settled(123), settled(None)]
    said = [conclude_task(task, TheoryOfRuns(task), {run.record.key: end})[0] for end in ends]
    assert said == [
        "lstm: possible: passes the tests up to length 400; refuted by search, on a word of 123 letters.",
        "lstm: possible: proved at every length.",
    ]


def test_a_task_without_theory_gets_its_numbers_alone(tmp_path: Path) -> None:
    write_run(tmp_path, task="language-recognition", settings={"language": "no such language ("})
    assert sentences(tmp_path)[0].startswith("mamba: ")
    assert "possible" not in sentences(tmp_path)[0]


def test_tables_count_what_agrees() -> None:
    table = next(t for t in read_tables(Path("experiments/reproduce")) if t.table == "counters")
    cells = [cell for line in table.lines for cell in line.cells if cell.agreement != "–"]
    agree = sum(cell.agreement == "agrees" for cell in cells)
    assert conclude_table(table).startswith(f"{agree} of {len(cells)} published numbers agree")
