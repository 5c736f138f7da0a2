"""Cyclic groups: the cycle that letters turn, and one sign for a cycle of two states."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from nerode.compiler.construction import Construction, Request
from nerode.compiler.network_builder import one_layer_network, point_decoder, state_layer
from nerode.core import Exact, NotCompilable, Reference, cosine, sine
from nerode.languages import Dfa
from nerode.network import Affine, Embedding, Gated, Network, zero_map
from nerode.verdict import (
    diagonal,
    has_minus_one,
    input_dependent,
    linear,
)
from nerode.verdict.theorems import parity_like

MOST_TURNS = 360
"""Turns by 1/m are offered up to this m: exact arithmetic slows down with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclicAction:
    """States as positions on a cycle, letters as steps along it.

    Attributes:
        order: number of states, and length of the cycle.
        positions: the position of each state; the start is 0.
        steps: for each letter how far it goes.
    """

    order: int
    positions: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def states(self) -> tuple[int, ...]:
        """The state at each position."""
        found = [0] * self.order
        for state, position in enumerate(self.positions):
            found[position] = state
        return tuple(found)


def cyclic_action(dfa: Dfa) -> CyclicAction | None:
    """Returns the cycle that the letters turn, None if they do not generate a cyclic group.

    A cyclic group that takes the start to every state has exactly one element for each state. The first
    letter that reaches all states by itself, if there is one, goes one step.
    """
    words = itertools.chain(
        ((letter,) for letter in range(dfa.num_letters)), map(dfa.access_word, dfa.breadth_first.tolist())
    )
    for word in words:
        images = dfa.action(word).tolist()
        positions = {dfa.start: 0}
        state = images[dfa.start]
        while state not in positions:
            positions[state] = len(positions)
            state = images[state]
        if len(positions) == dfa.num_states and state == dfa.start:
            return _read_off(dfa, tuple(positions[q] for q in range(dfa.num_states)))
    return None


def _read_off(dfa: Dfa, positions: tuple[int, ...]) -> CyclicAction | None:
    n = dfa.num_states
    steps = tuple(positions[q] for q in dfa.transitions[dfa.start].tolist())
    for q, row in enumerate(dfa.transitions.tolist()):
        for letter, target in enumerate(row):
            if positions[target] != (positions[q] + steps[letter]) % n:
                return None
    return CyclicAction(order=n, positions=positions, steps=steps)


def compile_sign(request: Request) -> Network:
    """Returns the scalar h = ±h, one sign for each letter, for an automaton whose letters swap two states.

    Implements: [Sarrof2024]
    """
    dfa = request.automaton
    action = turns_of(dfa, request)
    layer = state_layer(
        "parity",
        ["sign"],
        start=(1,),
        reads=Embedding.one_hot(dfa.alphabet).directions,
        recurrence=_gated([-1 if step else 1 for step in action.steps]),
    )
    return one_layer_network(
        request,
        layer,
        point_decoder(dfa, layer.outputs, ((1,), (-1,)), action.states),
        route="two states that letters swap or leave: one sign that flips",
        reference=Reference("Sarrof2024"),
    )


def turns_of(dfa: Dfa, request: Request) -> CyclicAction:
    """Returns the cycle that the letters of an automaton turn.

    Raises:
        NotCompilable: if they do not, or if the cycle is too long for exact roots of unity.
    """
    action = cyclic_action(dfa)
    if action is None:
        raise NotCompilable(request.target.name, ["the letters do not turn one cycle of states"])
    if action.order > MOST_TURNS:
        raise NotCompilable(
            request.target.name,
            [f"roots of unity of order {action.order} are slow; exact rotations stop at {MOST_TURNS}"],
        )
    return action


def circle(m: int) -> list[tuple[Exact, Exact]]:
    """Returns m points on the unit circle, counter-clockwise from (1, 0)."""
    return [(cosine(k, m), sine(k, m)) for k in range(m)]


def _gated(gates: list[Exact]) -> Gated:
    """One coordinate with this gate for each letter, and no write."""
    row = tuple(enumerate(gates))
    return Gated(gate=Affine(num_inputs=len(gates), bias=(0,), rows=(row,)), write=zero_map(len(gates), 1))


PARITY_SIGN = Construction(
    name="parity-sign",
    title="one sign",
    theorem="parity-one-scalar",
    language=parity_like,
    architecture=linear & diagonal & input_dependent & has_minus_one,
    build=compile_sign,
)
