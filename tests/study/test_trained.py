"""Theory speaks of a run only where its task and its layers are those of theory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nerode.core import FormatError
from nerode.records import write_table
from nerode.report.pages.atlas import atlas_page
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
from tests.report.run_specimens import write_run
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
    assert "2 of 2 trained models do less than theory says is possible, or more." in text
    assert text.index("◐ passes its tests, though impossible") < text.index("○ fails on some words")
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


@pytest.mark.parametrize(("layer", "told"), [("mamba", True), ("slstm", False)])
def test_mamba_on_flip_flops_is_no_eta_finite_system(tmp_path: Path, layer: str, told: bool) -> None:
    """The headline of the slides on metric automata, on the run that shows it."""
    write_run(tmp_path, task="flip-flop", layers=(layer,))
    (task,) = group_runs(read_run_files([tmp_path])[0])
    theory = TheoryOfRuns(task).of(task.models[0])
    assert theory is not None
    assert (theory.status, theory.robust) == ("yes", "no" if told else "yes")
    assert ("not as an η-finite system" in theory.reason) == told
    assert ("Dankowiakowski" in theory.reason) == told


def test_works_are_those_of_architectures_and_verdicts(tmp_path: Path) -> None:
    write_run(tmp_path)
    (task,) = group_runs(read_run_files([tmp_path])[0])
    keys = {reference.key for reference in works_of(task, TheoryOfRuns(task))}
    assert keys == {"GuDao2023", "Sarrof2024"}
