"""Proofs by boxes for one trained cell: found in the network as it is, and checked again from a folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from nerode.analysis.proofs.goals import Goal, goal_of, require_distinct
from nerode.analysis.subject import load_subject
from nerode.core import Budget, InputError
from nerode.languages import language_hash
from nerode.models import Model
from nerode.network import Network
from nerode.proofs import (
    CheckResult,
    Failure,
    check_folder,
    read_language,
    read_network,
    run_of,
)
from nerode.proofs.replay import carried_claim, is_carried, trained_network


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedProof:
    """A certificate that was checked again, and what it is about.

    Attributes:
        result: what the kernel and the comparison with the weights say.
        about: the weights, in words; empty for a network that lies in no run.
        of_run: whether these are the weights of the run in whose folder it lies.
    """

    result: CheckResult
    about: str = ""
    of_run: bool = False


def check_proof(place: Path, *, budget: Budget | None = None) -> CheckedProof:
    """Returns whether the certificate in a folder holds, and of which weights.

    In the folder of a run the network must be the one that the weights of the run mean, number by number;
    what a file says of itself is not believed.

    Args:
        place: of the network and its certificate.
        budget: limits of the check.

    Raises:
        FormatError: for a file that is missing or damaged.
        BudgetExceeded: if the budget ends before the check does.
    """
    result, run = check_folder(place, budget=budget), run_of(place)
    if not result.ok or run is None:
        return CheckedProof(result=result)
    try:
        subject = load_subject(run)
        model = subject.zoo_model
        assert subject.task is not None
        goal = goal_of(subject.task)
        require_distinct(goal)
    except InputError as error:
        return _refused(f"it cannot be compared with the run in {run.name}: {error}")
    stored = read_network(place)
    if language_hash(read_language(place)) != language_hash(goal.language):
        return _refused(f"it is about another language than the task of the run in {run.name}")
    if not _means(model, goal, stored):
        return _refused(f"its network has other weights than the run in {run.name}")
    if not all(is_carried(model, claim) for claim in result.claims):
        return _refused("a claim about floats is about one bias, and the cell adds two, one after the other")
    claims = tuple(map(carried_claim, result.claims))
    about = f"the weights of the run {run.name}"
    return CheckedProof(result=replace(result, claims=claims), about=about, of_run=True)


def _refused(what: str) -> CheckedProof:
    failure = Failure(what=f"the proof is not about the weights that it lies with: {what}", entry="network")
    return CheckedProof(result=CheckResult(ok=False, claims=(), failure=failure))


def _means(model: Model, goal: Goal, network: Network) -> bool:
    """Whether a network is the one that a model means, wherever it says that it comes from."""
    try:
        meant = trained_network(model, goal.language, answers=goal.answers)
    except InputError:
        return False
    return replace(meant, origin=network.origin) == network
