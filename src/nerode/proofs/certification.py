"""Certification: the method of proof that fits a network, and the finder that it needs.

finite state sets       joint closure
tallies                 saturating closure
fading registers        interval closure
counters, stacks        an invariant
tanh, sigmoid, exp      boxes
distributions           contexts of an n-gram model

Invariants are found by looking at the network: `counters` has counts and the slots of a stack, intervals hold
registers whose overwritten values fade (gates such as 1/4), caps hold tallies that only matter until they
are large enough. What a finder finds is no proof; it goes to the kernel, which has the last word.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from nerode.core import Budget, BudgetExceeded, Exact, InputError, started, write_exact
from nerode.kernel import PREDICT, VALID_PREFIXES, Certificate, Refutation
from nerode.languages import CounterLanguage, Dyck, Language
from nerode.languages.ngrams import BackoffModel, NgramLanguage
from nerode.network import Affine, Interpreter, Layer, LogitDecoder, Network, NetworkState
from nerode.proofs.answers import breadth_first, letters_read
from nerode.proofs.boxes import certify_boxes, with_noise
from nerode.proofs.counters import (
    GatedStep,
    Place,
    alternating_cover,
    counter_cover,
    find_alternating,
    find_integrators,
    gated_steps,
    name_of,
    rectified_cover,
    slot_cover,
)
from nerode.proofs.proving import Outcome, Prover, Unproved

Json = Any

GAP = Fraction(1, 8)
"""Values of one cluster are at most this far from the next one."""

SLACK = Fraction(1, 128)
"""Room of a cluster on both sides, for the values of longer sequences."""

_SAMPLE = 5_000
"""Configurations that are looked at."""

_MOST_STEPS = 64
"""Pairs of gate and write of a register; a coordinate that meets more of them is none."""

_ROUNDING = 16
_LENGTH = 6
_VALUES = 4_000
_FINE = 4_096

MANY_STACKS = 2_000
"""Above this number of stacks a bracket language is proved depth by depth."""


def choose_cover(
    network: Network, language: Language, task: str, budget: Budget
) -> tuple[str, dict[str, Json]]:
    """Returns the method of proof that fits a network, and what its cells know."""
    if isinstance(language, CounterLanguage) and not network.layers[0].recurrence.linear:
        rectified = rectified_cover(network, language)
        if rectified is not None:
            return "counter-invariant", rectified
    alternating = find_alternating(network)
    signed = None if alternating is None else alternating_cover(network, language, alternating, budget)
    if signed is not None:
        return "counter-invariant", signed
    integrators = find_integrators(network)
    bounded = language.regular and task == VALID_PREFIXES
    many = isinstance(language, Dyck) and (language.num_states() or MANY_STACKS + 1) > MANY_STACKS
    counting = isinstance(language, CounterLanguage) or (integrators and (many or not bounded))
    cover: dict[str, Json] = {}
    if counting:
        cover |= counter_cover(network, language, integrators, budget) or {}
    if many and isinstance(language, Dyck):
        cover |= slot_cover(network, language) or {}
    intervals = interval_cover(network, language, task)
    if intervals:
        cover["intervals"] = intervals
    if "slots" in cover:
        return "stack-invariant", cover
    if counting:
        return "counter-invariant", cover
    return ("interval-closure" if intervals else "joint-closure"), cover


def interval_cover(network: Network, language: Language, task: str) -> dict[str, Json]:
    """Returns the clusters of every coordinate that fades, by name; none if there is no such coordinate.

    Args:
        network: the network.
        language: what it should do.
        task: says which words matter.
    """
    if not any(map(_may_fade, network.layers)):
        return {}
    found = {}
    for place, steps in sorted(_sampled_steps(network, language, task).items()):
        start = network.layers[place[0]].start[place[1]]
        if len(steps) > _MOST_STEPS:
            continue
        if any(gate.denominator != 1 for gate, _ in steps) and isinstance(start, int | Fraction):
            intervals = clusters(sorted(_values(Fraction(start), steps)))
            found[name_of(network, place)] = [[write_exact(a), write_exact(b)] for a, b in intervals]
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


def _may_fade(layer: Layer) -> bool:
    """Whether a gate is not a whole number."""
    gated, fixed = layer.recurrence.as_gated(), layer.recurrence.as_fixed()
    if gated is not None:
        numbers: Iterable[Exact] = [*gated.gate.bias, *(c for row in gated.gate.rows for _, c in row)]
    else:
        numbers = () if fixed is None else [c for row in fixed.matrix for _, c in row]
    return any(isinstance(v, Fraction) for v in numbers)


def _sampled_steps(network: Network, language: Language, task: str) -> dict[Place, set[GatedStep]]:
    """The effect of letters on each coordinate, on configurations that differ by more than low digits."""
    interpreter = Interpreter(network)
    steps: dict[Place, set[GatedStep]] = {}
    fading = [(n, layer) for n, layer in enumerate(network.layers) if _may_fade(layer)]

    def successors(node: tuple[NetworkState, Hashable]) -> Iterator[tuple[NetworkState, Hashable]]:
        states, configuration = node
        for letter in letters_read(language, configuration, task):
            stream = interpreter.stream(states, letter)
            for n, layer in fading:
                for i, step in gated_steps(layer, stream, letter).items():
                    steps.setdefault((n, i), set()).add(step)
            yield interpreter.step(states, letter)[0], language.advance(configuration, letter)

    def rounded(node: tuple[NetworkState, Hashable]) -> Hashable:
        return tuple(tuple(round(v * _ROUNDING) for v in state) for state in node[0]), node[1]

    start = (interpreter.start(), language.initial())
    for _ in breadth_first(start, successors, key=rounded, most=_SAMPLE):
        pass
    return steps


def _values(start: Fraction, steps: Iterable[GatedStep]) -> set[Fraction]:
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


def find_caps(network: Network) -> dict[Place, int]:
    """Returns the caps of the coordinates that only matter up to a cap.

    A cap is where every unit that reads the coordinate is on as long as what else it reads is between
    -1 and 1; the kernel looks at the actual values.
    """
    caps = {}
    for number, layer in enumerate(network.layers):
        for i in range(0 if layer.complex_state else layer.width):
            cap = _cap(layer, i) if _is_held(layer, i) else None
            if cap is not None:
                caps[number, i] = cap
    return caps


def cap_cover(network: Network) -> dict[str, Json]:
    """Returns the caps by the names of their coordinates."""
    return {"caps": {name_of(network, place): cap for place, cap in sorted(find_caps(network).items())}}


def _is_held(layer: Layer, i: int) -> bool:
    """Whether every letter keeps a coordinate and adds to it, and no other one reads it."""
    gated, fixed = layer.recurrence.as_gated(), layer.recurrence.as_fixed()
    if gated is not None:
        return gated.gate.bias[i] == 1 and not gated.gate.rows[i]
    if fixed is None:
        return False
    others = any(j == i for k, row in enumerate(fixed.matrix) if k != i for j, _ in row)
    return fixed.matrix[i] == ((i, 1),) and not others


def _cap(layer: Layer, i: int) -> int | None:
    """The cap of a coordinate, None if some output grows along it."""
    columns = [len(layer.reads) + i]
    if layer.exposes_previous:
        columns.append(len(layer.reads) + layer.width + i)
    first_unit = layer.readout_units.num_inputs
    needed = Fraction(1)
    for column in columns:
        slopes = {
            first_unit + j: c for j, row in enumerate(layer.readout_units.rows) for k, c in row if k == column
        }
        if any(not isinstance(c, int | Fraction) or c <= 0 for c in slopes.values()):
            return None
        for row in layer.readout.rows:
            entries = dict(row)
            if column in entries or sum((entries[u] * s for u, s in slopes.items() if u in entries), 0) != 0:
                return None
        for j, slope in slopes.items():
            needed = max(needed, _reach(layer.readout_units, j - first_unit, column) / Fraction(slope))  # type: ignore[arg-type]
    return math.ceil(needed) + 1


def _reach(units: Affine, j: int, column: int) -> Fraction:
    """The lowest value that the other terms of a unit can give it, for inputs between -1 and 1."""
    rest = [abs(Fraction(c)) for k, c in units.rows[j] if k != column and isinstance(c, int | Fraction)]
    bias = units.bias[j]
    return sum(rest, Fraction(0)) - (Fraction(bias) if isinstance(bias, int | Fraction) else 0)


NGRAMS = "n-gram-contexts"

MOST_WORK = 2_000_000_000
"""Products that the closure of a network with feedback through units may take, roughly."""

MOST_UNITS = 200
"""Wider layers of ReLU units are not searched for a noise margin."""

FEW_CELLS = 500
"""Joint configurations that are searched for a failing word before anything else."""

MOST_STEPS = 2_400
"""Cells of unknowns times letters after which a closure for all words waits for that of valid prefixes."""

FEW_UNKNOWNS = 100
"""As many cells of unknowns are walked at once for any alphabet."""

MORE_CELLS = 40
"""All words may take this many times the cells of valid prefixes."""

MOST_UNKNOWNS = 20_000
"""Cells of unknowns that the kernel visits; where all words may take more, they are not tried again."""

FIRST_SHARE = 0.85
"""The share of the seconds in which all words are tried first: what is left is for valid prefixes."""


def certify(
    network: Network, language: Language, *, dtype: str | None = None, budget: Budget | None = None
) -> Outcome:
    """Returns a certificate, the shortest word on which the network fails, or a reason why neither was found.

    Networks with distributions are compared with their n-gram model on every context; networks in exact
    arithmetic by closure or invariants; networks with tanh, sigmoid or exp by boxes.

    Args:
        network: a compiled network.
        language: what it should do.
        dtype: None for the network itself; "float64", "float32", "bfloat16" or "float16" for its module as
            it runs in this format, roundings included, which needs torch. That proof may reach only up to
            some length.
        budget: limits for the search.
    """
    budget = started(budget)
    with budget.running():
        if dtype is None:
            return _certify_network(network, language, budget)
        from nerode.proofs.find.closure import certify_floats

        return certify_floats(network, language, dtype=dtype, budget=budget).outcome()


def _certify_network(network: Network, language: Language, budget: Budget) -> Outcome:
    if isinstance(network.decoder, LogitDecoder):
        if not isinstance(language, NgramLanguage):
            return Unproved(reason="the network has distributions, but the language is not an n-gram model")
        return certify_ngrams(network, language, budget=budget)
    if not network.exact:
        return certify_boxes(network, language, budget=budget)
    if language.regular and _has_tallies(network) and not _falls(network):
        return certify_saturating(network, language, budget=budget)
    if not all(layer.recurrence.linear for layer in network.layers):
        return _certify_relu(network, language, budget)
    return certify_exact(network, language, budget=budget)


def _certify_relu(network: Network, language: Language, budget: Budget) -> Outcome:
    """Networks with feedback through units: by closure, and under noise by boxes where they are robust."""
    steps = (language.num_states() or 1) * len(network.alphabet) ** 2
    if language.regular and steps * network.num_parameters > MOST_WORK:
        return Unproved(
            reason=f"about {steps:,} steps of a network of {network.num_parameters:,} numbers are too many"
        )
    found = certify_exact(network, language, budget=budget)
    if isinstance(found, Certificate) and language.regular and network.state_size <= MOST_UNITS:
        return with_noise(found, network, language, budget=budget)
    return found


def _has_tallies(network: Network) -> bool:
    """Whether a time-invariant layer counts events that only matter once."""
    tallied = {layer for layer, _ in find_caps(network)}
    return any(network.layers[n].recurrence.as_fixed() is not None for n in tallied)


def _falls(network: Network) -> bool:
    """Whether some letter lowers what others add up, so that it is no tally."""
    return any(min(integrator.steps) < 0 for integrator in find_integrators(network))


def certify_exact(
    network: Network, language: Language, *, task: str | None = None, budget: Budget | None = None
) -> Outcome:
    """Returns a certificate for all lengths, the shortest word on which the network fails, or neither.

    Args:
        network: a network with exact arithmetic and a decoder of scores or points.
        language: the language that it should do.
        task: PREDICT, VALID_PREFIXES or RECOGNISE; None for the first two, the stronger one if it holds.
        budget: limits the cells (`elements`) and the time.

    Raises:
        InputError: if the network is of another kind (tanh, sigmoid, logits).
        BudgetExceeded: if the cells are too many for the budget.
    """
    budget = started(budget)
    if not network.exact or isinstance(network.decoder, LogitDecoder):
        raise InputError(
            f"the network for {network.origin.language} has tanh, sigmoid, exp or logits; exact proofs are "
            "for piecewise linear networks, use the certificates for boxes or n-gram models"
        )
    prover = Prover(network, language, budget)
    if task is not None:
        return _certify(prover, network, language, task)
    if not language.regular:
        return _certify_counters(prover, network, language)
    best = _certify(prover, network, language, PREDICT)
    if isinstance(best, Certificate):
        return best
    return _stronger(language, best, _certify(prover, network, language, VALID_PREFIXES))


def _stronger(language: Language, best: Outcome, weaker: Outcome) -> Outcome:
    """The outcome for all words and that for valid prefixes, as one.

    A word that no word of the language begins with refutes nothing about valid prefixes: where these are
    open, so is the network.
    """
    if not isinstance(weaker, Unproved):
        return weaker
    if not isinstance(best, Refutation):
        return best
    word = language.alphabet.encode(best.word)
    if all(a in before.symbols for a, before in zip(word, language.legal_along(word), strict=False)):
        return best
    got, expected = (", ".join(answer) or "nothing" for answer in (best.got, best.expected))
    return Unproved(
        reason=f"after {language.alphabet.decode(word)}, with which no word begins, it says {got} and not "
        f"{expected}; of valid prefixes: {weaker.reason}"
    )


def _certify_counters(prover: Prover, network: Network, language: Language) -> Outcome:
    """The outcome for all words or valid prefixes of a language that is not regular.

    Where counters go on below zero in dead prefixes there is often no end of cells. So all words get many
    cells only if valid prefixes need some, or are not proved either.
    """
    few = max(FEW_UNKNOWNS, MOST_STEPS // len(network.alphabet))
    best: Outcome | None = None
    in_time = True
    try:
        with prover.budget.part(FIRST_SHARE).running():
            best = _certify_few(prover, network, language, few)
    except BudgetExceeded as stop:
        if stop.resource != "seconds":
            raise
        in_time = False
    if isinstance(best, Certificate):
        return best
    weaker = _certify(prover, network, language, VALID_PREFIXES)
    if isinstance(weaker, Certificate):
        worth = MORE_CELLS * max(cover.get("cells") or 0 for cover in weaker.evidence.values())
        if best is None and in_time and few < worth <= MOST_UNKNOWNS:
            with suppress(BudgetExceeded):
                best = _certify_few(prover, network, language, worth)
        return best if isinstance(best, Certificate) else weaker
    if best is None:
        best = _certify(prover, network, language, PREDICT)
    return _stronger(language, best, weaker)


def _certify_few(prover: Prover, network: Network, language: Language, most: int) -> Outcome | None:
    """The outcome for all words with so many cells of unknowns; None if there are more."""
    try:
        return _certify(prover, network, language, PREDICT, most=most)
    except BudgetExceeded as stop:
        if stop.resource != "elements" or most >= prover.budget.elements:
            raise
        return None


def certify_saturating(network: Network, language: Language, *, budget: Budget | None = None) -> Outcome:
    """Returns a certificate for a network with tallies, the shortest failing word, or neither."""
    if not find_caps(network):
        return Unproved(reason="no coordinate of the network saturates")
    covers = [{"task": task, **cap_cover(network)} for task in (PREDICT, VALID_PREFIXES)]
    return Prover(network, language, budget).certify("saturating-closure", covers)


def _certify(
    prover: Prover, network: Network, language: Language, task: str, *, most: int | None = None
) -> Outcome:
    """The outcome for a task, with at most so many cells of unknowns."""
    budget = prover.budget
    closed: Outcome | None = None
    try:
        # Counters have no end; for them the kernel looks for a failing word by itself.
        if language.regular:
            closed = prover.outcome(prover.prove("joint-closure", {"task": task}, most=FEW_CELLS))
    except BudgetExceeded as stop:
        if stop.resource == "seconds" or budget.elements <= FEW_CELLS:
            raise
    if closed is not None and not isinstance(closed, Unproved):
        return closed
    method, cover = choose_cover(network, language, task, budget)
    if closed is not None and method == "joint-closure":
        return closed
    limit = None if method == "joint-closure" else most
    return prover.outcome(prover.prove(method, {"task": task, **cover}, most=limit))


def certify_ngrams(
    network: Network, language: NgramLanguage, *, eps: Fraction | None = None, budget: Budget | None = None
) -> Outcome:
    """Returns a certificate that the network is eps-equivalent to the model over its whole language.

    Args:
        network: a network with a distribution.
        language: the language of an exact model, or of a back-off model with decimal logarithms.
        eps: the bound to claim; None claims the distance that was found, rounded up to three digits, or
            that there is none.
        budget: limits.

    Returns:
        A refutation where the network is not below eps, and why there is no proof if it is not of a form
        that the method covers. Where the network is correct on all windows, that is claimed as well.

    Raises:
        InputError: for another alphabet, or eps not above 0.
    """
    if eps is not None and eps <= 0:
        raise InputError(f"eps = {eps} is not above 0; leave it out to claim the distance that is found")
    prover = Prover(network, language, budget)
    proof = prover.prove(NGRAMS, {"task": PREDICT}, eps=eps)
    if proof.failure is not None and not isinstance(language.model, BackoffModel):
        proof = prover.prove(NGRAMS, {"task": VALID_PREFIXES}, eps=eps)
    return prover.outcome(proof)


def prove_network(
    network: Network, language: Language, budget: Budget
) -> Certificate | Refutation | Unproved:
    """Returns what can be proved of a network within a budget; a budget that is used up proves nothing."""
    try:
        return certify(network, language, budget=budget)
    except BudgetExceeded as stop:
        return Unproved(reason=str(stop))
