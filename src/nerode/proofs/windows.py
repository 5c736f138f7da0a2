"""Context windows and fragile words.

A window is the number of last letters that matter, exactly or up to eps. The kernel decides for a given
number of letters; the least one is found by doubling and halving.

A word is fragile if it brings two states h ≠ h' of a linear layer back to themselves, the layer's steps along
the word being the same for both: then A h + b = h and A h' + b = h', so A is the identity on h - h', and
whatever noise adds along this direction stays for ever. With ±eps per reading it is a random walk, which
leaves the half-way interval after (gap / 2 eps)² readings in expectation.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from nerode.core import Budget, InputError
from nerode.kernel import Certificate
from nerode.languages import Language, Word
from nerode.network import Interpreter, Network, NetworkState
from nerode.proofs.answers import breadth_first
from nerode.proofs.proving import Outcome, Prover, Unproved

MOST_LETTERS = 1_000_000
"""Longer windows are not looked for; the kernel reads no larger number of letters."""


def find_window(
    network: Network, language: Language, *, eps: Fraction | None = None, budget: Budget | None = None
) -> Outcome:
    """Returns a certificate with the least number of last letters that matter, or why there is none.

    Without eps every layer must forget by itself: a layer with a nilpotent transition of order n sees n
    letters, and layers on top of each other see the sum, less one for each but the first. With eps earlier
    letters may change what the decoder reads by less than eps, for one layer that contracts.

    Implements: [Nandakumar2024, Proposition 4.6]

    Raises:
        InputError: if eps is not above 0, or network and language have different alphabets.
        BudgetExceeded: if the time is up.
    """
    if eps is not None and eps <= 0:
        raise InputError(f"eps = {eps} is not above 0")
    prover = Prover(network, language, budget)
    method = "nilpotent-window" if eps is None else "contraction-window"

    def attempt(letters: int) -> Outcome:
        prover.budget.check_time(letters=letters)
        return prover.outcome(prover.prove(method, {"letters": letters}, eps=eps))

    found = attempt(MOST_LETTERS)
    if not isinstance(found, Certificate):
        return found
    too_few, enough = 0, 1
    while not isinstance(found := attempt(enough), Certificate):
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        tried = attempt(middle)
        if isinstance(tried, Certificate):
            enough, found = middle, tried
        else:
            too_few = middle
    return found


IDENTITY_WORD = "identity-word"

Reached = tuple[NetworkState, Hashable, Word]
"""The network's state, the language's configuration and the word that leads there."""

_CONFIGURATIONS = 1_000
_PAIRS = 40
_POWERS = 64
_MANY_LETTERS = 16
_DISTINGUISHING = 5_000


def find_fragile_words(
    network: Network, language: Language, *, sizes: Sequence[Fraction] = (), budget: Budget | None = None
) -> Outcome:
    """Returns a certificate that a linear layer repeats errors, or that the search finds no such layer.

    Words that repeat one letter or two are tried as identities, on pairs of the first configurations reached.

    Implements: [Chung2026]

    Args:
        network: a network in exact arithmetic.
        language: what it does.
        sizes: sizes of noise; for each the certificate says how soon it is fatal.
        budget: limits the time.
    """
    prover = Prover(network, language, budget)
    evidence = _find_evidence(network, language, prover.budget)
    if evidence is None:
        return Unproved(reason="no word was found that acts as the identity on two states of a linear layer")
    proofs = [prover.prove(IDENTITY_WORD, evidence, eps=eps) for eps in (None, *sizes)]
    found = prover.outcome(*proofs)
    if not isinstance(found, Certificate):
        return found
    return replace(found, claims=tuple(dict.fromkeys(found.claims)))


def _find_evidence(network: Network, language: Language, budget: Budget) -> dict[str, Any] | None:
    interpreter = Interpreter(network)
    if not interpreter.exact:
        return None
    reached = _reach(interpreter, language)
    for number, layer in enumerate(network.layers):
        if not layer.recurrence.linear:
            continue
        groups: dict[Hashable, list[Reached]] = {}
        for entry in reached:
            groups.setdefault(entry[0][:number], []).append(entry)
        for group in groups.values():
            for other in group[1 : _PAIRS + 1]:
                budget.check_time(layer=number + 1)
                found = _examine(interpreter, language, number, group[0], other)
                if found is not None:
                    return found
    return None


def _reach(interpreter: Interpreter, language: Language) -> list[Reached]:
    """The first joint configurations, each with its shortest word."""

    def successors(node: Reached) -> Iterator[Reached]:
        states, configuration, word = node
        for letter in range(len(language.alphabet)):
            target = language.advance(configuration, letter)
            yield interpreter.step(states, letter)[0], target, (*word, letter)

    start: Reached = (interpreter.start(), language.initial(), ())
    return list(breadth_first(start, successors, key=lambda node: node[:2], most=_CONFIGURATIONS))


def _examine(
    interpreter: Interpreter, language: Language, number: int, one: Reached, other: Reached
) -> dict[str, Any] | None:
    if one[0][number] == other[0][number] or one[1] == other[1]:
        return None
    identity = _identity_word(interpreter, (one[0], other[0]), number)
    apart = None if identity is None else _telling_word(language, one[1], other[1])
    if identity is None or apart is None:
        return None
    symbols = language.alphabet.symbols
    words = {"first": one[2], "second": other[2], "identity": identity, "apart": apart}
    spelt = {name: [symbols[a] for a in word] for name, word in words.items()}
    return {"layer": number + 1, **spelt}


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
    Pair = tuple[Hashable, Hashable, Word]

    def successors(node: Pair) -> Iterator[Pair]:
        left, right, word = node
        for letter in range(len(language.alphabet)):
            yield language.advance(left, letter), language.advance(right, letter), (*word, letter)

    start: Pair = (one, other, ())
    pairs = breadth_first(start, successors, key=lambda node: node[:2], most=_DISTINGUISHING)
    return next((word for a, b, word in pairs if language.legal(a) != language.legal(b)), None)
