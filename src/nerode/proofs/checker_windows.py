"""How many letters matter: nilpotent layers exactly, contracting ones up to eps."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from nerode.core import Exact, InputError
from nerode.proofs.certificate import Claim, window_claim
from nerode.proofs.checker_nilpotency import nilpotency
from nerode.proofs.checker_problem import Evidence, Failure, Problem, refuse_unless_implied
from nerode.proofs.checker_records import (
    ByLetter,
    CheckedNetwork,
    Fixed,
    Gated,
    Layer,
    Row,
    Squashed,
    before,
    now,
    seen_unit,
    unit,
)

NILPOTENT = "nilpotent-window"
CONTRACTION = "contraction-window"
METHODS = (NILPOTENT, CONTRACTION)


def verify_window(problem: Problem, evidence: Evidence, claims: Sequence[Claim]) -> Failure | None:
    """Checks claims about the context window."""
    method = claims[0].method
    entry = f"evidence.{method}"
    letters = evidence.get("letters")
    if set(evidence) != {"letters"} or type(letters) is not int or not 1 <= letters <= 1_000_000:
        return Failure(what="the evidence is not a number of letters", entry=entry)
    shown = []
    if method == NILPOTENT:
        found = nilpotent_window(problem.network)
        if letters < found:
            return Failure(what=f"{found} letters matter, not {letters}", entry=f"{entry}.letters")
        shown.append(window_claim(method=method, letters=letters))
    else:
        change = change_after(problem.network, letters)
        for eps in {claim.eps for claim in claims if claim.eps is not None}:
            if change >= eps:
                return Failure(
                    what=f"letters older than {letters} may change the output by {change}, not below {eps}",
                    entry=f"{entry}.letters",
                )
            shown.append(window_claim(method=method, letters=letters, eps=eps))
    return refuse_unless_implied(claims, shown)


def nilpotent_window(network: CheckedNetwork) -> int:
    """Returns how many letters can matter when every layer forgets by itself.

    Implements: [Nandakumar2024, Proposition 4.6]

    Raises:
        InputError: if a layer does not forget.
    """
    window = 1
    for number, layer in enumerate(network.layers, start=1):
        span = _span(layer)
        if span is None:
            raise InputError(f"layer {number} does not forget: its transition is not nilpotent")
        window += max(span, 1) - 1 + layer.exposes_previous
    return window


def _span(layer: Layer) -> int | None:
    """The number of letters that a layer's state depends on, None for no bound."""
    width = len(layer.state)
    moves = layer.moves
    match moves:
        case Gated():
            reads = [[i] if _is_zero(row) is False else [] for i, row in enumerate(moves.gates)]
        case Fixed():
            reads = [[j for j, c in row if c != 0] for row in moves.matrix]
        case ByLetter():
            reads = [sorted({j for m in moves.matrices for j, c in m[i] if c != 0}) for i in range(width)]
        case Squashed():
            places = {before(i): i for i in range(width)}
            reads = [[places[name] for name, c in row[1] if name in places and c != 0] for row in moves.rows]
        case _:
            return None
    depth = _longest_path(reads)
    if depth is None and isinstance(moves, Fixed):
        return nilpotency(moves.matrix)
    return depth


def _is_zero(row: Row) -> bool:
    return row[0] == 0 and all(c == 0 for _, c in row[1])


def _longest_path(reads: list[list[int]]) -> int | None:
    """The number of coordinates on a longest chain of reads, None if they go round in a circle."""
    needed = [len(set(sources)) for sources in reads]
    users: list[list[int]] = [[] for _ in reads]
    for i, sources in enumerate(reads):
        for j in set(sources):
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


def change_after(network: CheckedNetwork, letters: int) -> Fraction:
    """Returns a bound on how much letters older than the last ones change what the decoder reads.

    For one layer h = A h + w(letter) with |A| < 1 (largest row sum): two runs that share their last n
    letters differ by at most |A|ⁿ · 2R, where R bounds the states, times the slope of the readout.
    """
    if len(network.layers) != 1:
        raise InputError("the contraction bound is for one layer")
    layer = network.layers[0]
    norm = _norm(layer)
    if norm >= 1 or layer.exposes_previous or layer.complex_state:
        raise InputError(
            f"the contraction bound needs a real layer with |A| < 1 and no old state; |A| = {norm}"
        )
    writes = [abs(w) for letter in network.embedding for w in _writes(layer, letter)]
    radius = max([*(abs(_rational(s)) for s in layer.start), max(writes, default=Fraction(0)) / (1 - norm)])
    return norm**letters * 2 * radius * _slope(layer)


def _norm(layer: Layer) -> Fraction:
    moves = layer.moves
    if isinstance(moves, Fixed):
        return max((_absolute(c for _, c in row) for row in moves.matrix), default=Fraction(0))
    if isinstance(moves, Gated) and not any(c != 0 for row in moves.gates for _, c in row[1]):
        return max((abs(_rational(row[0])) for row in moves.gates), default=Fraction(0))
    raise InputError("the contraction bound needs a transition that does not depend on the letter")


def _writes(layer: Layer, stream: dict[str, Exact]) -> list[Fraction]:
    table = {name: _rational(stream[name]) for name in layer.reads}

    def total(row: Row) -> Fraction:
        return _rational(row[0]) + sum((_rational(c) * table[name] for name, c in row[1]), Fraction(0))

    for i, row in enumerate(layer.units):
        table[unit(i)] = max(total(row), Fraction(0))
    assert isinstance(layer.moves, Fixed | Gated)
    return [total(row) for row in layer.moves.writes]


def _slope(layer: Layer) -> Fraction:
    """How much an output can change for a change of 1 in every coordinate of the state."""
    state = {now(i) for i in range(len(layer.state))}
    inner = {
        seen_unit(i): _absolute(c for name, c in row[1] if name in state)
        for i, row in enumerate(layer.seen_units)
    }
    slopes = [
        sum(
            (abs(_rational(c)) * (1 if name in state else inner.get(name, 0)) for name, c in row[1]),
            Fraction(0),
        )
        for _, row in layer.outputs
    ]
    return max(slopes, default=Fraction(0))


def _absolute(values: object) -> Fraction:
    return sum((abs(_rational(v)) for v in values), Fraction(0))  # type: ignore[attr-defined]


def _rational(value: Exact) -> Fraction:
    if not isinstance(value, int | Fraction):
        raise InputError(f"the contraction bound needs rational numbers, not {value}")
    return Fraction(value)
