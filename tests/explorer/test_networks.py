"""The tables of weights, read back, do what the layer does."""

from __future__ import annotations

import pytest

from nerode.compiler import compile_language
from nerode.core import Exact, read_exact
from nerode.explorer.networks import Matrix, layer_matrices
from nerode.languages import Alphabet, resolve_language
from nerode.network import Interpreter, Layer


def apply(matrix: Matrix, values: dict[str, Exact]) -> list[Exact]:
    found = []
    for row in matrix.cells:
        total: Exact = 0
        for name, cell in zip(matrix.columns, row, strict=True):
            if cell:
                total = total + read_exact(cell) * (1 if name == "+" else values[name])
        found.append(total)
    return found


def tables(layer: Layer, alphabet: Alphabet) -> dict[tuple[str, str], Matrix]:
    return {(m.title, m.letter): m for m in layer_matrices(layer, alphabet)}


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("tomita-6", "dense"),
        ("S3", "permutation-diagonal"),
        ("S3", "deltaproduct-signed"),
        ("D4", "householder"),
        ("Z3", "dense"),
    ],
)
def test_a_matrix_for_each_letter(name: str, target: str) -> None:
    network = compile_language(resolve_language(name), target)
    assert network.depth == 1
    interpreter = Interpreter(network)
    layer = network.layers[0]
    shown = tables(layer, network.alphabet)
    configuration = interpreter.start()
    for letter in [*range(len(network.alphabet)), 0, 1, 1, 0]:
        letter %= len(network.alphabet)
        before = dict(zip(layer.state, configuration[0], strict=True))
        configuration, _ = interpreter.step(configuration, letter)
        matrix = shown["A", network.alphabet.symbols[letter]]
        assert apply(matrix, before) == list(configuration[0])


@pytest.mark.parametrize("name", ["(ab)*", "flip-flop", "tomita-7", "dyck-2-3"])
def test_gates_writes_and_readouts(name: str) -> None:
    network = compile_language(resolve_language(name), "diagonal")
    interpreter = Interpreter(network)
    configuration = interpreter.start()
    for letter in [*range(len(network.alphabet)), 0, 1, 0]:
        stream = interpreter.stream(configuration, letter)
        after, _ = interpreter.step(configuration, letter)
        for layer, h, new in zip(network.layers, configuration, after, strict=True):
            shown = tables(layer, network.alphabet)
            values = {name: stream[name] for name in layer.reads}
            units = shown.get(("units: u = relu(…)", ""))
            if units is not None:
                values |= dict(zip(units.rows, (max(v, 0) for v in apply(units, values)), strict=True))
            gates, writes = apply(shown["gate", ""], values), apply(shown["write", ""], values)
            assert [g * v + w for g, v, w in zip(gates, h, writes, strict=True)] == list(new)
            inside = {n: stream[n] for n in layer.reads} | dict(zip(layer.state, new, strict=True))
            inside |= {f"{n}′": v for n, v in zip(layer.state, h, strict=True)}
            extra = shown.get(("readout units: v = relu(…)", ""))
            if extra is not None:
                inside |= dict(zip(extra.rows, (max(v, 0) for v in apply(extra, inside)), strict=True))
            if layer.outputs:
                assert apply(shown["readout", ""], inside) == [stream[n] for n in layer.outputs]
        configuration = after


def test_large_tables_are_cut() -> None:
    network = compile_language(resolve_language("Z60"), "dense")
    found = layer_matrices(network.layers[0], network.alphabet)
    assert all(len(m.rows) <= 16 and len(m.columns) <= 24 for m in found)
    assert any("of 60×" in m.left_out for m in found)
