from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from nerode.core import FormatError, InputError, UnknownName
from nerode.sweeps.sweep_file import parse_sweep, read_sweep
from tests.sweeps.toy import TOY

FILE = """
[base]
task.name = "parity"
run.steps = 5
[grid]
model.layers = ["mamba", "lstm"]
"run.seed" = [0, 1, 2]
[[list]]
optimiser.rate = 1e-2
[[list]]
optimiser.rate = 1e-3
run.batch = 8
"""


def test_a_file_is_every_combination(tmp_path):
    (tmp_path / "s.toml").write_text(FILE)
    sweep = read_sweep(tmp_path / "s.toml")
    specs = list(sweep.specs())
    assert len(specs) == sweep.size == 12
    rows = [{"rate": 1e-2}, {"rate": 1e-3, "batch": 8}]
    for (row, layers, seed), spec in zip(
        itertools.product(rows, ["mamba", "lstm"], [0, 1, 2]), specs, strict=True
    ):
        batch = {"batch": 8} if "batch" in row else {}
        assert spec == {
            "task": {"name": "parity"},
            "model": {"layers": layers},
            "optimiser": {"rate": row["rate"]},
            "run": {"steps": 5, "seed": seed, **batch},
        }


def test_without_a_grid_or_a_list_there_is_one_run():
    assert list(parse_sweep({"base": {"seed": 1}}).specs()) == [{"seed": 1}]


def test_values_of_a_grid_may_be_tables_and_lists():
    sweep = parse_sweep({"base": {"m": {"a": 0}}, "grid": {"m": [{"a": 1, "b": 2}, {"b": 3}], "n": [[1, 2]]}})
    assert list(sweep.specs()) == [{"m": {"a": 1, "b": 2}, "n": [1, 2]}, {"m": {"a": 0, "b": 3}, "n": [1, 2]}]


@given(st.sets(st.integers(0, 50), min_size=1, max_size=6), st.sets(st.integers(0, 50), max_size=6))
def test_adding_values_only_adds_runs(before, more):
    def keys(seeds):
        return {j.key for j in parse_sweep({"grid": {"seed": sorted(seeds), "steps": [3, 4]}}).jobs(TOY)}

    assert keys(before) <= keys(before | more)
    assert len(keys(before | more)) == 2 * len(before | more)


def test_the_same_run_counts_once():
    sweep = parse_sweep({"grid": {"seed": [1, 2, 1]}, "list": [{}, {"steps": 5}]})
    # Five steps are the default.
    assert [job.spec for job in sweep.jobs(TOY)] == [{"seed": 1}, {"seed": 2}]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"grids": {}}, "did you mean grid"),
        ({"grid": {"seed": 3}}, "grid.seed is 3; it has to be a list"),
        ({"grid": {"seed": []}}, "a value or more"),
        ({"grid": []}, "it has to be a table"),
        ({"list": {"seed": 1}}, r"\[\[list\]\]"),
        ({"grid": {"run": {"seed": [1]}}, "list": [{"run": {"seed": 2}}]}, "both in the grid and in a list"),
        ({"grid": {str(n): list(range(100)) for n in range(4)}}, "100,000,000 runs"),
    ],
)
def test_what_is_no_sweep_is_refused(tables, message):
    with pytest.raises((InputError, UnknownName), match=message):
        parse_sweep(tables)


def test_a_combination_that_is_no_spec_is_named():
    with pytest.raises(InputError, match="combination 2 of the sweep: seed is 'x'"):
        parse_sweep({"grid": {"seed": [1, "x"]}}).jobs(TOY)


@pytest.mark.parametrize("content", [b"[grid", b"\xff", b"[other]"])
def test_a_file_that_is_no_sweep_is_refused(tmp_path, content):
    (tmp_path / "s.toml").write_bytes(content)
    with pytest.raises(FormatError, match=r"s\.toml"):
        read_sweep(tmp_path / "s.toml")
    with pytest.raises(FormatError, match="there is no such file"):
        read_sweep(tmp_path / "none.toml")
