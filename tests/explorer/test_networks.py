"""The tables of weights, read back, do what the layer does."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from nerode.compiler import compile_language
from nerode.core import Exact, read_exact
from nerode.explorer.jobs import run_job
from nerode.explorer.networks import Matrix, layer_matrices
from nerode.languages import Alphabet, resolve_language
from nerode.network import Interpreter, Layer
from nerode.proofs import check_folder
from nerode.verdict import decide


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


def ask(job: str, **payload: Any) -> dict[str, Any]:
    answer = run_job(job, payload)
    assert "error" not in answer, answer
    return answer


@pytest.mark.parametrize("name", ["(ab)*", "tomita-3", "S3", "flip-flop"])
def test_pictures_show_the_minimal_automaton(name: str) -> None:
    found = ask("language", language={"text": name})
    dfa = resolve_language(name).dfa()
    live = [q for q in range(dfa.num_states) if dfa.live[q]]
    moves = {(q, int(p)) for q in live for p in dfa.transitions[q] if dfa.live[p]}
    assert {tuple(arrow) for arrow in found["arrows"]} == moves
    # One more edge leads to the start.
    assert found["automaton"].count('<g class="edge') == len(moves) + 1
    assert found["states"] == dfa.num_states
    assert len(found["alphabet"]) == dfa.num_letters


def test_targets_carry_the_verdict_of_the_sense() -> None:
    for sense in ("finite-precision", "exact", "robust"):
        found = ask("language", language={"text": "(aa)*"}, sense=sense)
        table = decide(resolve_language("(aa)*"))
        expected = {v.architecture: str(v.status) for v in table if v.sense == sense}
        shown = {t["name"]: t["status"] for t in found["targets"] if t["status"]}
        assert shown == {name: status for name, status in expected.items() if name in shown}
        assert shown["mamba"] == "no"
        assert "transformer" not in shown


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"text": "(ab"}, "pattern", "unclosed"),
        ({"text": "H (a ->", "mode": "ltl"}, "pattern", "column"),
        ({"text": "tomita-9"}, "name", "no language called tomita-9"),
        ({"text": "x.att", "file": "0 1\n"}, "format", "x.att"),
        ({"text": "x.exe", "file": "MZ"}, "input", "no language"),
        ({"text": "x.json", "file": "{"}, "format", "x.json"),
        ({"text": "a" * 30_000}, "input", "too long"),
        ({"text": "(a|b)*a(a|b){20}"}, "budget", "3,000 states"),
    ],
)
def test_errors_are_told_in_place(given: dict[str, str], kind: str, message: str) -> None:
    error = run_job("language", {"language": given})["error"]
    assert error["kind"] == kind
    assert message in error["message"]
    assert "/tmp" not in error["message"]


def test_markup_in_a_symbol_stays_text() -> None:
    order = {"text": "x.att", "file": "0 1 <img/src=x>\n1\n"}
    found = ask("language", language=order)
    assert "<img" not in json.dumps([found["automaton"], found["fragments"]])


def test_a_refusal_is_an_answer() -> None:
    found = ask("network", language={"text": "(aa)*"}, target="mamba")
    assert any("star-free" in reason for reason in found["refused"])
    assert (
        "mamba"
        in run_job("trace", {"language": {"text": "(aa)*"}, "word": "a", "target": "mamba"})["error"][
            "message"
        ]
    )


def test_the_packed_folder_is_proved(tmp_path: Path) -> None:
    packed = base64.b64decode(ask("folder", language={"text": "(aa)*"}, target="lstm")["file"])
    zipfile.ZipFile(io.BytesIO(packed)).extractall(tmp_path)
    assert check_folder(tmp_path / "lstm").ok
    proof = ask("proof", language={"text": "(aa)*"}, target="lstm")
    assert proof["proved"]
    assert any("noise" in claim for claim in proof["claims"])


def test_counters_and_stacks_are_told_in_words() -> None:
    found = ask("trace", language={"text": "anbn"}, word="aab")
    assert [found["states"]["values"][i] for i in found["states"]["at"]][:2] != ["dead", "dead"]
    assert all("Counters" not in str(v) for v in found["states"]["values"])
    dead = ask("trace", language={"text": "anbn"}, word="ba")
    assert dead["states"]["values"][dead["states"]["at"][-1]] == "dead"
