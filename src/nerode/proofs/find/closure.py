"""Certificates for modules in the float format that they run in.

The search goes in batches; what it finds is then replayed by `recheck`, one word at a time where that takes
not too long. Where batches round differently from single words, single words are what counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from nerode.core import Budget, BudgetExceeded, UnknownName, started
from nerode.kernel import DTYPES, Certificate, Failure, Refutation, language_claim
from nerode.languages import Language, Legal, Question, asked_of
from nerode.models.network_module import load_model
from nerode.network import Network, network_hash
from nerode.proofs.find.schedule import FIRST_SLICE, GROWTH, Work, finished
from nerode.proofs.find.walk import BATCH, LARGE_BATCH, Walk
from nerode.proofs.proving import Unproved
from nerode.proofs.replay.bits import METHOD, covers_single_words, limits, recheck
from nerode.proofs.replay.listing import describe_arithmetic, fingerprint
from nerode.proofs.replay.softmax import outward_decoder
from nerode.proofs.runner import (
    Decode,
    QuestionTable,
    Runner,
    StepModule,
    from_rows,
    layout_of,
    make_runner,
    to_rows,
)
from nerode.records import Reading

Json = Any

SEARCH_SHARE = 0.25
"""Share of the seconds left that one search may take; the replay takes longer."""

FEW = 2_000
"""States of single words that are looked at where batches have not closed."""

REPLAY_SHARE = 0.6
"""Share of the seconds left that one replay may take; if single words take longer, batches are replayed."""


@dataclass(frozen=True, kw_only=True)
class FloatVerdict:
    """The findings about a module in one dtype.

    Attributes:
        runner: the module and how it is read.
        question: what the rest is about.
        certificate: the proof for all lengths, or up to some length; None if not even for length 1.
        refutation: the shortest word on which the module is wrong.
        reason: why there is no proof for all lengths, if no word refutes it.
        states: how many joint states were found.
    """

    runner: Runner
    question: Question
    certificate: Certificate | None
    refutation: Refutation | None
    reason: str
    states: int

    @property
    def task(self) -> str:
        """The kernel's name for what is claimed."""
        return self.question.task

    @property
    def length(self) -> int | str:
        """The length up to which the module is proved correct: "all", or a number."""
        return 0 if self.certificate is None else self.certificate.claims[0].length

    @property
    def is_proof(self) -> bool:
        """Whether it is proved at every length, and of words that are read alone."""
        return self.certificate is not None and self.length == "all" and covers_single_words(self.certificate)

    def outcome(self) -> Certificate | Refutation | Unproved:
        """Returns the word that refutes, or else the proof as far as it goes, or else the reason."""
        return self.refutation or self.certificate or Unproved(reason=self.reason)


def certify_module(
    module: StepModule,
    asked: Language | Question,
    *,
    dtype: str | None = None,
    task: str | None = None,
    decode: Decode | None = None,
    reading: Reading | None = None,
    empty: Legal | None = None,
    network: str | None = None,
    alone: bool = False,
    partial: bool = True,
    budget: Budget | None = None,
) -> FloatVerdict:
    """Returns what can be shown about a module by looking at all its float states.

    Args:
        module: reads letters by number.
        asked: the question, or a language that is asked about by a task.
        dtype: the format that the module must have; None takes the one that it has.
        task: of the claim that is looked for; None for the question as it is, and for a language the
            strongest: all words, or else the valid prefixes.
        decode: how scores are read; None takes the reading, then the module's own `legal`, then "above 1/2".
        reading: how scores are read.
        empty: what the module says about the empty prefix; None if it was not made from a network and says
            nothing there.
        network: the SHA-256 of the network that the module was made from; None for that of its weights.
        alone: whether nothing is to be said of batches, only of single words.
        partial: whether shorter words are proved where a word refutes the module.
        budget: limits the joint states (`elements`) and the time.

    Raises:
        InputError: if the module has another dtype, or a state that grows with the word.
    """
    budget = started(budget)
    question = asked_of(asked, task)
    runner = make_runner(module, question, dtype=dtype, decode=decode, reading=reading, empty=empty)
    search = budget.part(SEARCH_SHARE)
    return finished(
        closing(runner, question, network=network, alone=alone, partial=partial, search=search, budget=budget)
    )


def closing(
    runner: Runner,
    question: Question,
    *,
    network: str | None = None,
    alone: bool = False,
    partial: bool = True,
    search: Budget,
    budget: Budget,
) -> Work[FloatVerdict]:
    """Looks at all float states of a module, as a strategy that can be paused.

    Args:
        runner: the module.
        question: what it is asked.
        network: as for `certify_module`.
        alone: as for `certify_module`.
        partial: as for `certify_module`.
        search: limits the search.
        budget: limits the replays, and the joint states (`elements`).
    """
    # Batches of one size round alike, which is all that a search needs; single words are looked at last.
    batch = LARGE_BATCH if _batch_matters(runner) else None
    if alone or (batch is not None and _is_chain(question)):
        batch = 1
    found = yield from _walk_beside(runner, question, batch, search)
    if found.refutation is not None and batch != 1 and not _refutes_alone(runner, found):
        # Batches answer otherwise than single words: single words are what counts.
        batch = 1
        found = yield from _walk_beside(runner, question, batch, search)
    if not partial and _refutes_alone(runner, found):
        return FloatVerdict(
            runner=runner,
            question=found.asked,
            certificate=None,
            refutation=found.refutation,
            reason=found.reason,
            states=len(found),
        )
    return _confirm(runner, found, batch, network, budget)


def _walk_beside(runner: Runner, question: Question, batch: int | None, budget: Budget) -> Work[Walk]:
    """Walks a question and the weaker one beside it in slices; returns the walk that shows more.

    Many networks are not for all words. So the strongest question has a few times the row-steps that the
    weaker one took to close, and no more.
    """
    walks = [Walk(runner, question, batch=batch, most=budget.elements)]
    if (weaker := question.weaker()) is not None:
        walks.append(Walk(runner, weaker, batch=batch, most=budget.elements))
    first, last, size = walks[0], walks[-1], FIRST_SLICE
    while budget.left() and not _is_decided(first, last):
        for walk in walks:
            before = walk.steps
            walk.advance(size, budget)
            yield walk.steps - before
        size *= GROWTH
    for walk in walks:
        if walk.end is None:
            walk.reason = f"the budget of {budget.seconds:,.4g} seconds is used up"
    if _reach(last) > _reach(first) or not _is_read(last.asked, first.refutation):
        return last
    return first


def _is_decided(first: Walk, last: Walk) -> bool:
    """Whether nothing more can come of the walks of a question and of a weaker one."""
    if first.end == "closed" or last.end == "wrong":
        return True
    if first.end == "wrong" and _is_read(last.asked, first.refutation):
        return True
    return last.end is not None and (first.end is not None or first.steps > GROWTH * last.steps + FIRST_SLICE)


def certify_floats(
    network: Network, language: Language, *, dtype: str, task: str | None = None, budget: Budget | None = None
) -> FloatVerdict:
    """Returns what can be shown about the module of a compiled network in a dtype."""
    if dtype not in DTYPES:
        raise UnknownName("dtype", dtype, DTYPES)
    module = load_model(network, dtype=getattr(torch, dtype))
    return certify_module(
        module, language, dtype=dtype, task=task, network=network_hash(network), budget=budget
    )


def _confirm(
    runner: Runner,
    found: Walk,
    batch: int | None,
    network: str | None,
    budget: Budget,
) -> FloatVerdict:
    """Replays what a search has found; a search of single words follows where they differ from batches."""
    certificate, problem = None, ""
    differs = batch == LARGE_BATCH
    sealed: Certificate | Failure | BudgetExceeded | None = None
    if differs and not _refutes_alone(runner, found):
        few = budget if found.end == "closed" else replace(budget, elements=min(FEW, budget.elements))
        found, sealed = _confirm_apart(runner, found, network, few)
    elif found.covers not in (-1, 0):
        batches = [batch] if batch is not None else _batches(runner, found, budget)
        sealed = _seal(runner, found, batches, network, budget)
        if isinstance(sealed, Failure) and batch != 1:
            refused = batches == [LARGE_BATCH]
            found, sealed = _confirm_apart(runner, found, network, budget, refused=refused)
    if isinstance(sealed, Certificate):
        certificate = sealed
    elif sealed is not None and found.refutation is None:
        problem = f"a proof was found, but not confirmed: {getattr(sealed, 'what', sealed)}"
    return FloatVerdict(
        runner=runner,
        question=found.asked,
        certificate=certificate,
        refutation=found.refutation,
        reason=problem or found.reason,
        states=len(found),
    )


def _refutes_alone(runner: Runner, found: Walk) -> bool:
    """Whether a word that refutes a module in batches does so when it is read alone."""
    if found.refutation is None:
        return False
    word = found.asked.alphabet.encode(found.refutation.word)
    if not word:
        return True
    known, state, number = QuestionTable(found.asked), runner.start(), 0
    for letter in word:
        answers, state = runner.step(np.array([letter]), state)
        number = known.after(number, letter)
    return bool(known.are_wrong(np.array([number]), answers)[0])


def _confirm_apart(
    runner: Runner,
    found: Walk,
    network: str | None,
    budget: Budget,
    *,
    refused: bool = False,
) -> tuple[Walk, Certificate | Failure | BudgetExceeded]:
    """Certify batch size 1 where batching changes the bits; fall back to batches alone.

    Single words are slow; batches alone are proved only if they close and single words do not in the time,
    and not if their replay has been refused.
    """
    alone = _walk(runner, found.asked, 1, budget.part(SEARCH_SHARE))
    if alone.end == "closed" or alone.refutation is not None:
        refused = True
    if not refused and _reach(found) > _reach(alone):
        together = _seal(runner, found, [LARGE_BATCH], network, budget)
        if isinstance(together, Certificate):
            return found, together
    if alone.covers in (-1, 0):
        return alone, Failure(what=alone.reason or "the first letter refutes it")
    return alone, _seal(runner, alone, [1], network, budget)


def _seal(
    runner: Runner,
    found: Walk,
    batches: list[int],
    network: str | None,
    budget: Budget,
) -> Certificate | Failure | BudgetExceeded:
    """The certificate if its replay succeeds; otherwise what went wrong."""
    sha = fingerprint(runner.module)
    claim = language_claim(
        task=found.asked.task, method=METHOD, dtype=runner.dtype, order="rounded", length=found.covers
    )
    claim = replace(claim, covers=claim.covers + limits(batches, covers_empty=runner.empty is not None))
    certificate = Certificate(
        network=network or sha,
        language=found.asked.hash,
        claims=(claim,),
        evidence={METHOD: _evidence(runner, found, batches, sha)},
    )
    try:
        failure = recheck(
            runner.module,
            found.asked,
            certificate,
            decode=runner.decode if runner.reading is None else outward_decoder(runner.reading),
            empty=runner.empty,
            network=network,
            budget=budget.part(REPLAY_SHARE),
        )
    except BudgetExceeded as stop:
        if len(batches) > 1:
            return _seal(runner, found, [LARGE_BATCH], network, budget)
        if found.end == "closed" or len(found) < 8:
            return stop
        # A shorter length has fewer states to replay: a quarter of those for which this time was enough.
        known: dict[str, Any] = stop.known_so_far
        done = known.get("transitions_replayed", 1) / known.get("transitions", 1)
        few = replace(budget.part(SEARCH_SHARE), elements=max(2, int(len(found) * done / 4)))
        shorter = _walk(runner, found.asked, batches[0], few)
        if shorter.refutation is not None or len(shorter) >= len(found):
            return stop
        return _seal(runner, shorter, batches, network, budget)
    return failure or certificate


def _evidence(runner: Runner, found: Walk, batches: list[int], sha: str) -> dict[str, Json]:
    return {
        "task": found.asked.task,
        "dtype": runner.dtype,
        "length": found.covers,
        "empty": runner.empty is not None,
        "module": sha,
        "arithmetic": describe_arithmetic(),
        "batches": batches,
        "layout": [[part.name, list(part.shape), part.dtype] for part in found.layout],
        "moves": found.moves.tolist(),
    }


def _batches(runner: Runner, found: Walk, budget: Budget) -> list[int]:
    """The batch sizes to replay in: one word at a time too, unless that would take most of the time.

    What holds in batches alone is no proof of a network.
    """
    letter = np.zeros(1, dtype=np.int64)
    state = runner.start()
    runner.step(letter, state)
    begin = time.process_time()
    for _ in range(3):
        runner.step(letter, state)
    one = (time.process_time() - begin) / 3
    seconds = one * int((found.moves >= 0).sum())
    if seconds < budget.left() / 4:
        return [1, BATCH]
    return [1] if seconds < budget.left() / 2 else [LARGE_BATCH]


def _is_chain(question: Question) -> bool:
    """Whether at most one letter is read after each prefix: there is nothing to batch."""
    narrow = question.weaker() or question
    known, order = QuestionTable(narrow), [0]
    for number in order:
        letters = np.flatnonzero(known.letters(np.array([number]))[0]).tolist()
        if len(letters) > 1 or len(known) > FEW:
            return False
        order += [after for letter in letters if (after := known.after(number, letter)) == len(order)]
    return True


def _batch_matters(runner: Runner) -> bool:
    """Whether a batch rounds differently from a single word already at the first letter."""
    for letter in range(runner.letters):
        alone = runner.step(np.array([letter]), runner.start())[1]
        start = from_rows(np.repeat(to_rows(runner.start(), 1), BATCH, axis=0), layout_of(alone))
        together = runner.step(np.full(BATCH, letter, dtype=np.int64), start)[1]
        if not (to_rows(alone, 1) == to_rows(together, BATCH)).all():
            return True
    return False


def _is_read(question: Question, refutation: Refutation | None) -> bool:
    """Whether a question reads the word that refutes a module, if there is one.

    A module that is wrong after other words only is not refuted where valid prefixes are what counts.
    """
    at = question.initial()
    for letter in () if refutation is None else question.alphabet.encode(refutation.word):
        if letter not in question.letters(at):
            return False
        at = question.advance(at, letter)
    return True


def _reach(found: Walk) -> float:
    return float("inf") if found.end == "closed" else float(found.length)


def _walk(runner: Runner, question: Question, batch: int | None, budget: Budget) -> Walk:
    walk = Walk(runner, question, batch=batch, most=budget.elements)
    walk.run(budget)
    return walk
