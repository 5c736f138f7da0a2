"""Intervals for registers whose overwritten values fade instead of vanishing (gates such as 1/4).

Such a register takes infinitely many values, but they lie in a few clusters. The clusters are read off the
values on short words and widened a little; that they are closed under every letter is for the checker.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from nerode.certificates.certificate import VALID_PREFIXES
from nerode.compiler.interpreter import Configuration, Interpreter
from nerode.compiler.network import Network
from nerode.compiler.recurrences import Diagonal, TimeInvariant
from nerode.core.exact import Exact, write_exact
from nerode.languages.language import Language

Json = Any

GAP = Fraction(1, 8)
"""Values of one cluster are at most this far from the next one."""

SLACK = Fraction(1, 128)
"""How much a cluster is widened on both sides, for the values on longer words."""

_STEPS = 4_000


def interval_evidence(network: Network, language: Language, task: str) -> dict[str, Json]:
    """Returns the clusters of every coordinate that fades; none if there is no such coordinate."""
    fading = _fading(network)
    if not fading:
        return {}
    seen = _values_on_short_words(network, language, task)
    found = {}
    for n, i in fading:
        values = sorted({Fraction(state[n][i]) for state in seen})
        name = f"{n + 1}:{network.layers[n].state[i]}"
        found[name] = [[write_exact(a), write_exact(b)] for a, b in clusters(values)]
    return found


def clusters(values: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Returns widened intervals around the values, cut wherever two neighbours are further apart than GAP."""
    found: list[tuple[Fraction, Fraction]] = []
    for value in values:
        if found and value - found[-1][1] <= GAP:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return [(low - SLACK, high + SLACK) for low, high in found]


def _fading(network: Network) -> list[tuple[int, int]]:
    """The coordinates with a gate that is not a whole number, and those of their layer that read them."""
    found = []
    for n, layer in enumerate(network.layers):
        match layer.recurrence:
            case Diagonal(gate=gate):
                rows = zip(gate.bias, gate.rows, strict=True)
                fading = {i for i, (bias, row) in enumerate(rows) if not _whole([bias, *(c for _, c in row)])}
            case TimeInvariant(matrix=matrix):
                fading = {i for i, row in enumerate(matrix) if not _whole([c for _, c in row])}
                for _ in matrix:
                    fading |= {i for i, row in enumerate(matrix) if any(j in fading for j, _ in row)}
            case _:
                fading = set()
        found += [(n, i) for i in sorted(fading)]
    return found


def _whole(numbers: Sequence[Exact]) -> bool:
    return not any(isinstance(v, Fraction) for v in numbers)


def _values_on_short_words(network: Network, language: Language, task: str) -> list[Configuration]:
    interpreter = Interpreter(network)
    pending = [(interpreter.start(), language.initial())]
    known = set(pending)
    for states, configuration in pending:
        if len(known) > _STEPS:
            break
        symbols = language.legal(configuration).symbols
        for letter in range(len(language.alphabet)):
            if task == VALID_PREFIXES and letter not in symbols:
                continue
            reached = (interpreter.step(states, letter)[0], language.advance(configuration, letter))
            if reached not in known:
                known.add(reached)
                pending.append(reached)
    return [states for states, _ in pending]
