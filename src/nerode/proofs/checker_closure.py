"""All joint configurations of network and language, searched breadth first in exact arithmetic.

If the search closes, the network is right at every length. The evidence is only how many configurations
there are and the SHA-256 of their transition table: configurations are numbered in the order of their
shortest words, line i lists the numbers reached from configuration i letter by letter ("-" for a letter
that is not read).
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from nerode.core import BudgetExceeded
from nerode.languages import Language, Legal, Word
from nerode.proofs.certificate import VALID_PREFIXES, Claim, language_claim
from nerode.proofs.checker_columns import Meter
from nerode.proofs.checker_dtypes import Exactness
from nerode.proofs.checker_evaluation import Evaluator, States
from nerode.proofs.checker_forms import Undecided
from nerode.proofs.checker_problem import (
    LANGUAGE_TASKS,
    Evidence,
    Failure,
    Problem,
    agrees,
    refuse_unless_implied,
    refute,
)

METHOD = "joint-closure"

_PATIENCE = 6_000
"""Configurations beyond the claimed number that are searched for a word on which the network fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """What the search found.

    Attributes:
        failure: the first failure, None if there is none.
        closed: whether all configurations were seen.
        configurations: how many were seen.
        digest: SHA-256 of the transition table.
    """

    failure: Failure | None
    closed: bool
    configurations: int
    digest: str


def verify_closure(problem: Problem, evidence: Evidence, claims: Sequence[Claim]) -> Failure | None:
    """Checks claims that rest on a finite set of joint configurations."""
    if set(evidence) != {"task", "configurations", "digest"}:
        return Failure(
            what="the evidence has not the keys task, configurations, digest", entry=f"evidence.{METHOD}"
        )
    task, claimed = evidence["task"], evidence["configurations"]
    if task not in LANGUAGE_TASKS or type(claimed) is not int or claimed < 1:
        return Failure(
            what=f"the evidence speaks of {claimed} configurations for {task!r}", entry=f"evidence.{METHOD}"
        )
    exactness = Exactness(problem.network)
    closure = search(problem, task, meter=exactness, limit=claimed + _PATIENCE)
    if closure.failure is not None:
        return closure.failure
    found = {"configurations": closure.configurations, "digest": closure.digest}
    for key, value in found.items():
        if evidence[key] != value or not closure.closed:
            more = "" if closure.closed else "more than "
            return Failure(
                what=f"the certificate says {evidence[key]}, the joint closure has {more}{value}",
                entry=f"evidence.{METHOD}.{key}",
            )
    problem.notes[METHOD, task] = exactness
    return refuse_unless_implied(claims, [language_claim(task=task, method=METHOD)])


def search(problem: Problem, task: str, *, meter: Meter | None = None, limit: int | None = None) -> Closure:
    """Searches all joint configurations for the shortest word on which the network is wrong.

    Args:
        problem: network, language and budget.
        task: PREDICT, VALID_PREFIXES or RECOGNISE.
        meter: sees every sum.
        limit: how many configurations are searched; the budget's elements if not given.
    """
    language = problem.language
    evaluator = Evaluator(problem.network, meter)
    limit = min(limit or problem.budget.elements, problem.budget.elements)
    expected = language.legal(language.initial())
    if not agrees(task, expected, problem.network.empty):
        return Closure(
            failure=refute(language.alphabet, (), expected, problem.network.empty),
            closed=False,
            configurations=1,
            digest="",
        )
    return _breadth_first(evaluator, language, task, problem, limit)


def _breadth_first(
    evaluator: Evaluator, language: Language, task: str, problem: Problem, limit: int
) -> Closure:
    start: tuple[States, Hashable] = (evaluator.start(), language.initial())
    number = {start: 0}
    order = [start]
    came: list[tuple[int, int]] = [(-1, -1)]
    legal: dict[Hashable, Legal] = {}
    table = hashlib.sha256()

    def allowed(configuration: Hashable) -> Legal:
        if configuration not in legal:
            legal[configuration] = language.legal(configuration)
        return legal[configuration]

    def stop(failure: Failure | None) -> Closure:
        return Closure(failure=failure, closed=False, configurations=len(order), digest="")

    for i, (states, configuration) in enumerate(order):
        row = []
        for letter in range(len(language.alphabet)):
            if task == VALID_PREFIXES and letter not in allowed(configuration).symbols:
                row.append("-")
                continue
            target = language.advance(configuration, letter)
            try:
                new, answer = evaluator.step(states, letter)
            except Undecided as doubt:
                word = (*word_to(came, i), letter)
                where = language.alphabet.decode(word)
                return stop(
                    Failure(what=f"after {where} the network has no answer: {doubt}", entry="network")
                )
            if not agrees(task, allowed(target), answer):
                word = (*word_to(came, i), letter)
                return stop(refute(language.alphabet, word, allowed(target), answer))
            reached = (new, target)
            if reached not in number:
                if len(order) >= limit:
                    return stop(None)
                number[reached] = len(order)
                order.append(reached)
                came.append((i, letter))
            row.append(str(number[reached]))
        table.update((" ".join(row) + "\n").encode())
        if i % 256 == 0:
            problem.budget.check_time(joint_configurations=len(order))
    return Closure(failure=None, closed=True, configurations=len(order), digest=table.hexdigest())


def find_failure(problem: Problem, task: str) -> Failure | None:
    """Returns a word on which the network is wrong if a limited search finds one."""
    try:
        return search(problem, task, limit=_PATIENCE).failure
    except BudgetExceeded:
        return None


def word_to(came: list[tuple[int, int]], i: int) -> Word:
    """Returns the word to configuration i, from where each came and by which letter; 0 is the start."""
    letters = []
    while i > 0:
        i, letter = came[i]
        letters.append(letter)
    return tuple(reversed(letters))
