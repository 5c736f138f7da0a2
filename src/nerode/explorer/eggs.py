"""Egg-boxes as plain values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nerode.report import group_name, visible
from nerode.study import Box


def eggs_to_json(boxes: Iterable[Box]) -> list[dict[str, Any]]:
    """Returns the boxes in their order, which is the order of `ElementPlaces` too."""
    return [
        {
            "level": box.level,
            "elements": box.num_elements,
            "rows": box.num_rows,
            "columns": box.num_columns,
            "regular": box.regular,
            "group": group_name(box.group),
            "note": box.note,
            "cells": [
                [
                    {
                        "words": [visible(word) for word in cell.words],
                        "idempotent": cell.idempotent,
                        "group": cell.is_group,
                        "left_out": cell.left_out,
                    }
                    for cell in row
                ]
                for row in box.cells
            ],
        }
        for box in boxes
    ]
