"""Regular languages in AC0 on mixed layers: a clock with a fixed gate, then set-reset layers that read it.

A language is regular in AC0 exactly when it is star-free once every letter is marked with its position
modulo some m. A time-invariant layer marks the letters; a cascade of set-reset automata does the rest.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from nerode.algebra import find_counter
from nerode.algebra.cascades import decompose
from nerode.compiler.answers import automaton_of
from nerode.compiler.assembly import Assembly
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.constructions.solvable import describe
from nerode.compiler.forms import Form
from nerode.compiler.layer_builder import LayerBuilder
from nerode.compiler.levels.codings import nearness
from nerode.compiler.levels.layers import MachineLayers
from nerode.compiler.levels.machine import tabulate
from nerode.core import NotCompilable, Reference, root_of_unity
from nerode.languages import Dfa, Legal, minimise
from nerode.network import Network
from nerode.verdict import mixed_diagonal, quasi_aperiodic

NAME = "clocked-star-free"

LONGEST_CLOCK = 24
"""Clocks modulo 1, 2, 3 … are tried up to this one."""


def compile_clocked(request: Request) -> Network:
    """Returns a clock modulo m, where one is needed, and layers with gates 0 and 1.

    Implements: [Alsmann2026]

    Raises:
        NotCompilable: if no clock up to LONGEST_CLOCK makes the language star-free.
    """
    dfa = automaton_of(request)
    m, marked = _marked_automaton(dfa, request)
    cascade = decompose(marked, request.options.budget)
    machine = tabulate(cascade, marked, request.options.budget)
    assembly = Assembly(request)
    layers = MachineLayers(assembly, machine, _add_clock(assembly, m) if m > 1 else None)
    for depth in range(1, max(machine.depths, default=0) + 1):
        layers.add_together([i for i, d in enumerate(machine.depths) if d == depth], depth)
    clock = f"a clock modulo {m} marks the letters; " if m > 1 else ""
    return assembly.network(
        layers.decoder(_legal(marked, m)),
        construction=NAME,
        route=f"{clock}{cascade.route}: {describe(machine)}",
        reference=Reference("Alsmann2026"),
    )


def mark_positions(dfa: Dfa, m: int) -> Dfa:
    """Returns the minimal automaton over letters a@i: the language with each letter's position modulo m.

    Words whose marks do not count 0, 1, 2 … lead nowhere.
    """

    def step(place: tuple[int, int], symbol: str) -> tuple[int, int] | None:
        state, time = place
        letter, mark = number[symbol]
        return (int(dfa.transitions[state, letter]), (time + 1) % m) if mark == time else None

    number = {f"{symbol}@{i}": (a, i) for a, symbol in enumerate(dfa.alphabet) for i in range(m)}
    return minimise(
        Dfa.build(number, step, start=(dfa.start, 0), accept=lambda place: bool(dfa.accepting[place[0]]))
    )


def _marked_automaton(dfa: Dfa, request: Request) -> tuple[int, Dfa]:
    for m in range(1, LONGEST_CLOCK + 1):
        marked = mark_positions(dfa, m) if m > 1 else dfa
        if find_counter(marked, request.options.budget) is None:
            return m, marked
    raise NotCompilable(
        request.target.name, [f"no clock modulo 1…{LONGEST_CLOCK} makes the language star-free"]
    )


def _add_clock(assembly: Assembly, m: int) -> list[Form]:
    """Adds the time-invariant layer; returns its marked letters, all marks of the first letter first."""
    builder = LayerBuilder("clock", assembly.stream, complex_state=True)
    turn = builder.coordinate("turn", gate=root_of_unity(1, m), write=0, start=1)
    marked = []
    for a, symbol in enumerate(assembly.alphabet):
        for i in range(m):
            # The clock has already gone on: a letter that is marked i is read when it shows i + 1.
            near = nearness(turn, builder.imaginary(turn), Fraction(i + 1, m), m)
            both = builder.readout_relu(near + assembly.letter(a) - 1)
            marked.append(builder.output(f"x={symbol}@{i}", both))
    assembly.append(builder.build(time_invariant=True), builder.stream)
    return marked


def _legal(marked: Dfa, m: int) -> list[Legal]:
    """What is legal in each state, without the marks."""
    letters = np.any(marked.legal.reshape(marked.num_states, -1, m), axis=2)
    return [
        Legal(frozenset(np.flatnonzero(row).tolist()), bool(end))
        for row, end in zip(letters, marked.accepting, strict=True)
    ]


construction(
    Construction(
        name=NAME,
        title="a clock and a cascade of set-reset layers",
        theorem="mixed-layers-ac0",
        language=quasi_aperiodic,
        architecture=mixed_diagonal,
        build=compile_clocked,
    )
)
