"""AT&T / OpenFst text, `.att` and `.fst.txt`.

A line `source target label`, `source target in out` or `source target in out weight` is a transition, a line
`state` or `state weight` an accepting state; fields are separated by tabs or spaces. The start state is the
first field of the first line. `<eps>` is the empty word.

- Only acceptors: a transition that reads one label and writes another is refused.
- Only unweighted ones: a weight is 0 (nothing) or Infinity (the transition or accepting state is not there,
  as `fstprint` writes a state without transitions); any other is refused, because a set of words cannot
  keep it.
- With a symbol table labels are its symbols or, if one of them is not, its numbers; its row 0 is the empty
  word and its other rows, in their order, are the alphabet. Without one, labels are symbols as they
  stand ("0" too) and the alphabet is the set of labels, sorted.

Not carried: symbols called `<eps>` or `<epsilon>`; the order of the alphabet without the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nerode.core import Budget, FormatError, charge, excerpt
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa
from nerode.languages.formats.moves import Move, Outline, symbol_fault, writable_symbols

_WEIGHTED = "Remove the weights first, e.g. with fstmap --map_type=rmweight"


class _Line(NamedTuple):
    number: int
    fields: list[str]


def outline_from_att(text: str, *, path: Path, budget: Budget, table: SymbolTable | None = None) -> Outline:
    """Returns the automaton of an AT&T text as it stands there.

    Args:
        text: the content of the file.
        path: the file, for messages.
        budget: limits on the states.
        table: its symbol table.

    Raises:
        FormatError: with the line, if the text is no unweighted acceptor.
    """
    lines = _lines(text, path)
    arcs = [line for line in lines if len(line.fields) > 2]
    weight_of = _weight_columns(arcs, path)
    symbol_of = _symbols_of({line.fields[2]: line.number for line in reversed(arcs)}, table, path)
    numbers = _state_numbers(lines, path, budget)
    moves = []
    for line in arcs:
        source, target, label = line.fields[:3]
        if _is_there(line, weight_of[len(line.fields)], path):
            moves.append(Move(numbers[source], symbol_of[label], numbers[target], line.number))
    letters = {symbol for symbol in symbol_of.values() if symbol is not None}
    return Outline(
        path=path,
        num_states=len(set(numbers.values())),
        moves=moves,
        starts=[numbers[lines[0].fields[0]]],
        accepting=_accepting(lines, numbers, path),
        symbols=sorted(letters) if table is None else table.symbols,
    )


def dfa_to_att(dfa: Dfa) -> str:
    """Returns the AT&T text, start state first, each label as input and output.

    Raises:
        InputError: if a symbol is called like the empty word.
    """
    symbols = writable_symbols(dfa, reserved=EPSILON_LABELS)
    rows = dfa.transitions.tolist()
    lines = []
    for q in (dfa.start, *(q for q in range(dfa.num_states) if q != dfa.start)):
        lines += [f"{q}\t{target}\t{a}\t{a}" for a, target in zip(symbols, rows[q], strict=True)]
        if dfa.accepting[q]:
            lines.append(str(q))
        elif not symbols:
            lines.append(f"{q}\tInfinity")
    return "\n".join(lines) + "\n"


def _lines(text: str, path: Path) -> list[_Line]:
    lines = []
    for number, row in enumerate(text.split("\n"), start=1):
        fields = row.replace("\t", " ").removesuffix("\r").split(" ")
        fields = [field for field in fields if field]
        if not fields:
            continue
        if len(fields) > 5:
            raise FormatError(
                f"there are {len(fields)} fields",
                path=path,
                line=number,
                hint="A transition has 3 to 5, an accepting state 1 or 2",
            )
        for field in fields[: 2 if len(fields) > 2 else 1]:
            if not INTEGER.match(field):
                raise FormatError(
                    f"{excerpt(field)} is not a state",
                    path=path,
                    line=number,
                    hint="States are numbers from 0",
                )
        charge()
        lines.append(_Line(number, fields))
    if not lines:
        raise FormatError("the file has no lines", path=path)
    return lines


def _weight_columns(arcs: Sequence[_Line], path: Path) -> dict[int, int | None]:
    """The column of the weight in a transition of 3, 4 or 5 fields; refuses transducers."""
    four = [line for line in arcs if len(line.fields) == 4]
    unequal = [line for line in arcs if len(line.fields) > 3 and line.fields[2] != line.fields[3]]
    columns: dict[int, int | None] = {3: None, 4: None, 5: 4}
    if not unequal:
        return columns
    first = unequal[0]
    label, other = first.fields[2:4]
    if len(four) < sum(len(line.fields) > 3 for line in arcs) or any(
        _weight(line.fields[3]) is None for line in four
    ):
        raise FormatError(
            f"the transition reads {excerpt(label)} and writes {excerpt(other)}",
            path=path,
            line=first.number,
            hint="This is a transducer; give an acceptor",
        )
    if all(INTEGER.match(line.fields[2]) and INTEGER.match(line.fields[3]) for line in four):
        raise FormatError(
            f"the last field {other} may be an output label or a weight",
            path=path,
            line=first.number,
            hint="Give an acceptor, without weights",
        )
    return {**columns, 4: 3}


def _weight(field: str) -> float | None:
    # float() also reads underscores and digits of other scripts, which no tool writes.
    if not field.isascii() or "_" in field:
        return None
    try:
        return float(field)
    except ValueError:
        return None


def _is_there(line: _Line, column: int | None, path: Path) -> bool:
    """Whether the weight in a column is 0 (or absent) and not infinite."""
    if column is None:
        return True
    weight = _weight(line.fields[column])
    if weight is None or (weight != 0 and weight != math.inf):
        raise FormatError(
            f"the weight {excerpt(line.fields[column])} is neither 0 nor Infinity",
            path=path,
            line=line.number,
            hint=_WEIGHTED,
        )
    return weight == 0


def _symbols_of(labels: dict[str, int], table: SymbolTable | None, path: Path) -> dict[str, str | None]:
    """The letter of each label (with the line where it is first), None for the empty word."""
    if table is None:
        return {label: None if label.lower() in EPSILON_LABELS else label for label in labels}
    names = frozenset(table.symbols)

    def is_empty(label: str) -> bool:
        return label.lower() in EPSILON_LABELS or table.is_epsilon(label)

    unnamed = [label for label in labels if label not in names and not is_empty(label)]
    if not unnamed:
        return {label: None if is_empty(label) else label for label in labels}
    meaning: dict[str, str | None] = {}
    for label in labels:
        number = int(label) if INTEGER.match(label) else -1
        if number and number not in table.by_id:
            stranger = min(unnamed, key=labels.__getitem__)
            raise FormatError(
                f"the label {excerpt(stranger)} is not in the symbol table", path=path, line=labels[stranger]
            )
        meaning[label] = table.by_id[number] if number else None
    return meaning


def _state_numbers(lines: Sequence[_Line], path: Path, budget: Budget) -> dict[str, int]:
    """States as they are written, numbered in the order of their values."""
    written = {field for line in lines for field in line.fields[: 2 if len(line.fields) > 2 else 1]}
    values = sorted({int(field) for field in written})
    budget.check("states", len(values), file=path)
    position = {value: i for i, value in enumerate(values)}
    return {field: position[int(field)] for field in written}


def _accepting(lines: Sequence[_Line], numbers: dict[str, int], path: Path) -> list[int]:
    first: dict[int, int] = {}
    accepting = []
    for line in lines:
        if len(line.fields) > 2:
            continue
        state = numbers[line.fields[0]]
        if state in first:
            raise FormatError(
                f"the state {line.fields[0]} was on line {first[state]} already",
                path=path,
                line=line.number,
                hint="Give each accepting state once",
            )
        first[state] = line.number
        if _is_there(line, 1 if len(line.fields) == 2 else None, path):
            accepting.append(state)
    return accepting


EPSILON = "<eps>"
"""How the empty word is written."""

EPSILON_LABELS = frozenset({"<eps>", "<epsilon>"})
"""Labels that stand for the empty word, in lower case, with or without a table."""

INTEGER = re.compile(r"[0-9]{1,18}\Z")
"""State and symbol numbers; longer ones are no numbers of any automaton."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolTable:
    """The letters of a table in the order of its lines, and all its rows by number."""

    symbols: tuple[str, ...]
    by_id: dict[int, str]

    def is_epsilon(self, label: str) -> bool:
        """Whether a label is the row with number 0, whatever its name."""
        return self.by_id.get(0) == label


def table_from_text(text: str, *, path: Path) -> SymbolTable:
    """Returns the symbol table in a text.

    Raises:
        FormatError: with the line, if a row has another form or repeats a symbol or a number.
    """
    by_id: dict[int, str] = {}
    lines: dict[str, int] = {}
    for line, row in enumerate(text.split("\n"), start=1):
        fields = row.split()
        if not fields:
            continue
        if len(fields) != 2 or not INTEGER.match(fields[1]):
            raise FormatError(
                f"the row {excerpt(row.strip())} is not of the form `symbol id`", path=path, line=line
            )
        symbol, number = fields[0], int(fields[1])
        if symbol in lines:
            raise FormatError(
                f"the symbol {excerpt(symbol)} was on line {lines[symbol]}", path=path, line=line
            )
        if number in by_id:
            raise FormatError(
                f"the number {number} was that of {excerpt(by_id[number])}", path=path, line=line
            )
        if number and symbol.lower() in EPSILON_LABELS:
            raise FormatError(
                f"{excerpt(symbol)} stands for the empty word, whose number is 0", path=path, line=line
            )
        fault = symbol_fault(symbol)
        if number and fault:
            raise FormatError(
                f"{excerpt(symbol)} cannot be a symbol: {fault}", path=path, line=line, hint="Rename it"
            )
        by_id[number] = symbol
        lines[symbol] = line
    letters = tuple(symbol for number, symbol in by_id.items() if number)
    return SymbolTable(symbols=letters, by_id=by_id)


def table_to_text(alphabet: Alphabet) -> str:
    """Returns the table that numbers the letters 1, 2, … in order."""
    rows = [f"{EPSILON}\t0", *(f"{symbol}\t{i}" for i, symbol in enumerate(alphabet, start=1))]
    return "\n".join(rows) + "\n"
