"""What records refuse, and what figures say in words and numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import resources

import pytest
from hypothesis import example, given, strategies as st

from nerode.core import InputError
from nerode.records import HistoryRow, LengthScore
from nerode.report.figures.charts import (
    MOST_CELLS,
    Bar,
    BarChart,
    ChartLine,
    HeatMap,
    LineChart,
    PointGroup,
    Scatter,
)
from nerode.report.figures.length_figure import LengthCurves, LengthSeries, Published, SeedCurve
from nerode.report.figures.plot import fitted, round_numbers
from nerode.report.picture import PALETTE, Ink
from nerode.report.tables.run_report import dynamics_charts
from tests.report.figures.cases import all_figures, length_curves, line_chart, spectrum


def test_medians_ranges_and_seeds_of_each_length() -> None:
    runs = [SeedCurve(seed=i, points=((1, 0.1 * i), (2, 1.0))) for i in (1, 2, 9)]
    runs.append(SeedCurve(seed=4, points=((2, 0.0),)))
    assert LengthSeries(label="a", runs=tuple(runs)).medians() == [
        (1, pytest.approx(0.2), pytest.approx(0.1), pytest.approx(0.9), 3),
        (2, 1.0, 0.0, 1.0, 4),
    ]


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(InputError, match="not in order, each once"):
        SeedCurve(seed=0, points=((2, 1.0), (1, 1.0)))
    series = LengthSeries(label="a", runs=())
    with pytest.raises(InputError, match="same label"):
        LengthCurves(title="", measure="", series=(series, series))
    with pytest.raises(InputError, match="same series and name"):
        LineChart(title="", x_title="", y_title="", lines=(ChartLine(series="a", points=()),) * 2)
    with pytest.raises(InputError, match="same label"):
        BarChart(title="", value_title="", bars=(Bar(label="a", value=1),) * 2)
    with pytest.raises(InputError, match="not 1 rows of 2 numbers"):
        HeatMap(title="", x_title="", y_title="", columns=("a", "b"), rows=("1",), values=((1.0,),))


def test_a_heat_map_has_no_more_cells_than_a_page_can_hold() -> None:
    columns = ("a",) * (MOST_CELLS + 1)
    with pytest.raises(InputError, match="Choose a part of it"):
        HeatMap(
            title="", x_title="", y_title="", columns=columns, rows=("1",), values=((0.0,) * len(columns),)
        )


def test_colours_are_checked() -> None:
    with pytest.raises(InputError, match="no colour is called '#ffffff'"):
        Ink(fill="#ffffff")


def test_files_have_the_colours_of_pages_in_the_light() -> None:
    css = resources.files("nerode.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", css.partition("@media")[0]))
    light = {
        name: value.replace("#fff", "#ffffff") if len(value) == 4 else value for name, value in light.items()
    }
    assert {name: light[name] for name in PALETTE} == PALETTE


def test_every_figure_has_words() -> None:
    assert all(item.words() for item in all_figures())


def test_a_logarithm_leaves_out_what_has_none() -> None:
    chart = line_chart()
    assert [y for _, y in chart.shown(chart.lines[2])] == [2.0, None]
    assert [y for _, y in chart.shown(chart.lines[0])] == [1.0, 0.1, None, 0.01]


def test_a_long_line_keeps_its_ends() -> None:
    points = tuple((float(i), float(i)) for i in range(10_000))
    chart = LineChart(title="", x_title="", y_title="", lines=(ChartLine(series="a", points=points),))
    shown = chart.shown(chart.lines[0])
    assert len(shown) == 400
    assert shown[0] == points[0]
    assert shown[-1] == points[-1]


def test_words_of_figures_have_their_numbers() -> None:
    assert "falling: 100 [100–100] at length 40, 0 [0–0] at length 400" in length_curves().words()
    assert "b: 2, largest modulus 5" in spectrum().words()


def row(step: int, loss: float, token: float) -> HistoryRow:
    validation = LengthScore(
        length=40, sequences=1, positions=1, token=token, sequence=0.0, final=0.0, scaled=0.0, loss=None
    )
    return HistoryRow(step=step, samples=step, longest=40, rate=0.1, loss=loss, validation=validation)


def test_a_run_that_stopped_keeps_its_last_value_in_the_median() -> None:
    long = [row(1, 3.0, 0.1), row(2, 2.0, 0.2), row(3, 1.0, 0.3)]
    short = [row(1, 3.0, 0.5), row(2, 0.5, 1.0)]
    other = [row(1, 3.0, 0.1), row(2, 2.0, 0.1), row(3, 2.0, 0.4)]
    loss, accuracy = dynamics_charts([("m", 0, long), ("m", 1, short), ("m", 2, other)], measure="token")
    assert [line.name for line in accuracy.lines] == ["seed 0", "seed 1", "seed 2", "median"]
    assert accuracy.lines[-1].points == ((1.0, 0.1), (2.0, 0.2), (3.0, 0.4))
    assert loss.lines[-1].points == ((1.0, 3.0), (2.0, 2.0), (3.0, 1.0))


def test_one_run_is_its_own_line() -> None:
    loss, _ = dynamics_charts([("m", 7, [row(1, 3.0, 0.1)])], measure="token")
    assert [(line.name, line.thin) for line in loss.lines] == [("seed 7", False)]


def test_published_lengths_are_on_the_axis() -> None:
    curves = length_curves()
    assert curves.span == (30.0, 400.0)
    wider = replace(curves, trained=None, published=(Published(label="a", x=1000, y=0.5, source="s"),))
    assert wider.span == (40.0, 1000.0)
    assert replace(curves, series=(), published=()).span == (1.0, 2.0)
    one = LengthSeries(label="a", runs=(SeedCurve(seed=0, points=((40, 1.0),)),))
    assert replace(curves, series=(one,), published=(), trained=None).span == (39.0, 41.0)


def test_some_of_the_trained_lengths_are_on_the_axis() -> None:
    curves = length_curves()
    assert replace(curves, trained=(1, 40)).span[0] == 20
    assert replace(curves, trained=(30, 40)).span[0] == 30
    assert replace(curves, trained=(1, 20)).span[0] == 10
    assert replace(curves, trained=(1, 5000)).span[0] == 40


def test_bands_begin_where_training_ends() -> None:
    curves = length_curves()
    assert curves.beyond == (60.0, 400.0)
    assert replace(curves, trained=(1, 20)).beyond == (20.0, 400.0)
    for trained in (None, (1, 40), (1, 400), (1, 5000)):
        assert replace(curves, trained=trained).beyond == (40.0, 400.0)


def test_empty_records_still_make_figures() -> None:
    empty = LengthCurves(title="nothing", measure="none", series=())
    chart = LineChart(title="nothing", x_title="x", y_title="y", lines=(), log_y=True)
    for figure in (empty, chart, BarChart(title="nothing", value_title="x", bars=())):
        assert "<svg" in figure.__html__()
    assert "<svg" in Scatter(title="nothing", groups=()).__html__()


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=4), st.booleans())
@example([5e-324], True)
@example([5e-324, 1.7e308], True)
@example([1.7e308, 1.7e308], False)
@example([1.7e308, -1.7e308], False)
@example([5e-324, 0.0], False)
@example([0.0, 1.797693124862316e308], False)
def test_numbers_of_any_size_make_a_figure(values: list[float], log: bool) -> None:
    points = tuple((float(i), value) for i, value in enumerate(values))
    line = ChartLine(series="a", points=points)
    chart = LineChart(title="", x_title="", y_title="", lines=(line,), log_y=log)
    across = Scatter(title="", groups=(PointGroup(label="a", points=tuple((y, x) for x, y in points)),))
    for figure in (chart, across):
        assert "nan" not in figure.__html__()
        assert "inf" not in figure.__html__()


def test_axes_have_round_ticks() -> None:
    assert fitted([]) == (0.0, 1.0)
    assert fitted([2.0]) == (1.5, 2.5)
    assert round_numbers(0.5, 2000) == [1.0, 10.0, 100.0, 1000.0]
    assert round_numbers(3, 30) == [5.0, 10.0, 20.0]
    assert len(round_numbers(1e-30, 1e30)) < 10
    assert round_numbers(0.919808, 0.999025) == [0.92, 0.94, 0.96, 0.98]
    assert round_numbers(7.0, 7.0) == []


@given(st.floats(1e-20, 1e20), st.floats(1.0001, 1e12))
def test_there_are_always_some_ticks_and_never_too_many(low: float, ratio: float) -> None:
    found = round_numbers(low, low * ratio)
    assert 3 <= len(found) <= 15
    assert found == sorted(found)
    assert all(low * (1 - 1e-9) <= tick <= low * ratio * (1 + 1e-9) for tick in found)
