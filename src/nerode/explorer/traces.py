"""A word step by step: the automaton, the monoid, and a network beside them, in columns by position.

Numbers are as JSON can hold them. Exact steps are taken here, those in floats by `inside`, which needs torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nerode.core import BudgetExceeded, InputError, to_mapping
from nerode.explorer.networks import make_network
from nerode.explorer.orders import LONGEST_WORD, TraceOrder, read_language, request_budget
from nerode.languages import Counters, Language, Legal, Word
from nerode.network import AttentionHeads, Interpreter, Network
from nerode.report import visible
from nerode.study import ElementPlaces

_MOST_NUMBERS = 600_000
"""Coordinates times positions of one answer."""

Number = float | str | list[float]
"""A real number, one of "∞", "-∞" and "nan", or the two parts of a complex number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """State and answer of a network after a prefix.

    Attributes:
        legal: what it says may follow.
        states: the state of each layer.
        drives: for each layer by name what moved its state there: gates, writes, sums; none at the start.
        scores: of the letters and the end.
    """

    legal: Legal
    states: tuple[list[Number], ...]
    drives: tuple[dict[str, list[Number]], ...] = ()
    scores: tuple[Number, ...] = ()


def plain_number(value: Any) -> Number:
    """Returns a number of any arithmetic with six digits, as JSON can hold it."""
    if isinstance(value, complex):
        return _rounded(value.real) if value.imag == 0 else [_finite(value.real), _finite(value.imag)]
    try:
        return _rounded(float(value))
    except OverflowError:
        return "∞" if value > 0 else "-∞"
    except TypeError:
        return plain_number(complex(value))


def plain_numbers(values: Iterable[Any]) -> list[Number]:
    """Returns numbers with six digits."""
    return [plain_number(value) for value in values]


def _rounded(value: float) -> float | str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return float(f"{value:.6g}")


def _finite(value: float) -> float:
    """A part of a complex number; one that is not finite is drawn at the edge."""
    return float(f"{value:.6g}") if math.isfinite(value) else math.copysign(1e30, value)


def exact_steps(network: Network, word: Word) -> list[Step]:
    """Returns the states of all layers after each prefix, the empty one first, and what moved them."""
    interpreter = Interpreter(network)
    states, answer = interpreter.start(), interpreter.empty_answer()
    steps = [Step(legal=answer.legal, states=tuple(map(plain_numbers, states)))]
    for letter in word:
        drives = tuple(
            {name: plain_numbers(values) for name, values in drive.items()}
            for drive in interpreter.drives(states, letter)
        )
        states, answer = interpreter.step(states, letter)
        steps.append(
            Step(
                legal=answer.legal,
                states=tuple(map(plain_numbers, states)),
                drives=drives,
                scores=tuple(plain_numbers(answer.scores)),
            )
        )
    return steps


@dataclass
class Numbering:
    """Values that repeat, each written once."""

    values: list[Any] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

    def add(self, value: Any) -> None:
        """Notes the next value."""
        key = repr(value)
        if key not in self._known:
            self._known[key] = len(self.values)
            self.values.append(value)
        self.at.append(self._known[key])

    def to_json(self) -> dict[str, Any]:
        """Returns the values and, for each position, which of them."""
        return {"values": self.values, "at": self.at}


def trace(
    order: TraceOrder, take_steps: Callable[[Network, Word], list[Step]] = exact_steps
) -> dict[str, Any]:
    """Returns what happens after each prefix of a word, the empty prefix first.

    The network is compared with the language after every prefix that some word of the language extends.

    Args:
        order: which word, and the target whose network reads it.
        take_steps: runs the network, in the arithmetic of the order.
    """
    language = read_language(order.language)
    word = language.alphabet.encode(order.word)
    if len(word) > LONGEST_WORD:
        raise InputError(
            f"a word of {len(word):,} letters is too long to step through; give {LONGEST_WORD:,}"
        )
    expected = language.legal_along(word)
    found = {"letters": list(word), **_machine(language, word, expected)}
    if order.target:
        network = make_network(order.language, order.target)
        _check_size(network, word)
        steps = add_positions(network, take_steps(network, word))
        found["network"] = _network(steps, expected, language)
    return found


def _check_size(network: Network, word: Word) -> None:
    numbers = network.state_size * (len(word) + 1)
    if numbers > _MOST_NUMBERS:
        most = _MOST_NUMBERS // network.state_size
        raise InputError(
            f"the network has {network.state_size:,} coordinates; after {len(word):,} letters these are "
            f"{numbers:,} numbers. Give a word of at most {most:,} letters"
        )


def _machine(language: Language, word: Word, expected: Sequence[Legal]) -> dict[str, Any]:
    """States, what may follow, and the elements of the monoid along a word."""
    try:
        dfa = language.dfa(request_budget()) if language.regular else None
    except BudgetExceeded:
        dfa = None
    places = ElementPlaces.of(dfa)
    states, legal, elements = Numbering(), Numbering(), Numbering()
    configuration: Any = language.initial() if dfa is None else dfa.start
    for position, answer in enumerate(expected):
        if position:
            letter = word[position - 1]
            if dfa is None:
                configuration = language.advance(configuration, letter)
            else:
                configuration = int(dfa.transitions[configuration, letter])
            if places is not None:
                places.read(letter)
        states.add(_state_to_json(configuration, language))
        legal.add(answer.names(language.alphabet))
        if places is not None:
            place = places.place()
            elements.add({**to_mapping(place), "word": visible(place.word)})
    return {
        "states": states.to_json(),
        "legal": legal.to_json(),
        "elements": None if places is None else elements.to_json(),
    }


def _state_to_json(configuration: Any, language: Language) -> int | str:
    """A state by its number; what a machine with counters or a stack holds, in words."""
    match configuration:
        case int():
            return configuration
        case None:
            return "dead"
        case Counters():
            values = ", ".join(map(str, configuration.values))
            last = (
                f" after {language.alphabet.symbols[configuration.last]}" if configuration.last >= 0 else ""
            )
            return visible(f"({values}){last}")
        case tuple():
            held = " ".join(map(str, configuration[-20:]))
            return (
                f"stack {'… ' if len(configuration) > 20 else ''}{held}" if configuration else "stack empty"
            )
    return visible(str(configuration)[:100])


def _network(steps: Sequence[Step], expected: Sequence[Legal], language: Language) -> dict[str, Any]:
    legal = Numbering()
    compared, wrong = 0, []
    for position, (step, answer) in enumerate(zip(steps, expected, strict=True)):
        legal.add(step.legal.names(language.alphabet))
        if answer.symbols or answer.end:
            compared += 1
            if step.legal != answer:
                wrong.append(position)
    return {
        "legal": legal.to_json(),
        "compared": compared,
        "wrong": wrong,
        "layers": [
            {
                "h": [step.states[number] for step in steps],
                "drives": [step.drives[number] if step.drives else {} for step in steps],
            }
            for number in range(len(steps[0].states))
        ],
        "scores": [step.scores for step in steps],
    }


LOOKS = "looks"
"""The name of the positions among what moves a layer."""

EVERYWHERE = "all"
"""What a head looks at that averages."""


def add_positions(network: Network, steps: Sequence[Step]) -> list[Step]:
    """Returns steps in which layers of attention also say, for each coordinate, where its head looks.

    A head of the kind "last" looks at the latest position that did not hold, one of the kind "once" at the
    first one that matched, one of the kind "previous" one position back, one of the kind "mean" at all.
    """
    found = [[dict(drive) for drive in step.drives] for step in steps]
    for number, layer in enumerate(network.layers):
        if not isinstance(layer.recurrence, AttentionHeads):
            continue
        kinds = layer.recurrence.heads
        at = [0] * len(kinds)
        for position in range(1, len(steps)):
            drive = found[position][number]
            looks: list[Number] = []
            for i, kind in enumerate(kinds):
                written = kind == "last" and _is_zero(drive["gate"][i])
                set_now = kind == "once" and at[i] == 0 and not _is_zero(drive["write"][i])
                if kind == "previous":
                    at[i] = position - 1
                elif written or set_now:
                    at[i] = position
                looks.append(EVERYWHERE if kind == "mean" else float(at[i]))
            drive[LOOKS] = looks
    return [replace(step, drives=tuple(drives)) for step, drives in zip(steps, found, strict=True)]


def _is_zero(value: Number) -> bool:
    return isinstance(value, float) and abs(value) < 1 / 2
