"""Covers handed to the kernel, which turns them into certificates or refutations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode import kernel
from nerode.core import Budget, BudgetExceeded, InputError, Shown, started
from nerode.kernel import (
    Certificate,
    Failure,
    OverBudget,
    ProvedEvidence,
    Refutation,
    Unreadable,
    WorkBudget,
)
from nerode.languages import Language, describe_language
from nerode.network import Network, network_to_json

Json = Any


STATE_BOXES = "state-boxes"
"""The method of the kernel for the exact network that a trained cell means."""

_FEW = 2_000
"""Cells that are searched for a failing word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproved:
    """Neither a proof nor a word on which the network fails was found.

    Attributes:
        reason: what stood in the way.
    """

    reason: str


Outcome = Certificate | Refutation | Unproved


class ShownCertificate(Certificate, Shown):
    """A certificate that notebooks display."""

    __slots__ = ()


class Prover:
    """Hands covers of one network and one language to the kernel.

    Args:
        network: what is proved something about.
        language: what it should do.
        budget: its seconds and elements limit each proof.

    Raises:
        InputError: if network and language have different alphabets.
    """

    def __init__(self, network: Network, language: Language, budget: Budget | None = None) -> None:
        if tuple(network.alphabet) != tuple(language.alphabet):
            raise InputError(
                "network and language have different alphabets; certify a network with its language"
            )
        self.budget = started(budget)
        self.network = network_to_json(network)
        self.language = describe_language(language, self.budget)

    def prove(
        self,
        method: str,
        cover: Mapping[str, Json],
        *,
        eps: Fraction | None = None,
        most: int | None = None,
    ) -> ProvedEvidence:
        """Returns what the kernel makes of a cover.

        Args:
            method: of proof.
            cover: the evidence, without its number of cells and digest.
            eps: the distance, change or noise to claim something about, for the methods that have one.
            most: cells; None for the elements of the budget.

        Raises:
            BudgetExceeded: if the budget ends first.
        """
        limits = kernel_budget(self.budget, most)
        try:
            return kernel.prove(self.network, self.language, method, cover, eps=eps, budget=limits)
        except OverBudget as stop:
            raise exceeded(stop, self.budget) from None
        except Unreadable as error:
            failure = Failure(what=str(error), entry=f"evidence.{method}")
            return ProvedEvidence(method=method, evidence=cover, claims=(), failure=failure)

    def certify(self, method: str, covers: Sequence[Mapping[str, Json]]) -> Outcome:
        """Returns the certificate of the first cover that proves something, or the last failure."""
        outcome: Outcome = Unproved(reason="no cover was found")
        for cover in covers:
            outcome = self.outcome(self.prove(method, cover))
            if isinstance(outcome, Certificate):
                break
        return outcome

    def outcome(self, *proofs: ProvedEvidence) -> Outcome:
        """Returns the certificate of proofs, or the first failure among them."""
        for proof in proofs:
            if proof.failure is not None:
                return proof.failure.refutation or Unproved(reason=proof.failure.what)
        sealed = kernel.seal(self.network, self.language, proofs)
        return ShownCertificate(
            network=sealed.network,
            language=sealed.language,
            claims=sealed.claims,
            evidence=sealed.evidence,
        )

    def failing_word(self, task: str) -> Refutation | None:
        """Returns a shortest word on which the network fails, if a short search finds one."""
        proof = self.prove("interval-closure", {"task": task, "intervals": {}}, most=_FEW)
        return None if proof.failure is None else proof.failure.refutation


def kernel_budget(budget: Budget | None, most: int | None = None) -> WorkBudget:
    """Returns what is left of a budget, as the kernel counts it."""
    budget = started(budget)
    seconds = max(1e-3, min(budget.left(), 1e9))
    return WorkBudget(seconds=seconds, cells=max(1, min(most or budget.elements, budget.elements)))


def exceeded(stop: OverBudget, budget: Budget | None = None) -> BudgetExceeded:
    """Returns the end of the kernel's budget, which was made of `budget`, as the error of the package."""
    known = {"cells": stop.cells}
    if stop.resource == "cells":
        return BudgetExceeded("elements", stop.limit, known_so_far=known)
    remedy = f"{stop.left:,} of these cells did not fit; raise it with --max-seconds" if stop.left else ""
    return BudgetExceeded("seconds", started(budget).stated, known_so_far=known, remedy=remedy)
