"""All joint configurations of a network and a language, by the compiler's exact interpreter."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass

from nerode.core import Budget, BudgetExceeded, Cyclotomic
from nerode.languages import Language, Legal, Word
from nerode.network import Interpreter, Network, NetworkState
from nerode.proofs.certificate import RECOGNISE, VALID_PREFIXES, Refutation


@dataclass(frozen=True, slots=True, kw_only=True)
class JointClosure:
    """A closed set of joint configurations, numbered in the order of their shortest words.

    Attributes:
        network_states: the configuration of the network, by number.
        language_states: the configuration of the language, by number.
        successors: for each number the numbers after each letter, -1 for a letter that is not read.
        words: the shortest word that leads to each number.
    """

    network_states: tuple[NetworkState, ...]
    language_states: tuple[Hashable, ...]
    successors: tuple[tuple[int, ...], ...]
    words: tuple[Word, ...]

    def __len__(self) -> int:
        return len(self.successors)

    @property
    def digest(self) -> str:
        """SHA-256 of the transition table, one line a configuration, "-" for a letter that is not read."""
        lines = (" ".join("-" if t < 0 else str(t) for t in row) + "\n" for row in self.successors)
        return hashlib.sha256("".join(lines).encode()).hexdigest()


MAX_BITS = 900
"""Numbers with more bits only occur in networks that run away."""


def close_jointly(
    network: Network, language: Language, *, task: str, budget: Budget | None = None
) -> JointClosure | Refutation:
    """Returns the joint configurations that words reach, or the shortest word on which the network fails.

    Args:
        network: a network that the exact interpreter runs.
        language: what it should do.
        task: PREDICT or RECOGNISE for all words, VALID_PREFIXES for prefixes of words of the language.
        budget: limits the configurations (`elements`) and the time.

    Raises:
        BudgetExceeded: if there are more configurations than the budget allows.
    """
    budget = budget or Budget()
    interpreter = Interpreter(network)
    legal: dict[Hashable, Legal] = {}

    def allowed(configuration: Hashable) -> Legal:
        found = legal.get(configuration)
        if found is None:
            found = legal[configuration] = language.legal(configuration)
        return found

    def wrong(word: Word, expected: Legal, got: Legal) -> Refutation | None:
        if expected == got or (task == RECOGNISE and expected.end == got.end):
            return None
        names = language.alphabet
        return Refutation(
            word=tuple(names.symbols[a] for a in word),
            at=len(word),
            expected=tuple(expected.names(names)),
            got=tuple(got.names(names)),
        )

    first = (interpreter.start(), language.initial())
    refutation = wrong((), allowed(first[1]), interpreter.empty_answer().legal)
    if refutation is not None:
        return refutation
    number = {first: 0}
    order = [first]
    words: list[Word] = [()]
    rows = []
    for (states, configuration), word in zip(order, words, strict=True):
        row = []
        for letter in range(len(language.alphabet)):
            if task == VALID_PREFIXES and letter not in allowed(configuration).symbols:
                row.append(-1)
                continue
            new, answer = interpreter.step(states, letter)
            target = language.advance(configuration, letter)
            refutation = wrong((*word, letter), allowed(target), answer.legal)
            if refutation is not None:
                return refutation
            reached = (new, target)
            if reached not in number:
                number[reached] = len(order)
                order.append(reached)
                words.append((*word, letter))
                budget.check("elements", len(order), joint_configurations=len(order))
                if _runs_away(new):
                    raise BudgetExceeded(
                        "bytes",
                        budget.bytes,
                        known_so_far={"joint configurations": len(order), "bits of one number": MAX_BITS},
                        remedy="the states of this network grow without bound; this proof is not for it",
                    )
            row.append(number[reached])
        rows.append(tuple(row))
    return JointClosure(
        network_states=tuple(states for states, _ in order),
        language_states=tuple(configuration for _, configuration in order),
        successors=tuple(rows),
        words=tuple(words),
    )


def _runs_away(states: NetworkState) -> bool:
    for value in (v for state in states for v in state):
        parts = value.numerators if isinstance(value, Cyclotomic) else (value.numerator,)
        if any(n.bit_length() > MAX_BITS for n in (value.denominator, *parts)):
            return True
    return False
