"""Boxes for one trained cell: the exact network that its weights mean, proved under noise by the kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.kernel import Certificate, certificate_to_json
from nerode.languages import Language, Legal, describe_language
from nerode.models import Model
from nerode.network import Network, network_to_json
from nerode.proofs.folder import check
from nerode.proofs.proving import Unproved
from nerode.proofs.replay.lift import is_carried, trained_network
from nerode.proofs.state_boxes import SMALLEST_NOISE, certify_state_boxes

_LETTERS = (1, 2, 3)
"""Numbers of last letters that a box may know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProof:
    """A proof that a strategy has found.

    Attributes:
        certificate: the claims with what shows them; it has been replayed.
        network: the exact network that it is about; None if it is about the module.
    """

    certificate: Certificate
    network: Network | None = None


def require_told_apart(language: Language, answers: tuple[Legal, ...] | None) -> None:
    """Raises InputError if two classes have one answer about a language.

    A proof about the language would not see that a network mixes them up.
    """
    if answers is not None and len(set(answers)) < len(answers):
        raise InputError(
            f"several classes of {language.name} have the same answer about the language, so that boxes "
            "would not tell them apart; classes are proved by listing float states"
        )


def prove_boxes(
    model: Model,
    language: Language,
    task: str,
    *,
    answers: tuple[Legal, ...] | None = None,
    weights: str = "",
    letters: tuple[int, ...] = _LETTERS,
    least: float = SMALLEST_NOISE,
    seconds: float,
) -> FoundProof | Unproved:
    """Returns boxes for a model as it is, with the consent of the kernel, or why there are none.

    Args:
        model: one cell between letters and a linear head.
        language: what it should do.
        task: of the claims.
        answers: what each class says of the language; None if the outputs are bits.
        weights: the SHA-256 of the tensors of the run that the proof is for.
        letters: how many last letters a box may know.
        least: the noise that has to be allowed.
        seconds: for the search, and again for the kernel.

    Raises:
        InputError: if boxes would not tell two classes apart.
    """
    require_told_apart(language, answers)
    network = trained_network(model, language, answers=answers, weights=weights)
    found = certify_state_boxes(
        network, language, task=task, letters=letters, least=least, budget=Budget(seconds=seconds)
    )
    if not isinstance(found, Certificate):
        return found
    found = replace(found, claims=tuple(claim for claim in found.claims if is_carried(model, claim)))
    try:
        result = check(
            network_to_json(network),
            describe_language(language),
            certificate_to_json(found),
            budget=Budget(seconds=seconds),
        )
        refused = None if result.failure is None else result.failure.what
    except BudgetExceeded as stop:
        refused = str(stop)
    if refused is not None:
        return Unproved(reason=f"the kernel refuses the certificate: {refused}")
    return FoundProof(certificate=found, network=network)
