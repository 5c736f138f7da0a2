"""Exported sequences are those of the task, read back by a CSV reader; files are made once."""

from __future__ import annotations

import csv
import io

import pytest

from nerode.core import InputError, stream
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.export import ExportSpec, cached_export, export_sequences


def spec(name="predict-tomita-3", settings=None, **changes):
    given = {"lengths": (6, 9), "count": 4, **changes}
    return ExportSpec(task=TaskConfig(name=name, settings=settings or {}), **given)


def test_a_table_of_a_language():
    rows = list(csv.DictReader(io.StringIO(export_sequences(spec(split="test")))))
    assert [int(row["length"]) for row in rows] == [6] * 4 + [9] * 4
    task = build_task(TaskConfig(name="predict-tomita-3"))
    batch = task.draw("test", 9, 4, stream(0, "export", "test", 9))
    for row, word, targets in zip(rows[4:], batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        assert row["split"] == "test"
        assert row["inputs"].split() == [str(x) for x in word]
        assert row["targets"].split() == [",".join(str(int(bit)) for bit in bits) for bits in targets]
        assert row["mask"] == " ".join("1" * 9)


def test_letters_have_their_names():
    rows = list(csv.DictReader(io.StringIO(export_sequences(spec("predict-dyck-1", lengths=(12,))))))
    for row in rows:
        assert set(row["inputs"].split()) == {"(", ")"}
    lines = export_sequences(spec("flip-flop", lengths=(12,), form="text")).splitlines()
    for line in lines:
        inputs, targets, mask = line.split("\t")
        assert inputs[0] == "w"
        assert len(inputs.split()) == len(targets.split()) == len(mask.split()) == 12


def test_features_are_numbers():
    (row, *_) = csv.DictReader(io.StringIO(export_sequences(spec("counting", lengths=(200,), count=1))))
    assert len(row["inputs"].split()) == 200
    assert {float(x) for entry in row["inputs"].split() for x in entry.split(",")} <= {0.0, 1.0}


def test_a_file_is_made_once_and_named_by_its_content(tmp_path):
    first = cached_export(spec(), tmp_path)
    assert first.read_text(encoding="utf-8") == export_sequences(spec())
    first.write_text("kept", encoding="utf-8")
    assert cached_export(spec(), tmp_path).read_text(encoding="utf-8") == "kept"
    others = [
        *(spec(seed=1), spec(split="test"), spec(lengths=(6,)), spec(count=5), spec(form="text")),
        spec(settings={"longest": 40}),
    ]
    assert len({cached_export(s, tmp_path) for s in [spec(), *others]}) == 7
    same = spec("language-prediction", settings={"language": "tomita-3"})
    assert same.key == spec().key


def test_what_cannot_be_exported():
    with pytest.raises(InputError, match="nothing to export"):
        spec(count=0)
    with pytest.raises(InputError, match="split is 'dev'"):
        spec(split="dev")
    with pytest.raises(InputError, match="form is 'xml'"):
        spec(form="xml")


def test_a_changed_automaton_is_exported_anew(tmp_path):
    automaton = tmp_path / "mine.att"
    automaton.write_text("0 1 a\n1 0 a\n0 0 b\n1 1 b\n0\n")
    settings = {"language": str(automaton)}
    first = cached_export(spec("language-recognition", settings), tmp_path)
    assert cached_export(spec("language-recognition", settings), tmp_path) == first
    automaton.write_text("0 1 a\n1 0 b\n0\n")
    assert cached_export(spec("language-recognition", settings), tmp_path) != first
