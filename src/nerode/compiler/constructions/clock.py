"""Languages of lengths modulo m on time-invariant layers: a root of unity, or a cyclic shift."""

from __future__ import annotations

from nerode.compiler.answers import automaton_of, one_hot_decoder, point_decoder
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.constructions.cyclic import circle, turns_of
from nerode.compiler.state_layers import one_layer_network, state_layer
from nerode.core import Reference, root_of_unity
from nerode.network import Fixed, Network, zero_map
from nerode.verdict import (
    can_hold,
    complex_gates,
    dense,
    diagonal,
    group_language,
    length_only,
    linear,
    mixed_diagonal,
    time_invariant,
)

ROTATION = "clock-rotation"
SHIFT = "clock-shift"


def compile_clock_rotation(request: Request) -> Network:
    """Returns the complex scalar h = e(1/m) h, which counts positions modulo m whatever the letters are.

    Implements: [Alsmann2026]
    """
    dfa = automaton_of(request)
    action = turns_of(dfa, request)
    m = action.order
    layer = state_layer(
        "clock",
        ["turn"],
        start=(1,),
        recurrence=Fixed(matrix=(((0, root_of_unity(1, m)),),), write=zero_map(0, 1)),
        complex_state=True,
    )
    return one_layer_network(
        request,
        layer,
        point_decoder(dfa, layer.outputs, circle(m), action.states),
        construction=ROTATION,
        route=f"only the length modulo {m} matters: one complex number with the fixed gate e(1/{m})",
        reference=Reference("Alsmann2026"),
    )


def compile_clock_shift(request: Request) -> Network:
    """Returns the one-hot position on a cycle of m states, moved by one fixed permutation matrix.

    Implements: [Alsmann2026]
    """
    dfa = automaton_of(request)
    n = dfa.num_states
    names = [f"q={q}" for q in range(n)]
    came_from = {row[0] if row else q: q for q, row in enumerate(dfa.transitions.tolist())}
    layer = state_layer(
        "clock",
        names,
        start=[int(q == dfa.start) for q in range(n)],
        recurrence=Fixed(matrix=tuple(((came_from[q], 1),) for q in range(n)), write=zero_map(0, n)),
    )
    return one_layer_network(
        request,
        layer,
        one_hot_decoder(dfa, names),
        construction=SHIFT,
        route=f"only the length modulo {n} matters: a fixed cyclic shift of {n} zeros and ones",
        reference=Reference("Alsmann2026"),
    )


construction(
    Construction(
        name=ROTATION,
        title="one complex number with a fixed gate",
        theorem="time-invariant-clock",
        language=length_only & group_language,
        architecture=(linear & time_invariant & diagonal & complex_gates & can_hold) | mixed_diagonal,
        build=compile_clock_rotation,
    )
)

construction(
    Construction(
        name=SHIFT,
        title="a fixed cyclic shift",
        theorem="time-invariant-clock-floats",
        language=length_only & group_language,
        architecture=linear & time_invariant & dense,
        build=compile_clock_shift,
    )
)
