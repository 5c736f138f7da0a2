"""The examination of a compiled network in one dtype: proofs first, then tests, then the horizon.

`forward` is compared with `step` on words, position by position, bit for bit. Where integer-exactness holds,
the two agree on every word, and the comparison only tests that the module computes what the network says.
Exact arithmetic does not fix the sign of a zero, so 0.0 and -0.0 are taken for equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nerode.core import Budget, BudgetExceeded, InputError, plural, started
from nerode.kernel import (
    ANY_ORDER,
    TESTED,
    Certificate,
    Claim,
    Failure,
    Refutation,
)
from nerode.languages import Language
from nerode.models import fixed_bits
from nerode.models.lower import is_decoder
from nerode.network import Network
from nerode.proofs.find.closure import FloatVerdict, certify_floats
from nerode.proofs.find.heads import examine_decoder
from nerode.proofs.floats.horizons import Horizon
from nerode.proofs.floats.loops import LoopReport, search_loops
from nerode.proofs.folder import MODEL_FOLDER, write_float_certificate
from nerode.proofs.replay.bits import METHOD
from nerode.proofs.runner import Runner, State

Json = Any

LOOPS = "loops"
LONGEST = 1 << 16
"""Length to which loops are read where no proof reaches all lengths."""

_PROOF_SHARE, _LOOP_SHARE = 0.5, 0.8
"""Shares of the seconds left: for the proof, and then for loops; the rest is for `forward`."""
_SECONDS_TO_COMPARE = 10.0

_WORDS, _LENGTH, _CUTS = 8, 65, ((), (1, 2, 40))
"""Random words on which `forward` is compared with `step`, and where they are cut."""


@dataclass(frozen=True, kw_only=True)
class Examination:
    """The findings about a network in one dtype.

    Attributes:
        dtype: the format.
        claims: proofs, then tests.
        failure: a word on which the module fails, or why a stored certificate is refused.
        horizon: where a loop fails, predicted and measured; None if no loop was seen to fail.
        details: facts about how it was found, for reading.
        certificate: the proof by closure, as far as it goes.
    """

    dtype: str
    claims: tuple[Claim, ...]
    failure: Failure | None
    horizon: Horizon | None
    details: dict[str, Json]
    certificate: Certificate | None


@fixed_bits(1)
def examine(
    network: Network,
    language: Language,
    *,
    dtype: str,
    known: Sequence[Claim] = (),
    folder: Path | None = None,
    budget: Budget | None = None,
) -> Examination:
    """Returns what can be shown about a network in a dtype, and what was tested.

    Args:
        network: a compiled network.
        language: what it should do.
        dtype: the format.
        known: claims that are already proved, of which one may cover any order of evaluation.
        folder: of the network, which may hold the decoder of a network with attention.
        budget: limits the joint states (`elements`) and the time.
    """
    budget = started(budget)
    if _has_decoder(network, folder):
        return _examine_decoder(folder, network, language, dtype, budget)
    task = next((c.task for c in known if c.dtype == dtype), None)
    try:
        verdict = certify_floats(network, language, dtype=dtype, task=task, budget=budget.part(_PROOF_SHARE))
    except InputError as error:
        # A complex state in half precision, or a weight that the format does not hold: there is no module.
        return Examination(
            dtype=dtype,
            claims=(),
            failure=None,
            horizon=None,
            details={"reason": str(error)},
            certificate=None,
        )
    claims = [] if verdict.certificate is None else list(verdict.certificate.claims)
    failure = None if verdict.refutation is None else _failure(verdict.refutation, verdict.runner.dtype)
    details = _details(verdict)
    horizon = None
    if verdict.length != "all":
        more = budget.part(_LOOP_SHARE)
        loops = search_loops(verdict.runner, language, task=verdict.task, longest=LONGEST, budget=more)
        horizon = loops.horizon
        details |= _loop_details(loops, language)
        if horizon is None and failure is None and loops.tested:
            claims.append(_loop_claim(verdict, loops))
        elif failure is None and horizon is not None:
            failure = _loop_failure(horizon, language, dtype)
    tested, differs = _compare(verdict.runner, verdict.task, budget)
    exact = any(c.dtype == dtype and c.scope == ANY_ORDER for c in known)
    if differs and exact and failure is None:
        failure = Failure(what=f"{differs}, although every order of evaluation is exact", entry="forward")
    return Examination(
        dtype=dtype,
        claims=(*claims, *tested),
        failure=failure,
        horizon=horizon,
        details=details | ({"forward": differs} if differs else {}),
        certificate=verdict.certificate,
    )


def _has_decoder(network: Network, folder: Path | None) -> bool:
    """Whether the softmax decoder is examined; of a network without layers only where it was written."""
    return network.attends or (
        folder is not None and (folder / MODEL_FOLDER).is_dir() and is_decoder(network)
    )


def _examine_decoder(
    folder: Path | None,
    network: Network,
    language: Language,
    dtype: str,
    budget: Budget | None,
) -> Examination:
    """The examination of a network with attention: of its softmax decoder, by lemmas about heads."""
    claims, failure, details, certificate = examine_decoder(
        folder, network, language, dtype=dtype, budget=budget
    )
    return Examination(
        dtype=dtype, claims=claims, failure=failure, horizon=None, details=details, certificate=certificate
    )


def store(folder: Path, examination: Examination) -> Path | None:
    """Writes the proof by closure into a folder, beside the network; returns where."""
    if examination.certificate is None:
        return None
    return write_float_certificate(folder, examination.dtype, examination.certificate)


def _details(verdict: FloatVerdict) -> dict[str, Json]:
    found: dict[str, Json] = {"states": verdict.states, "reason": verdict.reason or None}
    if verdict.certificate is not None:
        evidence = verdict.certificate.evidence[METHOD]
        found |= {"batches": evidence["batches"], "arithmetic": evidence["arithmetic"]}
    return found


def _loop_details(loops: LoopReport, language: Language) -> dict[str, Json]:
    found: dict[str, Json] = {"loops": loops.loops, "loops_tested_to": loops.tested}
    horizon = loops.horizon or loops.foreseen
    if horizon is not None:
        found["horizon"] = {
            "word": horizon.word.show(language.alphabet),
            "predicted": horizon.predicted,
            "measured": horizon.repetitions,
            "at": None if horizon.error is None else horizon.error.at,
            "steps": horizon.steps,
        }
    return found


def _loop_claim(verdict: FloatVerdict, loops: LoopReport) -> Claim:
    return Claim(
        scope=TESTED,
        method=LOOPS,
        task=verdict.task,
        covers=(
            f"{loops.loops} words that repeat one or two letters, each followed by any one letter, were read "
            "up to this length without an error. This is a test, not a proof."
        ),
        dtype=verdict.runner.dtype,
        length=loops.tested,
    )


def _failure(refutation: Refutation, dtype: str) -> Failure:
    return Failure(
        what=(
            f"in {dtype}, after {plural(refutation.at, 'letter')}, the module says "
            f"{{{', '.join(refutation.got)}}}, the language {{{', '.join(refutation.expected)}}}"
        ),
        refutation=refutation,
    )


def _loop_failure(horizon: Horizon, language: Language, dtype: str) -> Failure:
    return _failure(horizon.refutation(language.alphabet), dtype)


def _compare(runner: Runner, task: str, budget: Budget) -> tuple[list[Claim], str]:
    """The claim that `forward` agrees with `step` on random words, or where it does not."""
    if not runner.has_forward:
        return [], ""
    letters = random_words(runner, words=_WORDS, length=_LENGTH)
    try:
        difference = compare_forward(
            runner, letters, cuts=_CUTS, budget=budget.part(1.0, seconds=_SECONDS_TO_COMPARE)
        )
    except BudgetExceeded:
        return [], ""
    if difference is None:
        return [agreement_claim(dtype=runner.dtype, task=task, words=_WORDS, length=_LENGTH)], ""
    return [], (
        f"forward gives {difference.forward} where step gives {difference.step} ({difference.what}, after "
        f"{plural(difference.position, 'letter')})"
    )


AGREEMENT = "forward-against-step"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first place where `forward` and `step` differ.

    Attributes:
        what: "scores", or the name of a tensor of the state.
        word: the number of the word in the batch.
        position: letters read there.
        chunks: how the words were cut for `forward`.
        step, forward: the first numbers that differ.
    """

    what: str
    word: int
    position: int
    chunks: tuple[int, ...]
    step: complex
    forward: complex


def compare_forward(
    runner: Runner, letters: Tensor, *, cuts: Sequence[Sequence[int]] = ((),), budget: Budget | None = None
) -> Difference | None:
    """Returns the first place where `forward` differs from `step` on words, None if there is none.

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
                word, position, *_ = found
                return _difference(
                    "scores", ends, found, scores[:, first:end], got, word, first + position + 1
                )
        assert state is not None
        for name, wanted in last.items():
            found = _first(wanted, state[name])
            if found is not None:
                return _difference(name, ends, found, wanted, state[name], found[0], letters.shape[1])
    return None


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


def _difference(
    what: str, ends: list[int], place: list[int], wanted: Tensor, got: Tensor, word: int, position: int
) -> Difference:
    index = tuple(place[: wanted.ndim])
    return Difference(
        what=what,
        word=word,
        position=position,
        chunks=tuple(b - a for a, b in itertools.pairwise(ends)),
        step=complex(wanted[index]),
        forward=complex(got[index]) if wanted.shape == got.shape else complex("nan"),
    )
