"""Parity by one sign, and cyclic groups by one complex number that turns."""

from __future__ import annotations

from nerode.compiler.answers import automaton_of, point_decoder
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.cyclic_action import CyclicAction, cyclic_action
from nerode.compiler.state_layers import one_layer_network, state_layer
from nerode.core import Exact, NotCompilable, Reference, cosine, root_of_unity, sine
from nerode.languages import Dfa
from nerode.network import Affine, Embedding, Gated, Network, zero_map
from nerode.verdict import complex_gates, diagonal, has_minus_one, input_dependent, linear
from nerode.verdict.theorems import cyclic_group, parity_like

SIGN = "parity-sign"
ROTATION = "cyclic-rotation"

MOST_TURNS = 360
"""Turns by 1/m are offered up to this m: exact arithmetic slows down with it."""


def compile_sign(request: Request) -> Network:
    """Returns the scalar h = ±h, one sign for each letter, for an automaton whose letters swap two states.

    Implements: [Sarrof2024]
    """
    dfa = automaton_of(request)
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
        construction=SIGN,
        route="two states that letters swap or leave: one sign that flips",
        reference=Reference("Sarrof2024"),
    )


def compile_rotation(request: Request) -> Network:
    """Returns the complex scalar h = e(k/m) h, with k the step of the letter on a cycle of m states.

    Implements: [Shakerinava2026]
    """
    dfa = automaton_of(request)
    action = turns_of(dfa, request)
    m = action.order
    layer = state_layer(
        "rotation",
        ["turn"],
        start=(1,),
        reads=Embedding.one_hot(dfa.alphabet).directions,
        recurrence=_gated([root_of_unity(step, m) for step in action.steps]),
        complex_state=True,
    )
    return one_layer_network(
        request,
        layer,
        point_decoder(dfa, layer.outputs, circle(m), action.states),
        construction=ROTATION,
        route=f"the letters turn a cycle of {m} states: one complex number turns by multiples of 1/{m}",
        reference=Reference("Shakerinava2026"),
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


construction(
    Construction(
        name=SIGN,
        title="one sign",
        theorem="parity-one-scalar",
        language=parity_like,
        architecture=linear & diagonal & input_dependent & has_minus_one,
        build=compile_sign,
    )
)

construction(
    Construction(
        name=ROTATION,
        title="one complex number that turns",
        theorem="complex-diagonal-solvable",
        language=cyclic_group,
        architecture=linear & diagonal & input_dependent & complex_gates,
        build=compile_rotation,
    )
)
