"""Fragility: linear layers that hold a state never correct an error; a word that shows it.

If a word brings two states h ≠ h' of a linear layer back to themselves, the layer's steps along the word
being the same for both, then A h + b = h and A h' + b = h', so A is the identity on h - h': whatever noise
adds along this direction stays for ever. With ±eps per reading it is a random walk, which leaves the half-way
interval after (gap / 2 eps)² readings in expectation.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.core import Budget, Cyclotomic, Exact
from nerode.languages import Language, Word
from nerode.network import Interpreter, Network, NetworkState
from nerode.proofs.certificate import Claim, expected_readings, fragile_claim

METHOD = "identity-word"

_CONFIGURATIONS = 1_000
_PAIRS = 40
_POWERS = 64
_MANY_LETTERS = 16
_DISTINGUISHING = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragility:
    """The proof that a linear layer repeats errors.

    Attributes:
        layer: number of the layer, from 1.
        first: a word after which the layer is in one state.
        second: a word after which it is in another, lower layers being in the same state.
        identity: a word that brings both back.
        apart: a word after which the language tells the two prefixes apart.
        gap: the largest difference of a coordinate between the two states.
    """

    layer: int
    first: tuple[str, ...]
    second: tuple[str, ...]
    identity: tuple[str, ...]
    apart: tuple[str, ...]
    gap: Fraction

    def claims(self, sizes: Sequence[Fraction] = ()) -> tuple[Claim, ...]:
        """Returns the claim that no noise is corrected, and how soon noise of the given sizes is fatal."""
        walks = (
            fragile_claim(method=METHOD, eps=eps, readings=expected_readings(self.gap, eps)) for eps in sizes
        )
        return (fragile_claim(method=METHOD), *walks)

    @property
    def evidence(self) -> dict[str, Any]:
        """The evidence for a certificate."""
        return {
            "layer": self.layer,
            "first": list(self.first),
            "second": list(self.second),
            "identity": list(self.identity),
            "apart": list(self.apart),
        }


def find_fragility(network: Network, language: Language, *, budget: Budget | None = None) -> Fragility | None:
    """Returns a linear layer that repeats errors with its proof, or None if the search finds none.

    Words that repeat one letter or two are tried as identities, on pairs of the first configurations reached.

    Implements: [Chung2026]
    """
    budget = budget or Budget()
    interpreter = Interpreter(network)
    if not interpreter.exact:
        return None
    reached = _reach(interpreter, language)
    for number, layer in enumerate(network.layers):
        if not layer.recurrence.linear:
            continue
        groups: dict[Hashable, list[tuple[NetworkState, Hashable, Word]]] = {}
        for entry in reached:
            groups.setdefault(entry[0][:number], []).append(entry)
        for group in groups.values():
            for other in group[1 : _PAIRS + 1]:
                budget.check_time(layer=number + 1)
                found = _examine(interpreter, language, number, group[0], other)
                if found is not None:
                    return found
    return None


def _reach(interpreter: Interpreter, language: Language) -> list[tuple[NetworkState, Hashable, Word]]:
    """The first joint configurations, each with its shortest word."""
    first = (interpreter.start(), language.initial())
    known = {first}
    found: list[tuple[NetworkState, Hashable, Word]] = [(*first, ())]
    for states, configuration, word in found:
        if len(found) > _CONFIGURATIONS:
            break
        for letter in range(len(language.alphabet)):
            target = (interpreter.step(states, letter)[0], language.advance(configuration, letter))
            if target not in known:
                known.add(target)
                found.append((*target, (*word, letter)))
    return found


def _examine(
    interpreter: Interpreter,
    language: Language,
    number: int,
    one: tuple[NetworkState, Hashable, Word],
    other: tuple[NetworkState, Hashable, Word],
) -> Fragility | None:
    gap = max((_modulus(a - b) for a, b in zip(one[0][number], other[0][number], strict=True)), default=0)
    if gap == 0 or one[1] == other[1]:
        return None
    identity = _identity_word(interpreter, (one[0], other[0]), number)
    apart = None if identity is None else _telling_word(language, one[1], other[1])
    if identity is None or apart is None:
        return None
    symbols = language.alphabet.symbols
    return Fragility(
        layer=number + 1,
        first=tuple(symbols[a] for a in one[2]),
        second=tuple(symbols[a] for a in other[2]),
        identity=tuple(symbols[a] for a in identity),
        apart=tuple(symbols[a] for a in apart),
        gap=Fraction(gap),
    )


def _identity_word(
    interpreter: Interpreter, pair: tuple[NetworkState, NetworkState], number: int
) -> Word | None:
    """The shortest power of one or two letters that brings both states back, lower layers included."""
    letters = range(len(interpreter.network.alphabet))
    pairs = itertools.product(letters, repeat=2) if len(letters) <= _MANY_LETTERS else ()
    best: Word | None = None
    for base in [*((a,) for a in letters), *pairs]:
        limit = _POWERS if best is None else (len(best) - 1) // len(base)
        current = pair
        for power in range(1, limit + 1):
            for letter in base:
                current = (interpreter.step(current[0], letter)[0], interpreter.step(current[1], letter)[0])
            if all(a[: number + 1] == b[: number + 1] for a, b in zip(current, pair, strict=True)):
                best = base * power
                break
    return best


def _telling_word(language: Language, one: Hashable, other: Hashable) -> Word | None:
    """The shortest word after which different things are legal."""
    known = {(one, other)}
    pending: deque[tuple[Hashable, Hashable, Word]] = deque([(one, other, ())])
    while pending and len(known) < _DISTINGUISHING:
        left, right, word = pending.popleft()
        if language.legal(left) != language.legal(right):
            return word
        for letter in range(len(language.alphabet)):
            pair = (language.advance(left, letter), language.advance(right, letter))
            if pair not in known:
                known.add(pair)
                pending.append((*pair, (*word, letter)))
    return None


def _modulus(value: Exact) -> Fraction:
    """The absolute value; of a complex number rounded up to a multiple of 2**-20."""
    if not isinstance(value, Cyclotomic):
        return abs(Fraction(value))
    square = value * value.conjugate()
    units = math.isqrt(int(abs(complex(square)) * 2**40))
    while Fraction(units, 2**20) ** 2 < square:
        units += 1
    while units and Fraction(units - 1, 2**20) ** 2 >= square:
        units -= 1
    return Fraction(units, 2**20)
