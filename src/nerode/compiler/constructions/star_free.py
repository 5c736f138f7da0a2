"""Star-free languages as cascades of set-reset automata, and regular languages in AC0 behind a clock.

Any counter-free automaton is a cascade of set-reset automata, one diagonal layer per depth. A language is
regular in AC0 exactly when it is star-free once every letter is marked with its position modulo some m: a
time-invariant layer marks the letters, a cascade of set-reset automata does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from nerode.algebra import find_counter
from nerode.algebra.cascades import NotCounterFree, decompose
from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.group_cascades import describe
from nerode.compiler.forms import DirectionForm
from nerode.compiler.layer_builder import LayerBuilder
from nerode.compiler.level_codings import nearness
from nerode.compiler.level_layers import MachineLayers, add_position_clock
from nerode.compiler.level_machine import tabulate
from nerode.compiler.network_builder import LayerStack, legal_sets
from nerode.core import NotCompilable, Reference, root_of_unity
from nerode.languages import Dfa, Legal, minimise
from nerode.network import Network
from nerode.verdict import (
    can_fade,
    can_hold,
    diagonal,
    householder,
    input_dependent,
    linear,
    mixed_diagonal,
    quasi_aperiodic,
    star_free,
)

STAR_FREE_CASCADE = "star-free cascade"
"""The name under which the facts keep the cascade of a star-free language."""

LONGEST_CLOCK = 24
"""Clocks modulo 1, 2, 3 … are tried up to this one."""


def compile_star_free(request: Request) -> Network:
    """Returns diagonal layers with gates 0 and 1 that run a cascade of set-reset automata.

    Implements: [Sarrof2024], [KrohnRhodes1965]
    """
    dfa, budget = request.automaton, request.options.budget
    try:
        cascade = request.once(STAR_FREE_CASCADE, lambda: decompose(dfa, budget))
    except NotCounterFree as refusal:
        raise NotCompilable(request.target.name, [str(refusal)]) from None
    machine = request.once("machine of the star-free cascade", lambda: tabulate(cascade, dfa, budget))
    stack = LayerStack(request)
    layers = MachineLayers(stack, machine)
    layers.add_all()
    digits = f"; labels before the letter kept by gates of {request.options.retention}"
    return stack.network(
        layers.decoder(),
        route=f"{cascade.route}: {describe(machine)}{'' if request.options.exclusive_scan else digits}",
        reference=Reference("Sarrof2024"),
    )


STAR_FREE = Construction(
    name="star-free",
    title="a cascade of set-reset layers",
    theorem="star-free-selective",
    language=star_free,
    architecture=linear & diagonal & input_dependent & can_hold & can_fade,
    build=compile_star_free,
)

STAR_FREE_DELTA_RULE = Construction(
    name="star-free-delta-rule",
    title="a cascade of set-reset heads",
    theorem="star-free-delta-rule",
    language=star_free,
    architecture=linear & householder & input_dependent & can_hold,
    build=compile_star_free,
)


def compile_clocked(request: Request) -> Network:
    """Returns a clock modulo m, where one is needed, and layers with gates 0 and 1.

    Implements: [Alsmann2026]

    Raises:
        NotCompilable: if no clock up to LONGEST_CLOCK makes the language star-free.
    """
    dfa = request.automaton
    m, marked = marked_automaton(dfa, request, lambda found: is_counter_free(found, request))
    cascade = decompose(marked, request.options.budget)
    machine = tabulate(cascade, marked, request.options.budget)
    stack = LayerStack(request)
    layers = MachineLayers(stack, machine, add_clock(stack, m) if m > 1 else None)
    layers.add_all()
    clock = f"a clock modulo {m} marks the letters; " if m > 1 else ""
    return stack.network(
        layers.decoder(unmarked_legal(marked, m)),
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


def marked_automaton(dfa: Dfa, request: Request, fits: Callable[[Dfa], bool]) -> tuple[int, Dfa]:
    """Returns the least m for which the automaton over letters marked with positions modulo m fits.

    Raises:
        NotCompilable: if there is none up to LONGEST_CLOCK.
    """
    for m in range(1, LONGEST_CLOCK + 1):
        marked = mark_positions(dfa, m) if m > 1 else dfa
        if fits(marked):
            return m, marked
    raise NotCompilable(
        request.target.name, [f"no clock modulo 1…{LONGEST_CLOCK} makes the language simple enough"]
    )


class ReadLetters(NamedTuple):
    """Letters as forms, their automaton, what is legal in its states; m = 1 and no route without marks."""

    forms: list[DirectionForm]
    dfa: Dfa
    legal: list[Legal]
    m: int = 1
    route: str = ""


def read_letters(stack: LayerStack, fits: Callable[[Dfa], bool], *, plain: bool) -> ReadLetters:
    """Returns the letters of the language if they are good (`plain`), or else marked ones that fit.

    Raises:
        NotCompilable: if no marks fit.
    """
    dfa = stack.request.automaton
    if plain:
        return ReadLetters([stack.letter(a) for a in range(dfa.num_letters)], dfa, legal_sets(dfa))
    m, marked = marked_automaton(dfa, stack.request, fits)
    route = f"letters are marked with the position modulo {m}; "
    return ReadLetters(add_position_clock(stack, m), marked, unmarked_legal(marked, m), m, route)


def star_free_letters(stack: LayerStack) -> ReadLetters:
    """Returns letters over which the language is star-free."""
    plain = is_counter_free(stack.request.automaton, stack.request)
    return read_letters(stack, lambda marked: is_counter_free(marked, stack.request), plain=plain)


def is_counter_free(dfa: Dfa, request: Request) -> bool:
    """Returns whether an automaton is star-free."""
    return find_counter(dfa, request.options.budget) is None


def add_clock(stack: LayerStack, m: int) -> list[DirectionForm]:
    """Adds the time-invariant layer; returns its marked letters, all marks of the first letter first."""
    builder = LayerBuilder("clock", stack.stream, complex_state=True)
    turn = builder.coordinate("turn", gate=root_of_unity(1, m), write=0, start=1)
    marked = []
    for a, symbol in enumerate(stack.alphabet):
        for i in range(m):
            # The clock has already gone on: a letter that is marked i is read when it shows i + 1.
            near = nearness(turn, builder.imaginary(turn), Fraction(i + 1, m), m)
            both = builder.readout_relu(near + stack.letter(a) - 1)
            marked.append(builder.output(f"x={symbol}@{i}", both))
    stack.append(builder.build(time_invariant=True), builder.stream)
    return marked


def unmarked_legal(marked: Dfa, m: int) -> list[Legal]:
    """Returns the legal letters of each state of an automaton over marked letters, without the marks."""
    letters = np.any(marked.legal.reshape(marked.num_states, -1, m), axis=2)
    return [
        Legal(frozenset(np.flatnonzero(row).tolist()), bool(end))
        for row, end in zip(letters, marked.accepting, strict=True)
    ]


CLOCKED_STAR_FREE = Construction(
    name="clocked-star-free",
    title="a clock and a cascade of set-reset layers",
    theorem="mixed-layers-ac0",
    language=quasi_aperiodic,
    architecture=mixed_diagonal,
    build=compile_clocked,
)
