"""Theory speaks of a run only where its task and its layers are those of theory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nerode.study.runs import group_runs, read_run_files
from nerode.study.theory import TheoryOfRuns, works_of
from tests.report.run_specimens import write_run


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
