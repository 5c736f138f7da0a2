"""Intervals for registers whose overwritten values fade instead of vanishing (gates such as 1/4).

Such a register takes infinitely many values, but they lie in a few clusters. What letters do to the register
is collected on a sample of configurations, the values of all short sequences of that are clustered, and the
clusters widened a little; that they are closed under every letter is for the checker to show.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from nerode.core import Exact, write_exact
from nerode.languages import Language
from nerode.network import Interpreter, Layer, Network, NetworkState
from nerode.proofs.certificate import VALID_PREFIXES

Json = Any
Place = tuple[int, int]
Step = tuple[Fraction, Fraction]
"""A gate and a write."""

GAP = Fraction(1, 8)
"""Values of one cluster are at most this far from the next one."""

SLACK = Fraction(1, 128)
"""How much a cluster is widened on both sides, for the values of longer sequences."""

_SAMPLE = 5_000
_ROUNDING = 16
_LENGTH = 6
_VALUES = 4_000
_FINE = 4_096


def interval_evidence(network: Network, language: Language, task: str) -> dict[str, Json]:
    """Returns the clusters of every coordinate that fades; none if there is no such coordinate."""
    fading = _fading(network)
    if not fading:
        return {}
    found = {}
    for (n, i), steps in _sampled_steps(network, language, task, fading).items():
        start = network.layers[n].start[i]
        assert isinstance(start, int | Fraction)
        intervals = clusters(sorted(_values(Fraction(start), steps)))
        name = f"{n + 1}:{network.layers[n].state[i]}"
        found[name] = [[write_exact(a), write_exact(b)] for a, b in intervals]
    return found


def clusters(values: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Returns widened intervals around sorted values, cut where two neighbours are further apart than GAP."""
    found: list[tuple[Fraction, Fraction]] = []
    for value in values:
        if found and value - found[-1][1] <= GAP:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return [(low - SLACK, high + SLACK) for low, high in found]


def _fading(network: Network) -> list[Place]:
    """The coordinates with a gate that is not a whole number."""
    found = []
    for n, layer in enumerate(network.layers):
        fixed, gated = layer.recurrence.as_fixed(), layer.recurrence.as_gated()
        rows: list[list[Exact]] = []
        if fixed is not None:
            rows = [[c for _, c in row] for row in fixed.matrix]
        elif gated is not None:
            gates = zip(gated.gate.bias, gated.gate.rows, strict=True)
            rows = [[bias, *(c for _, c in row)] for bias, row in gates]
        found += [(n, i) for i, row in enumerate(rows) if not _whole(row)]
    return found


def _whole(numbers: Sequence[Exact]) -> bool:
    return not any(isinstance(v, Fraction) for v in numbers)


def _sampled_steps(
    network: Network, language: Language, task: str, fading: Sequence[Place]
) -> dict[Place, set[Step]]:
    """What letters do to each fading coordinate, on configurations that differ by more than low digits."""
    interpreter = Interpreter(network)
    steps: dict[Place, set[Step]] = {place: set() for place in fading}
    first = (interpreter.start(), language.initial())
    known = {(_rounded(first[0]), first[1])}
    pending = [first]
    for states, configuration in pending:
        symbols = language.legal(configuration).symbols
        for letter in range(len(language.alphabet)):
            if task == VALID_PREFIXES and letter not in symbols:
                continue
            stream = interpreter.stream(states, letter)
            for n, i in fading:
                steps[n, i] |= _step(network.layers[n], i, [stream[r] for r in network.layers[n].reads])
            reached = (interpreter.step(states, letter)[0], language.advance(configuration, letter))
            key = (_rounded(reached[0]), reached[1])
            if key not in known and len(known) < _SAMPLE:
                known.add(key)
                pending.append(reached)
    return steps


def _step(layer: Layer, i: int, reads: list[Exact]) -> set[Step]:
    """Gate and write of a coordinate for what the layer reads; none if it reads other coordinates."""
    seen = [*reads, *(v if v > 0 else 0 for v in layer.units(reads))]
    moved = layer.recurrence.transition(seen, 0)
    if moved is None or any(j != i for j, _ in moved[0][i]):
        return set()
    pair = (dict(moved[0][i]).get(i, 0), moved[1][i])
    if not all(isinstance(v, int | Fraction) for v in pair):
        return set()
    return {(Fraction(pair[0]), Fraction(pair[1]))}  # type: ignore[arg-type]


def _values(start: Fraction, steps: Iterable[Step]) -> set[Fraction]:
    """The values after sequences of steps, those that differ only by low digits taken together."""
    moving = [step for step in steps if step != (Fraction(1), Fraction(0))]
    values = {start}
    for _ in range(_LENGTH):
        reached = {gate * value + write for value in values for gate, write in moving} | values
        distinct = {round(value * _FINE): value for value in sorted(reached)}
        values = set(distinct.values())
        if len(values) > _VALUES:
            break
    return values


def _rounded(states: NetworkState) -> Hashable:
    return tuple(tuple(round(v * _ROUNDING) for v in state) for state in states)
