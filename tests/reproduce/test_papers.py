"""What the papers say: figures typed in again from the sources, names that exist, specs that build."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError, UnknownName
from nerode.languages import resolve_language
from nerode.models.published import all_configurations
from nerode.records import TrainSpec
from nerode.reproduce import PAPERS, find_tables, sweep_text
from nerode.reproduce.papers import toml_value
from nerode.reproduce.published.memory_tracking import MARKS
from nerode.sweeps.sweep_file import parse_sweep
from nerode.tasks import build_task
from nerode.training import spec_model_config
from nerode.verdict import find_architecture
from tests.reproduce.tiny import compiled, paper, table as make_table, trained

ALL = [(p, t) for p in PAPERS.values() for t in p.tables]
LINES = [line for _, table in ALL for line in table.lines]


def published(name, row, model):
    ((_, table),) = find_tables(name)
    (line,) = [x for x in table.lines if x.row.startswith(row) and x.model == model]
    return [cell.published for cell in line.cells if cell.published is not None]


@pytest.mark.parametrize(
    ("name", "row", "model", "expected"),
    [
        ("sarrof:counters", "Dyck-1", "Mamba, 3 layers", [1.0, 0.5395, 0.1]),
        ("sarrof:counters", "a^n b^n c^n d^n", "Mamba, 1 layer", [1.0, 0.0476, 0.0]),
        ("sarrof:not-star-free", "Tomita-3", "Mamba, 2 layers", [0.3688, 0.1705]),
        ("sarrof:star-free", "D_12", "Mamba, 1 layer", [0.9365, 0.9335]),
        ("grazzi:parity", "Parity", "Mamba [0,1]", [0.0]),
        ("grazzi:arithmetic", "Arithmetic", "DeltaNet [-1,1]", [0.826]),
        ("memory:table-3", "Copying S = 10", "Mamba, 1 layer", [0.0]),
        ("memory:table-3", "Copying S = 10", "Mamba, 2 layers", [1.0]),
        ("memory:table-3", "Copying S ≤ 10", "GRU, 2 layers", [0.0]),
        ("memory:table-4", "length 1000", "NRU, hidden size 64", [0.0]),
        ("memory:table-5", "length 200", "GRU, hidden size 8", [0.0, 1.0]),
        ("memory:table-2", "Z60", "LSTM", [1, 1, 1, 1, 1, 1, 0, 0, 0]),
        ("memory:table-2", "A4xZ5", "NRU", [1, 1, 1, 1, 1, 1, 1, 0]),
        ("merrill:word-problems", "A5", "Mamba, 1 layer", [0.0]),
        ("merrill:word-problems", "Z60", "Mamba, 1 layer", []),
        ("merrill:word-problems", "Z60", "IDS4, 1 layer", [1.0]),
        ("merrill:word-problems", "Z60", "IDS4 by rotations, 1 layer", []),
        ("deletang:regular-tasks", "Modular arithmetic", "DeltaNet[-1,1]", [0.664]),
    ],
)
def test_published_figures(name, row, model, expected):
    assert published(name, row, model) == pytest.approx(expected)


COPY = {
    "Mamba": "✓✗✗✗✗✗✗✗✗ ✓✗✗✗✗✗✗✗✗ ✗✓✗✗✗✗✗✗✗",
    "RNN": "✓✓✓✓✓✗✗✗✗ ✓✓✓✓✓✗✗✗✗ ✗✓✓✓✓✗✗✗✗",
    "LSTM": "✓✓✓✓✓✓✗✗✗ ✓✓✓✓✓✓✓✓✓ ✓✓✓✓✓✗✗✗✗",
    "NRU": "✓✓✓✓✓✓✗✗✗ ✓✓✓✓✓✓✓✓✗ ✗✓✓✓✓✗✗✗✗",
}
COPY |= {"Transformer": COPY["Mamba"], "S4": COPY["Mamba"], "IDS4": COPY["Mamba"], "GRU": COPY["LSTM"]}
"""Table 2 of the memory paper as it is stored: 27 marks a row."""


def readings(marks, *, shorter):
    """All rows without one of the marks, or with one more, in which no tick follows a cross."""
    if shorter:
        rows = {marks[:i] + marks[i + 1 :] for i in range(len(marks))}
    else:
        rows = {marks[:i] + mark + marks[i:] for i in range(len(marks) + 1) for mark in "✓✗"}
    return {row for row in rows if "✗✓" not in row and row.startswith("✓")}


def common(rows):
    return "".join(marks[0] if len(set(marks)) == 1 else "–" for marks in zip(*rows, strict=True))


@pytest.mark.parametrize("model", MARKS)
def test_marks_of_state_tracking_are_those_that_every_reading_of_the_copy_has(model):
    first, rest = COPY[model].split(" ", 1)
    rest = rest.replace(" ", "")
    last = readings(rest[10:], shorter=False)
    if model not in ("RNN", "LSTM", "GRU", "NRU"):
        # The text: only recurrent networks go on beyond the length of training.
        last = {"✓✗✗✗✗✗✗✗✗"}
    assert MARKS[model] == (first, common(readings(rest[:10], shorter=True)), common(last))


def test_easier_tasks_are_said_to_be_so():
    assert not any("(here" in line.row for line in LINES)
    assert not any(line.here for line in LINES if line.compile_to)
    last = [line for line in LINES if line.cpu and line.paper and "-last" in line.paper["task"]["name"]]
    assert last
    assert all(line.here or line.cpu["task"]["name"] == line.paper["task"]["name"] for line in last)


def test_longer_patterns_are_asked_of_networks_that_were_trained_on_patterns_of_several_lengths():
    ((_, table),) = find_tables("memory:figure-1")
    asked = [line for line in table.lines if any(cell.column == "S × 2" for cell in line.cells)]
    assert asked
    assert all(len(line.cpu["task"]["settings"]["patterns"]) > 1 for line in asked)


def test_the_27_languages_are_all_there():
    rows = {
        line.language
        for _, table in find_tables("sarrof")
        if table.name in ("star-free", "not-star-free", "counters")
        for line in table.lines
    }
    assert len(rows) == 27


@pytest.mark.parametrize("line", LINES[::7], ids=lambda line: f"{line.row}-{line.model}")
def test_specs_build(line):
    for tables in (line.cpu, line.paper):
        if tables is not None:
            spec = TrainSpec.from_mapping(dict(tables))
            assert spec_model_config(spec.model, build_task(spec.task)).layers


def test_every_spec_is_read_and_every_configuration_exists():
    for line in LINES:
        for tables in (line.cpu, line.paper):
            if tables is None:
                continue
            spec = TrainSpec.from_mapping(dict(tables))
            if spec.model.configuration:
                assert spec.model.configuration in all_configurations()


def test_theory_knows_every_language_and_architecture():
    for name in {line.language for line in LINES if line.language}:
        assert resolve_language(name)
    for name in {line.architecture for line in LINES if line.architecture}:
        assert find_architecture(name)


def test_every_table_says_how_it_was_measured():
    for _, table in ALL:
        assert table.protocol
        assert table.corrected
        assert table.scale
        assert any(line.runs_here for line in table.lines)
        assert any(cell.published is not None for line in table.lines for cell in line.cells)


def test_trained_lines_have_an_honest_number_of_seeds():
    assert all(line.seeds >= 3 for line in LINES)
    assert max(line.seeds for line in LINES) == 5


def test_names_that_are_not_there():
    with pytest.raises(UnknownName, match="sarrof"):
        find_tables("sarof")
    with pytest.raises(UnknownName, match="counters"):
        find_tables("sarrof:counter")


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
    sweep = parse_sweep(tomllib.loads(sweep_text(paper(), make_table(line, line), seeds=2)))
    assert sweep.size == 8
    assert [(row["optimiser"]["rate"], row["model"]["depth"]) for row in sweep.rows] == [
        (1e-3, 1),
        (1e-3, 2),
        (1e-4, 1),
        (1e-4, 2),
    ]


def test_a_table_without_training_has_no_sweep():
    with pytest.raises(InputError, match="nothing to run"):
        sweep_text(paper(), make_table(compiled()))


@given(VALUES)
def test_values_are_read_back(value):
    assert tomllib.loads(f"a = {toml_value(value)}")["a"] == value


def test_what_toml_does_not_have():
    with pytest.raises(InputError, match="cannot be written"):
        toml_value(None)
