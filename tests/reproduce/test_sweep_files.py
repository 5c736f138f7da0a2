"""Sweep files of the full scale, read back by the reader of sweeps."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.records import TrainSpec
from nerode.reproduce.papers import PAPERS
from nerode.reproduce.sweep_files import sweep_text, toml_value
from nerode.sweeps.sweep_file import parse_sweep
from tests.reproduce.tiny import compiled, paper, table, trained

TABLES = [(p, t) for p in PAPERS.values() for t in p.tables if any(line.paper for line in t.lines)]
SCALARS = (
    st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


@pytest.mark.parametrize(("own", "rows"), TABLES, ids=lambda x: x.name)
def test_every_table_is_a_sweep_of_specs(own, rows):
    sweep = parse_sweep(tomllib.loads(sweep_text(own, rows)))
    assert sweep.grid == {"run.seed": list(range(rows.seeds))}
    specs = list(sweep.specs())
    assert len(specs) >= rows.seeds
    for spec in specs[:: max(1, len(specs) // 10)]:
        assert TrainSpec.from_mapping(spec)


def test_the_search_of_the_paper_is_written_out():
    line = trained(grid={"optimiser.rate": (1e-3, 1e-4), "model.depth": (1, 2)})
    sweep = parse_sweep(tomllib.loads(sweep_text(paper(), table(line, line), seeds=2)))
    assert sweep.size == 8
    assert [(row["optimiser"]["rate"], row["model"]["depth"]) for row in sweep.rows] == [
        (1e-3, 1),
        (1e-3, 2),
        (1e-4, 1),
        (1e-4, 2),
    ]


def test_a_table_without_training_has_no_sweep():
    with pytest.raises(InputError, match="nothing to run"):
        sweep_text(paper(), table(compiled()))


@given(VALUES)
def test_values_are_read_back(value):
    assert tomllib.loads(f"a = {toml_value(value)}")["a"] == value


def test_what_toml_does_not_have():
    with pytest.raises(InputError, match="cannot be written"):
        toml_value(None)
