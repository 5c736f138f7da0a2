"""`forward` against `step` on random words, position by position, bit for bit: a test, no proof.

Where integer-exactness holds, the two agree on every word, and the comparison only tests that the module
computes what the network says. Exact arithmetic does not fix the sign of a zero, so 0.0 and -0.0 are taken
for equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from nerode.core import Budget, BudgetExceeded, InputError, plural, started
from nerode.kernel import TESTED, Claim
from nerode.proofs.runner import Runner, State

_SECONDS_TO_COMPARE = 10.0

_WORDS, _LENGTH, _CUTS = 8, 65, ((), (1, 2, 40))
"""Random words on which `forward` is compared with `step`, and where they are cut."""

AGREEMENT = "forward-against-step"


def compare_forward(
    runner: Runner, letters: Tensor, *, cuts: Sequence[Sequence[int]] = ((),), budget: Budget | None = None
) -> str:
    """Returns the first place where `forward` differs from `step` on words, in words; empty if there is none.

    Args:
        runner: a module with `forward`.
        letters: words (batch, time).
        cuts: for each way to read the words, the positions where they are cut.
        budget: limits the time.
    """
    budget = started(budget)
    scores, last = _stepped(runner, letters, budget)
    for places in cuts:
        ends = [0, *sorted(places), letters.shape[1]]
        state: State | None = None
        for first, end in itertools.pairwise(ends):
            if not 0 <= first < end <= letters.shape[1]:
                raise InputError(f"the cuts {list(places)} do not part {letters.shape[1]} letters")
            budget.check_time(letters_compared=first)
            with torch.no_grad():
                got, state = runner.module.forward(letters[:, first:end], state)  # type: ignore[attr-defined]
            found = _first(scores[:, first:end], got)
            if found is not None:
                return _difference("scores", found, scores[:, first:end], got, first + found[1] + 1)
        assert state is not None
        for name, wanted in last.items():
            found = _first(wanted, state[name])
            if found is not None:
                return _difference(name, found, wanted, state[name], letters.shape[1])
    return ""


def random_words(runner: Runner, *, words: int, length: int) -> Tensor:
    """Returns random words over the alphabet (words, length)."""
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.integers(0, runner.letters, (words, length)))


def agreement_claim(*, dtype: str, task: str, words: int, length: int) -> Claim:
    """Returns the claim that `forward` agreed with `step` on some words: a test, not a proof."""
    return Claim(
        scope=TESTED,
        method=AGREEMENT,
        task=task,
        covers=(
            f"On {words} random words of {length} letters `forward`, whole and in chunks, gave the same "
            "scores and states as `step`, bit for bit but for the sign of zeros. This is a test, not a proof."
        ),
        dtype=dtype,
        length=length,
    )


def _stepped(runner: Runner, letters: Tensor, budget: Budget) -> tuple[Tensor, State]:
    scores: list[Tensor] = []
    with torch.no_grad():
        state = runner.module.initial_state(len(letters))
        for position in letters.unbind(1):
            budget.check_time(letters_compared=len(scores))
            score, state = runner.module.step(position, state)
            scores.append(score)
    return torch.stack(scores, dim=1), state


def _first(wanted: Tensor, got: Tensor) -> list[int] | None:
    """The place of the first numbers that differ, earliest position first."""
    if wanted.shape != got.shape or wanted.dtype != got.dtype:
        return [0] * max(2, wanted.ndim)
    differs = ~((wanted == got) | (wanted.isnan() & got.isnan()))
    if not differs.any():
        return None
    places = differs.nonzero()
    return [int(v) for v in places[places[:, min(1, places.shape[1] - 1)].argmin()]]


def _difference(what: str, place: list[int], wanted: Tensor, got: Tensor, position: int) -> str:
    """The first numbers that differ, and where."""
    index = tuple(place[: wanted.ndim])
    given = complex(got[index]) if wanted.shape == got.shape else complex("nan")
    after = f"{what}, after {plural(position, 'letter')}"
    return f"forward gives {given} where step gives {complex(wanted[index])} ({after})"


def compare_on_random_words(runner: Runner, task: str, budget: Budget) -> tuple[list[Claim], str]:
    """Returns the claim that `forward` agrees with `step` on random words, or where it does not."""
    if not runner.has_forward:
        return [], ""
    letters = random_words(runner, words=_WORDS, length=_LENGTH)
    try:
        difference = compare_forward(
            runner, letters, cuts=_CUTS, budget=budget.part(1.0, seconds=_SECONDS_TO_COMPARE)
        )
    except BudgetExceeded:
        return [], ""
    if difference:
        return [], difference
    return [agreement_claim(dtype=runner.dtype, task=task, words=_WORDS, length=_LENGTH)], ""
