"""A language and its networks as the page draws them: pictures, verdicts, words, weights, proofs."""

from __future__ import annotations

import functools
import io
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nerode.compiler import Options, compile_language
from nerode.core import Exact, NotCompilable, to_complex, to_mapping, write_exact
from nerode.explorer.orders import (
    LanguageOrder,
    LanguageText,
    NetworkOrder,
    WordOrder,
    read_language,
    request_budget,
)
from nerode.languages import Alphabet, Dfa, Word
from nerode.network import (
    CELL_GATES,
    Layer,
    LogitDecoder,
    NamedMap,
    Network,
    PointDecoder,
    ScoreDecoder,
    StateNames,
    describe_network,
)
from nerode.proofs import Certificate, Refutation, Unproved, prove_network, write_folder
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
from nerode.study import (
    Box,
    Study,
    all_targets,
    example_word,
    random_word,
    study_language,
    summarise,
)
from nerode.verdict import ARCHITECTURES, Sense, State, find_architecture

_MOST_EMBEDDED = 10_000
"""Numbers of an embedding that are sent to the page."""


@functools.lru_cache(maxsize=8)
def make_network(language: LanguageText, target: str) -> Network:
    """Returns the network, or raises NotCompilable with all reasons."""
    options = Options(budget=request_budget())
    return compile_language(read_language(language), target, options)


def draw(order: NetworkOrder) -> dict[str, Any]:
    """Returns the network in parts, or the reasons why there is none under "refused"."""
    row = find_architecture(order.target)
    head = {"target": row.name, "title": row.title, "update": row.update}
    try:
        network = make_network(order.language, order.target)
    except NotCompilable as refusal:
        return {**head, "refused": list(refusal.reasons)}
    return {
        **head,
        "construction": network.origin.construction,
        "route": network.origin.route,
        "reference": str(network.origin.reference),
        "states": network.state_size,
        "parameters": network.num_parameters,
        "directions": list(network.embedding.directions),
        "embedding": _embedding(network),
        "layers": [_layer(layer, network.alphabet) for layer in network.layers],
        "decoder": _decoder(network),
        "text": describe_network(network),
    }


def prove(order: NetworkOrder) -> dict[str, Any]:
    """Returns what is proved of the network, in a few words each."""
    network = make_network(order.language, order.target)
    found = prove_network(network, read_language(order.language), request_budget())
    match found:
        case Certificate():
            return {"proved": True, "claims": summarise(found.claims)}
        case Refutation():
            return {"proved": False, "claims": [], "reason": f"wrong after {' '.join(found.word) or 'ε'}"}
        case Unproved():
            return {"proved": False, "claims": [], "reason": f"no proof found: {found.reason}"}


def pack(order: NetworkOrder) -> bytes:
    """Returns the folder that `nerode compile -o` writes, as a zip file."""
    network, language = make_network(order.language, order.target), read_language(order.language)
    found = prove_network(network, language, request_budget())
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="nerode-explore-") as place:
        folder = Path(place)
        write_folder(folder, network, language, found if isinstance(found, Certificate) else None)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, f"{network.target}/{path.name}")
    return packed.getvalue()


def _embedding(network: Network) -> list[list[float | list[float]]]:
    """The embedding vector of each letter; empty for a large vocabulary, whose vectors nobody reads."""
    vectors = network.embedding.vectors
    if len(vectors) * len(network.embedding.directions) > _MOST_EMBEDDED:
        return []
    return [[number_to_json(v) for v in vector] for vector in vectors]


def _layer(layer: Layer, alphabet: Alphabet) -> dict[str, Any]:
    parts = layer.recurrence.fields()
    cell = parts.get("cell", "")
    return {
        "name": layer.name,
        "kind": layer.recurrence.kind,
        "cell": cell,
        "activation": parts.get("activation", ""),
        "gates": list(CELL_GATES[cell]) if cell else [],
        "reads": list(layer.reads),
        "state": list(layer.state),
        "outputs": list(layer.outputs),
        "complex": layer.complex_state,
        "exposes_previous": layer.exposes_previous,
        "start": [number_to_json(v) for v in layer.start],
        "matrices": [to_mapping(matrix) for matrix in layer_matrices(layer, alphabet)],
    }


def _decoder(network: Network) -> dict[str, Any]:
    match network.decoder:
        case ScoreDecoder():
            what = "a letter is legal where its score is above 1/2"
        case PointDecoder():
            what = "the answer of the nearest point"
        case LogitDecoder():
            what = f"{network.decoder.normaliser} over the letters and the end"
    return {"kind": network.decoder.kind, "what": what, "reads": list(network.decoder.reads)}


def number_to_json(value: Exact) -> float | list[float]:
    """Returns a number as a float, or as its two parts if it is not real."""
    found = to_complex(value)
    return found.real if found.imag == 0 else [found.real, found.imag]


_MOST_ROWS = 16
_MOST_COLUMNS = 24
_MOST_MATRICES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A table of exact numbers; zeros are empty texts.

    Attributes:
        title: what it is, such as "gate".
        letter: the letter that it belongs to, empty if it belongs to all.
        columns: names.
        rows: names.
        cells: written numbers by row.
        left_out: what is not shown, empty if everything is.
    """

    title: str
    letter: str = ""
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    left_out: str = ""


def layer_matrices(layer: Layer, alphabet: Alphabet) -> list[Matrix]:
    """Returns the weights of a layer in the order of the computation."""
    units = _numbered("u", layer.units.num_outputs)
    seen = [*layer.reads, *units]
    inside = [*layer.reads, *_shown_state(layer)]
    after = _numbered("v", layer.readout_units.num_outputs)
    names = StateNames(state=layer.state, inputs=seen, marked_inputs=seen, letters=alphabet.symbols)
    moves = layer.recurrence.tables(names)
    if layer.width > _MOST_ROWS and layer.recurrence.most_factors is not None:
        # Products of factors that nobody can read are not multiplied out.
        moves = [table for table in moves if not table.whole]
    found = [
        NamedMap.of("units: u = relu(…)", layer.units, units, layer.reads),
        *moves[:_MOST_MATRICES],
        NamedMap.of("readout units: v = relu(…)", layer.readout_units, after, inside),
        NamedMap.of("readout", layer.readout, layer.outputs, [*inside, *after]),
    ]
    return [_matrix(table) for table in found if table.rows]


def _matrix(table: NamedMap) -> Matrix:
    """A table with the columns that it uses, or all of them, and last what is added."""
    used = sorted({j for row in table.rows for j, _ in row})
    if table.whole:
        used = list(range(len(table.inputs)))
    place = {j: i for i, j in enumerate(used)}
    columns = [table.inputs[j] for j in used]
    rows = [tuple((place[j], c) for j, c in row) for row in table.rows]
    if any(b != 0 for b in table.constants):
        added = zip(rows, table.constants, strict=True)
        rows = [(*row, (len(used), b)) if b != 0 else row for row, b in added]
        columns.append("+")
    if not columns:
        # A map that is zero everywhere still says so.
        return Matrix(
            title=table.title, columns=("+",), rows=tuple(table.outputs), cells=(("0",),) * len(rows)
        )
    high, wide = min(len(rows), _MOST_ROWS), min(len(columns), _MOST_COLUMNS)
    cells = []
    for row in rows[:high]:
        entries = dict(row)
        cells.append(tuple(write_exact(entries[j]) if j in entries else "" for j in range(wide)))
    cut = high < len(rows) or wide < len(columns)
    return Matrix(
        title=table.title,
        letter=table.letter,
        columns=tuple(columns[:wide]),
        rows=tuple(table.outputs[:high]),
        cells=tuple(cells),
        left_out=f"{high}×{wide} of {len(rows)}×{len(columns)} are shown" if cut else "",
    )


def _shown_state(layer: Layer) -> list[str]:
    """The state as the readout sees it; ′ marks the state before the letter."""
    found: list[str] = []
    for mark in ("", "′") if layer.exposes_previous else ("",):
        names = [f"{name}{mark}" for name in layer.state]
        found += [f"re {n}" for n in names] + [f"im {n}" for n in names] if layer.complex_state else names
    return found


def _numbered(letter: str, count: int) -> list[str]:
    return [f"{letter}{i}" for i in range(1, count + 1)]


def describe(order: LanguageOrder) -> dict[str, Any]:
    """Returns what the page shows about a language."""
    language = read_language(order.language)
    study = study_language(language, task=order.task, dtype=order.dtype, budget=request_budget())
    bibliography = Bibliography()
    view = view_language(study, bibliography)
    sense = Sense(order.sense)
    parts = environment().get_template("parts.html.j2").module
    about = environment().get_template("language.html.j2").module
    rows = families(study.table, sense=sense, dtype=order.dtype, bibliography=bibliography)
    return {
        "name": visible(language.name),
        "kind": language.kind,
        "convention": visible(sentence(language.convention)),
        "alphabet": list(language.alphabet),
        "spaced": language.alphabet.spaced,
        "states": study.profile.num_states,
        "automaton": "" if view.figure is None else str(view.figure.markup),
        "arrows": _arrows(study.automaton),
        "editable": _editable(study.automaton),
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


_MOST_EDITABLE = 40
"""States and arrows of an automaton that can be edited by hand."""


def _editable(dfa: Dfa | None) -> dict[str, Any] | None:
    """The automaton as the editor takes it: without its dead state; None if it is too large to be drawn."""
    if dfa is None:
        return None
    diagram = Diagram.of(dfa)
    if len(diagram.states) > _MOST_EDITABLE or len(diagram.arrows) > 4 * _MOST_EDITABLE:
        return None
    names = dfa.alphabet.symbols
    return {
        "states": [int(q) for q in diagram.states],
        "start": int(dfa.start),
        "accepting": [int(q) for q in diagram.states if dfa.accepting[q]],
        "arrows": [(a.source, a.target, [names[i] for i in a.letters]) for a in diagram.arrows],
    }


def _show(template: Any, macro: str, argument: object) -> str:
    return visible(str(getattr(template, macro)(argument)))


def _targets(study: Study, sense: Sense) -> list[dict[str, str]]:
    """Targets of the compiler with their verdicts; of attention those that constructions are made for."""
    status = {v.architecture: str(v.status) for v in study.table if v.sense is sense}
    attending = [ARCHITECTURES[name].properties for name in all_targets()]
    return [
        {
            "name": row.name,
            "title": row.title,
            "family": family_title(row),
            "status": status.get(row.name, ""),
        }
        for row in ARCHITECTURES.values()
        if row.properties.state is not State.CACHE or row.properties in attending or row.properties.parts
    ]


def eggs_to_json(boxes: Iterable[Box]) -> list[dict[str, Any]]:
    """Returns the boxes in their order, which is the order of `ElementPlaces` too."""
    return [
        {
            "level": box.level,
            "above": box.above,
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
