"""Reproduced tables with invented numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nerode.records import CellResult, LineResult, TableResult, VerdictSummary


def cell(*, values: Sequence[float] = (0.5, 0.6, 0.7), **changes: Any) -> CellResult:
    given = {"column": "51–100", "published": 0.54, "printed": "54", "agreement": "agrees"}
    return CellResult(values=tuple(values), **{**given, **changes})


def line(**changes: Any) -> LineResult:
    given: dict[str, Any] = {
        "row": "{0,1}*d_",
        "model": "Mamba, 1 layer",
        "kind": "trained",
        "cells": (cell(),),
        "theory": VerdictSummary(status="yes", robust="no", reason=""),
        "seeds": (0, 1, 2),
        "keys": ("a", "b", "c"),
        "cpu_seconds": 90.0,
    }
    return LineResult(**{**given, **changes})


def table(*lines: LineResult, **changes: Any) -> TableResult:
    given: dict[str, Any] = {
        "paper": "tiny",
        "reference": "Sarrof2024",
        "table": "table-1",
        "citation": "Somebody 2025",
        "where": "Table 1",
        "title": "a table",
        "unit": "accuracy",
        "threshold": 0.9,
        "protocol": "p",
        "corrected": "c",
        "scale": "s",
        "remarks": ("checked twice",),
        "rule": "the rule",
        "command": "nerode reproduce tiny:table-1",
        "lines": lines or (line(),),
        "unmeasured": 2,
        "waiting": (),
        "environment": {"processor": "a core", "torch": "2", "commit": "0123456789abcdef"},
        "commits": ("fedcba9876543210", "f"),
    }
    return TableResult(**{**given, **changes})
