"""Brackets of any depth as two integers and as the digits of one number in ReLU units."""

import pytest

from nerode.compiler import Options, compile_language
from nerode.core import NotCompilable
from nerode.languages.bestiary import find_language
from nerode.network import Interpreter
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
