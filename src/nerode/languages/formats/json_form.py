"""nerode's own files of automata.

    {"format": "nerode-dfa", "version": 1, "alphabet": ["a", "b"],
     "start": 0, "accepting": [0], "transitions": [[1, 0], [0, 1]]}

`transitions[q][i]` is the state after letter i of the alphabet in state q. All keys are needed and no others
are allowed. A Moore machine, "nerode-moore" as `extract` writes it, has "outputs", a text for each state,
instead of "version" and "accepting".
"""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

from nerode.core import Budget, FormatError, excerpt, parse_json, plural
from nerode.languages.dfa import Dfa
from nerode.languages.formats.moves import Move, Outline, moore_outline, writable_symbols

FORMAT = "nerode-dfa"
VERSION = 1
_KEYS = ("format", "version", "alphabet", "start", "accepting", "transitions")
MOORE = "nerode-moore"
_MOORE_KEYS = ("format", "alphabet", "start", "outputs", "transitions")
_MAX_DIGITS = 18


def outline_from_json(text: str, *, path: Path, budget: Budget) -> Outline:
    """Returns the automaton of a JSON text.

    Args:
        text: the content of the file.
        path: the file, for messages.
        budget: not needed: a table has as many entries as its text.

    Raises:
        FormatError: if the text is not JSON (with the line) or a value is not what it must be (with its
            place, e.g. transitions[3][1]).
    """
    document = _document(text, path)
    symbols = _symbols(document["alphabet"], path)
    rows = _rows(document["transitions"], len(symbols), path)
    outputs = _list(document.get("outputs", []), "outputs", path)
    accepting = _list(document.get("accepting", []), "accepting", path)
    for i, state in enumerate(accepting):
        _state(state, len(rows), f"accepting[{i}]", path)
    if len(set(accepting)) < len(accepting):
        raise FormatError("accepting has a state twice", path=path)
    outline = Outline(
        path=path,
        num_states=len(rows),
        moves=[Move(q, symbols[i], target) for q, row in enumerate(rows) for i, target in enumerate(row)],
        starts=[_state(document["start"], len(rows), "start", path)],
        accepting=accepting,
        symbols=symbols,
    )
    if document["format"] == FORMAT:
        return outline
    if len(outputs) != len(rows) or not all(isinstance(text, str) and text for text in outputs):
        raise FormatError(f"outputs has to be a text for each of {plural(len(rows), 'state')}", path=path)
    return moore_outline(outline, outputs)


def dfa_to_json(dfa: Dfa) -> str:
    """Returns the JSON text, one row of the table a line.

    Raises:
        InputError: if a symbol has a character that text files cannot carry.
    """
    values = {
        "format": FORMAT,
        "version": VERSION,
        "alphabet": list(writable_symbols(dfa)),
        "start": dfa.start,
        "accepting": [q for q, accepts in enumerate(dfa.accepting.tolist()) if accepts],
    }
    head = [f'  "{key}": {json.dumps(value, ensure_ascii=False)},' for key, value in values.items()]
    rows = ",\n".join(f"    {row}" for row in dfa.transitions.tolist())
    return "\n".join(["{", *head, '  "transitions": [', rows, "  ]", "}"]) + "\n"


def _document(text: str, path: Path) -> dict[str, Any]:
    """The keys and values of the outermost object, with every key there and none other."""
    document = parse_json(text, path=path, max_digits=_MAX_DIGITS)
    if not isinstance(document, dict) or document.get("format") not in (FORMAT, MOORE):
        raise FormatError(
            f'this is no automaton of nerode; it would have "format": "{FORMAT}" or "{MOORE}"', path=path
        )
    if document["format"] == MOORE:
        _check_keys(document, _MOORE_KEYS, path)
        return document
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise FormatError(
            f"the version is {_shown(version)}, and {VERSION} is the one that is read", path=path
        )
    _check_keys(document, _KEYS, path)
    return document


def _check_keys(document: dict[str, Any], keys: tuple[str, ...], path: Path) -> None:
    for key in document:
        if key not in keys:
            near = difflib.get_close_matches(key[:60], keys, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"The keys are {', '.join(keys)}"
            raise FormatError(f"unknown key {excerpt(key)}", path=path, hint=hint)
    for key in keys:
        if key not in document:
            raise FormatError(f"the key {key!r} is missing", path=path)


def _symbols(value: object, path: Path) -> list[str]:
    symbols = _list(value, "alphabet", path)
    seen = set()
    for i, symbol in enumerate(symbols):
        if not isinstance(symbol, str):
            raise FormatError(f"alphabet[{i}] is {_shown(symbol)}, not a string", path=path)
        if symbol in seen:
            raise FormatError(f"alphabet[{i}] is {_shown(symbol)} again", path=path)
        seen.add(symbol)
    return symbols


def _rows(value: object, num_letters: int, path: Path) -> list[list[int]]:
    rows = _list(value, "transitions", path)
    if not rows:
        raise FormatError("transitions has no rows; an automaton has at least one state", path=path)
    for q, row in enumerate(rows):
        _list(row, f"transitions[{q}]", path)
        if len(row) != num_letters:
            what = f"transitions[{q}] has {len(row)} entries for {plural(num_letters, 'letter')}"
            raise FormatError(what, path=path)
        for i, target in enumerate(row):
            _state(target, len(rows), f"transitions[{q}][{i}]", path)
    return rows


def _list(value: object, place: str, path: Path) -> list[Any]:
    if not isinstance(value, list):
        raise FormatError(f"{place} is {_shown(value)}, not a list", path=path)
    return value


def _state(value: object, num_states: int, place: str, path: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FormatError(f"{place} is {_shown(value)}, not a state", path=path)
    if not 0 <= value < num_states:
        raise FormatError(f"{place} is {value}, outside the states 0…{num_states - 1}", path=path)
    return value


def _shown(value: object) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    shown = json.dumps(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"
