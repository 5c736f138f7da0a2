"""Brackets of any depth as two integers and as the digits of one number in ReLU units."""

from dataclasses import replace

import pytest

from nerode.compiler import Options, compile_language
from nerode.core import Budget, NotCompilable
from nerode.kernel import PREDICT, VALID_PREFIXES, Certificate, certificate_to_json
from nerode.languages import describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Interpreter, network_to_json
from nerode.proofs import certify, check
from tests.compiler.agreement import assert_does


@pytest.mark.parametrize(
    ("name", "target", "construction", "depth"),
    [
        ("dyck-2", "dense", "integer-stack", 2),
        ("dyck-2", "ids4", "integer-stack", 2),
        ("dyck-2", "elman-relu", "relu-stack", 1),
        ("dyck-2", "nru", "relu-stack", 1),
        ("dyck-3", "elman-relu", "relu-stack", 1),
    ],
)
def test_brackets_of_any_depth(name: str, target: str, construction: str, depth: int) -> None:
    network = compile_language(find_language(name), target, Options(construction=construction))
    assert network.depth == depth
    assert_does(network, name, short=7, long=200)


@pytest.mark.parametrize("name", ["dyck-2", "dyck-3"])
def test_digits_in_units_are_proved_for_every_length(name: str) -> None:
    language = find_language(name)
    network = compile_language(language, "elman-relu", Options(construction="relu-stack"))
    proof = certify(network, language)
    assert isinstance(proof, Certificate), proof
    assert [(c.method, c.task, c.length, c.dtype) for c in proof.claims] == [
        ("digit-invariant", PREDICT, "all", None)
    ]
    data = network_to_json(network), describe_language(language, Budget()), certificate_to_json(proof)
    assert check(*data).ok


@pytest.mark.parametrize("row", [0, 1, 2, 3, 4, 5, 6, 8])
def test_units_with_one_wrong_weight_are_not_proved(row: int) -> None:
    language = find_language("dyck-2")
    network = compile_language(language, "elman-relu", Options(construction="relu-stack"))
    (layer,) = network.layers
    update = layer.recurrence.maps()[0]
    # The unit reads a letter with another weight; of a tally, the last row, an error is not counted.
    rows = [*update.rows]
    rows[row] = rows[row][1:]
    changed = replace(update, rows=tuple(rows))
    wrong = replace(layer, recurrence=layer.recurrence.with_maps(lambda _: changed))
    found = certify(replace(network, layers=(wrong,)), language)
    if row < 4:
        assert not isinstance(found, Certificate)
    else:
        # Units that find errors do not matter on prefixes of valid words; 7, above the last digit, never.
        assert isinstance(found, Certificate)
        assert {claim.task for claim in found.claims} == {VALID_PREFIXES}


def test_two_integers_stay_whole_and_close_where_they_opened() -> None:
    network = compile_language(find_language("dyck-2"), "dense", Options(construction="integer-stack"))
    interpreter = Interpreter(network)
    states = interpreter.start()
    first = states[0]
    for letter in (0, 2, 2, 0, 2, 3, 1, 3, 3, 1):
        states, _ = interpreter.step(states, letter)
        assert all(isinstance(value, int) and value > 0 for value in states[0])
    assert tuple(states[0]) == tuple(first)


def test_three_kinds_are_no_pair_of_integers() -> None:
    with pytest.raises(NotCompilable, match="two kinds"):
        compile_language(find_language("dyck-3"), "dense", Options(construction="integer-stack"))


def test_relu_units_are_the_first_that_ask_for_nothing_but_units() -> None:
    network = compile_language(find_language("dyck-2"), "elman-relu")
    assert network.origin.construction == "relu-stack"
