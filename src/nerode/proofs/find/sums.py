"""Evidence that weights compute what their exact network computes, read off words; the replay proves it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from nerode.core import Budget, BudgetExceeded, InputError, NerodeError
from nerode.kernel import EXACT, PREDICT, VALID_PREFIXES, Certificate, certificate_to_json
from nerode.languages import Dyck, Language, language_hash
from nerode.models import Model, dtype_of
from nerode.network import Interpreter, Network, network_to_json
from nerode.proofs.proving import Unproved
from nerode.proofs.replay.forms import number_of
from nerode.proofs.replay.listing import fingerprint
from nerode.proofs.replay.sums import METHOD, replay_sums, sums_claim

Json = Any
Floats = npt.NDArray[np.float64]

_FEW = 64
"""Values that the numbers that are no counters take together; of more the evidence has the ranges."""

_WORDS, _LETTERS = 24, 40
"""Words that are read, half of them valid as far as they can be."""

_FACTORS = tuple(sign * 2.0**power for power in range(-12, 13) for sign in (1, -1))
"""Multiples of a number of the network that numbers of the state may be."""

_PLACES = 2.0**16
"""Factors and constants of sums are multiples of 1 over this."""

_LENGTHS = tuple((1 << power) - 64 for power in (24, 23, 22, 21, 20, 18, 16))
"""Lengths up to which counters are proved; the first that is, is taken."""


def certify_sums(
    model: Model, network: Network, exact: Certificate, language: Language, *, budget: Budget
) -> Certificate | Unproved:
    """Returns a certificate that a model computes what its network computes, or why none was found.

    Args:
        model: written from the network; its scores are read at 1/2.
        network: proved at every length by the kernel.
        exact: the certificate of that.
        language: what both should do.
        budget: limits the time.
    """
    tasks = [claim.task for claim in exact.claims if claim.scope == EXACT]
    task = next((task for task in (PREDICT, VALID_PREFIXES) if task in tasks), None)
    if task is None:
        return Unproved(reason="nothing is proved of the exact network at every length")
    try:
        evidence = _evidence(model, network, language, task, exact)
    except (NerodeError, ArithmeticError) as unfit:
        return Unproved(reason=str(unfit))
    grows = bool(evidence["counters"])
    brackets = task == VALID_PREFIXES and isinstance(language, Dyck) and language.depth is not None
    reason = ""
    for length in _LENGTHS if grows and not brackets else (None,):
        sha = fingerprint(model)
        found = Certificate(
            network=sha,
            language=language_hash(language, budget),
            claims=(sums_claim(task, dtype_of(model), length),),
            evidence={METHOD: {**evidence, "length": length}},
        )
        try:
            failure = replay_sums(model, language, found, network=sha, budget=budget)
        except BudgetExceeded as stop:
            return Unproved(reason=str(stop))
        if failure is None:
            return found
        reason = failure.what
    return Unproved(reason=f"sums are rounded, or are others than those of the network: {reason}")


@torch.no_grad()
def _evidence(model: Model, network: Network, language: Language, task: str, exact: Certificate) -> Json:
    """The evidence as far as words show it."""
    interpreter, random = Interpreter(network), np.random.default_rng(0)
    inner, outer, moved = [], [], []
    for number in range(_WORDS):
        states, at, state = interpreter.start(), language.initial(), model.initial_state(1)
        inner.append(_values(states))
        outer.append(_row(state))
        for _ in range(_LETTERS):
            legal = sorted(language.legal(at).symbols)
            free = task == PREDICT and number % 2
            letters = list(range(len(language.alphabet))) if free or not legal else legal
            if not legal and not free:
                break
            letter = int(random.choice(letters))
            before = inner[-1]
            states, _ = interpreter.step(states, letter)
            _, state = model.step(torch.tensor([letter]), state)
            at = language.advance(at, letter)
            inner.append(_values(states))
            outer.append(_row(state))
            moved.append((letter, inner[-1] - before))
    known, seen = np.array(inner), np.array(outer)
    counters = _counters(moved, known.shape[1], len(language.alphabet))
    others = np.unique(np.delete(known, [int(k) for k in counters], axis=1), axis=0)
    return {
        "task": task,
        "dtype": dtype_of(model),
        "module": fingerprint(model),
        "network": network_to_json(network),
        "certificate": certificate_to_json(exact),
        "counters": counters,
        "ranges": _ranges(known, counters, language),
        "joint": others.astype(int).tolist() if len(others) <= _FEW else None,
        "state": _relations(seen, known),
    }


def _values(states: Any) -> Floats:
    return np.array([number_of(value) for layer in states for value in layer])


def _row(state: dict[str, torch.Tensor]) -> Floats:
    if any(value.is_complex() for value in state.values()):
        raise InputError("a state is complex; forms are for real numbers")
    return np.concatenate([state[name].double().reshape(-1).numpy() for name in sorted(state)])


def _counters(moved: list[tuple[int, Floats]], width: int, letters: int) -> dict[str, int]:
    """The numbers to which each letter always adds the same, and the most that it is."""
    steps = [np.array([d for a, d in moved if a == letter]).reshape(-1, width) for letter in range(letters)]
    found = {}
    for k in range(width):
        columns = [part[:, k] for part in steps if len(part)]
        same = all((column == column[0]).all() for column in columns)
        if same and any(column[0] for column in columns):
            found[str(k)] = int(max(abs(column[0]) for column in columns))
    return found


def _ranges(known: Floats, counters: dict[str, int], language: Language) -> list[list[int]]:
    """The least and the greatest value of each number; of brackets by their depth."""
    low, high = np.floor(known.min(0)), np.ceil(known.max(0))
    depth = language.depth if isinstance(language, Dyck) else None
    for k, most in counters.items():
        start = known[0, int(k)]
        low[int(k)], high[int(k)] = start, start + most * (depth or 0)
    return [[int(a), int(b)] for a, b in zip(low, high, strict=True)]


def _relations(seen: Floats, known: Floats) -> list[Json]:
    """Constant and factors of each number of the state; None for one that is free."""
    if not seen.shape[1]:
        return []
    design = np.concatenate([np.ones((len(known), 1)), known], axis=1)
    solved = np.linalg.lstsq(design, seen, rcond=None)[0]
    rounded = np.round(solved * _PLACES) / _PLACES
    # What nothing was seen to move is a constant; a sum of several numbers, where no single one will do.
    for j, column in enumerate(seen.T):
        if (column == column[0]).all():
            rounded[:, j] = 0.0
            rounded[0, j] = column[0]
            continue
        for factor in _FACTORS:
            equal = np.flatnonzero((factor * known == column[:, None]).all(0))
            if len(equal):
                rounded[:, j] = 0.0
                rounded[1 + equal[0], j] = factor
                break
    tied = (design @ rounded == seen).all(0)
    return [
        [float(row[0]), [[int(k), float(row[1 + k])] for k in np.flatnonzero(row[1:])]] if holds else None
        for holds, row in zip(tied, rounded.T, strict=True)
    ]
