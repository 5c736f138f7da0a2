"""A language for the page: pictures, egg-boxes, verdicts, example words and random words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from nerode.explorer.orders import LanguageOrder, WordOrder, read_language, request_budget
from nerode.languages import Dfa, Word
from nerode.report import (
    Bibliography,
    Diagram,
    environment,
    families,
    family_title,
    group_name,
    sense_title,
    sentence,
    view_language,
    visible,
)
from nerode.study import Box, Study, example_word, random_word, study_language
from nerode.verdict import ARCHITECTURES, Sense, State


def describe(order: LanguageOrder) -> dict[str, Any]:
    """Returns what the page shows about a language."""
    language = read_language(order.language)
    study = study_language(language, task=order.task, dtype=order.dtype, budget=request_budget())
    bibliography = Bibliography()
    view = view_language(study, bibliography)
    sense = Sense(order.sense)
    parts = environment().get_template("parts.html.j2").module
    about = environment().get_template("language.html.j2").module
    rows = families(study.table, bibliography, sense=sense, dtype=order.dtype)
    return {
        "name": visible(language.name),
        "kind": language.kind,
        "convention": visible(sentence(language.convention)),
        "alphabet": list(language.alphabet),
        "spaced": language.alphabet.spaced,
        "states": study.profile.num_states,
        "automaton": "" if view.figure is None else str(view.figure.markup),
        "arrows": _arrows(study.automaton),
        "wide": view.figure is not None and view.figure.is_wide,
        "eggs": eggs_to_json(study.eggboxes),
        "eggs_left_out": view.boxes_left_out if study.eggboxes else 0,
        "fragments": {
            "lead": _show(about, "lead", view),
            "why": _show(about, "why", view),
            "chips": _show(parts, "chips", view.memberships) if view.memberships else "",
            "verdicts": _show(parts, "verdict_table", rows),
            "works": _show(parts, "works", bibliography) if bibliography else "",
        },
        "sense": sense_title(sense, order.dtype),
        "task": order.task,
        "targets": _targets(study, sense),
        "example": example_word(language),
        "accepted": [visible(word) for word in view.accepted],
        "rejected": [visible(word) for word in view.rejected],
        "counts": [{"length": c.length, "words": str(c.words)} for c in view.counts],
    }


def _arrows(dfa: Dfa | None) -> list[tuple[int, int]]:
    """Source and target of each arrow, in the order in which the picture draws them."""
    return [] if dfa is None else [(arrow.source, arrow.target) for arrow in Diagram.of(dfa).arrows]


def _show(template: Any, macro: str, argument: object) -> str:
    return visible(str(getattr(template, macro)(argument)))


def _targets(study: Study, sense: Sense) -> list[dict[str, str]]:
    """Targets of the compiler with their verdicts; attention is none of them."""
    status = {v.architecture: str(v.status) for v in study.table if v.sense is sense}
    return [
        {
            "name": row.name,
            "title": row.title,
            "family": family_title(row),
            "status": status.get(row.name, ""),
        }
        for row in ARCHITECTURES.values()
        if row.properties.state is not State.CACHE
    ]


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


def find_word(order: WordOrder) -> dict[str, Any]:
    """Returns a random word of a language, or of any letters.

    Raises:
        InputError: if the language has no word near this length.
    """
    language = read_language(order.language)
    rng = np.random.default_rng(order.seed)
    if order.kind == "any":
        letters = rng.integers(0, max(1, len(language.alphabet)), order.length).tolist()
        word: Word = tuple(letters) if len(language.alphabet) else ()
    else:
        word = random_word(language, order.length, rng)
    return {"word": language.alphabet.decode(word) if word else "", "length": len(word)}
