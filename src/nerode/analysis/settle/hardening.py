"""Hardening: a network that somebody has trained goes on with exact gates, until it is proved or time is up.

The first attempts begin with the trained weights, whose gate scores are spread, so that about half of the
gates write; that changes the function. If these find no proof, fresh weights of the same config follow, and
the outcome says so.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nerode.analysis.proofs.exact_training import ExactProof, ExactTraining, train_exact
from nerode.analysis.settle.settling import CLOSURE, WORDS, Ended, keep_end
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, InputError
from nerode.models import WEIGHTS_FILE, dtype_of, save_model
from nerode.proofs import tensor_hash
from nerode.records import SETTLED, Settlement


def harden(
    subject: LoadedNetwork,
    *,
    seed: int = 0,
    settings: ExactTraining | None = None,
    budget: Budget | None = None,
) -> tuple[ExactProof, Settlement]:
    """Returns a hardened network with its end; that of the subject is not changed.

    Args:
        subject: a model of the zoo with its task.
        seed: of the words, and of fresh weights.
        settings: of the training; the seconds are those of the budget if it has fewer.
        budget: limits the CPU seconds.

    Raises:
        InputError: if it has no task, or a layer has no exact gates.
    """
    if subject.task is None:
        raise InputError(f"{subject.name} has no task, so nothing says what is correct; name it (--task)")
    chosen, model = settings or ExactTraining(), subject.zoo_model
    if budget is not None:
        chosen = replace(chosen, cpu_seconds=max(0.1, min(chosen.cpu_seconds, budget.left())))
    found = train_exact(model.config, subject.task, seed=seed, settings=chosen, given=model)
    about = subject.task.name if subject.language is None else subject.language.name
    verdict = found.verdict
    end = Settlement(
        status="unsettled" if verdict is None else "proved",
        about=about,
        words="the words that the task asks about" if verdict is None else WORDS[verdict.task],
        dtype=dtype_of(found.model),
        method=CLOSURE,
        length=0 if verdict is None else "all",
        states=found.looks[-1].states if found.looks else 0,
        reason=found.reason,
        claims=()
        if verdict is None or verdict.certificate is None
        else tuple(claim.covers for claim in verdict.certificate.claims),
        cpu_seconds=round(found.cpu_seconds, 3),
    )
    return found, end


def write_hardened(folder: Path, found: ExactProof, end: Settlement) -> Settlement:
    """Writes a hardened model with its end and its proof; returns the end with the hash of the weights."""
    save_model(folder, found.model)
    end = replace(end, weights=tensor_hash(folder / WEIGHTS_FILE))
    certificate = None if found.verdict is None else found.verdict.certificate
    keep_end(folder / SETTLED, Ended(settlement=end, certificate=certificate))
    return end
