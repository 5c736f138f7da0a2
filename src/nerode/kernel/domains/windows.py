"""Windows of letters that matter, and layers that never correct an error.

window           every layer forgets by itself, so only the last letters can matter; or one layer
                 contracts, so older letters change what the decoder reads by less than eps
identity word    a word that fixes two states of a linear layer, which the language tells apart
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from nerode.kernel.claims import EXACT, FRAGILE, WINDOW, Claim
from nerode.kernel.network import (
    AffineMove,
    CheckedLayer,
    CheckedNetwork,
    GatedMove,
    Matrix,
    Row,
    move_maps,
    now,
    seen_unit,
    split_rows,
    unit,
)
from nerode.kernel.numbers import Irrational, Number, combined, num_bits, rational
from nerode.kernel.reader import listing, text, whole
from nerode.kernel.step import ExactArithmetic, States, Stepper
from nerode.kernel.walk import CheckProblem
from nerode.kernel.work import Undecided, WorkCount

MAX_LETTERS = 1_000_000
MAX_WORD = 100_000
MAX_COLUMNS = 512
"""Matrices with more columns that are not zero are not multiplied out."""

_CONTRACTION = "the contraction bound"


def window_claims(
    problem: CheckProblem, method: str, evidence: Mapping[str, Any], sizes: Sequence[Fraction | None]
) -> list[Claim]:
    """Returns the claims that follow from the evidence of a method.

    Raises:
        Undecided: if it shows nothing.
    """
    if method == "identity-word":
        return _fragile_claims(problem, evidence, [eps for eps in sizes if eps is not None])
    letters: int = whole(1, MAX_LETTERS)(evidence["letters"], "letters")
    for eps in sizes:
        if eps is None:
            found = nilpotent_window(problem.network)
            if letters < found:
                raise Undecided(f"{found} letters matter, not {letters}")
        elif _largest_change(problem.network, letters) >= eps:
            raise Undecided(f"letters older than the last {letters} may change the output by eps or more")
    return [window_claim(letters=letters, eps=eps) for eps in sizes]


def _largest_change(network: CheckedNetwork, letters: int) -> Fraction:
    """A bound of the change of what the decoder reads by letters older than the last so many.

    What is verified: there is one layer h = A h + w(letter) with |A| < 1 (largest row sum). Two runs that
    share their last n letters differ by at most |A|ⁿ · 2R, where R bounds the states, times the slope of the
    readout.
    """
    if len(network.layers) != 1:
        raise Undecided(f"{_CONTRACTION} is for one layer")
    layer = network.layers[0]
    norm = _norm(layer)
    if norm >= 1 or layer.exposes_previous or layer.complex_state:
        raise Undecided(
            f"{_CONTRACTION} needs a real layer with |A| < 1 and ReLUs that does not show its old state"
        )
    writes = [abs(w) for stream in network.embedding for w in _writes(layer, stream)]
    starts = [abs(rational(s, _CONTRACTION)) for s in layer.start]
    radius = max([*starts, max(writes, default=Fraction(0)) / (1 - norm)])
    return _power_times(norm, letters, 2 * radius * _slope(layer))


def _power_times(base: Fraction, exponent: int, scale: Fraction) -> Fraction:
    """An upper bound of baseⁿ · scale for 0 ≤ base < 1: by squaring, rounded up to 4,096 bits each time."""
    power = Fraction(1)
    for bit in bin(exponent)[2:]:
        power = power * power * (base if bit == "1" else 1)
        if num_bits(power) > 4_096:
            power = Fraction(math.ceil(power * (1 << 4_096)), 1 << 4_096)
    return power * scale


def nilpotent_window(network: CheckedNetwork) -> int:
    """Returns how many letters can matter when every layer forgets by itself.

    Implements: [Nandakumar2024, Proposition 4.6]

    Raises:
        Undecided: if a layer does not forget.
    """
    window = 1
    for number, layer in enumerate(network.layers, start=1):
        span = _span(layer, network.field.work)
        if span is None:
            raise Undecided(f"layer {number} does not forget: its transition is not nilpotent")
        window += max(span, 1) - 1 + layer.exposes_previous
    return window


def _span(layer: CheckedLayer, work: WorkCount) -> int | None:
    """The number of letters that a layer's state depends on, None for no bound."""
    move = layer.move
    reads: list[set[int]] = [set() for _ in layer.state]
    if isinstance(move, GatedMove):
        reads = [{i} if row[0] != 0 or row[1] else set() for i, row in enumerate(move.gates)]
    elif not isinstance(move, AffineMove):
        return None
    else:
        matrices = [split_rows(rows)[0] for rows in move.maps]
        for matrix in matrices:
            for known, row in zip(reads, matrix, strict=True):
                known |= {j for j, _ in row}
    depth = _longest_chain(reads)
    if depth is None and isinstance(move, AffineMove) and not (move.chosen or move.activation):
        return nilpotency(matrices[0], work)
    return depth


def _longest_chain(reads: list[set[int]]) -> int | None:
    """The number of coordinates on a longest chain of reads, None if they go round in a circle."""
    needed = [len(sources) for sources in reads]
    users: list[list[int]] = [[] for _ in reads]
    for i, sources in enumerate(reads):
        for j in sources:
            users[j].append(i)
    ready = [i for i, count in enumerate(needed) if count == 0]
    length = [1] * len(reads)
    for j in ready:
        for i in users[j]:
            length[i] = max(length[i], length[j] + 1)
            needed[i] -= 1
            if needed[i] == 0:
                ready.append(i)
    return max(length, default=1) if len(ready) == len(reads) else None


def nilpotency(matrix: Matrix, work: WorkCount) -> int | None:
    """Returns the least n with matrixⁿ = 0, None if there is none.

    A row of the power n + 1 is the row of the power n times the matrix, and only the columns that are not
    zero matter. Rows that are equal stay equal, so each different row is multiplied once.

    Raises:
        Undecided: if an entry is irrational, or too many columns are not zero.
    """
    rows = [{j: rational(c, "the power of a matrix") for j, c in row if c != 0} for row in matrix]
    columns = sorted({j for row in rows for j in row})
    if len(columns) > MAX_COLUMNS:
        raise Undecided(f"a matrix with {len(columns)} columns that are not zero is not multiplied out")
    below = math.lcm(*(c.denominator for row in rows for c in row.values()))
    whole = [{j: int(c * below) for j, c in row.items()} for row in rows]
    power: set[tuple[tuple[int, Number], ...]] = {tuple(sorted(row.items())) for row in whole if row}
    for n in range(1, len(columns) + 2):
        if not power:
            return n
        found = set()
        for row in power:
            kept = tuple(sorted(combined(row, whole).items()))
            work.spend(len(row) * len(columns) * (1 + max((num_bits(v) for _, v in kept), default=0) // 64))
            if kept:
                found.add(kept)
        power = found
    return None


def _norm(layer: CheckedLayer) -> Fraction:
    """The largest row sum of absolute values of the transition."""
    match layer.move:
        case AffineMove(maps, activation="", chosen=False):
            matrix, _ = split_rows(maps[0])
            return max((_absolute(c for _, c in row) for row in matrix), default=Fraction(0))
        case GatedMove(gates) if not any(terms for _, terms in gates):
            return max((_absolute([bias]) for bias, _ in gates), default=Fraction(0))
    raise Undecided(f"{_CONTRACTION} needs a transition that does not depend on the letter")


def _writes(layer: CheckedLayer, stream: Mapping[str, Number]) -> list[Fraction]:
    table = dict(stream)
    for i, row in enumerate(layer.units):
        table[unit(i)] = max(_row_value(row, table, _CONTRACTION), Fraction(0))
    move = layer.move
    rows = move.writes if isinstance(move, GatedMove) else move_maps(move)[0]
    return [_row_value(row, table, _CONTRACTION) for row in rows]


def _row_value(row: Row, table: Mapping[str, Number], what: str) -> Fraction:
    """A row in rational numbers; a name that is not in the table stands for zero.

    Raises:
        Undecided: for an irrational number, which `what` does not allow.
    """
    bias, terms = row
    parts = (rational(c, what) * rational(table[name], what) for name, c in terms if name in table)
    return sum(parts, rational(bias, what))


def _slope(layer: CheckedLayer) -> Fraction:
    """The largest change of an output for a change of 1 in every coordinate of the state."""
    slopes = {now(i): Fraction(1) for i in range(len(layer.state))}
    for i, (_, terms) in enumerate(layer.seen_units):
        slopes[seen_unit(i)] = _absolute(c for name, c in terms if name in slopes)
    parts = (
        sum((abs(rational(c, _CONTRACTION)) * slopes.get(name, 0) for name, c in terms), Fraction(0))
        for _, (_, terms) in layer.outputs
    )
    return max(parts, default=Fraction(0))


def _absolute(values: Iterable[Number]) -> Fraction:
    return sum((abs(rational(v, _CONTRACTION)) for v in values), Fraction(0))


def _fragile_claims(
    problem: CheckProblem, evidence: Mapping[str, Any], sizes: Sequence[Fraction]
) -> list[Claim]:
    """The claims that a linear layer never corrects an error.

    What is verified: after two words the layers below are in the same states and the layer, which is linear,
    in two different ones; the identity word leads from each back to itself; and after both words and a
    further one the language allows different things.

    Implements: [Chung2026]
    """
    network, language = problem.network, problem.language
    number = whole(1, len(network.layers))(evidence["layer"], "layer")
    move = network.layers[number - 1].move
    if not isinstance(move, GatedMove) and not (isinstance(move, AffineMove) and not move.activation):
        raise Undecided(f"layer {number} is not linear")
    words = []
    for key in ("first", "second", "identity", "apart"):
        names = listing(text, most=MAX_WORD)(evidence[key], f"the word {key!r}")
        words.append(language.letters.encode(names))
    first, second, identity, apart = words
    stepper = Stepper(network, ExactArithmetic(network))

    def run(word: Sequence[int], states: States) -> States:
        for letter in word:
            states, _ = stepper.step(states, letter)
        return states

    one, other = run(first, stepper.start()), run(second, stepper.start())
    if one[: number - 1] != other[: number - 1]:
        raise Undecided("lower layers are in different states, so the layer's steps differ")
    if not identity or any(run(identity, states)[:number] != states[:number] for states in (one, other)):
        raise Undecided("the identity word is empty or changes a state")
    pairs = zip(one[number - 1], other[number - 1], strict=True)
    gaps = [_modulus(a - b) for a, b in pairs]
    least, most = (max((ends[i] for ends in gaps), default=Fraction(0)) for i in (0, 1))
    if most == 0:
        raise Undecided("the two states of the layer are the same")
    ends = []
    for word in (first, second):
        configuration = language.initial()
        for letter in (*word, *apart):
            configuration = language.advance(configuration, letter)
        ends.append(language.legal(configuration))
    if ends[0] == ends[1]:
        raise Undecided("the language does not tell the two prefixes apart")
    claims = [fragile_claim()]
    for eps in sizes:
        readings = expected_readings(most, eps)
        if readings != expected_readings(least, eps):
            raise Undecided(f"the number of readings for eps = {eps} hangs on digits of an irrational gap")
        claims.append(fragile_claim(eps=eps, readings=readings))
    return claims


def _modulus(value: Number) -> tuple[Fraction, Fraction]:
    """Bounds of the absolute value; an irrational one lies between neighbouring multiples of 2**-60."""
    if not isinstance(value, Irrational):
        return abs(Fraction(value)), abs(Fraction(value))
    square = value * value.conjugate()
    least, most = square.real_bounds(256) if isinstance(square, Irrational) else (square, square)
    low, high = math.floor(max(least, Fraction(0)) * (1 << 120)), math.ceil(most * (1 << 120))
    return Fraction(math.isqrt(low), 1 << 60), Fraction(math.isqrt(high - 1) + 1, 1 << 60)


def window_claim(*, letters: int, eps: Fraction | None = None) -> Claim:
    """Returns the claim that only the last letters matter: for the answer, or up to eps."""
    what = (
        "the answer after a prefix does not depend on earlier ones"
        if eps is None
        else "earlier ones change every number that the decoder reads by less than eps"
    )
    return Claim(
        scope=EXACT,
        method="window",
        task=WINDOW,
        covers=f"Of a prefix of at least {letters} letters only the last {letters} matter: {what}.",
        eps=eps,
    )


def fragile_claim(*, eps: Fraction | None = None, readings: int = 0) -> Claim:
    """Returns the claim that a linear layer never corrects an error, or how soon noise of eps is fatal."""
    if eps is None:
        covers = (
            "A word acts as the identity on two reachable states of a linear layer that the language tells "
            "apart, so the layer repeats every error along their difference: no noise above 0 is corrected"
        )
    else:
        covers = (
            "Noise of +eps or -eps with equal chances along the difference of the two states (in the largest "
            "coordinate), added each time the identity word was read, first reaches the middle between them "
            f"after {readings} readings in expectation"
        )
    return Claim(scope=EXACT, method="identity-word", task=FRAGILE, covers=f"{covers}.", eps=eps)


def expected_readings(gap: Fraction, eps: Fraction) -> int:
    """Returns how many steps of ±eps it takes in expectation to be gap/2 away from the start.

    A walk of steps ±1 leaves the interval from -a to a after a² steps in expectation.
    """
    steps = -(-gap // (2 * eps))
    return int(steps) ** 2
