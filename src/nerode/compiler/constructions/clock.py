"""Numbers that turn: cyclic groups, lengths modulo m by a clock, bursts of fixed length by offset counting.

The letters of a cyclic group turn a cycle; one sign does for a cycle of two states.

Offset counting: the number is 1 while the signal rests and turns once around during a burst of n counted
symbols, so that it is 1 again where the burst must end. Nothing sets it back: after a burst that was cut
short its angle is wrong for ever, and a burst that goes on after n symbols looks like the next one. The
network is therefore correct after every prefix of a word of the language, and after no other prefix is
anything claimed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from nerode.compiler.construction import Construction, Request
from nerode.compiler.network_builder import (
    legal_sets,
    one_hot_decoder,
    one_layer_network,
    point_decoder,
    state_layer,
)
from nerode.core import Exact, NotCompilable, Reference, cosine, root_of_unity, sine
from nerode.languages import Dfa
from nerode.network import Affine, Embedding, Fixed, Gated, Network, PointDecoder, zero_map
from nerode.verdict import (
    Facts,
    LanguageCondition,
    can_hold,
    complex_gates,
    dense,
    diagonal,
    group_language,
    has_minus_one,
    input_dependent,
    length_only,
    linear,
    mixed_diagonal,
    time_invariant,
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


REST, COUNTED = 0, 1


def compile_clock_rotation(request: Request) -> Network:
    """Returns the complex scalar h = e(1/m) h, which counts positions modulo m whatever the letters are.

    Implements: [Alsmann2026]
    """
    states = turns_of(request.automaton, request).states
    return _clock(request, states, f"only the length modulo {len(states)} matters:", "Alsmann2026")


def _clock(request: Request, states: Sequence[int], why: str, key: str) -> Network:
    """One complex number that turns once while the position goes around these states."""
    m = len(states)
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
        point_decoder(request.automaton, layer.outputs, circle(m), states),
        route=f"{why} one complex number with the fixed gate e(1/{m})",
        reference=Reference(key),
    )


def compile_clock_shift(request: Request) -> Network:
    """Returns the one-hot position on a cycle of m states, moved by one fixed permutation matrix.

    Implements: [Alsmann2026]
    """
    dfa = request.automaton
    n = dfa.num_states
    names = [f"q={q}" for q in range(n)]
    predecessor = {row[0] if row else q: q for q, row in enumerate(dfa.transitions.tolist())}
    layer = state_layer(
        "clock",
        names,
        start=[int(q == dfa.start) for q in range(n)],
        recurrence=Fixed(matrix=tuple(((predecessor[q], 1),) for q in range(n)), write=zero_map(0, n)),
    )
    return one_layer_network(
        request,
        layer,
        one_hot_decoder(dfa, names),
        route=f"only the length modulo {n} matters: a fixed cyclic shift of {n} zeros and ones",
        reference=Reference("Alsmann2026"),
    )


CLOCK_ROTATION = Construction(
    name="clock-rotation",
    title="one complex number with a fixed gate",
    theorem="time-invariant-clock",
    language=length_only & group_language,
    architecture=(linear & time_invariant & diagonal & complex_gates & can_hold) | mixed_diagonal,
    build=compile_clock_rotation,
)

CLOCK_SHIFT = Construction(
    name="clock-shift",
    title="a fixed cyclic shift",
    theorem="time-invariant-clock-floats",
    language=length_only & group_language,
    architecture=linear & time_invariant & dense,
    build=compile_clock_shift,
)


def live_cycle(dfa: Dfa) -> list[int] | None:
    """Returns the states along the only way that prefixes of words can take, if it leads back to the start.

    None where a live state has several live successors, or the way ends.
    """
    state, found = dfa.start, list[int]()
    while state not in found:
        found.append(state)
        targets = {t for t in dfa.transitions[state].tolist() if dfa.live[t]}
        if len(targets) != 1:
            return None
        (state,) = targets
    return found if state == dfa.start else None


def compile_position_clock(request: Request) -> Network:
    """Returns one complex number that turns once while a word goes once around its only cycle; predicts only.

    Implements: [NerodeTheory]
    """
    cycle = live_cycle(request.automaton)
    if cycle is None or len(cycle) > MOST_TURNS:
        raise NotCompilable(request.target.name, [f"no cycle of up to {MOST_TURNS} states is the only way"])
    why = f"predicts only: on prefixes of words the position modulo {len(cycle)} decides;"
    return _clock(request, cycle, why, "NerodeTheory")


def _goes_around(facts: Facts) -> bool | None:
    return None if facts.automaton is None else live_cycle(facts.automaton) is not None


POSITION_CLOCK = Construction(
    name="position-clock",
    title="the position on the only cycle, by one complex number",
    theorem="position-decides",
    language=LanguageCondition("one whose words go around one cycle", _goes_around),
    architecture=linear & time_invariant & complex_gates & can_hold,
    build=compile_position_clock,
    predicts_only=True,
)


def burst_length(dfa: Dfa) -> int | None:
    """Returns n if the automaton is that of bursts of exactly n counted symbols, each after a rest.

    The first letter is the resting symbol, the second the counted one.
    """
    if dfa.num_letters != 2:
        return None
    dead = dfa.run([COUNTED])
    resting = dfa.run([REST])
    n = 1
    state = dfa.run([COUNTED], state=resting)
    while state != dfa.start and n < dfa.num_states:
        if dfa.run([REST], state=state) != dead or dfa.accepting[state]:
            return None
        state = dfa.run([COUNTED], state=state)
        n += 1
    shape = (
        state == dfa.start
        and dfa.accepting[dfa.start]
        and dfa.accepting[resting]
        and dfa.run([REST], state=resting) == resting
        and not dfa.live[dead]
        and dfa.num_states == n + 2
    )
    return n if shape else None


def compile_offset_counting(request: Request) -> Network:
    """Returns the complex scalar h = e(1/n) h + (1 - e(1/n)) [rest], read together with the letter.

    Right after every prefix of a word of the language; see the top of the file for the others.

    Implements: [MemoryGeneralization, Appendix I]
    """
    dfa = request.automaton
    n = burst_length(dfa)
    if n is None or n > MOST_TURNS:
        raise NotCompilable(
            request.target.name, [f"the language is not one of bursts of fixed length up to {MOST_TURNS}"]
        )
    gate = root_of_unity(1, n)
    letters = Embedding.one_hot(dfa.alphabet).directions
    write = 1 - gate
    layer = state_layer(
        "burst",
        ["turn"],
        start=(1,),
        reads=letters[REST : REST + 1],
        recurrence=Fixed(
            matrix=(((0, gate),),),
            write=Affine(num_inputs=1, bias=(0,), rows=(((0, write),) if write != 0 else (),)),
        ),
        complex_state=True,
    )
    return one_layer_network(
        request,
        layer,
        _decoder(dfa, n, (*letters, *layer.outputs)),
        route=f"predicts only: one complex number turns once during a burst of {n}; correct after every "
        "prefix of a word of the language, wrong for ever after an interrupted burst, and an over-long burst "
        "looks like the next one",
        reference=Reference("MemoryGeneralization", "Appendix I"),
    )


def _decoder(dfa: Dfa, n: int, reads: tuple[str, ...]) -> PointDecoder:
    """A point for rest, and one for each symbol of a burst: letters one-hot, then the number."""
    legal = legal_sets(dfa)
    resting = dfa.run([REST])
    burst = [dfa.run([COUNTED] * k, state=resting) for k in range(1, n + 1)]
    points = [(1, 0, 1, 0), *((0, 1, cosine(k, n), sine(k, n)) for k in range(1, n + 1))]
    return PointDecoder(
        reads=reads,
        points=tuple(points),
        answers=(legal[resting], *(legal[q] for q in burst)),
        empty=legal[dfa.start],
    )


def _has_bursts(facts: Facts) -> bool | None:
    return None if facts.automaton is None else burst_length(facts.automaton) is not None


bursts = LanguageCondition("bursts of fixed length after a rest", _has_bursts)

OFFSET_COUNTING = Construction(
    name="offset-counting",
    title="bursts by one complex number",
    theorem="offset-counting-one-scalar",
    language=bursts,
    architecture=linear & time_invariant & diagonal & complex_gates & can_hold,
    build=compile_offset_counting,
    predicts_only=True,
)
