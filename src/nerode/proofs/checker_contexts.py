"""What a layer that forgets puts out after each window of words.

A layer that looks at the last n-1 words puts out the same after every prefix that ends in the same n-1
words, so each window has to be looked at once. Two kinds of layers are read: linear ones with one matrix and
ReLU units behind the state, and Elman layers of ReLU units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from nerode.core import InputError
from nerode.proofs.checker_linear_windows import Active, LinearWindows, Window, rational
from nerode.proofs.checker_problem import Problem
from nerode.proofs.checker_records import (
    CheckedNetwork,
    Fixed,
    Layer,
    Row,
    Squashed,
    before,
    now,
    seen_unit,
)

Terms = tuple[Fraction, list[tuple[str, Fraction]]]


def outputs_after(problem: Problem, windows: Sequence[Window]) -> Iterator[tuple[Window, Active]]:
    """Yields for each window the directions that are not zero after it.

    Raises:
        InputError: if the network is not of a kind that is read here.
    """
    layer = _only_layer(problem.network)
    if isinstance(layer.moves, Fixed):
        yield from _linear_windows(problem, layer, layer.moves, len(windows[0])).outputs_after(windows)
    elif isinstance(layer.moves, Squashed) and layer.moves.activation == "relu":
        yield from _stepped(problem.network, layer, layer.moves, windows)
    else:
        raise InputError("the recurrence is neither linear with one matrix nor made of ReLU units")


def lone_windows(problem: Problem, length: int) -> tuple[list[Window], Active]:
    """Returns the windows on which units fire that do not always fire, and what there is on all others.

    Raises:
        InputError: if the network is not linear, or a unit fires on some windows, but not on one or on all.
    """
    layer = _only_layer(problem.network)
    if not isinstance(layer.moves, Fixed):
        raise InputError("where the units fire is only found for linear recurrences")
    return _linear_windows(problem, layer, layer.moves, length).lone_windows()


def _linear_windows(problem: Problem, layer: Layer, moves: Fixed, length: int) -> LinearWindows:
    key = (LinearWindows, length)
    if key not in problem.notes:
        problem.notes[key] = LinearWindows(problem.network, layer, moves, length)
    found: LinearWindows = problem.notes[key]
    return found


def _only_layer(network: CheckedNetwork) -> Layer:
    if len(network.layers) != 1:
        raise InputError(f"the network has {len(network.layers)} layers; this method is for one")
    layer = network.layers[0]
    if layer.units or layer.complex_state or layer.exposes_previous:
        raise InputError("the layer has parts that this method does not read")
    return layer


def _stepped(
    network: CheckedNetwork, layer: Layer, moves: Squashed, windows: Sequence[Window]
) -> Iterator[tuple[Window, Active]]:
    """Steps through the words of each window from the start state, which no longer matters at its end."""
    rows = [_terms(row) for row in moves.rows]
    units = [_terms(row) for row in layer.seen_units]
    outputs = [(name, _terms(row)) for name, row in layer.outputs]
    embedding = [{name: rational(v) for name, v in letter.items()} for letter in network.embedding]
    start = {before(i): rational(v) for i, v in enumerate(layer.start)}
    # Before the last word only the coordinates that others read have to be known.
    read = {name for _, terms in rows for name, _ in terms}
    kept = [i for i in range(len(rows)) if before(i) in read]
    for window in windows:
        table = {**embedding[window[0]], **start}
        for word in window[1:]:
            state = {before(i): _relu(rows[i], table) for i in kept}
            table = {**embedding[word], **state}
        seen = dict(embedding[window[-1]])
        seen.update({now(i): _relu(row, table) for i, row in enumerate(rows)})
        seen.update({seen_unit(j): _relu(row, seen) for j, row in enumerate(units)})
        yield window, {name: v for name, row in outputs if (v := _value(row, seen))}


def _terms(row: Row) -> Terms:
    return rational(row[0]), [(name, rational(c)) for name, c in row[1]]


def _relu(row: Terms, table: dict[str, Fraction]) -> Fraction:
    return max(_value(row, table), Fraction(0))


def _value(row: Terms, table: dict[str, Fraction]) -> Fraction:
    total = row[0]
    for name, c in row[1]:
        if table[name]:
            total += c * table[name]
    return total
