"""Any automaton in one layer of 0/1 matrices: the state is its one-hot vector (the IDS4 form)."""

from __future__ import annotations

from nerode.compiler.answers import automaton_of, one_hot_decoder
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.state_layers import one_layer_network, state_layer
from nerode.core import Reference
from nerode.languages import Dfa
from nerode.network import ByChoice, Network, Row
from nerode.verdict import dense, input_dependent, linear, regular

NAME = "dense-one-hot"


def compile_dense(request: Request) -> Network:
    """Returns the network whose transition matrices are those of the automaton.

    The start state is the start vector; the theorem writes it with a start symbol instead.

    Implements: [Merrill2024, Theorem 5.2]
    """
    dfa = automaton_of(request)
    names = [f"q={q}" for q in range(dfa.num_states)]
    nothing = (0,) * dfa.num_states
    layer = state_layer(
        "automaton",
        names,
        start=[int(q == dfa.start) for q in range(dfa.num_states)],
        recurrence=ByChoice.from_rows(
            matrices=tuple(_matrix(dfa, letter) for letter in range(dfa.num_letters)),
            writes=(nothing,) * dfa.num_letters,
        ),
    )
    return one_layer_network(
        request,
        layer,
        one_hot_decoder(dfa, names),
        construction=NAME,
        route=f"one layer holds the one-hot vector of the {dfa.num_states} states",
        reference=Reference("Merrill2024", "Theorem 5.2"),
    )


def _matrix(dfa: Dfa, letter: int) -> tuple[Row, ...]:
    rows: list[list[tuple[int, int]]] = [[] for _ in range(dfa.num_states)]
    for q, image in enumerate(dfa.transitions[:, letter].tolist()):
        rows[image].append((q, 1))
    return tuple(map(tuple, rows))


construction(
    Construction(
        name=NAME,
        title="one-hot state, 0/1 matrices",
        theorem="regular-by-dense-matrices",
        language=regular,
        architecture=linear & dense & input_dependent,
        build=compile_dense,
    )
)
