"""Searches for further facts: context windows, noise, fragile words, and neurons needed to memorise.

What is found about a certified network is written into its certificate, where the kernel checks it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

from nerode.core import Budget, BudgetExceeded, InputError, read_json, started, write_atomically
from nerode.kernel import CERTIFICATE_FILE, certificate_from_json, certificate_to_json
from nerode.languages import Language
from nerode.network import Network
from nerode.proofs import (
    UNDER_NOISE,
    Certificate,
    MemorisationBound,
    Refutation,
    Unproved,
    certify_boxes,
    find_fragile_words,
    find_window,
    memorisation_bound,
    read_language,
    read_network,
)

Question = Literal["window", "noise", "fragile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The outcome of a search for a claim.

    Attributes:
        question: "window", "noise" or "fragile".
        problem: why nothing is proved; empty if something is.
    """

    question: Question
    problem: str = ""

    @property
    def found(self) -> bool:
        """Whether the certificate has a claim of this kind now."""
        return not self.problem


def add_claims(
    folder: Path, questions: Sequence[Question], *, eps: Fraction | None = None, budget: Budget | None = None
) -> list[Search]:
    """Returns what searches found about the network of a folder, whose certificate then has the claims.

    Args:
        folder: with a network, its language and its certificate.
        questions: what to search for: the number of last letters that matter; the largest noise under which
            the network is correct; a word along which a linear layer keeps every error.
        eps: for windows the change that older letters may make; for fragile words a size of noise, whose
            expected time until it is fatal is claimed, too.
        budget: limits; the searches share the seconds.
    """
    budget = started(budget)
    network, language = read_network(folder), read_language(folder)
    searches = []
    for number, question in enumerate(questions):
        share = budget.part(1 / (len(questions) - number))
        outcome = _search(question, network, language, eps, share)
        if isinstance(outcome, Certificate):
            _extend(folder / CERTIFICATE_FILE, outcome)
            searches.append(Search(question=question))
        else:
            problem = outcome.reason if isinstance(outcome, Unproved) else "the network fails on some word"
            searches.append(Search(question=question, problem=problem))
    return searches


def _search(
    question: Question, network: Network, language: Language, eps: Fraction | None, budget: Budget
) -> Certificate | Refutation | Unproved:
    try:
        match question:
            case "window":
                return find_window(network, language, eps=eps, budget=budget)
            case "fragile":
                sizes = () if eps is None else (eps,)
                return find_fragile_words(network, language, sizes=sizes, budget=budget)
            case "noise":
                return _find_noise(network, language, budget)
    except BudgetExceeded as stop:
        return Unproved(reason=str(stop))


def _find_noise(network: Network, language: Language, budget: Budget) -> Certificate | Refutation | Unproved:
    """The certificate with the largest noise that is found."""
    try:
        outcome = certify_boxes(network, language, budget=budget)
    except InputError as error:
        return Unproved(reason=str(error))
    if isinstance(outcome, Certificate) and all(claim.scope != UNDER_NOISE for claim in outcome.claims):
        return Unproved(reason="the boxes of states that were found have no room for noise")
    return outcome


def _extend(path: Path, found: Certificate) -> None:
    """Writes claims and evidence into a certificate; those of the same methods are replaced."""
    known = certificate_from_json(read_json(path))
    kept = [claim for claim in known.claims if claim.method not in found.evidence]
    joined = replace(known, claims=(*kept, *found.claims), evidence={**known.evidence, **found.evidence})
    text = json.dumps(certificate_to_json(joined), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    write_atomically(path, text + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorisationStudy:
    """The number of neurons that alternating points on a line need, with the proof.

    Attributes:
        points: how many points.
        neurons: the least number that takes all their values.
        patterns: the activation patterns of one neuron less, all of which were ruled out.
        ramps: (a, b, c) of each neuron c·relu(a t + b).
    """

    points: int
    neurons: int
    patterns: int
    ramps: tuple[tuple[Fraction, Fraction, int], ...]


def study_memorisation(points: int, *, budget: Budget | None = None) -> MemorisationStudy:
    """Returns the number of ReLU neurons that one hidden layer needs for alternating points on a line.

    Implements: [Nandakumar2024, Proposition A.8]

    Raises:
        InputError: for fewer than two points.
        BudgetExceeded: if there are too many activation patterns for the time.
    """
    budget = started(budget)
    patterns = 0
    for neurons in itertools.count(1):
        bound: MemorisationBound = memorisation_bound(points, neurons, budget=budget)
        if bound.possible:
            break
        patterns = bound.patterns
    return MemorisationStudy(points=points, neurons=neurons, patterns=patterns, ramps=bound.ramps)
