"""Arithmetic that errs: floats bit for bit, and noise at every step (Metric Automata Theory).

In floats: reflections on doubled coordinates, registers and turns in the subnormal numbers.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from nerode.core import DTYPES, Reference
from nerode.verdict.classes import (
    ClassCondition,
    State,
    above_minus_half,
    below_minus_one,
    can_fade,
    can_hold,
    complex_gates,
    dense,
    diagonal,
    fixed_memory,
    free_write,
    gates_open,
    householder,
    hybrid,
    input_dependent,
    linear,
    mixed_diagonal,
    never_holds,
    nonlinear,
    nonnegative,
    one_factor,
    plain_state,
    signed,
    time_invariant,
    unit_gates,
)
from nerode.verdict.facts import (
    Facts,
    LanguageCondition,
    group_language,
    in_class,
    letter_decides,
    position_decides,
    quasi_aperiodic,
    r_trivial,
    regular,
    solvable,
    star_free,
    thousands_of_moves,
    two_groups,
    window_determined,
)
from nerode.verdict.records import Provenance
from nerode.verdict.theorems.base import (
    BIAS_ROW,
    FLOATS,
    IEEE,
    LARGE,
    METRIC,
    MIRRORS,
    NO_TALLY,
    ROBUST,
    ROUNDING,
    NoNetwork,
    hybrid_of,
    no,
    yes,
)

_UNDERFLOW = "subnormal numbers are not flushed to zero"

_KROHN_RHODES = "Krohn-Rhodes: cyclic groups of prime order and registers"

_RADII = {3: (12,), 5: (23, 44), 7: (484, 972), 8: (2,), 9: (2660,), 11: (4195,)}
"""Radii, in units of the least subnormal number, of polygons that the rounded turns permute; `turns_exactly`
checks each one."""

_MOST_STAIRS = 23
"""Primes up to which stairs are tried; all of them close in all formats."""


@functools.cache
def turns_exactly(m: int, dtype: str) -> bool:
    """Returns whether all turns by multiples of 1/m are done exactly in a float format.

    A prime power needs gates 1, -1, i, -i, or a polygon of subnormal numbers that all its rounded turns
    permute; coprime parts turn in coordinates of their own.
    """
    divisor = next((d for d in range(2, m + 1) if m % d == 0), 1)
    part = divisor
    while divisor > 1 and m % (part * divisor) == 0:
        part *= divisor
    if part < m:
        return turns_exactly(part, dtype) and turns_exactly(m // part, dtype)
    bits = DTYPES[dtype].bits
    return 4 % m == 0 or any(is_permuted(m, radius, bits) for radius in _RADII.get(m, ()))


def is_permuted(m: int, radius: int, bits: int) -> bool:
    """Returns whether each rounded turn by a multiple of 1/m permutes the rounded m-gon of this radius.

    The coordinates are integers: multiples of the least subnormal number, of at most `bits` bits, among which
    floats are evenly spaced. A product is rounded to nearest, ties to even; sums are exact.
    """
    if radius >= 1 << (bits - 1):
        return False
    polygon = [tuple(round(radius * value) for value in _direction(j, m)) for j in range(m)]
    if len(set(polygon)) < m:
        return False
    for j in range(m):
        c, s = (_to_bits(value, bits) for value in _direction(j, m))
        for i, (x, y) in enumerate(polygon):
            if (round(c * x) - round(s * y), round(s * x) + round(c * y)) != polygon[(i + j) % m]:
                return False
    return True


def _direction(j: int, m: int) -> tuple[float, float]:
    """Cosine and sine of j/m of a turn; exactly 0 where they are."""
    quarter = 4 * j % m == 0
    c, s = math.cos(2 * math.pi * j / m), math.sin(2 * math.pi * j / m)
    return (float(round(c)), float(round(s))) if quarter else (c, s)


def _to_bits(value: float, bits: int) -> Fraction:
    """A number rounded to so many significant bits."""
    if value == 0:
        return Fraction(0)
    mantissa, exponent = math.frexp(value)
    return Fraction(round(Fraction(mantissa) * 2**bits)) * Fraction(2) ** (exponent - bits)


@functools.cache
def staircase_turns(m: int, dtype: str) -> bool:
    """Returns whether the delta rule and RWKV-7, one contraction per token, count modulo m in a float format.

    The key is (1, 1, 1, 1)/2, the state (C, h, h, -C) with C = 2ᵖ; each order of operations needs a step size
    n/64 with a closed cycle of m states, whose second coordinates are nearest to the labels in turn.
    """
    bits = DTYPES[dtype].bits
    orders = ("delta", "rwkv")
    return all(any(_stairs_close(m, n / 64, bits, order) for n in range(1, 64)) for order in orders)


def _stairs_close(m: int, size: float, bits: int, order: str) -> bool:
    """Whether one step size counts: right for six rounds, the last two of which are one cycle."""

    def rounded(value: float) -> float:
        mantissa, exponent = math.frexp(value)
        return math.ldexp(round(math.ldexp(mantissa, bits)), exponent - bits)

    rise = rounded(size / m)
    write = rounded(2 * rise / size) if order == "delta" else rounded(2 * rise)
    labels = [1 + rise / 2 - (m - 1 - j) * rise for j in range(m)]
    state = [2.0**bits, rounded(labels[0]), rounded(labels[0]), -(2.0**bits)]
    seen = []
    for letter in range(1, 6 * m + 1):
        read = 0.0
        for value in state:
            read = rounded(read + value / 2)
        if order == "delta":
            change = rounded(size * rounded(write - read))
            state = [rounded(value + change / 2) for value in state]
        else:
            state = [rounded(rounded(v - rounded(size / 2 * read)) + write / 2) for v in state]
        if min(range(m), key=lambda j: abs(labels[j] - state[1])) != letter % m:
            return False
        seen.append(tuple(state))
    return seen[-m:] == seen[-2 * m : -m]


def _primes_on_stairs(facts: Facts) -> bool | None:
    if not facts.regular or facts.group_primes is None:
        return None if facts.regular else False
    return all(p <= _MOST_STAIRS and staircase_turns(p, facts.dtype) for p in (2, *facts.group_primes))


def _fits_in_stairs(facts: Facts) -> bool | None:
    if facts.automaton is None:
        return None if facts.regular else False
    return facts.automaton.transitions.size < 1 << (DTYPES[facts.dtype].bits - 2)


def _position_turns(facts: Facts) -> bool | None:
    if not facts.regular:
        return False
    if facts.position_decides is not True:
        return facts.position_decides
    return turns_exactly(facts.position_period or 1, facts.dtype)


def _clock_turns(facts: Facts) -> bool | None:
    if not facts.regular or facts.quasi_aperiodic is False:
        return False
    return None if facts.clock is None else turns_exactly(facts.clock, facts.dtype)


def _primes_turn(facts: Facts) -> bool | None:
    if not facts.regular or facts.group_primes is None:
        return None if facts.regular else False
    return all(turns_exactly(p, facts.dtype) for p in facts.group_primes)


position_turns = LanguageCondition("settled by a position whose period turns exactly", _position_turns)
clock_turns = LanguageCondition("star-free beside a clock that turns exactly", _clock_turns)
quarter_turns = LanguageCondition(
    "settled by a position whose period divides 4", lambda f: 4 % (f.position_period or 3) == 0
)
primes_turn = LanguageCondition("one whose groups have orders of primes that turn exactly", _primes_turn)

in_float32 = LanguageCondition("asked in float32", lambda f: f.dtype == "float32")

fits_in_stairs = LanguageCondition(
    "one whose states times letters are fewer than 2^(p-2), in a format of p bits", _fits_in_stairs
)

primes_on_stairs = LanguageCondition("one whose groups have orders of primes up to 23", _primes_on_stairs)

_turned_beside_resets = LanguageCondition(
    "one with groups of an order that a prime from 5 on divides, and no group language",
    lambda f: not f.is_group_language and any(p >= 5 for p in f.group_primes or ()),
)

ROWS = (
    yes(
        name="float-reflections-doubled",
        statement="On doubled coordinates the normalised key of a swap has entries ±1/2, so that one factor "
        "with β = 2 swaps bit for bit; swaps, blocks of tokens and registers do every regular language.",
        language=regular,
        architecture=linear & householder & signed,
        senses=IEEE,
        model=FLOATS,
        assumptions=(
            "β saturates to exactly 2.0 and 1.0; a step that idles has a key on coordinates that are 0",
            "one factor per token: swaps are done in the block of tokens after them",
        ),
        reason=lambda f: "swaps of doubled coordinates have keys of ±1/2: no rounding at all",
        no_network=(
            NoNetwork(reason=BIAS_ROW, architecture=below_minus_one & ~free_write),
            NoNetwork(reason=MIRRORS, architecture=one_factor, language=_turned_beside_resets),
            NoNetwork(reason=LARGE, architecture=one_factor, language=thousands_of_moves),
        ),
    ),
    yes(
        name="float-saturating-integrators",
        statement="h = h + [event] with gate 1.0 stops at a power of two and never returns to 0, so 'once' "
        "is exact in floats.",
        language=in_class("locally-testable") | r_trivial,
        architecture=linear & time_invariant & can_hold & plain_state,
        senses=IEEE,
        model=FLOATS,
        reason=lambda f: "definable with 'yesterday' and 'once': an integrator that stops is still above 0",
        no_network=(NoNetwork(reason=NO_TALLY),),
    ),
    yes(
        name="float-fading-registers",
        statement="A state that fades by a fixed gate between 1/2 and 1/√2 stops at the least subnormal "
        "number and keeps the sign of the last write for ever, so fixed gates do every star-free language.",
        language=star_free,
        architecture=linear & time_invariant & can_hold & plain_state,
        senses=IEEE,
        model=FLOATS,
        assumptions=(_UNDERFLOW, "the next layer scales the least subnormal number up"),
        reason=lambda f: f"a fading sign stops at the least {f.dtype} number and stays",
        no_network=(NoNetwork(reason=ROUNDING),),
    ),
    yes(
        name="float-slow-turn-registers",
        statement="In float32 a state that fades by 31/32 and turns slowly is subnormal before it has turned "
        "by half a radian, and stops on the side of its last write: RetNet does every star-free language.",
        language=star_free & in_float32,
        architecture=linear & time_invariant & never_holds & complex_gates & plain_state,
        senses=IEEE,
        model=FLOATS,
        assumptions=(
            _UNDERFLOW,
            "γ = 31/32 and θ = 10000^(-31/32), as in RetNet; the turn is applied to the state, each product "
            "rounded, then the sum, then the write is added",
            "windows are read as for delay-line",
        ),
        reason=lambda f: (
            "the sign of the last write, 128 letters after others, stops in the subnormal numbers"
        ),
        no_network=(NoNetwork(reason=ROUNDING),),
    ),
    yes(
        name="float-fading-registers-and-clock",
        statement="With a clock that turns exactly, fading registers do the languages that are star-free "
        "beside it.",
        language=quasi_aperiodic & clock_turns,
        architecture=(linear & time_invariant & can_hold & plain_state & complex_gates) | mixed_diagonal,
        senses=IEEE,
        model=FLOATS,
        assumptions=(_UNDERFLOW,),
        reason=lambda f: f"star-free beside a clock modulo {f.clock} that turns exactly in {f.dtype}",
        no_network=(NoNetwork(reason=ROUNDING),),
    ),
    yes(
        name="float-clocks",
        statement="Where the position decides, a turning state does: with gates 1, -1, i, -i, or on a "
        "polygon of subnormal numbers that the rounded turns permute.",
        language=position_decides & position_turns,
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=IEEE,
        model=FLOATS,
        assumptions=(_UNDERFLOW,),
        reason=lambda f: f"the position modulo {f.position_period} decides; this turn is exact in {f.dtype}",
        no_network=(NoNetwork(reason=ROUNDING, language=~quarter_turns),),
    ),
    yes(
        name="float-clock-shift",
        statement="Where the position decides, a constant shift of zeros and ones does, exactly in floats.",
        language=position_decides,
        architecture=linear & time_invariant & dense,
        senses=IEEE,
        model=FLOATS,
        reason=lambda f: "only the position matters: a fixed shift of zeros and ones",
    ),
    yes(
        name="float-stairs-of-a-fixed-matrix",
        statement="Beside a large constant a row of a fixed matrix rounds a sum to a step, and steps with "
        "whole weights are any function of a whole number: one layer h = A h + B x runs every automaton.",
        language=fits_in_stairs,
        architecture=linear & time_invariant & dense,
        senses=IEEE,
        model=FLOATS,
        assumptions=("A h is added in order of the coordinates, unfused, then B x", "a learned start"),
        reason=lambda f: "a row of A rounds to steps, which make any function of a whole number",
        no_network=(NoNetwork(reason=ROUNDING),),
    ),
    yes(
        name="float-rotations-subnormal",
        statement="Rounding to nearest heals a turn on a polygon of subnormal numbers, so complex diagonal "
        "layers do solvable groups of such orders bit for bit.",
        language=solvable & primes_turn,
        architecture=linear & diagonal & input_dependent & complex_gates & can_fade,
        senses=IEEE,
        model=FLOATS,
        assumptions=(_UNDERFLOW, _KROHN_RHODES),
        reason=lambda f: f"solvable, and the turns of its prime orders are exact in {f.dtype}",
        no_network=(NoNetwork(reason=ROUNDING, language=~two_groups),),
    ),
    yes(
        name="float-absorbing-registers",
        statement="In floats h + C - C + v is v for a large C: coordinates with gate 1 are registers, timed "
        "by the position modulo 4. With turns that are exact unitary layers do solvable groups besides.",
        language=solvable & primes_turn,
        architecture=linear & input_dependent & unit_gates,
        senses=IEEE,
        model=FLOATS,
        assumptions=(_UNDERFLOW, "gates 1, -1, i and -i are given as these numbers", _KROHN_RHODES),
        reason=lambda f: "a large number absorbs what was written: registers, beside exact turns",
        no_network=(NoNetwork(reason=ROUNDING, language=~(group_language & two_groups)),),
    ),
    yes(
        name="float-absorbing-registers-and-rotations",
        statement="With absorbing registers and signed permutation matrices blocks of rotations do every "
        "regular language in floats.",
        language=regular,
        architecture=linear & dense & input_dependent & unit_gates,
        senses=IEEE,
        model=FLOATS,
        assumptions=("matrices have entries 0, 1 and -1", _KROHN_RHODES),
        reason=lambda f: "a large number absorbs what was written; rotations with entries 0, ±1 are exact",
        no_network=(NoNetwork(reason=ROUNDING, language=~group_language),),
    ),
    yes(
        name="float-staircase-turns",
        statement="Beside a large coordinate the read of the delta rule rounds to a staircase of the state, "
        "which it takes off: a sawtooth that counts modulo m on m states, with one contraction per token.",
        language=solvable & primes_on_stairs,
        architecture=linear & householder & input_dependent & (nonnegative | above_minus_half),
        senses=IEEE,
        model=FLOATS,
        assumptions=(
            "kᵀS is added in order, the large entry first; then S + kβ(v - kᵀS), or RWKV-7's order, unfused",
            "a learned start",
            _KROHN_RHODES,
        ),
        reason=lambda f: f"rounding turns: a closed cycle of {f.dtype} states for each prime order",
        no_network=(NoNetwork(reason=ROUNDING),),
    ),
)


_slstm = ClassCondition("sLSTM cells", lambda c: c.state is State.NORMALISED)

NOISE_ROWS = (
    no(
        name="robust-linear-is-contracting",
        statement="A cascade of robust linear recurrences is contracting, so it forgets: it cannot implement "
        "the flip-flop, nor anything that a finite window does not settle.",
        language=regular & ~window_determined,
        architecture=linear | hybrid_of(linear),
        senses=ROBUST,
        reference=Reference("Dankowiakowski2025", "Theorems 3 and 4"),
        provenance=Provenance.READ,
        model=METRIC,
        assumptions=(
            "stated for FLIP-FLOP; the proof's contraction covers every language that no finite window "
            "settles (docs/theory)",
        ),
        reason=lambda f: "a linear state that is held never recovers from noise",
    ),
    no(
        name="robust-isometries-remember-nothing",
        statement="A bounded set that contains its image under an isometry together with a ball around it "
        "would have more volume than itself: no layer of isometries is robust.",
        language=~letter_decides,
        architecture=linear & unit_gates,
        senses=ROBUST,
        model=METRIC,
        reason=lambda f: "noise never shrinks under an isometry: no layer of isometries is robust",
    ),
    no(
        name="open-gates-forget",
        statement="With gates strictly inside the unit interval the state space collapses: no flip-flop "
        "as an "
        "eta-finite system.",
        language=regular & ~window_determined,
        architecture=linear & diagonal & nonnegative & gates_open,
        senses=ROBUST,
        reference=Reference("Dankowiakowski2025", "Theorem 7"),
        provenance=Provenance.READ,
        model=METRIC,
        assumptions=("real-valued gates: in floats a saturated gate is exactly 1",),
        reason=lambda f: "gates below 1 let every held state collapse",
    ),
    no(
        name="eta-finite-is-regular",
        statement="An eta-finite system implements exactly the functions of its canonical automaton, all of "
        "them regular.",
        language=~regular,
        architecture=(~hybrid & fixed_memory) | hybrid_of(fixed_memory),
        senses=ROBUST,
        reference=Reference("Dankowiakowski2025", "Theorem 1"),
        provenance=Provenance.READ,
        model=METRIC,
        reason=lambda f: "a robust state space has finitely many components",
    ),
    yes(
        name="robust-slstm-star-free",
        statement="sLSTM cascades recognise every star-free language robustly.",
        language=star_free,
        architecture=nonlinear & _slstm,
        senses=ROBUST,
        reference=Reference("Dankowiakowski2025", "Theorem 5"),
        provenance=Provenance.READ,
        model=METRIC,
        assumptions=("with the repeat cell's intervals scaled by tanh 2",),
        reason=lambda f: "star-free: flip-flop and repeat cells with a margin",
    ),
    yes(
        name="robust-nonlinear-regular",
        statement="Saturating units with feedback run every automaton with a noise margin.",
        language=regular,
        architecture=nonlinear,
        senses=ROBUST,
        model=METRIC,
        assumptions=("gated cells are set so that they act as an Elman network",),
        reason=lambda f: "each step pulls the state back to its corner",
    ),
)
