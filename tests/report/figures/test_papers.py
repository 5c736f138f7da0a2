"""Figures of papers: which panels they have, and which numbers are in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nerode.records import CellResult
from nerode.report import draw_figure
from nerode.report.figures.papers import Panels
from nerode.report.picture import Words, to_svg
from nerode.reproduce import PaperFigure, SignalOutput
from tests.report.table_specimens import line as make_line, table as make_result
from tests.reproduce.tiny import table, trained

LINES = tuple(trained(row=row, model=model) for row in ("Parity", "Dyck") for model in ("GRU", "LSTM"))


def figure(kind, **changes):
    shown = table(*LINES, unit="share")
    return PaperFigure(
        **{"name": "figure-1", "where": "Figure 1", "title": "what", "kind": kind, "table": shown, **changes}
    )


def line(row, model, *shares):
    cells = tuple(
        CellResult(column=c, published=0.5, printed="50", values=values, agreement="differs")
        for c, values in zip(("≤ 8", "16"), shares, strict=True)
    )
    curves = (((10, 0.2), (20, 0.6)), ((10, 0.4),))
    return make_line(row=row, model=model, cells=cells, seeds=(1, 2), curves=curves)


RESULT = make_result(
    line("Parity", "GRU", (1.0, 0.5), (0.25, 0.75)),
    line("Parity", "LSTM", (0.0, 0.0), (0.0, 0.0)),
    line("Dyck", "LSTM", (1.0, 1.0), (1.0, 1.0)),
)


def panels(kind, **changes):
    found = draw_figure(figure(kind, **changes), RESULT, citation="A 2025")
    assert found is not None
    return found


def test_there_is_a_panel_for_each_row_that_has_runs():
    assert [one.title for one in panels("beyond").figures] == ["Parity", "Dyck"]
    assert [one.title for one in panels("beyond", rows=("Dyck",)).figures] == ["Dyck"]


def test_curves_have_every_seed_and_their_mean():
    (parity, _) = panels("beyond").figures
    gru = {one.name: one.points for one in parity.lines if one.series == "GRU"}
    assert gru == {
        "seed 1": ((8.0, 1.0), (16.0, 0.25)),
        "seed 2": ((8.0, 0.5), (16.0, 0.75)),
        "mean": ((8.0, 0.75), (16.0, 0.5)),
    }


def test_a_run_that_has_ended_keeps_its_last_value_in_the_mean():
    (parity, _) = panels("learning").figures
    mean = next(one for one in parity.lines if (one.series, one.name) == ("GRU", "mean"))
    assert mean.points == ((10, pytest.approx(0.3)), (20, pytest.approx(0.5)))


def test_models_have_the_same_colour_in_all_panels_and_one_legend():
    drawn = panels("beyond")
    assert len({one.keys() for one in drawn.figures}) == 1
    texts = to_svg(drawn.picture(800.0))
    assert texts.count(">LSTM</text>") == 1


def test_bars_stand_beside_the_published_number():
    first, second = panels("bars").figures
    assert [bar.label for bar in first.bars] == ["Parity · GRU", "Parity · LSTM", "Dyck · LSTM"]
    assert (first.bars[0].value, first.bars[0].low, first.bars[0].high) == (0.75, 0.5, 1.0)
    assert first.bars[0].text.endswith("(paper 50)")
    assert second.bars[1].value == 0.0


def test_an_output_is_about_the_step_after_it():
    one = SignalOutput(model="GRU", seed=1, signal="training", bits="011", outputs=(0.9, 0.8, 0.1))
    drawn = draw_figure(figure("signals"), RESULT, citation="A 2025", outputs=(one,))
    assert drawn is not None
    signal, output = drawn.figures[0].lines
    assert output.points == ((1.0, 0.9), (2.0, 0.8), (3.0, 0.1))
    assert [y for x, y in signal.points if x == 1.0] == [0.0, 1.0]


def test_panels_stand_side_by_side_inside_the_picture():
    drawn = panels("beyond")
    picture = drawn.picture(800.0)
    titles = {item.text: item for item in picture.items if isinstance(item, Words)}
    assert titles["Dyck"].x > 400 > titles["Parity"].x
    assert titles["Dyck"].y == titles["Parity"].y
    one = Panels(title="", figures=drawn.figures, columns=1).picture(800.0)
    assert one.box[3] > picture.box[3]


def test_nothing_is_drawn_of_no_runs():
    empty = replace(RESULT, lines=())
    assert draw_figure(figure("learning"), empty, citation="A 2025") is None
    assert draw_figure(figure("signals"), RESULT, citation="A 2025") is None
