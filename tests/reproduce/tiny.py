"""A paper with one tiny table, for tests."""

from __future__ import annotations

from nerode.core import Reference
from nerode.reproduce.records import LengthRange, Paper, PaperFigure, PaperTable, TableCell, TableLine

RUN = {"steps": 3, "batch": 8, "evaluate_every": 3, "validation": 16, "test_sequences": 8}


def trained(**changes):
    spec = {
        "task": {"name": "parity", "settings": {"shortest": 4, "longest": 8}},
        "model": {"layers": "gru", "width": 4, "settings": {"hidden": 4}},
        "run": RUN,
    }
    line = {
        "row": "Parity",
        "model": "GRU",
        "cells": (
            TableCell(
                column="≤ 8", reading=LengthRange(low=5, high=8), published=1.0, printed="✓", trained=True
            ),
            TableCell(column="16", reading=LengthRange(low=16, high=16), published=0.0, printed="✗"),
        ),
        "language": "parity",
        "architecture": "gru",
        "cpu": spec,
        "paper": spec,
        "seeds": 3,
        "first_seed": 0,
    }
    return TableLine(**{**line, **changes})


def compiled(**changes):
    line = {
        "row": "Parity",
        "model": "compiled",
        "cells": (TableCell(column="16", reading=LengthRange(low=16, high=20)),),
        "language": "parity",
        "architecture": "mamba-signed",
        "compile_to": "mamba-signed",
    }
    return TableLine(**{**line, **changes})


def table(*lines, **changes):
    given = {
        "name": "table-1",
        "title": "parity",
        "where": "Table 1",
        "unit": "tick",
        "protocol": "as published",
        "corrected": "every seed counts",
        "scale": "tiny",
        "lines": lines or (trained(), compiled()),
    }
    return PaperTable(**{**given, **changes})


def paper(*tables):
    shown = (tables or (table(),))[0]
    return Paper(
        name="tiny",
        reference=Reference("Grazzi2025"),
        title="a tiny paper",
        tables=tables or (shown,),
        figures=(
            PaperFigure(
                name="figure-1", where="Figure 1", title="beyond training", kind="beyond", table=shown
            ),
        ),
    )
