"""The checker's evaluation against the compiler's interpreter: two programs, one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from nerode.core import InputError, root_of_unity
from nerode.languages.bestiary import find_language
from nerode.network import (
    ByChoice,
    Factor,
    Interpreter,
    Network,
    Squashed,
    network_to_json,
    zero_map,
)
from nerode.proofs.checker_evaluation import Evaluator
from nerode.proofs.checker_forms import Undecided
from nerode.proofs.checker_network import read_network
from tests.proofs import networks
from tests.proofs.test_windows import last_but


def reflecting(selector: bool) -> Network:
    language = find_language("parity")
    template = networks.parity_network(language)
    layer = template.layers[0]
    choice = networks.affine(list(layer.reads), [({"x=0": 1}, 0), ({"x=1": 1}, 0)])
    factors = ((), (Factor(beta=2, vector=(1, -1)), Factor(beta=1, vector=(2, 1))))
    changed = replace(
        layer,
        state=("a", "b"),
        start=(1, Fraction(1, 3)),
        recurrence=ByChoice.from_factors(
            factors=factors,
            writes=((0, 0), (1, 0)),
            selector=choice if selector else None,
        ),
        readout_units=networks.affine([*layer.reads, "a", "b"], [({"a": 1, "b": -2}, 1)]),
        readout=networks.affine([*layer.reads, "a", "b", "u"], [({"a": 1, "b": -1, "u": Fraction(1, 2)}, 0)]),
    )
    return replace(template, layers=(changed,))


def permuting() -> Network:
    language = find_language("z3")
    template = networks.cyclic_network(language, 3)
    layer = template.layers[0]
    recurrence = ByChoice.from_images(
        images=((0, 1), (1, 0), (1, 1)),
        diagonals=((1, root_of_unity(1, 5)), (root_of_unity(1, 3), 1), (0, 1)),
        writes=((0, 0), (0, 1), (root_of_unity(1, 4), 0)),
    )
    names = [*layer.reads, "re z", "re y", "im z", "im y"]
    changed = replace(
        layer,
        state=("z", "y"),
        start=(1, 0),
        recurrence=recurrence,
        readout_units=zero_map(len(names)),
        readout=networks.affine(names, [({"re z": 1, "im y": 1}, 0), ({"im z": 1}, 0)]),
    )
    return replace(template, layers=(changed,))


MAKERS: dict[str, Callable[[], Network]] = {
    "parity": lambda: networks.parity_network(find_language("parity")),
    "z12": lambda: networks.cyclic_network(find_language("z12"), 12),
    "tomita-5": lambda: networks.one_hot_network(find_language("tomita-5"), find_language("tomita-5").dfa()),
    "shuffle-2": lambda: networks.counter_network(find_language("shuffle-2")),  # type: ignore[arg-type]
    "dyck-2-3": lambda: networks.bounded_dyck_network(find_language("dyck-2-3")),  # type: ignore[arg-type]
    "fading": lambda: networks.set_reset_network(find_language("set-reset"), overwrite=Fraction(1, 4)),
    "delay": lambda: networks.delay_network(last_but(2), 2),
    "reflections": lambda: reflecting(selector=False),
    "selected reflections": lambda: reflecting(selector=True),
    "permutations": permuting,
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_checker_runs_networks_as_the_compiler_does(name: str) -> None:
    network = MAKERS[name]()
    interpreter = Interpreter(network)
    evaluator = Evaluator(read_network(network_to_json(network)))
    rng = np.random.default_rng(11)
    for _ in range(3):
        states, wanted = evaluator.start(), interpreter.start()
        for letter in rng.integers(len(network.alphabet), size=25).tolist():
            wanted, answer = interpreter.step(wanted, letter)
            states, legal = evaluator.step(states, letter)
            assert states == wanted
            assert legal == answer.legal


def test_only_straight_pieces_are_evaluated() -> None:
    network = networks.parity_network(find_language("parity"))
    layer = network.layers[0]
    update = networks.affine([*layer.reads, "sign"], [({"sign": 1}, 0)])
    smooth = replace(layer, recurrence=Squashed(activation="tanh", update=update))
    with pytest.raises(InputError, match="tanh"):
        Evaluator(read_network(network_to_json(replace(network, layers=(smooth,)))))


def test_a_selector_that_selects_nothing_is_no_answer() -> None:
    network = reflecting(selector=True)
    layer = network.layers[0]
    nothing = networks.affine(list(layer.reads), [({"x=0": 1}, 0), ({"x=1": 2}, 0)])
    broken = replace(layer, recurrence=replace(layer.recurrence, selector=nothing))
    evaluator = Evaluator(read_network(network_to_json(replace(network, layers=(broken,)))))
    with pytest.raises(Undecided, match="one-hot"):
        evaluator.step(evaluator.start(), 1)
