"""Gates of diagonal layers read as registers, and the search for the values that they take."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from nerode.compiler import Options, compile_language
from nerode.core import Exact, NotCompilable
from nerode.models.lower.stream import find_updates, plan_stream
from nerode.models.registers import distinct_moves, read_registers, registers_of
from nerode.models.weight_writer import PlaceForm
from nerode.network import Affine, Gated, Network
from tests.models.walks import facts_of, network_for


def with_gate(row: tuple[tuple[int, Exact], ...], bias: Exact) -> Network:
    """The network for parity with another gate over its two letters."""
    network = network_for("parity", "diagonal-signed")
    (layer,) = network.layers
    assert isinstance(layer.recurrence, Gated)
    gate = Affine(num_inputs=2, bias=(bias,), rows=(row,))
    recurrence = dataclasses.replace(layer.recurrence, gate=gate)
    return dataclasses.replace(network, layers=(dataclasses.replace(layer, recurrence=recurrence),))


def test_gates_and_writes() -> None:
    assert find_updates(network_for("parity", "diagonal-signed")) == [[{(1, 0), (-1, 0)}]]
    updates = find_updates(network_for("tomita-4", "mamba", exclusive_scan=False))
    assert [{gate for gate, _ in pairs} for pairs in updates[2]] == [{1, Fraction(1, 4)}, {0}]


@pytest.mark.parametrize("name", ["tomita-3", "abab-star"])
def test_signs_and_registers_apart(name: str) -> None:
    def kinds(options: Options) -> list[set[Exact]]:
        network = compile_language(facts_of(name).language, "diagonal-signed", options, facts=facts_of(name))
        return [{gate for gate, _ in pairs} | {1} for layer in find_updates(network) for pairs in layer]

    assert {1, 0, -1} in kinds(Options())
    assert all(kind in ({1, 0}, {1, -1}, {1}) for kind in kinds(Options(sign_resets=False)))


def test_constant_gates_are_not_searched_for() -> None:
    assert find_updates(network_for("dyck-1", "ssm")) == [[]]


def test_a_gate_of_1_and_another_value() -> None:
    plan = plan_stream(with_gate(((0, Fraction(3, 4)),), Fraction(1, 4)), "test")
    (register,) = read_registers(plan.blocks[0], "test")
    assert register.gate == Fraction(1, 4)
    # The letters stand at the places 1 and 2; the register moves unless the first is there.
    assert register.moves == PlaceForm({1: -1}, 1)
    assert distinct_moves([register, register]) == [register.moves]


def test_a_gate_that_is_always_the_same() -> None:
    plan = plan_stream(with_gate((), Fraction(1, 2)), "test")
    (register,) = read_registers(plan.blocks[0], "test")
    assert (register.moves, register.gate) == (None, Fraction(1, 2))
    assert registers_of(plan.blocks[0], "test") == [register]


@pytest.mark.parametrize("row", [((0, Fraction(1, 2)), (1, -1)), ((0, 2), (1, 3))])
def test_other_gates_are_refused(row: tuple[tuple[int, Exact], ...]) -> None:
    plan = plan_stream(with_gate(row, 0), "test")
    with pytest.raises(NotCompilable, match=r"takes the values .*; here it can take 1 and one other"):
        read_registers(plan.blocks[0], "test")
